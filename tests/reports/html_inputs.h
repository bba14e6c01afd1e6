// Results, and one file that is left out, whose texts would be HTML, a placeholder and a control sequence.
#pragma once

#include <string>

#include "reports/inputs.h"
#include "result/result_file.h"
#include "tests/support/toy_record.h"

namespace ttt::test {

inline constexpr const char* kHostile = "</script><img src=x onerror=alert(1)>{{chart}}\"'&\x1b[2J";

inline reports::Inputs inputs() {
  reports::Inputs in;
  const auto add = [&](const std::string& name, const result::RunRecord& r) {
    in.results.push_back({{name, r}, result::result_text(r)});
  };
  result::RunRecord hostile = toy_record();
  hostile.reason = hostile.recipe.name = hostile.kind = kHostile;
  hostile.warnings = {kHostile};
  add("results/a.json", toy_record());
  add(std::string("results/b") + kHostile + ".json", hostile);
  result::RunRecord ablation = toy_ablation();
  ablation.comparisons[0].variant = ablation.comparisons[0].ablation = kHostile;
  add("ablation.json", ablation);
  in.left_out = {{"cut.json", std::string("it was truncated ") + kHostile, 3}};
  return in;
}

}  // namespace ttt::test
