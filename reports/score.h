// Several runs of one system as one number: MLPerf's Olympic mean.
#pragma once

#include <vector>

#include "reports/document.h"
#include "reports/series.h"

namespace ttt::reports {

// What is scored: `published` systems get one row each, the others a block each.
struct ScoreInputs {
  std::vector<NamedRun> runs;
  std::vector<NamedLog> logs;
  std::vector<Series> published;
};

// A block for each series of runs that are repetitions of each other: same machines, ranks, commit, data and settings
// but for the seed, traces and saved weights. The order of the files does not matter. Fewer than five runs, or two that
// did not reach the target, have no score: a sentence says so, and which key tells a series from the others.
Document score(const ScoreInputs& inputs);
Document score(const std::vector<NamedRun>& runs);

// Whether any series has a score.
bool has_score(const std::vector<NamedRun>& runs);

// Each run and log for itself, beside published systems, in one table.
Document beside_published(const ScoreInputs& inputs);

// One row for each: system, accelerators, batch, minutes, epochs, images/s. A series that has no score shows its one
// run, where it is one.
Table beside(const std::vector<Series>& series);

}  // namespace ttt::reports
