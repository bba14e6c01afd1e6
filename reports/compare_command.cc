// The command line of `report compare`.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <memory>

#include "core/error.h"
#include "reports/command_line.h"
#include "reports/group_compare.h"
#include "reports/run_names.h"

namespace ttt::reports {
namespace {

struct CompareArguments : FilesArguments {
  GroupOptions options;
  std::string gate;

  // One list of paths for each group. Without `--` every path is one, a folder with all that it holds.
  std::vector<std::vector<std::string>> groups() const {
    const bool separated = std::find(files.begin(), files.end(), kNextGroup) != files.end();
    std::vector<std::vector<std::string>> all(1);
    for (const std::string& file : files) {
      if (file == kNextGroup || (!separated && !all.back().empty())) all.emplace_back();
      if (file != kNextGroup) all.back().push_back(file);
    }
    for (const auto& group : all)
      if (group.empty()) throw UsageError("A group is empty. Write: report compare A1.json A2.json -- B1.json B2.json");
    return all;
  }
};

// "3%" or "3": a share.
double share_of(const std::string& text) {
  double percent = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error != std::errc() || (!rest.empty() && rest != "%") || !(percent >= 0 && percent < 1e4))
    throw UsageError("'" + text + "' is no percentage for --gate. Write for example --gate 3%.");
  return percent / 100;
}

// Names on stderr the files that two groups share: they hide a difference.
void name_shared(const std::vector<std::vector<ResultFile>>& groups) {
  std::map<std::string_view, std::pair<std::size_t, std::string>> seen;
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const ResultFile& r : groups[g])
      if (const auto& [first, file] = seen.try_emplace(r.text, g, r.run.name).first->second; first != g)
        std::fprintf(stderr, "report: '%s' in %s is the same run as '%s' in %s\n", r.run.name.c_str(),
            letters(g).c_str(), file.c_str(), letters(first).c_str());
}

int compare_in_groups(CompareArguments& a) {
  int exit_code = 0;
  std::vector<std::vector<ResultFile>> files;
  for (const auto& paths : a.groups()) {
    Inputs inputs = read_inputs(paths);
    name_left_out(inputs);
    exit_code = std::max(exit_code, inputs.exit_code());
    if (inputs.results.empty())
      throw UsageError("Group " + letters(files.size()) + " ('" + paths[0] +
                       "') holds no result that can be compared. " +
                       (inputs.benches.empty() ? "Name files that runs wrote with --out."
                                               : "Micro-benchmarks are compared by 'report bench'."));
    files.push_back(std::move(inputs.results));
  }
  name_shared(files);
  std::vector<NamedRun*> runs;
  for (std::vector<ResultFile>& of_group : files)
    for (ResultFile& r : of_group) runs.push_back(&r.run);
  label_machines(runs, a.labels);
  std::vector<Group> groups;
  for (std::vector<ResultFile>& of_group : files) {
    groups.push_back({letters(groups.size()), {}});
    for (ResultFile& r : of_group) groups.back().runs.push_back(std::move(r.run));
  }
  if (!a.gate.empty()) a.options.gate = share_of(a.gate);
  const GroupComparison c = compare_groups(groups, a.options);
  print(c.document, a.output);
  return c.passed ? exit_code : 1;
}

// Each file a column: of runs to a target step by step, of others as groups of one.
Document side_by_side(const std::vector<NamedRun>& runs, const GroupOptions& options) {
  if (runs.size() < 2 ||
      std::all_of(runs.begin(), runs.end(), [](const NamedRun& run) { return run.record.kind == "time_to_target"; }))
    return compare(runs, options.all);
  std::vector<Group> groups;
  for (const NamedRun& run : runs) groups.push_back({letters(groups.size()), {run}});
  return compare_groups(groups, options).document;
}

int compare_pairs(const CompareArguments& a) {
  const Mixed all = read_mixed(a);
  const bool others = !all.inputs.logs.empty() || !all.inputs.published.empty();
  Document d;
  if (!others || all.inputs.runs.size() > 1) d = side_by_side(all.inputs.runs, a.options);
  if (others) {
    const Document beside = beside_published(all.inputs);
    d.insert(d.end(), beside.begin(), beside.end());
  }
  print(d, a.output);
  return all.exit_code;
}

std::function<int()> declare_compare(CLI::App& command) {
  const auto a = std::make_shared<CompareArguments>();
  add_files(command, *a,
      "Result files; the first is what the others are compared with. Groups of files and folders stand between --. "
      "MLPerf logs and results/published/*.json stand beside single files in a table");
  command.add_option("--row", a->options.row, "Keys by whose values rows are made")->capture_default_str();
  command.add_option("--col", a->options.col, "Keys whose values are compared")->capture_default_str();
  command.add_option(
      "--filter", a->options.filter, "Samples to take: key:value, key:/regexp/, key:(a OR b), -key:value");
  command.add_option("--ignore", a->options.ignored, "Key that is meant to differ; repeat it for several")
      ->allow_extra_args(false);
  command.add_option("--metric", a->options.metric, "Of the first line and the gate, as in 'step time'");
  command.add_option("--gate", a->gate, "Exit with 1 where the metric is shown to be worse by more, as in 3%");
  command.add_flag("--all", a->options.all, "Name every key that differs, check sums too");
  add_output_options(command, a->output);
  command.footer(
      "Keys: .group, .file, .unit (the metric), .name and .fullname (of an ablation's baseline), .config (all that "
      "vary),\n"
      "paths into the result (system.world_size), settings (data.workers). A key takes an order: key@alpha, key@num,\n"
      "key@(first second). A difference is shown (no ~) where the 95 % interval excludes zero: four runs of each side "
      "at least.\n\n"
      "Example: report compare this_machine.json that_machine.json\n"
      "         report compare old/*.json -- new/*.json --gate 3%\n"
      "         report compare results/runs --col train.reducer.kind --row system.world_size\n"
      "         report compare mine.json results/published/mlperf_v3.0_maskrcnn.json");
  return [a, &command] {
    bool grouped = false;
    for (const char* option : {"--row", "--col", "--filter", "--ignore", "--metric", "--gate"})
      grouped |= command.count(option) > 0;
    for (const std::string& file : a->files) grouped |= file == kNextGroup || std::filesystem::is_directory(file);
    return grouped ? compare_in_groups(*a) : compare_pairs(*a);
  };
}

}  // namespace

const Command kCompare = {"compare",
    "Machines, commits or groups of runs against the first: medians, changes, intervals, p; a gate for CI",
    declare_compare};

}  // namespace ttt::reports
