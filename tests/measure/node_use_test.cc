// Noise of a node: the format of /proc/stat, and a load that is there or not, beside what the processes' own times say.
#include "measure/node_use.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "core/clock.h"
#include "measure/background_load.h"
#include "result/techniques.h"
#include "tests/support/mpi_main.h"
#include "tests/support/toy_record.h"

namespace ttt::ablations {
namespace {

TEST(NodeUse, ProcStat_AsTheManualSays) {
  // proc_stat(5): user nice system idle iowait irq softirq steal guest guest_nice, in ticks
  std::istringstream stat(
      "cpu 10132153 290696 3084719 46828483 16683 0 25195 100 175628 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n");
  const auto t = processor_times(stat);
  ASSERT_TRUE(t);
  const double ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  EXPECT_NEAR(t->busy_s * ticks, 13532763, 1e-3);
  EXPECT_NEAR(t->stolen_s * ticks, 100, 1e-6);
  EXPECT_NEAR(t->all_s * ticks, 13532763 + 46828483 + 16683 + 100, 1e-3);
  for (const char* other : {"", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3", "cpu a"}) {
    std::istringstream text(other);
    EXPECT_FALSE(processor_times(text)) << other;
  }
}

// Seconds of all processes but `own`, and of children that they have waited for (proc_pid_stat(5)).
double seconds_of_others(const std::set<std::string>& own) {
  double ticks = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos || own.contains(name)) continue;
    std::ifstream file(entry.path() / "stat");
    std::string line, skipped;
    if (!std::getline(file, line)) continue;  // it has ended
    std::istringstream fields(line.substr(line.rfind(')') + 1));
    for (int i = 3; i < 14; ++i) fields >> skipped;
    double user = 0, system = 0, of_children = 0, of_childrens_system = 0;
    fields >> user >> system >> of_children >> of_childrens_system;
    ticks += user + system + of_children + of_childrens_system;
  }
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

struct Noise {
  Counters noise;
  double others = 0;  // by their own times; on rank 0
};
// Of a second and a half, in which every rank keeps a processor busy.
Noise noise_of_busy_time() {
  const auto comm = test_world().communicator();
  const auto pids = comm->gather(std::to_string(::getpid()), 0);
  const std::set<std::string> own(pids.begin(), pids.end());
  NodeUse use(test_world());
  comm->barrier();
  const double start_s = now_s(), before_s = seconds_of_others(own);
  for (int turn = 0; turn < 3; ++turn) {
    use.begin();
    for (const double turn_s = now_s(); now_s() < turn_s + 0.5;) {}
    use.end();
  }
  const double processor_s = (now_s() - start_s) * static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN));
  return {use.noise(*comm), (seconds_of_others(own) - before_s) / processor_s};
}

TEST(NodeUse, OneSideUnknown_IsLeftOut) {
  const Counters long_turns = {{"clock_mhz", 2600}, {"others", 0.25}, {"stolen", 0}},
                 short_turns = {{"clock_mhz", 2500}};
  const std::map<std::string, std::array<double, 2>> clock = {{"clock_mhz", {2600, 2500}}};
  EXPECT_EQ(known_to_both(long_turns, short_turns), clock);
  EXPECT_EQ(known_to_both(short_turns, long_turns).size(), 1u);
}

bool is_named(const Counters& noise) {
  result::Comparison c = test::toy_ablation().comparisons[0];
  c.noise = {{"others", {{noise.at("others"), noise.at("others")}}}};
  return result::disturbance({&c}).find("other processes took") != std::string::npos;
}

TEST(NodeUse, PlantedLoad_IsNamed) {
  const bool first = test_world().rank() == 0;
  for (const bool planted : {false, true}) {
    const BackgroundLoad load(planted && first);  // it runs for two seconds, then it pauses
    const auto [noise, others] = noise_of_busy_time();
    EXPECT_GE(noise.at("others"), 0);
    EXPECT_LE(noise.at("others"), 1);
    EXPECT_LE(noise.at("stolen"), 1);
    EXPECT_EQ(noise.contains("clock_mhz"), clock_mhz().has_value());
    if (!first) continue;
    EXPECT_NEAR(noise.at("others"), others, 0.1) << planted;
    if (planted) EXPECT_GT(others * static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN)), 0.3);
    if (others > 0.1) EXPECT_TRUE(is_named(noise)) << others;
    if (others < 0.02) EXPECT_FALSE(is_named(noise)) << others;
  }
}

}  // namespace
}  // namespace ttt::ablations
