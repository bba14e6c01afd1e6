#include "reports/diagnose.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/error.h"
#include "reports/command_line.h"
#include "reports/groups.h"
#include "reports/numbers.h"
#include "reports/run_metrics.h"
#include "reports/run_names.h"
#include "result/symptoms.h"

namespace ttt::reports {
namespace {

using result::RunRecord;

constexpr std::size_t kFirstSteps = 10;   // which allocate, and are unlike the others
constexpr std::size_t kFewestSteps = 20;  // for a mean that a single stall does not make
constexpr double kNotable = 0.03;         // of a step's time: what less costs is no suspect

// The rules over what a result tells: what only a look at the machine tells stays unknown.
result::SymptomFacts facts_of(const RunRecord& r) {
  result::SymptomFacts f{.settings = r.recipe.settings,
      .built = r.built,
      .build_type = text_at(r.provenance, "build_type", ""),
      .sanitize = text_at(r.provenance, "sanitize", ""),
      .ranks = std::max<std::int64_t>(1, ranks_of(r))};
  if (const auto e = r.provenance.find("environment"); e != r.provenance.end())
    f.environment = e->get<std::map<std::string, std::string>>();
  f.cores = f.usable_cores = 0;
  if (const auto nodes = r.system.find("nodes"); nodes != r.system.end())
    for (const auto& node : *nodes) {
      const std::int64_t cores = node.value("logical_cores", std::int64_t{1});
      const auto on_it = static_cast<std::int64_t>(node.contains("ranks") ? node["ranks"].size() : 1);
      if (on_it > f.node_ranks || f.cores == 0) f.node_ranks = on_it, f.cores = cores;
      if (node.contains("bound_to") && f.node_ranks == on_it)
        f.bound_cores = static_cast<std::int64_t>(node["bound_to"].size());
      const std::int64_t usable = node.value("usable_cores", cores);
      f.usable_cores = f.usable_cores == 0 ? usable : std::min(f.usable_cores, usable);
    }
  if (f.cores == 0) f.cores = f.usable_cores = 1 << 20;  // not known: no rule about them may speak
  const double images = result::train_images_of(r);
  const auto batch = static_cast<double>(global_batch_of(r));
  f.steps_per_epoch = images > 0 && batch > 0 ? static_cast<std::int64_t>(images / batch) : 1 << 20;
  return f;
}

using Means = std::map<std::string, double>;  // seconds of a step by phase, and "" for the whole

Means means_of(const RunRecord& r, std::size_t begin, std::size_t end) {
  const auto mean = [&](const std::vector<double>& column) {
    double total = 0;
    for (std::size_t i = begin; i < end; ++i) total += column[i];
    return total / static_cast<double>(end - begin);
  };
  Means means = {{"", mean(r.steps.step_s)}};
  for (std::size_t p = 0; p < result::kPhaseNames.size(); ++p)
    means[std::string(result::kPhaseNames[p])] = mean(r.steps.phase_s[p]);
  return means;
}

// Which processors, as far as binding leaves the name of the machine alone.
std::vector<std::string> processors_of(const RunRecord& r) {
  std::vector<std::string> all = {text_at(r.system, "label", "")};
  if (const auto nodes = r.system.find("nodes"); nodes != r.system.end())
    for (const auto& node : *nodes)
      for (const char* key : {"cpu", "cpu_model", "logical_cores"}) all.push_back(text_at(node, key));
  return all;
}

// Same images, as many of them in a step, on the same machine by as many ranks.
bool is_same_work(const RunRecord& a, const RunRecord& b) {
  return b.kind == a.kind && b.run_id != a.run_id && processors_of(a) == processors_of(b) &&
         ranks_of(a) == ranks_of(b) && text_at(a.data, "train_sha256") == text_at(b.data, "train_sha256") &&
         global_batch_of(a) == global_batch_of(b);
}

const NamedRun* fastest_like(const NamedRun& run, const std::vector<NamedRun>& others) {
  const NamedRun* best = nullptr;
  double best_s = 0;
  for (const NamedRun& other : others) {
    const std::size_t end = std::min(run.record.steps.size(), other.record.steps.size());
    if (end < kFirstSteps + kFewestSteps || !is_same_work(run.record, other.record)) continue;
    const double s = means_of(other.record, kFirstSteps, end).at("");
    if (!best || s < best_s) best = &other, best_s = s;
  }
  return best;
}

// In which phase the cost of a rule's finding shows; "" in the whole step's work.
std::string phase_of(const std::string& id) {
  static const std::map<std::string, std::string> kPhases = {{"no_worker", "data_wait"},
      {"too_many_workers", "data_wait"}, {"no_prefetch", "data_wait"}, {"hdf5_reads", "data_wait"},
      {"cold_data", "data_wait"}, {"pageable_copies", "data_wait"}, {"copies_in_line", "data_wait"},
      {"replica_checks", "other"}, {"telemetry_each_step", "other"}, {"histograms_each_step", "other"},
      {"trace", "other"}, {"profiler", "other"}, {"blocking_reducer", "comm_exposed"},
      {"small_buckets", "comm_exposed"}, {"tcp_in_a_node", "comm_exposed"}};
  const auto found = kPhases.find(id);
  return found == kPhases.end() ? "" : found->second;
}

class Search {
 public:
  Search(const NamedRun& run, const std::vector<NamedRun>& others) : record_(run.record) {
    if (record_.steps.size() < kFirstSteps + kFewestSteps)
      throw UsageError("'" + run.name + "' has " + std::to_string(record_.steps.size()) +
                       " steps, too few to tell where their time goes. Name a run of 30 steps or more.");
    std::size_t end = record_.steps.size();
    if (const NamedRun* fastest = fastest_like(run, others)) {
      reference_ = &fastest->record;
      found_.reference = fastest->name;
      end = std::min(end, reference_->steps.size());
      theirs_ = means_of(*reference_, kFirstSteps, end);
      found_.reference_s = theirs_.at("");
    }
    found_.steps = end - kFirstSteps;
    ours_ = means_of(record_, kFirstSteps, end);
    found_.step_s = ours_.at("");
    symptoms_ = result::symptoms(facts_of(record_));
  }

