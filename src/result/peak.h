// A ceiling of the machine, as samples.
#pragma once

#include <string>
#include <vector>

#include "result/record_fields.h"

namespace ttt::result {

struct Peak {
  std::string name;             // "matrix_multiply"
  std::string unit;             // "flop/s" or "B/s"
  std::string work;             // what was done, in words
  double per_call = 0;          // one rank's flop or bytes in one call of it
  std::vector<double> samples;  // rates of all ranks together, in `unit`

  template <class Self, class Visitor> static void fields(Self& p, Visitor&& v) {
    v("name", p.name, "", matching("."));
    v("unit", p.unit, "of the samples", one_of({"flop/s", "B/s"}));
    v("work", p.work, "what was done, in words");
    v("per_call", p.per_call, "one rank's flop or bytes in one call", above(0));
    v("samples", p.samples, "rates of all ranks together", not_empty(above(0)));
  }
  static void check(const Peak& peak, const std::string& path) {
    if (peak.samples.empty()) throw DataError("'" + path + ".samples' in the result is empty. Take the original file.");
  }
};

}  // namespace ttt::result
