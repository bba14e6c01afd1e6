// The rules by which MLPerf's own checkers judge a log of Mask R-CNN, closed or open division, MLPerf Training 3.1.0.
// Source: mlcommons/logging, compliance_checker/mlp_compliance.py with
// training_3.1.0/{common,closed_common,open_common,closed_maskrcnn, open_maskrcnn}.yaml, and
// package_checker/seed_checker.py.
#pragma once

#include <string>
#include <vector>

#include "result/mllog.h"

namespace ttt::reports {

// Who would find it: the compliance checker, the package checker (which sees all logs of a submission), or the people
// who review by the rules.
enum class Judge { kCompliance, kPackage, kReview };
const char* judge_name(Judge judge);

struct Finding {
  Judge judge = Judge::kCompliance;
  std::string key;
  std::size_t line = 0;  // of the log; 0: none
  std::string text;
};

struct LogVerdict {
  std::vector<Finding> faults;
  std::vector<Finding> warnings;     // what a checker takes with a warning
  std::vector<std::string> relaxed;  // rules that the run itself says it broke
  bool accepted(bool compliance_alone) const;
};

LogVerdict check_log(const result::MllogText& log);

// Seeds over the logs of one submission, as the package checker asks: at least one in each, whole numbers, with file
// and line, none twice. One list for each log.
std::vector<std::vector<Finding>> check_seeds(const std::vector<result::MllogText>& logs);

}  // namespace ttt::reports