  Diagnosis run() {
    loading();
    communication();
    work();
    others();
    between_steps();
    std::stable_sort(found_.suspects.begin(), found_.suspects.end(),
        [](const Suspect& a, const Suspect& b) { return a.cost_s > b.cost_s; });
    return std::move(found_);
  }

 private:
  // By which a phase takes longer than the reference's; without one, all of it.
  double excess(const std::string& phase) const { return ours_.at(phase) - (reference_ ? theirs_.at(phase) : 0); }

  std::string against(const std::string& phase) const {
    const std::string text = phase + " takes " + short_time(ours_.at(phase)) + " of a step";
    return reference_ ? text + ", there " + short_time(theirs_.at(phase)) : text;
  }

  // A rule's finding explains the phase where there is one, else `otherwise` does.
  void suspect(double cost_s, const std::string& phase, const std::string& evidence, const Suspect& otherwise) {
    if (cost_s < kNotable * found_.step_s) return;
    for (const result::Symptom& s : symptoms_)
      if (phase_of(s.id) == phase) {
        found_.suspects.push_back({s.id, cost_s, evidence + ". " + s.what, s.remedy, s.ablation});
        return;
      }
    found_.suspects.push_back(
        {otherwise.id, cost_s, evidence + "." + otherwise.evidence, otherwise.remedy, otherwise.ablation});
  }

  void loading() {
    suspect(excess("data_wait"), "data_wait", against("data_wait"),
        {.id = "slow_reading",
            .evidence = " Loader threads cannot keep up.",
            .remedy = "Look at the disk's rate (preflight), or set data.workers higher.",
            .ablation = "workers"});
  }

