// A ceiling of the machine, as samples.
#pragma once

#include <string>
#include <vector>

#include "settings/json.h"

namespace ttt::result {

struct Peak {
  std::string name;             // "matrix_multiply"
  std::string unit;             // "flop/s" or "B/s"
  std::string work;             // what was done, in words
  double per_call = 0;          // one rank's flop or bytes in one call of it
  std::vector<double> samples;  // rates of all ranks together, in `unit`
};

Json peak_json(const Peak& peak);
// Throws DataError naming the member that is missing or wrong.
Peak peak_from_json(const Json& object, const std::string& path);

}  // namespace ttt::result
