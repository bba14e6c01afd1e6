// Looks things up in a printed report.
#pragma once

#include <sstream>
#include <string>

#include "reports/data_tables.h"

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

// The tables of a report as CSV, one after the other.
inline std::string csv_of(const reports::Document& document) {
  std::string all;
  for (const reports::DataTable& table : reports::data_tables(document)) all += reports::render_csv({table});
  return all;
}

}  // namespace ttt::test
