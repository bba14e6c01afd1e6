// A page for each technique, docs/techniques/NAME.md, as `ablate --cards` writes it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "measure/ablation.h"

namespace ttt::ablations {

// Markdown by name of the ablation, without self-tests. A card has the question, what is expected, and published claims
// with their verdicts (results/claims.toml). It has what each system under `results` gained or lost, measured
// combinations, file and command. Throws as markdown_index() and reports::read_ledger().
std::map<std::string, std::string> cards(const std::vector<Ablation>& ablations, const std::filesystem::path& results);

}  // namespace ttt::ablations
