// A run that is under way, from the journal that it writes.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reports/document.h"
#include "result/journal.h"
#include "result/run_record.h"

namespace ttt::reports {

// As many columns of blocks as `width`, each a mean of neighbouring values, from the least (lowest block) to the
// greatest; "" for none.
std::string sparkline(const std::vector<double>& values, std::size_t width);

// What is left of a run at most: to its last epoch or train.max_steps. A run that reaches its target ends before.
struct Remaining {
  std::int64_t steps = 0, total_steps = 0;  // 0 in all: the record does not say
  double seconds = -1;                      // at the pace of the last steps and evaluations; negative: not known
};
Remaining remaining(const result::RunRecord& record);

// Where a run stands. `silent_s`: since its journal was last written; negative: the run has ended.
Document run_state(const result::RunRecord& record, double silent_s);
// The same on one line.
std::string run_state_line(const result::RunRecord& record);

// The run of a result file, of its journal folder or of one rank's journal.
class FollowedRun {
 public:
  // Throws UsageError where there is neither a result nor a journal.
  explicit FollowedRun(const std::filesystem::path& run);
  // Takes in what came since; throws DataError where a file is damaged.
  void poll();
  const result::RunRecord& record() const { return result_ ? *result_ : journal_->record(); }
  bool ended() const { return result_.has_value(); }  // its result is there
  double silent_s() const;

 private:
  std::filesystem::path file_, journal_folder_;
  std::unique_ptr<result::JournalReader> journal_;
  std::optional<result::RunRecord> result_;
};

struct FollowOptions {
  bool once = false;      // print where the run stands now, and end
  double every_s = 1;     // between looks at the journal
  std::size_t width = 0;  // columns; 0: the terminal's
};
// Until the result is there. On a terminal the picture is renewed in place; elsewhere a line is printed whenever there
// is news.
void follow(const std::filesystem::path& run, const FollowOptions& options);

}  // namespace ttt::reports
