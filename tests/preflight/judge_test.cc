// Every check says "ok" of a sound cluster, and each planted fault is named with its rank or node.
#include "tools/preflight/judge.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "tests/support/ranges.h"
#include "tools/preflight/cpu_list.h"
#include "tools/preflight/settings.h"

namespace ttt::preflight {
namespace {

using result::Check;
using result::Json;

TEST(Settings, EveryNumber_HasFiniteRange) { test::expect_ranges(result::field_table(Settings())); }

// Two ranks on each of four nodes, with two cores each, and everything as it should be.
class Judge : public ::testing::Test {
 protected:
  Judge() {
    for (int r = 0; r < 8; ++r) {
      const int node = r / 2;
      Json f = {{"host", "node" + std::to_string(node)},
          {"build", {{"commit", "0123456789abcdef"}, {"libraries", {{"mpi", {{"runtime", "4.1.4"}}}}}}},
          {"environment", Json::object()}, {"cpus", r % 2 ? "2-3" : "0-1"}, {"cores", r % 2 ? "2-3" : "0-1"},
          {"numa", "0"}, {"cpu", "Some CPU"}, {"kernel", "Linux 6"}, {"logical_cores", 4},
          {"memory_available_bytes", 8ll << 30},
          {"disk", Json::array({{{"folder", "result"}, {"path", "/shared"}, {"free_bytes", 2ll << 30}},
                       {{"folder", "cache"}, {"path", "/cache"}, {"free_bytes", 2ll << 30}}})},
          {"governors", {"performance"}}, {"gpus", {{"reason", "no driver"}}},
          {"gpu", {{"reason", "no CUDA driver."}}}};
      facts.push_back(f);
      shards.push_back({{"folder", "/data"}, {"manifest_sha256", "aa"}, {"bytes", 1000}, {"read_bytes", 500},
          {"read_s", 0.5}, {"problems", Json::array()}});
    }
    measured.speed_of_rank.assign(8, {.hash_bytes_per_s = 4e8, .copy_bytes_per_s = 1e10});
    measured.clock_of_rank.assign(8, {.offset_s = 0.01, .uncertainty_s = 0.001});
    measured.link_s.assign(4, std::vector<double>(4, 0.01));
    measured.reduction = {.small_s = {1e-5, 2e-5, 3e-5}, .large_s = {0.1, 0.3, 0.2}, .right = true, .bus_bytes = 2e8};
  }

  Check find(const std::vector<Check>& checks, const std::string& name) const {
    const auto at = std::find_if(checks.begin(), checks.end(), [&](const Check& c) { return c.name == name; });
    return at == checks.end() ? Check{} : *at;
  }
  Check node_check(const std::string& name) const { return find(judge_nodes(Cluster(facts), settings), name); }
  Check measured_check(const std::string& name) const {
    return find(judge_measured(Cluster(facts), shards, generated, measured, settings), name);
  }
  void gpu(int node, Json devices, const std::string& driver = "570.1") {
    for (const int r : {2 * node, 2 * node + 1}) facts[r]["gpus"] = {{"driver", driver}, {"devices", devices}};
  }

