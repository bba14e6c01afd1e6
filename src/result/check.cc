#include "result/check.h"

#include <algorithm>

namespace ttt::result {

void Check::check(const Check& c, const std::string& path) {
  const std::vector<std::string> known = statuses().choices;
  if (std::find(known.begin(), known.end(), c.status) == known.end())
    throw DataError("'" + path + ".status' in the result is '" + c.status +
                    "', which is no status of a check. Take the original file.");
}

}  // namespace ttt::result
