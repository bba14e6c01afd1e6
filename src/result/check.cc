#include "result/check.h"

#include <algorithm>

#include "result/members.h"

namespace ttt::result {

Json check_json(const Check& c) {
  return {{"name", c.name}, {"status", c.status}, {"sentence", c.sentence}, {"facts", c.facts}};
}

Check check_from_json(const Json& object, const std::string& path) {
  Check c{.name = get<std::string>(object, "name", path),
      .status = get<std::string>(object, "status", path),
      .sentence = get<std::string>(object, "sentence", path),
      .facts = get_object(object, "facts", path)};
  if (std::find(kCheckStatuses.begin(), kCheckStatuses.end(), c.status) == kCheckStatuses.end())
    throw DataError("'" + path + ".status' in the result is '" + c.status +
                    "', which is no status of a check. Take the original file.");
  return c;
}

}  // namespace ttt::result
