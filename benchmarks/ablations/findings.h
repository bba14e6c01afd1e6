// Findings of published results about ablations, for the index and the cards.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "measure/ablation.h"
#include "result/comparison.h"
#include "result/run_record.h"

namespace ttt::ablations {

// A result of ablations.
struct Source {
  std::filesystem::path file;  // below the folder of results
  std::int64_t ranks = 0;
  result::RunRecord record;
};

// By system, in the order of names. `results` holds SYSTEM/FOLDER/FILE.json, and folders of ablations have "_ablate_"
// in their names. Throws UsageError where `results` is no folder, DataError for a damaged result.
std::map<std::string, std::vector<Source>> read_systems(const std::filesystem::path& results);

// Comparisons of one variant with the baseline, none of a combination.
std::vector<const result::Comparison*> rows_of(const Source& source, const std::string& ablation);

// The result that speaks for a system: one that measured the ablation, of the fewest ranks, the newest by its start.
// Null where the ablation was not run.
const Source* speaker(const std::vector<Source>& sources, const std::string& ablation);

std::string interval_text(const Interval& e);  // "-4.6 % (-5.0 to -4.1)"

// Steps to equal accuracy of each variant; of earlier results the least and the most epochs to the target.
std::string trainings_text(const result::ConvergenceRow& row);
// Of all that the source trained for the ablation, ladders of batches too; "" where it trained nothing.
std::string trainings_text(const Source& source, const std::string& ablation);

std::string promise_text(const Ablation& a);  // "close, 1e-04"
// The published claim with its source. Throws UsageError where neither it nor "none known" is there.
std::string claim_text(const Ablation& a);

// Of Markdown.
inline constexpr const char* kLineBreak = "<br>";  // in a cell
std::string link(const std::string& text, const std::string& to);

}  // namespace ttt::ablations
