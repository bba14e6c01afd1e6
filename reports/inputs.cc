#include "reports/inputs.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/error.h"
#include "core/text.h"
#include "result/result_file.h"
#include "settings/json.h"

namespace ttt::reports {
namespace {

// JSON, but neither a result nor a benchmark: results/schema-v1.json, tables of others.
struct OtherKind : DataError {
  using DataError::DataError;
};

}  // namespace

Input read_input(const std::string& file) {
  std::string text = result::read_text(file);
  const std::string name = result::quote(file);
  const result::Json document = result::parse(text, name);
  if (document.is_object() && document.contains("schema_version")) {
    NamedRun run{file, result::parse_result(text, name)};
    return ResultFile{std::move(run), std::move(text)};
  }
  if (is_bench(document)) return BenchInput{bench_from_json(document, file), std::move(text)};
  throw OtherKind(name +
                  " is neither a result of this suite (no schema_version) nor output of Google Benchmark (no context "
                  "and benchmarks). " +
                  "Name a file that a run wrote with --out, or one made with --benchmark_format=json.");
}

namespace {

struct Found {
  std::string file;
  bool named = false;  // by the user, who did not name its folder alone
};

std::vector<Found> with_folders_read(const std::vector<std::string>& paths) {
  std::vector<Found> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back({path, true});
      continue;
    }
    std::vector<std::string> inside;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
      if (entry.is_regular_file() && entry.path().extension() == ".json") inside.push_back(entry.path().string());
    if (inside.empty())
      throw UsageError("The folder '" + path + "' holds no .json file. Name result files, or a folder of them.");
    std::sort(inside.begin(), inside.end());
    for (std::string& file : inside) files.push_back({std::move(file)});
  }
  return files;
}

}  // namespace

int Inputs::exit_code() const {
  int most = 0;
  for (const LeftOut& l : left_out) most = std::max(most, l.exit_code);
  return most;
}

// Earlier programs did not record a processor's family and model, by which machines of one name are told apart. Results
// of the same host that did record them complete the others.
static void complete_processors(std::vector<ResultFile>& results) {
  const auto host_of = [](const result::Json& node) {
    std::string key;
    for (const char* member : {"host", "cpu", "logical_cores", "memory_bytes"})
      key += (node.contains(member) ? node[member].dump() : "") + " ";
    return key;
  };
  const auto for_each_node = [&](auto&& visit) {
    for (ResultFile& r : results)
      if (const auto nodes = r.run.record.system.find("nodes"); nodes != r.run.record.system.end())
        for (auto& node : *nodes) visit(node);
  };
  std::map<std::string, result::Json> models;
  for_each_node([&](const result::Json& node) {
    if (node.contains("cpu_model")) models[host_of(node)] = node["cpu_model"];
  });
  for_each_node([&](result::Json& node) {
    const auto known = models.find(host_of(node));
    if (!node.contains("cpu_model") && known != models.end()) node["cpu_model"] = known->second;
  });
}

Inputs read_inputs(const std::vector<std::string>& paths) {
  Inputs all;
  for (const std::string& path : paths) {
    if (all.ledger || !std::filesystem::is_regular_file(std::filesystem::path(path) / kLedgerFile)) continue;
    try {
      all.ledger = read_ledger(path);
    } catch (const Error& e) { all.left_out.push_back({path + "/" + kLedgerFile, e.what(), e.exit_code()}); }
  }
  for (const auto& [file, named] : with_folders_read(paths)) {
    try {
      Input input = read_input(file);
      if (auto* r = std::get_if<ResultFile>(&input)) {
        const auto same = std::find_if(
            all.results.begin(), all.results.end(), [&](const ResultFile& other) { return other.text == r->text; });
        if (same == all.results.end()) all.results.push_back(std::move(*r));
        else all.left_out.push_back({file, "It is the same run as '" + same->run.name + "', which counts once.", 0});
      } else all.benches.push_back(std::move(std::get<BenchInput>(input)));
    } catch (const OtherKind& e) {
      if (named) all.left_out.push_back({file, e.what(), e.exit_code()});
    } catch (const Error& e) { all.left_out.push_back({file, e.what(), e.exit_code()}); }
  }
  complete_processors(all.results);
  return all;
}

void label_machines(const std::vector<NamedRun*>& runs, const std::vector<std::string>& labels) {
  for (const std::string& label : labels) {
    const std::size_t equals = label.find('=');
    const std::string path = equals == std::string::npos ? "" : label.substr(0, equals);
    bool found = false;
    for (NamedRun* run : runs) {
      if (!path.empty() && run->name != path && !run->name.starts_with(path.ends_with('/') ? path : path + "/"))
        continue;
      run->record.system["label"] = equals == std::string::npos ? label : label.substr(equals + 1);
      found = true;
    }
    if (!found)
      throw UsageError("--label " + label + ": '" + path + "' is no file or folder of those named. Write it as there.");
  }
}

}  // namespace ttt::reports
