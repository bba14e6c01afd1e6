// "Did you mean": the candidate at the smallest edit distance.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ttt {

// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b` (optimal string alignment).
int edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to `name`, the first of equals; "" where none is meant: within two edits, or a third of the
// name's length. Dotted keys are also compared by their last part, so that 'lr' finds 'solver.lr'.
std::string nearest(const std::string& name, const std::vector<std::string>& candidates);

// " The nearest is 'seed'; --help lists all.", or " --help lists all." where none is meant: how a message goes on that
// said what is unknown. `remedy` is "--help lists all."
std::string nearest_and(const std::string& name, const std::vector<std::string>& candidates, const std::string& remedy);

}  // namespace ttt
