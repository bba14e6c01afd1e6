// The index of techniques, benchmarks/ablations/README.md, as `ablate --index` prints it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "measure/ablation.h"

namespace ttt::ablations {

// One row for each ablation: published claim, file, promise, and the finding of each system under `results`.
// `results` holds SYSTEM/FOLDER/FILE.json, and folders of ablations have "_ablate_" in their names.
// Throws UsageError where `results` is no folder or an ablation names no claim; DataError for a damaged result.
std::string markdown_index(const std::vector<Ablation>& ablations, const std::filesystem::path& results);

}  // namespace ttt::ablations
