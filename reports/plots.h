// The data of the HTML report's plots. page.js only draws them.
//
// Kinds of a plot:
//   curve {"title", "x", "y", "whole": x has whole numbers only, "series": [{"name", "points": [[x, y], ...]}],
//          "lines": [{"name", "y"}], "log": both axes are logarithmic, absent: neither}
//   stack {"title", "x", "rows": [name], "ends": [text beside the bar], "series": [{"name", "values": [of each row]}]}
//   violin {"title", "x", "edges": [of the bins], "rows": [{"name", "median", "median_text", "shares"}]}; x is
//          logarithmic
//   forest {"title", "x", "machines": [name], "rows": [{"name", "note", "marks": [one for each machine, or null:
//          {"low", "estimate", "high", "alike", "effect", "interval", "warning"}]}]}
//   caterpillar {"title", "x", "reference" (null: not known), "rows": [{"low", "estimate", "high", "holds"}]}
// Each has "kind" and "about": what a reader who does not see it should know.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reports/compare.h"
#include "settings/json.h"

namespace ttt::reports {

// Runs have short names here. A plot without anything to show is left out.
std::vector<result::Json> accuracy_plots(const std::vector<NamedRun>& runs);
std::vector<result::Json> time_plots(const std::vector<NamedRun>& runs);  // factors of the time to target
// distribution of step times, shares of phases
std::vector<result::Json> step_plots(const std::vector<NamedRun>& runs);

// Of files of results/published by their names: time to their target over accelerators. A line for each kind of
// accelerator of which there are several numbers, and one of the runs with the same target. One plot for each target.
std::vector<result::Json> published_plots(
    const std::map<std::string, result::Json>& published, const std::vector<NamedRun>& runs);

// Share of the samples in each bin, in %; `edges` rises, its ends hold all samples.
std::vector<double> histogram(const std::vector<double>& samples, const std::vector<double>& edges);

}  // namespace ttt::reports