  std::vector<Json> facts, shards;
  Measured measured;
  Settings settings;
  bool generated = false;
};

#define EXPECT_CHECK(check, want_status, words)                                     \
  do {                                                                              \
    const Check checked = check;                                                    \
    EXPECT_EQ(checked.status, want_status) << checked.sentence;                     \
    EXPECT_NE(checked.sentence.find(words), std::string::npos) << checked.sentence; \
    EXPECT_EQ(checked.sentence.back(), '.') << checked.sentence;                    \
  } while (false)

TEST_F(Judge, ASoundClusterHasNoFault) {
  const Cluster cluster(facts);
  EXPECT_EQ(cluster.nodes(), 4);
  for (const Check& c : judge_nodes(cluster, settings))
    EXPECT_EQ(c.status, c.name.starts_with("gpu") ? "not_used" : "ok") << c.name << ": " << c.sentence;
  for (const Check& c : judge_measured(cluster, shards, generated, measured, settings))
    EXPECT_EQ(c.status, "ok") << c.name << ": " << c.sentence;
  EXPECT_NE(node_check("hosts").sentence.find("8 ranks on 4 nodes, 2 on each"), std::string::npos);
}

TEST_F(Judge, OtherBuild_IsNamed) {
  facts[5]["build"]["libraries"]["mpi"]["runtime"] = "5.0.0";
  EXPECT_CHECK(node_check("versions"), "failed",
      "Of rank 5 (node 2), libraries.mpi.runtime is \"5.0.0\" and not \"4.1.4\" as of the others");
  facts[1]["build"]["commit"] = "fedcba9876543210";
  EXPECT_CHECK(node_check("versions"), "failed", "Of ranks 1, 5, commit is");
}

TEST_F(Judge, MissingVariable_IsNamed) {
  for (Json& f : facts) f["environment"]["OMP_NUM_THREADS"] = "2";
  EXPECT_EQ(node_check("environment").status, "ok");
  facts[6]["environment"].erase("OMP_NUM_THREADS");
  EXPECT_CHECK(node_check("environment"), "warning",
      "In the environment of rank 6 (node 3), OMP_NUM_THREADS is absent and not \"2\"");
}

TEST_F(Judge, NodesThatDifferAreNamed) {
  facts[7]["host"] = "node0";
  EXPECT_CHECK(node_check("hosts"), "warning", "Node 0 has 3 ranks, not 2");
  settings.ranks_per_node = 2;
  EXPECT_CHECK(node_check("hosts"), "failed", "Node 0 has 3 ranks, not 2");
  facts[7]["host"] = "node3";
  facts[4]["cpu"] = "Other CPU";
  EXPECT_CHECK(node_check("hosts"), "warning", "Node 2 differs in cpu (\"Other CPU\", the others \"Some CPU\")");
}

TEST_F(Judge, SharedCores_FailUnlessMeant) {
  facts[3]["cores"] = "1-2";
  EXPECT_CHECK(node_check("binding"), "warning", "Ranks may wander between the cores of their node: times vary more.");
  facts[2]["cores"] = facts[3]["cores"] = "1";
  EXPECT_CHECK(
      node_check("binding"), "failed", "Ranks 2 and 3 (node 1) may both run on cores of 1 and 1 (1 such pairs in all)");
  settings.cores = "shared";
  EXPECT_CHECK(node_check("binding"), "ok", "Ranks share cores, as cores = shared says");
  facts[3]["cores"] = "2-3";
  EXPECT_CHECK(node_check("binding"), "ok", "No two ranks of a node share a core");
  settings.cores = "exclusive";
  facts[3]["numa"] = "0-1";
  EXPECT_CHECK(node_check("binding"), "warning", "The cores of rank 3 (node 1) lie on several NUMA nodes");
}

TEST_F(Judge, SpaceThatIsMissingIsNamed) {
  facts[2]["memory_available_bytes"] = (2ll << 30) - 1;
  EXPECT_CHECK(node_check("memory"), "failed", "Node 1 has 2.15 GB of memory free, its 2 ranks are to have 2.15 GB");
  facts[2].erase("memory_available_bytes");
  EXPECT_CHECK(node_check("memory"), "not_supported", "node 1 cannot be read");
  facts[4]["disk"][1]["free_bytes"] = 5;
  EXPECT_CHECK(node_check("disk"), "failed", "On node 2 the folder for the cache, /cache, has 5 B free");
  facts[4]["disk"][1]["free_bytes"] = 2ll << 30;
  facts[4]["disk"][0] = {{"folder", "result"}, {"path", "/shared"}, {"problem", "is not there"}};
  EXPECT_CHECK(node_check("disk"), "warning", "On node 2 the folder for results, /shared, is not there");
  facts[0]["disk"][0] = facts[4]["disk"][0];
  EXPECT_CHECK(node_check("disk"), "failed", "On node 0 the folder for results");
}

TEST_F(Judge, GovernorsAreCompared) {
  facts[2]["governors"] = Json::array({"powersave"});
  EXPECT_CHECK(node_check("frequency"), "warning", "The frequency governor of node 1 is not that of the others");
  for (Json& f : facts) f["governors"] = Json::array({"powersave"});
  EXPECT_CHECK(node_check("frequency"), "warning", "The frequency governor is powersave");
  for (Json& f : facts) f["governors"] = Json::array();
  EXPECT_CHECK(node_check("frequency"), "not_supported", "No node tells");
}

TEST_F(Judge, Gpus_AreCountedAndFaultsNamed) {
  settings.gpus_per_node = 2;
  EXPECT_CHECK(node_check("gpus"), "failed", "Node 0 has 0 GPUs, not 2");
  Json sound = {{"name", "GPU X"}, {"uncorrected_ecc_errors", 0}, {"temperature_c", 40}, {"slowed_by", Json::array()}},
       broken = sound, hot = sound;
  broken["uncorrected_ecc_errors"] = 3;
  hot["slowed_by"] = Json::array({"heat (hardware)"}), hot["temperature_c"] = 95;
  for (int n = 0; n < 4; ++n) gpu(n, Json::array({sound, sound}));
  EXPECT_CHECK(node_check("gpus"), "ok", "Every node has 2 GPUs");
  gpu(2, Json::array({sound, broken}));
  EXPECT_CHECK(node_check("gpus"), "failed", "GPU 1 of node 2 (GPU X) has 3 uncorrected memory errors");
  gpu(2, Json::array({hot, sound}));
  EXPECT_CHECK(
      node_check("gpus"), "warning", "GPU 0 of node 2 (GPU X) is slowed down by heat (hardware) at 95 degrees");
  gpu(2, Json::array({sound, sound}), "535.0");
  EXPECT_CHECK(node_check("gpus"), "warning", "The NVIDIA driver of node 2 is not that of the others (535.0, 570.1)");
  settings.gpus_per_node = 0;
  gpu(3, Json::array({sound}));
  EXPECT_CHECK(node_check("gpus"), "failed", "Node 3 has 1 GPUs, not 2");
}

TEST_F(Judge, EveryRank_NeedsItsOwnGpu) {
  EXPECT_CHECK(node_check("gpu_binding"), "not_used", "With device=cpu no rank needs one.");
  settings.gpus_per_node = 1;
  EXPECT_CHECK(node_check("gpu_binding"), "failed", "Ranks 0, 1, 2, 3, 4, 5, 6, 7 would have no GPU: ");
  settings.gpus_per_node = 0;
  gpu(0, Json::array({{{"name", "GPU X"}}}));
  EXPECT_CHECK(node_check("gpu_binding"), "warning", "Ranks 0, 1, 2, 3, 4, 5, 6, 7 would have no GPU: no CUDA driver.");
  settings.gpus_per_node = 1;
  EXPECT_CHECK(node_check("gpu_binding"), "failed", "would have no GPU: no CUDA driver.");
  settings.gpus_per_node = 0;
  for (int r = 0; r < 8; ++r) facts[r]["gpu"] = {{"bus_id", r % 2 ? "0000:65:00.0" : "0000:17:00.0"}, {"numa", 0}};
  EXPECT_CHECK(node_check("gpu_binding"), "ok", "on node 0: 0 0000:17:00.0, 1 0000:65:00.0.");
  facts[5]["gpu"]["numa"] = 1;
  EXPECT_CHECK(node_check("gpu_binding"), "warning",
      "Rank 5 (node 2) runs on cores of NUMA node 0, while GPU 0000:65:00.0 is at node 1");
  facts[5]["gpu"]["numa"] = -1;  // not told
  EXPECT_CHECK(node_check("gpu_binding"), "ok", "Each rank has a GPU of its own");
  facts[7]["gpu"]["bus_id"] = "0000:17:00.0";
  EXPECT_CHECK(node_check("gpu_binding"), "failed", "Ranks 6 and 7 (node 3) would both compute on GPU 0000:17:00.0");
  facts[7]["gpu"] = {{"reason", "3 ranks on this node, and 2 GPUs."}};
  EXPECT_CHECK(
      node_check("gpu_binding"), "failed", "Rank 7 (node 3) would have no GPU: 3 ranks on this node, and 2 GPUs.");
}

TEST_F(Judge, ShardsThatDifferAreNamed) {
  shards[3]["problems"].push_back("/data/train-00000-of-00001.h5 has another SHA-256 than shards.json says");
  EXPECT_CHECK(
      measured_check("shards"), "failed", "Rank 3 (node 1): /data/train-00000-of-00001.h5 has another SHA-256");
  shards[3]["problems"].clear();
  shards[6]["manifest_sha256"] = "bb";
  EXPECT_CHECK(measured_check("shards"), "failed", "The manifest on node 3 is not that of the others");
  generated = true;  // each node made its own
  EXPECT_CHECK(measured_check("shards"), "ok", "1 kB of shards");
}

TEST_F(Judge, WrongClock_IsNamedWhereSure) {
  measured.clock_of_rank[4] = {.offset_s = -3, .uncertainty_s = 2.5};
  EXPECT_EQ(measured_check("clocks").status, "ok");
  measured.clock_of_rank[4].uncertainty_s = 0.1;
  EXPECT_CHECK(measured_check("clocks"), "warning", "The clock of node 2 is more than 1 s off (3 s)");
}

TEST_F(Judge, ASlowRankIsNamed) {
  measured.speed_of_rank[6].copy_bytes_per_s = 5e9;
  EXPECT_CHECK(measured_check("speed"), "warning", "Rank 6 (node 3) copies at 50 % of the median rate or less");
  measured.speed_of_rank[2].hash_bytes_per_s = 1e8, measured.speed_of_rank[1].hash_bytes_per_s = 3e8;
  EXPECT_CHECK(measured_check("speed"), "warning", "Ranks 1, 2 compute at 25 % of the median rate or less");
  settings.cores = "shared";
  EXPECT_CHECK(measured_check("speed"), "ok", "Not judged");
}

TEST_F(Judge, SlowLink_IsNamedByNode) {
  for (int root = 0; root < 4; ++root) measured.link_s[root][1] = 0.1;  // receives slowly
  EXPECT_CHECK(measured_check("links"), "warning", "Node 1 receives at 10 % of the median rate or less");
  measured.link_s.assign(4, std::vector<double>(4, 0.01));
  measured.link_s[2].assign(4, 0.05);  // sends slowly; once the tree passes by it
  measured.link_s[0][3] = 0.05;
  EXPECT_CHECK(measured_check("links"), "warning", "Node 2 sends at 20 % of the median rate or less");
}

TEST_F(Judge, AllReduce_RightAndFastEnough) {
  const Check c = measured_check("all_reduce");
  EXPECT_CHECK(c, "ok", "8 bytes over 8 ranks take 20 us, 82.6 MB take 0.2 s: 1 GB/s of bus bandwidth");
  EXPECT_EQ(c.facts.at("bus_bytes_per_s_samples").size(), 3u);
  settings.least_bus_bytes_per_s = 1.1e9;
  EXPECT_CHECK(measured_check("all_reduce"), "failed", "less than least_bus_bytes_per_s");
  measured.reduction.right = false;
  EXPECT_CHECK(measured_check("all_reduce"), "failed", "wrong sum");
}

TEST(CpuList, ReadsAndWritesAsLinuxDoes) {
  EXPECT_EQ(cpu_list(parse_cpu_list("8,0-3,5")), "0-3,5,8");
  EXPECT_EQ(cpu_list({}), "");
  EXPECT_TRUE(parse_cpu_list("").empty());
  EXPECT_TRUE(intersect(parse_cpu_list("0-3"), parse_cpu_list("3-4")));
  EXPECT_FALSE(intersect(parse_cpu_list("0-2"), parse_cpu_list("3-4")));
  for (const char* text : {"a", "1-", "-1", "1-2-3", "99999999"}) EXPECT_THROW(parse_cpu_list(text), DataError) << text;
}

TEST(Odd, TheMajorityIsUsual) {
  EXPECT_EQ(odd_ones({1, 2, 2, 3}).who, (std::vector<int>{0, 3}));
  EXPECT_EQ(odd_ones({1, 2}).usual, 1);
  EXPECT_TRUE(odd_ones(Json::array()).who.empty());
}

}  // namespace
}  // namespace ttt::preflight
