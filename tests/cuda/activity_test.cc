// What ran on a device: the sums over its records, and which steps of a run are recorded.
#include "cuda/activity.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "telemetry/device_profile.h"
#include "tests/support/toy_record.h"

namespace ttt {
namespace {

using cuda::Activity;

TEST(Activities, Overlap_CountsOnce) {
  // 10 .. 30 and 20 .. 25 within it, 28 .. 40 over its end, 50 .. 60: busy for 40 of 50.
  const cuda::ActivityReport r =
      cuda::summarise({{{"b", true, 20, 25}, {"a", true, 10, 30}, {"copy", false, 28, 40}, {"a", true, 50, 60}}, 3});
  EXPECT_DOUBLE_EQ(r.window_s, 50e-9);
  EXPECT_DOUBLE_EQ(r.busy_s, 40e-9);
  EXPECT_EQ(r.kernels, 3);
  EXPECT_EQ(r.others, 1);
  EXPECT_EQ(r.lost, 3);
  ASSERT_EQ(r.sums.size(), 3u);
  EXPECT_EQ(r.sums[0].name, "a");
  EXPECT_EQ(r.sums[0].calls, 2);
  EXPECT_DOUBLE_EQ(r.sums[0].seconds, 30e-9);
  EXPECT_EQ(r.sums[1].name, "copy");
}

TEST(Activities, OfNothing) {
  const cuda::ActivityReport r = cuda::summarise({});
  EXPECT_EQ(r.window_s, 0);
  EXPECT_EQ(r.busy_s, 0);
  EXPECT_TRUE(r.sums.empty());
}

TEST(Activities, NamesArePeoples) {
  const auto name = [](const char* mangled) { return cuda::summarise({{{mangled, true, 0, 1}}}).sums.at(0).name; };
  EXPECT_EQ(name("_ZN3ttt7kernels4cuda12_GLOBAL__N_15matchEPKfi"), "ttt::kernels::cuda::(anonymous namespace)::match");
  EXPECT_EQ(name("_ZN2at6native6kernelIfLi4EEEvPfi"), "at::native::kernel<float, 4>");
  EXPECT_EQ(name("sm90_xmma_fprop_implicit_gemm"), "sm90_xmma_fprop_implicit_gemm");
  EXPECT_EQ(name(std::string(500, 'x').c_str()).size(), 160u);
}

// Notes when it is asked.
class FakeLog final : public cuda::ActivityLog {
 public:
  void start() override {
    EXPECT_FALSE(std::exchange(on_, true));
    ++started;
  }
  cuda::Recorded stop() override {
    EXPECT_TRUE(std::exchange(on_, false));
    return {{{"k", true, 0, 2'000'000'000}, {"fill", false, 3'000'000'000, 4'000'000'000}}};
  }
  int started = 0;

 private:
  bool on_ = false;
};

// Steps 0 .. count - 1, and the end.
result::RunRecord run_of(FakeLog& log, std::int64_t count, std::vector<std::int64_t>& looked_at) {
  const auto comm = comm::make_single();
  result::RunRecorder recorder(test::toy_record());
  train::DeviceProfile profile(log, /*from=*/3, /*steps=*/2, *comm, recorder);
  for (std::int64_t step = 0; step < count; ++step) {
    profile.step_starts({.step = step});
    EXPECT_EQ(log.started > 0, step >= 3);
    if (profile.needs_sync({.step = step + 1})) looked_at.push_back(step);
    profile.step_ended({.step = step + 1}, {});
  }
  profile.run_ended({});
  return recorder.snapshot();
}

TEST(DeviceProfile, Profile_IsOfStepsAskedFor) {
  FakeLog log;
  std::vector<std::int64_t> looked_at;
  const result::RunRecord r = run_of(log, 8, looked_at);
  EXPECT_EQ(log.started, 1);
  // nothing else of the run is on the device when the records begin and when they end
  EXPECT_EQ(looked_at, (std::vector<std::int64_t>{2, 4}));
  const result::ProfileRecord& profile = r.health.profile.value();
  EXPECT_EQ(profile.from, 3);
  const result::RankProfile& rank = profile.ranks.at(0);
  EXPECT_EQ(rank.rank, 0);
  EXPECT_EQ(rank.steps, 2);
  EXPECT_EQ(rank.window_s, 4.0);
  EXPECT_EQ(rank.busy_s, 3.0);
  EXPECT_EQ(rank.total_s, 3.0);
  EXPECT_EQ(rank.kernels, 1);
  EXPECT_EQ(rank.copies_and_fills, 1);
  EXPECT_EQ(result::json_of(rank.longest.at(0)), (result::Json{{"name", "k"}, {"calls", 1}, {"total_s", 2.0}}));
  EXPECT_EQ(r.warnings, test::toy_record().warnings);
}

TEST(DeviceProfile, RunEndsBefore_IsAWarning) {
  for (const std::int64_t steps : {2, 4}) {
    FakeLog log;
    std::vector<std::int64_t> looked_at;
    const result::RunRecord r = run_of(log, steps, looked_at);
    EXPECT_FALSE(r.health.profile.has_value());
    ASSERT_EQ(r.warnings.size(), test::toy_record().warnings.size() + 1);
    EXPECT_NE(r.warnings.back().find("before step 5"), std::string::npos) << r.warnings.back();
  }
}

}  // namespace
}  // namespace ttt
