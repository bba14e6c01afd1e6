// Something that was looked at before a run, and what was found.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "settings/json.h"

namespace ttt::result {

inline constexpr std::array<std::string_view, 4> kCheckStatuses = {"ok", "warning", "failed", "not_supported"};

struct Check {
  std::string name;      // "binding"
  std::string status;    // one of kCheckStatuses
  std::string sentence;  // what was found; of a warning or a failure also who and the remedy
  // Raw values by name. The name's end says what the entries of a list belong to: _of_rank, _of_node (in the order of
  // system.nodes), _samples.
  Json facts = Json::object();
};

Json check_json(const Check& check);
// Throws DataError naming the member that is missing or wrong.
Check check_from_json(const Json& object, const std::string& path);

}  // namespace ttt::result
