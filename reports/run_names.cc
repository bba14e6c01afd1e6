#include "reports/run_names.h"

#include <algorithm>
#include <filesystem>

namespace ttt::reports {

using result::Json;

std::string text_at(const Json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end()) return "-";
  return it->is_string() ? it->get<std::string>() : it->dump();
}

std::string processor_text(const result::RunRecord& r) {
  const auto nodes = r.system.find("nodes");
  if (nodes == r.system.end() || !nodes->is_array() || nodes->empty()) return "-";
  return std::to_string(nodes->size()) + " x " + text_at((*nodes)[0], "cpu");
}

std::string system_text(const result::RunRecord& r) { return processor_text(r) + ", " + text_at(r.system, "world_size") + " ranks"; }

std::string commit_text(const result::RunRecord& r) {
  return text_at(r.provenance, "commit").substr(0, 10) + (r.provenance.value("dirty", false) ? " with changes" : "");
}

std::string letters(std::size_t i) {
  const char last = static_cast<char>('A' + i % 26);
  return i < 26 ? std::string(1, last) : letters(i / 26 - 1) + last;
}

std::vector<std::string> short_names(const std::vector<std::string>& files) {
  namespace fs = std::filesystem;
  std::vector<std::vector<std::string>> parts;
  for (const std::string& file : files) {
    parts.emplace_back();
    for (const fs::path& part : fs::path(file)) parts.back().push_back(part.string());
  }
  const auto all_begin_alike = [&] {
    return std::all_of(parts.begin(), parts.end(), [&](const auto& p) { return p.size() > 1 && p.front() == parts.front().front(); });
  };
  while (!parts.empty() && all_begin_alike())
    for (auto& p : parts) p.erase(p.begin());
  std::vector<std::string> names;
  for (const auto& p : parts) {
    fs::path name;
    for (const std::string& part : p) name /= part;
    names.push_back(name.extension() == ".json" ? name.replace_extension().string() : name.string());
  }
  return names;
}

}  // namespace ttt::reports
