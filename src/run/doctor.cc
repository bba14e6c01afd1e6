#include "run/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/parallel.h"
#include "core/processors.h"
#include "result/provenance.h"
#include "result/system_info.h"
#include "settings/fields_json.h"

namespace ttt {
namespace {

// The share of the node's processor time that others take while this launch waits.
std::optional<double> others_share() {
  const auto now = [] {
    std::ifstream stat("/proc/stat");
    return processor_times(stat);
  };
  const auto before = now();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const auto after = now();
  if (!before || !after || after->all_s <= before->all_s) return std::nullopt;
  return (after->busy_s - before->busy_s) / (after->all_s - before->all_s);
}

// Of the processor after it has computed for long enough to leave its idle clock.
std::optional<double> clock_share() {
  for (const double end = now_s() + 0.1; now_s() < end;) {}
  const auto highest = highest_clock_mhz(), now = clock_mhz();
  if (!highest || !now || *highest <= 0) return std::nullopt;
  return *now / *highest;
}

std::optional<double> cold_bytes(const data::ShardSet& shards) {
  double bytes = 0;
  for (const auto& shard : shards.shards()) {
    const auto share = cached_share(shard->path());
    if (!share) return std::nullopt;
    bytes += (1 - *share) * static_cast<double>(std::filesystem::file_size(shard->path()));
  }
  return bytes;
}

}  // namespace

result::SymptomFacts doctor_facts(const Run& run, const comm::World& world) {
  const result::Json provenance = result::provenance_json({}, {});
  result::SymptomFacts facts{.settings = result::fields_json(run.recipe),
      .built = describe(run),
      .environment = provenance.at("environment").get<std::map<std::string, std::string>>(),
      .build_type = provenance.value("build_type", ""),
      .sanitize = provenance.value("sanitize", ""),
      .ranks = world.size(),
      .cores = ::sysconf(_SC_NPROCESSORS_ONLN),
      .steps_per_epoch = run.order->epochs().steps_before(1)};
  run.control->barrier();  // nobody computes while others are looked for
  facts.others_share = others_share();
  run.control->barrier();
  facts.clock_share = clock_share();
  facts.cold_bytes = cold_bytes(*run.train_images);
  const std::vector<std::string> nodes = run.control->gather(result::dump(result::json_of(result::this_node()), -1), 0);
  std::vector<result::Node> parsed;  // on rank 0, which is the one that speaks
  for (const std::string& node : nodes)
    parsed.push_back(result::record_from_json<result::Node>(result::parse(node, "a node"), "node"));
  for (const auto& node : result::system_json(parsed).value("nodes", result::Json::array()))
    if (node["ranks"].size() == static_cast<std::size_t>(world.local_size()))
      facts.bound_cores = static_cast<std::int64_t>(node.value("bound_to", result::Json::array()).size());
  // the node with most ranks, and the most narrowly bound rank
  double extremes[] = {static_cast<double>(world.local_size()), -static_cast<double>(usable_cores())};
  run.control->all_reduce_max(extremes, 2);
  facts.node_ranks = static_cast<std::int64_t>(extremes[0]);
  facts.usable_cores = static_cast<std::int64_t>(-extremes[1]);
  return facts;
}

}  // namespace ttt
