// What a run records of its GPUs, with a fake driver (fake_nvml.c).
#include "health/gpu_use.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "core/error.h"
#include "tests/support/message_of.h"
#include "tests/support/toy_record.h"

namespace ttt::train {
namespace {

class GpuUseTest : public testing::Test {
 protected:
  void SetUp() override { ::setenv("FAKE_NVML_DEVICES", "2", 1), ::setenv("FAKE_NVML_REASONS", "0", 1); }

  // The record of a run of 40 images after 8 that were there before, at least `looks` looks long.
  result::RunRecord run(const std::string& bus_id, std::size_t looks) {
    const auto comm = comm::make_single();
    result::RunRecorder recorder(test::toy_record());
    GpuUse use(std::make_unique<cuda::GpuMeter>(bus_id), 1e-3, {"Fake GPU", "0123456789ab"}, *comm, recorder);
    use.run_started({.images = 8});
    use.step_ended({.step = 1, .images = 48}, {});
    std::this_thread::sleep_for(std::chrono::milliseconds(20 * looks));
    use.run_ended({});
    return recorder.snapshot();
  }
};

TEST_F(GpuUseTest, EnergyPowerAndClocksAreRecorded) {
  const result::RunRecord r = run("0000:00:00.0", 10);
  const result::GpusRecord& gpus = r.health.gpus.value();
  EXPECT_EQ(gpus.energy_j, 2000.0);  // fake_nvml.c: from one question to the next
  EXPECT_EQ(gpus.joules_per_image, 50.0);
  ASSERT_EQ(gpus.ranks.size(), 1u);
  const result::GpuRecord& rank = gpus.ranks[0];
  EXPECT_EQ(rank.rank, 0);
  EXPECT_EQ(rank.gpu, "Fake GPU");
  EXPECT_GE(rank.looks, 2);
  EXPECT_EQ(rank.power_w->least, 300.0);
  EXPECT_EQ(rank.power_w->most, 500.0);
  // as many of the one as of the other, or one more
  EXPECT_NEAR(rank.power_w->mean, 400, 100.0 / 2);
  EXPECT_EQ(rank.sm_clock_mhz->mean, 1980.0);
  EXPECT_EQ(rank.busy_percent->most, 97.0);
  EXPECT_EQ(rank.temperature_c->most, 50.0);
  EXPECT_EQ(rank.memory_bytes->most, static_cast<double>(std::int64_t{40} << 30));
  EXPECT_TRUE(rank.slowed_by.empty());
  EXPECT_EQ(r.warnings, test::toy_record().warnings);
}

TEST_F(GpuUseTest, SlowedGpu_IsAWarning) {
  ::setenv("FAKE_NVML_REASONS", "64", 1);  // nvmlClocksThrottleReasonHwThermalSlowdown
  const result::RunRecord r = run("0000:01:00.0", 1);
  EXPECT_EQ(r.health.gpus.value().ranks[0].slowed_by, (std::map<std::string, double>{{"heat (hardware)", 1.0}}));
  ASSERT_EQ(r.warnings.size(), test::toy_record().warnings.size() + 1);
  const std::string& warning = r.warnings.back();
  for (const char* part : {"rank 0", "heat (hardware)", "100 %"})
    EXPECT_NE(warning.find(part), std::string::npos) << warning;
}

TEST_F(GpuUseTest, AnUnknownGpuIsRefused) {
  const std::string text = test::message_of([] { cuda::GpuMeter("0000:07:00.0"); });
  EXPECT_NE(text.find("nvmlDeviceGetHandleByPciBusId_v2"), std::string::npos) << text;
}

}  // namespace
}  // namespace ttt::train