  void communication() {
    const double cost = excess("comm_exposed") + waiting();
    if (!record_.health.stragglers || record_.health.stragglers->ranks.empty()) {
      suspect(cost, "comm_exposed", against("comm_exposed"),
          {.id = "slow_link",
              .remedy = "Look at the links between the nodes (preflight), and at ablate reducer.",
              .ablation = "reducer"});
      return;
    }
    const auto& ranks = record_.health.stragglers->ranks;
    const auto slowest =
        std::max_element(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
    add_stall("slow_rank", cost + work_of_stragglers(),
        fixed("rank %lld works %.2f times as long as the median rank, and the others wait",
            static_cast<long long>(slowest->rank), slowest->index),
        "Look at what else runs on its node, at its clock and at its binding.", "");
  }

  // By which slow ranks raise the ranks' mean of the work, as far as it is raised. An index is a rank's work over the
  // median rank's.
  double work_of_stragglers() const {
    if (!record_.health.stragglers) return 0;
    double above = 0;
    for (const auto& rank : record_.health.stragglers->ranks) above += rank.index - 1;
    above /= static_cast<double>(std::max<std::int64_t>(1, ranks_of(record_)));
    const double raised = work_s(ours_) * above / (1 + above);
    return reference_ ? std::clamp(work_excess(), 0.0, raised) : raised;
  }

  double work_excess() const { return work_s(ours_) - work_s(theirs_); }

  static double work_s(const Means& m) { return m.at("forward") + m.at("backward") + m.at("optimizer"); }

  // Step times are the slowest rank's and phases the mean: what is between them the others wait.
  double waiting() const {
    const auto gap = [](const Means& m) {
      double phases = 0;
      for (const auto& [name, s] : m)
        if (!name.empty()) phases += s;
      return m.at("") - phases;
    };
    return std::max(0.0, gap(ours_) - (reference_ ? gap(theirs_) : 0));
  }

  // Forward, backward and update: what the processors do. Without a reference nobody knows how long they should take.
  void work() {
    if (!reference_) return;
    const double cost = work_excess() - work_of_stragglers();
    const double factor = 1 + cost / work_s(theirs_);
    suspect(cost, "", fixed("forward, backward and update take %.2f times as long", factor),
        {.id = "slow_processors",
            .evidence = " Nothing in the recipe explains it.",
            .remedy = "Look for other processes, a lower clock or a limit on processor time; preflight measures them.",
            .ablation = ""});
  }

  void others() {
    suspect(excess("other"), "other", against("other"),
        {.id = "between_phases",
            .evidence = " It is in none of the named phases.",
            .remedy = "Trace some steps: --set train.trace_steps=20, then report timeline.",
            .ablation = ""});
  }

  // What training stands still for, as seconds of each step.
  void between_steps() {
    const auto steps = static_cast<double>(record_.steps.size());
    const result::TimeFactors f = result::time_factors(record_);
    const auto share = [&](const RunRecord& r, double s) { return s / static_cast<double>(r.steps.size()); };
    double evaluation = f.evaluation_s / steps, checkpoints = f.checkpoint_s / steps;
    if (reference_) {
      const result::TimeFactors g = result::time_factors(*reference_);
      evaluation -= share(*reference_, g.evaluation_s);
      checkpoints -= share(*reference_, g.checkpoint_s);
    }
    add_stall("frequent_evaluations", evaluation, fixed("evaluations take %.1f s of the run", f.evaluation_s),
        "Set train.eval_every_epochs higher.", "eval_sharding");
    add_stall("frequent_checkpoints", checkpoints, fixed("checkpoints stall the run for %.1f s", f.checkpoint_s),
        "Set train.checkpoint.every_s higher.", "");
    if (const auto& checks = record_.health.replica_checks)
      add_stall("replica_checks", checks->total_s / steps, fixed("replica checks take %.1f s", checks->total_s),
          "Set train.check_replicas_every=100.", "");
    if (record_.telemetry)
      add_stall("telemetry_each_step", sum(record_.telemetry->cost_s) / steps,
          fixed("telemetry takes %.1f s", sum(record_.telemetry->cost_s)), "Set train.telemetry.every_steps higher.",
          "telemetry");
  }

  void add_stall(const char* id, double cost_s, const std::string& evidence, const char* remedy, const char* ablation) {
    if (cost_s < kNotable * found_.step_s) return;
    const auto known =
        std::find_if(found_.suspects.begin(), found_.suspects.end(), [&](const Suspect& s) { return s.id == id; });
    if (known == found_.suspects.end()) found_.suspects.push_back({id, cost_s, evidence + ".", remedy, ablation});
    else known->cost_s = std::max(known->cost_s, cost_s);
  }

  const RunRecord& record_;
  const RunRecord* reference_ = nullptr;
  Diagnosis found_;
  Means ours_, theirs_;
  std::vector<result::Symptom> symptoms_;
};

std::string first_sentence(const Diagnosis& d) {
  if (d.reference.empty())
    return "A step takes " + short_time(d.step_s) +
           ". No other run of this work on this machine is named, so what it could take is not known.";
  return fixed("Steps are %.0f %% as fast as the fastest run of this work here: ", 100 * d.reference_s / d.step_s) +
         short_time(d.step_s) + " against " + short_time(d.reference_s) + " (" + d.reference + ").";
}

}  // namespace

Diagnosis diagnose(const NamedRun& run, const std::vector<NamedRun>& others) { return Search(run, others).run(); }

Document diagnosis(const NamedRun& run, const std::vector<NamedRun>& others) {
  const Diagnosis d = diagnose(run, others);
  Document out{Paragraph{first_sentence(d)}};
  if (d.suspects.empty()) {
    out.push_back(Paragraph{"No suspect: nothing takes 3 % of a step more than it needs."});
    return out;
  }
  out.push_back(Paragraph{"First suspect: " + d.suspects[0].id + ". " + d.suspects[0].remedy});
  Table t{.header = {"suspect", "cost of a step", "evidence", "remedy", "measured by"},
      .right = {false, true, false, false, false}};
  for (const Suspect& s : d.suspects)
    t.rows.push_back(
        {s.id, short_seconds(s.cost_s), s.evidence, s.remedy, s.ablation.empty() ? "-" : "ablate " + s.ablation});
  out.push_back(std::move(t));
  return out;
}

static std::function<int()> declare_diagnose(CLI::App& command) {
  const auto a = std::make_shared<FilesArguments>();
  add_files(command, *a,
      "The run; then files or folders with other runs of this machine, the fastest of which is the measure");
  add_output_options(command, a->output);
  command.footer(
      "Where the time of a run went that it need not have taken: phases against the fastest run of the same work on "
      "the\n"
      "same machine, settings, slow ranks, stalls.\n\n"
      "Example: report diagnose run.json results");
  return [a] {
    Runs all = read_runs(*a);
    if (all.runs.empty() || all.runs[0].name != a->files[0])
      throw UsageError("'" + a->files[0] + "' is no result of a run. Name the run's file first.");
    print(diagnosis(all.runs[0], all.runs), a->output);
    return all.exit_code;
  };
}

const Command kDiagnose = {"diagnose", "Why a run took longer than it could have: the first suspect", declare_diagnose};

}  // namespace ttt::reports
