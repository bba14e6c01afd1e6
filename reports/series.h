// Runs to a target, wherever they are told of: in results of this suite, in MLPerf logs, in a table of published
// results. What is a repetition of what.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "reports/compare.h"
#include "result/mllog.h"

namespace ttt::reports {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

struct Attempt {
  std::string name, verdict;  // "passed", "aborted", ...
  std::string seed = "-";
  std::string started;                 // sorts in time
  double run_s = kNever;               // run start to the target; infinite where it was not reached
  std::optional<double> whole_s;       // the same with what stood before it: start-up
  std::optional<double> epochs;        // passes over the training images, to the target or in all
  std::optional<double> rated_epochs;  // whole epochs to the target, as MLPerf counts them
  std::optional<double> images_per_s;  // of training
  bool reached() const { return run_s < kNever; }
};

// Repetitions of one thing on one system.
struct Series {
  std::string title, system, accelerator;
  std::optional<double> accelerators, global_batch;
  std::string too_few;            // said where there are fewer runs than a score needs
  std::string no_reference;       // why reference convergence points say nothing about it; "" where they do
  std::vector<Attempt> attempts;  // in the order of their time
};

struct NamedLog {
  std::string name;
  result::MllogText log;
};

// Runs that were shortened or not made are in none. Series come in the order of their fastest run.
std::vector<Series> series_of_runs(const std::vector<NamedRun>& runs);
bool is_attempt(const result::RunRecord& record);

// Throws DataError for a log without run_start.
std::vector<Series> series_of_logs(const std::vector<NamedLog>& logs);

// A file of results/published; `name` is what an error calls it. Throws DataError naming the key that is missing or
// wrong.
std::vector<Series> series_of_published(const result::Json& document, const std::string& name);
bool is_published(const result::Json& document);

// "No score: ...": of fewer runs than it takes.
std::string too_few_text(std::size_t runs);
void sort_by_time(Series& series);

// MLPerf's score of a series: the five consecutive runs whose Olympic mean is the median of all such windows (the
// slower of two).
struct Window {
  std::size_t begin = 0;                 // of Series::attempts
  double mean_s = 0;                     // Olympic mean of run_s
  std::size_t fastest = 0, slowest = 0;  // which of the attempts do not count
  bool counts(std::size_t i) const;
};
inline constexpr std::size_t kScoredRuns = 5;  // MLPerf training rules: five runs of Mask R-CNN
// Nothing for fewer than five runs, and where the window has two that did not reach the target.
std::optional<Window> score_window(const Series& series);

}  // namespace ttt::reports
