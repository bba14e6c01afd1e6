// The results that come with the source.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace ttt::test {

// The folders of machines below `source`/results. They have a README.md: what a user's own runs leave beside them, as
// scripts/quickstart does, has none.
inline std::vector<std::string> published_folders(const std::filesystem::path& source) {
  std::vector<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(source / "results"))
    if (std::filesystem::exists(entry.path() / "README.md")) folders.push_back(entry.path().string());
  std::sort(folders.begin(), folders.end());
  return folders;
}

}  // namespace ttt::test
