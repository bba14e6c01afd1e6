// The progress line with a clock and a stream of the test's own.
#include "app/progress.h"

#include <gtest/gtest.h>

#include "core/temp_folder.h"
#include "tests/support/fake_clock.h"
#include "tests/support/python.h"

namespace ttt::harness {
namespace {

using test::fake_now;
using test::fake_now_s;

class ProgressTest : public testing::Test {
 protected:
  ProgressTest() : stream_(std::fopen((folder_ / "out").c_str(), "w")) { fake_now_s = 1000; }
  ~ProgressTest() override { std::fclose(stream_); }
  StatusLine::Config config(bool terminal) { return {.stream = stream_, .terminal = terminal, .now = fake_now}; }
  std::string printed() {
    std::fflush(stream_);
    return test::read_text(folder_ / "out");
  }
  static ProgressState at(std::int64_t step) {
    return {.step = step, .total_steps = 100, .loss = 1.25, .images = step * 8};
  }

  TempFolder folder_;
  std::FILE* stream_;
};

// 0.5 s a step, 8 images: 16 images/s, and the rest of 100 steps at half a second each.
TEST_F(ProgressTest, LogFile_LineEveryTenSeconds) {
  Progress progress(config(false));
  for (int step = 1; step <= 50; ++step) {
    fake_now_s += 0.5;
    progress.update(at(step));
  }
  EXPECT_EQ(printed(),
      "step 1/100  loss 1.25  16.0 images/s  at most 0:50\n"
      "step 21/100  loss 1.25  16.0 images/s  at most 0:40\n"
      "step 41/100  loss 1.25  16.0 images/s  at most 0:30\n");
  progress.finish();
  EXPECT_TRUE(printed().ends_with("step 50/100  loss 1.25  16.0 images/s  at most 0:25\n"));
}

TEST_F(ProgressTest, Terminal_FiveUpdatesASecond) {
  Progress progress(config(true));
  for (int step = 1; step <= 100; ++step) {
    fake_now_s += 0.0625;  // 16 steps a second
    progress.update(at(step));
  }
  progress.finish();
  const std::string text = printed();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);  // the last character
  EXPECT_EQ(text.back(), '\n');
  const auto lines = std::count(text.begin(), text.end(), '\r');
  EXPECT_LE(lines, 6.25 * 5 + 2);  // 6.25 s of steps, the first and the last line
  EXPECT_GE(lines, 6.25 * 5 / 2);
  EXPECT_NE(text.find("\rstep 100/100"), std::string::npos);
}

TEST_F(ProgressTest, NewAp_IsPrintedAtOnce) {
  Progress progress(config(false));
  fake_now_s += 1;
  progress.update(at(1));
  fake_now_s += 1;
  ProgressState state = at(2);
  state.accuracy = "box AP 0.412 and mask AP 0.250";
  progress.note("epoch 1 done");
  progress.update(state);
  EXPECT_TRUE(printed().ends_with(
      "epoch 1 done\nstep 2/100  loss 1.25  8.0 images/s  at most 1:38  box AP 0.412 and mask AP 0.250\n"))
      << printed();
}

// Work without steps says where it is.
TEST_F(ProgressTest, StatusLine_LastTextStays) {
  {
    StatusLine line(config(false));
    for (const char* peak : {"peak 1 of 3", "peak 2 of 3", "peak 3 of 3"}) fake_now_s += 2, line.show(peak);
  }
  EXPECT_EQ(printed(), "peak 1 of 3\npeak 3 of 3\n");
}

TEST_F(ProgressTest, QuietPrintsNothing) {
  {
    StatusLine::Config quiet = config(true);
    quiet.enabled = false;
    Progress progress(quiet);
    progress.note("x");
    progress.update(at(1));
  }
  EXPECT_EQ(printed(), "");
}

// The rate follows a change within its window of 30 s.
TEST_F(ProgressTest, Rate_IsOfLastHalfMinute) {
  Progress progress(config(false));
  std::int64_t step = 0;
  for (int i = 0; i < 100; ++i) fake_now_s += 1, progress.update(at(++step));
  for (int i = 0; i < 400; ++i) {
    fake_now_s += 0.125;
    ProgressState s = at(++step);
    s.total_steps = 0;
    progress.update(s);
  }
  progress.finish();
  EXPECT_TRUE(printed().ends_with("step 500  loss 1.25  64.0 images/s\n")) << printed();
}

TEST(ProgressText, Durations) {
  EXPECT_EQ(duration_text(0), "0:00");
  EXPECT_EQ(duration_text(59.4), "0:59");
  EXPECT_EQ(duration_text(59.6), "1:00");
  EXPECT_EQ(duration_text(3600), "1:00:00");
  EXPECT_EQ(duration_text(-1), "?");
}

}  // namespace
}  // namespace ttt::harness
