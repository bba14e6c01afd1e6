#include "result/peak.h"

#include "result/members.h"

namespace ttt::result {

Json peak_json(const Peak& p) {
  return {{"name", p.name}, {"unit", p.unit}, {"work", p.work}, {"per_call", p.per_call}, {"samples", p.samples}};
}

Peak peak_from_json(const Json& object, const std::string& path) {
  if (get_array(object, "samples", path).empty())
    throw DataError("'" + path + ".samples' in the result is empty. Take the original file.");
  return {.name = get<std::string>(object, "name", path),
      .unit = get<std::string>(object, "unit", path),
      .work = get<std::string>(object, "work", path),
      .per_call = get<double>(object, "per_call", path),
      .samples = get_list<double>(object, "samples", path)};
}

}  // namespace ttt::result
