#include "reports/run_names.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace ttt::reports {

using result::Json;

std::string plain_text(const Json& value, bool nested) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const bool digest = text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
    return digest ? text.substr(0, 12) : text;
  }
  if (!value.is_structured()) return value.dump();
  std::string text;
  for (const auto& [key, member] : value.items())
    text += (text.empty() ? "" : ", ") + (value.is_object() ? key + " " : "") + plain_text(member, true);
  return nested ? "(" + text + ")" : text;
}

std::string text_at(const Json& object, const char* key, const std::string& missing) {
  const auto it = object.find(key);
  if (it == object.end()) return missing;
  return it->is_string() ? it->get<std::string>() : plain_text(*it);
}

std::string ranks_text(const result::RunRecord& r) {
  const std::string ranks = text_at(r.system, "world_size");
  return ranks + (ranks == "1" ? " rank" : " ranks");
}

std::string system_text(const result::RunRecord& r) { return machine_text(r) + ", " + ranks_text(r); }

// "25/17" of "family 25 model 17": names of machines stand in every table and legend.
static std::string short_model(const std::string& model) {
  int family = 0, number = 0;
  return std::sscanf(model.c_str(), "family %d model %d", &family, &number) == 2
             ? std::to_string(family) + "/" + std::to_string(number)
             : model;
}

std::string machine_text(const result::RunRecord& r) {
  if (const std::string label = text_at(r.system, "label", ""); !label.empty()) return label;
  const auto nodes = r.system.find("nodes");
  if (nodes == r.system.end() || !nodes->is_array() || nodes->empty()) return "unknown machine";
  std::string name = text_at((*nodes)[0], "cpu", "unknown processor");
  for (const std::string noise : {"(R)", "(TM)", "(tm)", " CPU", " Processor"})
    for (std::size_t at; (at = name.find(noise)) != std::string::npos;) name.erase(at, noise.size());
  // A hypervisor's name ("AMD EPYC") says no model.
  if (const std::string model = text_at((*nodes)[0], "cpu_model", "");
      !model.empty() && name.find_first_of("0123456789") == std::string::npos)
    name += " " + short_model(model);
  if (nodes->size() > 1) name = std::to_string(nodes->size()) + " x " + name;
  if (const std::string cores = text_at((*nodes)[0], "usable_cores", ""); !cores.empty())
    name += ", " + cores + (cores == "1" ? " core" : " cores");
  if (r.health.gpus && !r.health.gpus->ranks.empty())
    name += ", " + std::to_string(r.health.gpus->ranks.size()) + " x " + r.health.gpus->ranks[0].gpu;
  return name;
}

std::string commit_text(const result::RunRecord& r) {
  return text_at(r.provenance, "commit").substr(0, 10) + (r.provenance.value("dirty", false) ? " with changes" : "");
}

std::string letters(std::size_t i) {
  const char last = static_cast<char>('A' + i % 26);
  return i < 26 ? std::string(1, last) : letters(i / 26 - 1) + last;
}

std::vector<std::string> short_names(const std::vector<std::string>& files) {
  namespace fs = std::filesystem;
  // The last `n` parts of a path; all of them where there are fewer.
  const auto tail = [](const std::string& file, std::size_t n) {
    fs::path path(file), name;
    if (path.extension() == ".json") path.replace_extension();
    const std::vector<fs::path> parts(path.begin(), path.end());
    for (std::size_t i = parts.size() - std::min(n, parts.size()); i < parts.size(); ++i) name /= parts[i];
    return name.string();
  };
  std::vector<std::string> names;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::size_t most = static_cast<std::size_t>(std::count(files[i].begin(), files[i].end(), '/')) + 1;
    std::size_t n = 1;
    const auto is_taken = [&] {
      for (std::size_t j = 0; j < files.size(); ++j)
        if (j != i && tail(files[j], n) == tail(files[i], n)) return true;
      return false;
    };
    while (n < most && is_taken()) ++n;
    names.push_back(tail(files[i], n));
    if (is_taken()) names.back() = files[i] + " #" + std::to_string(i + 1);  // a file that was named twice
  }
  return names;
}

}  // namespace ttt::reports
