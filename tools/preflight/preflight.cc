// Looks at what a run would stand on, before it: mpirun -n 32 ./preflight [--data DIR]. README.md of this folder says
// what is looked at.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "app/app.h"
#include "comm/world.h"
#include "core/error.h"
#include "run/assemble.h"
#include "run/launch.h"
#include "tools/preflight/facts.h"
#include "tools/preflight/judge.h"
#include "tools/preflight/measure.h"

namespace {

using namespace ttt;
using preflight::Cluster;
using preflight::Settings;
using result::Check;
using result::Json;

// Every rank's object on rank 0, nothing elsewhere.
std::vector<Json> gathered(const harness::RunContext& context, const Json& own) {
  std::vector<Json> all;
  for (const std::string& text : context.launch.gather(result::dump(own, -1)))
    all.push_back(result::parse(text, "a rank's facts"));
  return all;
}

// The first rank of each node, on every rank.
std::vector<int> first_ranks(const harness::RunContext& context, const Cluster& cluster) {
  Json list = Json::array();
  for (int n = 0; n < cluster.nodes(); ++n) list.push_back(cluster.ranks_of(n).front());
  return result::parse(context.launch.from_root(list.dump()), "first ranks").get<std::vector<int>>();
}

harness::Outcome outcome_of(const std::vector<Check>& checks) {
  const auto count = [&](const char* status) {
    return std::count_if(checks.begin(), checks.end(), [&](const Check& c) { return c.status == status; });
  };
  if (const auto failed = count("failed"); failed > 0) {
    std::string reason = std::to_string(failed) + " of " + std::to_string(checks.size()) + " failed";
    for (const Check& c : checks)
      if (c.status == "failed") reason += (reason.ends_with("failed") ? ": " : ", ") + c.name;
    return {.verdict = result::Verdict::kFailed, .reason = reason};
  }
  std::string reason = std::to_string(checks.size()) + " checks, none failed";
  if (count("warning") > 0) reason += ", " + std::to_string(count("warning")) + " with a warning";
  if (count("not_supported") > 0) reason += ", " + std::to_string(count("not_supported")) + " not possible here";
  if (count("not_used") > 0) reason += ", " + std::to_string(count("not_used")) + " not used";
  return {.verdict = result::Verdict::kPassed, .reason = reason};
}

// Hosts by name: results keep only a hash of it, so here is where a node's number is explained. What is wrong is said
// even when quiet.
void print(const Cluster& cluster, const std::vector<Check>& checks, bool quiet) {
  for (int n = 0; n < cluster.nodes() && !quiet; ++n) {
    const std::vector<int>& ranks = cluster.ranks_of(n);
    std::printf("node %d is %s: %zu rank%s from %d\n", n, cluster.node(n).value("host", "").c_str(), ranks.size(),
        ranks.size() > 1 ? "s" : "", ranks.front());
    for (const int r : ranks)
      std::printf("  rank %d: cpus %s, NUMA %s\n", r, cluster.rank(r).value("cpus", "").c_str(),
          cluster.rank(r).value("numa", "").c_str());
  }
  for (const Check& c : checks) {
    const bool wrong = c.status == "warning" || c.status == "failed";
    std::string status = c.status;
    std::replace(status.begin(), status.end(), '_', ' ');
    if (!quiet || wrong)
      std::fprintf(wrong ? stderr : stdout, "%-14s %-12s %s\n", status.c_str(), c.name.c_str(), c.sentence.c_str());
  }
  std::fflush(stdout);
}

// Collective.
void stop_where_asked(const harness::RunContext& context, comm::Communicator& comm) {
  double asked = context.signals.requested() ? 1 : 0;
  comm.all_reduce_max(&asked, 1);
  if (asked > 0) throw Interrupted("Interrupted by a signal before all checks were made. Start the preflight again.");
}

harness::Outcome look(const Settings& settings, harness::RunContext& context, const comm::World& world) {
  const preflight::Place place{
      .rank = world.rank(), .local_rank = world.local_rank(), .local_size = world.local_size()};
  const std::string data = context.options.data.value_or(""), out = context.options.out;
  const std::string result_folder = std::filesystem::absolute(out.empty() ? "result" : out).parent_path();
  const auto comm = world.communicator();
  const Cluster cluster(gathered(context, preflight::rank_facts(place, result_folder, library_versions(world))));
  const std::vector<int> firsts = first_ranks(context, cluster);
  context.announce((data.empty() ? "" : "data " + data + ", ") + std::to_string(world.size()) +
                   (world.size() > 1 ? " ranks" : " rank"));
  context.clock.start_run();
  const std::vector<Json> shards = gathered(context, preflight::shard_facts(place, data, settings));
  stop_where_asked(context, *comm);  // hashing may have taken minutes
  const preflight::Measured measured = preflight::measure(*comm, firsts, settings);
  stop_where_asked(context, *comm);
  context.clock.end_run();
  harness::Outcome outcome;
  if (world.rank() == 0) {
    std::vector<Check> checks = judge_nodes(cluster, settings);
    for (Check& c : judge_measured(cluster, shards, data.empty(), measured, settings)) checks.push_back(std::move(c));
    print(cluster, checks, context.options.quiet);
    outcome = outcome_of(checks);
    context.recorder.update([&](result::RunRecord& r) {
      r.built = {{"communicator", comm->name()}, {"ranks", comm->size()}};
      r.checks = checks;
    });
  }
  outcome.verdict =
      result::verdict_from_name(context.launch.from_root(std::string(result::verdict_name(outcome.verdict))));
  outcome.reason = context.launch.from_root(outcome.reason);
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  const double start_s = now_s();
  comm::World world(&argc, &argv);
  const auto comm = world.communicator();
  harness::App<Settings> app{.name = "preflight",
      .summary =
          "Looks at what a run would stand on: versions, binding, clocks, memory, disks, "
          "shards, GPUs, speed of ranks and links.",
      .kind = "preflight",
      .shortcuts = {.seed = "", .device = ""},
      .libraries = library_versions(world)};
  app.run = [&](const Settings& settings, harness::RunContext& context) { return look(settings, context, world); };
  return harness::run_app(argc, argv, app, launch_of(world, *comm, start_s));
}
