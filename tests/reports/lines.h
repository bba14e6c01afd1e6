// Looks things up in a printed report.
#pragma once

#include <sstream>
#include <string>

namespace ttt::test {

// The lines that contain `key`, with runs of spaces made one.
inline std::string line_with(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  std::string found;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(key) == std::string::npos) continue;
    std::istringstream words(line);
    std::string out;
    for (std::string word; words >> word;) out += (out.empty() ? "" : " ") + word;
    found += found.empty() ? out : "\n" + out;
  }
  return found;
}

}  // namespace ttt::test
