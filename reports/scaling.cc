#include "reports/scaling.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/statistics.h"
#include "reports/command_line.h"
#include "reports/groups.h"
#include "reports/numbers.h"
#include "reports/run_metrics.h"
#include "reports/run_names.h"

namespace ttt::reports {
namespace {

using result::RunRecord;

// All runs with one number of ranks.
struct Size {
  std::int64_t ranks = 0, nodes = 0, global_batch = 0;  // nodes: 0 where unknown
  std::int64_t with_target = 0;
  std::string machine;                   // of its first run
  std::vector<double> images_per_s;      // of training, one number for each run
  std::vector<double> time_to_target_s;  // of the runs that reached their target
  std::vector<double> epochs, epoch_s;   // of those of them that know the number of training images
};

std::int64_t nodes_of(const RunRecord& r) {
  const auto nodes = r.system.find("nodes");
  return nodes != r.system.end() && nodes->is_array() ? static_cast<std::int64_t>(nodes->size()) : 0;
}

// What makes a ratio of two runs say something else than what the ranks bring: refused, or a caution.
void check_pair(
    const NamedRun& a, const NamedRun& b, const std::vector<std::string>& allowed, std::vector<std::string>& cautions) {
  const std::string both = "'" + a.name + "' and '" + b.name + "'";
  std::vector<std::string> scaled = {"seed", "train.global_batch", "train.images_per_rank"};
  const std::string threads_a = text_at(a.record.built, "threads_per_rank"),
                    threads_b = text_at(b.record.built, "threads_per_rank");
  // what was asked for; what was built is known
  if (threads_a != "-" && threads_b != "-") scaled.push_back("train.threads");
  for (const Difference& d : differences(a.record, b.record, scaled)) {
    const bool may_differ = std::find(allowed.begin(), allowed.end(), d.key) != allowed.end();
    if (!may_differ)
      throw UsageError(both + " differ in " + d.text() +
                       ": their ratio would not be that of the ranks alone. Leave one out, or --allow " + d.key +
                       " if the difference belongs to the scaling.");
    cautions.push_back(both + " differ, as allowed, in " + d.text() + ".");
  }
  if (threads_a != threads_b)
    cautions.push_back(both + " ran " + threads_a + " and " + threads_b +
                       " threads in a rank (built.threads_per_rank): efficiency is that of ranks, not of cores.");
  const std::string data_a = text_at(a.record.data, "train_sha256"), data_b = text_at(b.record.data, "train_sha256");
  if (data_a != data_b) throw UsageError(both + " trained on different data (data.train_sha256). Leave one out.");
  if (text_at(a.record.provenance, "commit") != text_at(b.record.provenance, "commit"))
    cautions.push_back(both + " are of different commits.");
  const auto cpu = [](const RunRecord& r) { return nodes_of(r) > 0 ? text_at(r.system.at("nodes")[0], "cpu") : "-"; };
  if (cpu(a.record) != cpu(b.record)) cautions.push_back(both + " ran on different processors.");
  if (a.record.steps.step_ranks != b.record.steps.step_ranks)
    cautions.push_back(both + " reduced step times over ranks in different ways.");
}

std::map<std::int64_t, Size> by_ranks(const std::vector<NamedRun>& runs) {
  std::map<std::int64_t, Size> sizes;
  for (const NamedRun& run : runs) {
    const RunRecord& r = run.record;
    if (r.steps.size() == 0)
      throw UsageError("'" + run.name + "' has no steps: it says nothing about throughput. Leave it out.");
    const std::int64_t ranks = ranks_of(r), batch = global_batch_of(r);
    if (ranks == 0)
      throw UsageError("'" + run.name + "' does not say its number of ranks (system.world_size). Leave it out.");
    if (batch == 0)
      throw UsageError("'" + run.name + "' does not say its global batch (built.global_batch). Leave it out.");
    Size& s = sizes[ranks];
    if (s.global_batch != 0 && s.global_batch != batch)
      throw UsageError("Runs with " + std::to_string(ranks) + " ranks have global batches of " +
                       std::to_string(s.global_batch) + " and " + std::to_string(batch) + " ('" + run.name +
                       "'). Name runs of one of them.");
    if (s.machine.empty()) s.machine = machine_text(r);
    s.ranks = ranks, s.global_batch = batch, s.nodes = std::max(s.nodes, nodes_of(r));
    s.images_per_s.push_back(training_rate(r).value_or(0));
    const TimeFactors f = time_factors(r);
    s.with_target += r.target.has_value();
    if (f.reached) s.time_to_target_s.push_back(f.time_to_target_s);
    if (f.reached && f.epochs > 0) s.epochs.push_back(f.epochs), s.epoch_s.push_back(f.epoch_s);
  }
  return sizes;
}

// "strong": one global batch, however many share it. "weak": each rank has its share whatever their number.
std::string kind_of(const std::map<std::int64_t, Size>& sizes) {
  if (sizes.size() < 2)
    throw UsageError("All results have " + std::to_string(sizes.begin()->first) +
                     " ranks. Scaling needs results with at least two numbers of ranks.");
  const Size& first = sizes.begin()->second;
  bool strong = true, weak = true;
  std::string list;
  for (const auto& [ranks, s] : sizes) {
    strong &= s.global_batch == first.global_batch;
    weak &= s.global_batch * first.ranks == first.global_batch * ranks;
    list += (list.empty() ? "" : ", ") + std::to_string(s.global_batch) + " on " + std::to_string(ranks);
  }
  if (strong) return "Strong scaling: the global batch stays";
  if (weak) return "Weak scaling: the images of a rank stay";
  throw UsageError(
      "This is neither strong scaling (one global batch) nor weak scaling (one number of images on each rank): global "
      "batches are " +
      list + " ranks. Name results of one of the two.");
}

Table throughput(const std::map<std::int64_t, Size>& sizes) {
  Table t{.header = {"ranks", "nodes", "runs", "global batch", "images per rank", "images/s of training", "speed-up",
              "efficiency"},
      .right = std::vector<bool>(8, true)};
  const Size& first = sizes.begin()->second;
  for (const auto& [ranks, s] : sizes) {
    const Centre rate = centre(s.images_per_s);
    const double speed_up = rate.median / median(first.images_per_s);
    t.rows.push_back({whole(ranks), s.nodes > 0 ? whole(s.nodes) : Cell("-"),
        whole(static_cast<std::int64_t>(s.images_per_s.size())), whole(s.global_batch),
        number("%.4g", static_cast<double>(s.global_batch) / static_cast<double>(ranks)), centre_cell("%.2f", rate),
        number("%.3f", speed_up), percent(speed_up * static_cast<double>(first.ranks) / static_cast<double>(ranks))});
  }
  return t;
}

Table targets(const std::map<std::int64_t, Size>& sizes) {
  Table t{.header = {"ranks", "reached", "epochs to target", "time per epoch [s]", "time to target [s]", "time ratio",
              "= epochs ratio", "x epoch-time ratio", "x rest"},
      .right = std::vector<bool>(9, true)};
  const Size& first = sizes.begin()->second;
  for (const auto& [ranks, s] : sizes) {
    const auto cell = [](const char* form, const std::vector<double>& values) {
      return values.empty() ? Cell("-") : centre_cell(form, centre(values));
    };
    // 0: unknown
    const auto ratio = [](const std::vector<double>& a, const std::vector<double>& b) {
      return a.empty() || b.empty() ? 0 : median(a) / median(b);
    };
    const auto known = [](double x) { return x > 0 ? number("%.3f", x) : Cell("-"); };
    const double time = ratio(s.time_to_target_s, first.time_to_target_s), epochs = ratio(s.epochs, first.epochs),
                 epoch_s = ratio(s.epoch_s, first.epoch_s);
    t.rows.push_back({whole(ranks),
        s.with_target > 0 ? Cell(std::to_string(s.time_to_target_s.size()) + " of " + std::to_string(s.with_target))
                          : Cell("-"),
        cell("%.2f", s.epochs), cell("%.3f", s.epoch_s), cell("%.2f", s.time_to_target_s), known(time), known(epochs),
        known(epoch_s), known(epochs * epoch_s > 0 ? time / (epochs * epoch_s) : 0)});
  }
  return t;
}

std::string precision_text(const std::map<std::int64_t, Size>& sizes) {
  std::size_t fewest = sizes.begin()->second.images_per_s.size(), most = 0;
  for (const auto& [ranks, s] : sizes)
    fewest = std::min(fewest, s.images_per_s.size()), most = std::max(most, s.images_per_s.size());
  std::string text = "Medians over the runs of one number of ranks.";
  if (most > 1) text += " In brackets, from six runs on, the 95 % interval of the median; of fewer, the range.";
  if (fewest == 1) text += " A single run says nothing about its own precision.";
  return text;
}

}  // namespace

Document scaling(const std::vector<NamedRun>& runs, const std::vector<std::string>& allowed) {
  if (runs.size() < 2) throw UsageError("Scaling needs at least two results that can be read. Name two files.");
  std::vector<std::string> cautions;
  for (std::size_t i = 1; i < runs.size(); ++i) check_pair(runs[0], runs[i], allowed, cautions);
  for (const NamedRun& run : runs) {
    if (run.record.provenance.value("dirty", false))
      cautions.push_back("'" + run.name + "' was built from a tree with uncommitted changes.");
    if (!reaching_evaluation(run.record))
      cautions.push_back("'" + run.name + (run.record.target ? "' did not reach its target" : "' has no target") +
                         ": it counts for throughput only.");
    else if (train_images_of(run.record) <= 0)
      cautions.push_back(
          "'" + run.name +
          "' does not say the number of its training images (data.train_images): its epochs are unknown.");
  }
  const std::map<std::int64_t, Size> sizes = by_ranks(runs);
  Document d = {Heading{kind_of(sizes)},
      Paragraph{precision_text(sizes) + " Ratios are to " + std::to_string(sizes.begin()->first) +
                (sizes.begin()->first == 1 ? " rank of " : " ranks of ") + sizes.begin()->second.machine + "."}};
  d.push_back(throughput(sizes));
  if (std::any_of(sizes.begin(), sizes.end(), [](const auto& s) { return !s.second.time_to_target_s.empty(); })) {
    d.push_back(Heading{"Time to target"});
    d.push_back(targets(sizes));
  }
  if (cautions.empty()) return d;
  Table t{.header = {"", "warning"}, .headless = true};
  for (const std::string& c : cautions) t.rows.push_back({"!", c});
  d.push_back(Heading{"Before these numbers are compared"});
  d.push_back(std::move(t));
  return d;
}

static std::function<int()> declare_scaling(CLI::App& command) {
  struct Arguments : FilesArguments {
    std::vector<std::string> allowed;
  };
  const auto a = std::make_shared<Arguments>();
  add_files(
      command, *a, "Result files of runs with different numbers of ranks, several seeds of each where there are any");
  command
      .add_option("--allow", a->allowed, "Key of a recipe that may differ (train.schedule.lr); repeat it for several")
      ->allow_extra_args(false);
  add_output_options(command, a->output);
  command.footer("Example: report scaling 1_rank.json 2_ranks.json 4_ranks.json --allow train.schedule.lr");
  return [a] {
    const Runs all = read_runs(*a);
    print(scaling(all.runs, a->allowed), a->output);
    return all.exit_code;
  };
}

const Command kScaling = {"scaling",
    "What more ranks bring: speed-up, efficiency, and time to target as epochs times time per epoch", declare_scaling};

}  // namespace ttt::reports
