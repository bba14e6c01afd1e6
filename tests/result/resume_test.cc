// A run that was interrupted and continues: its record, its recorder, its clock.
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/temp_folder.h"
#include "result/phase_clock.h"
#include "result/run_recorder.h"
#include "tests/support/fake_clock.h"
#include "tests/support/message_of.h"
#include "tests/support/python.h"
#include "tests/support/toy_record.h"

namespace ttt::result {
namespace {

using test::fake_now;
using test::fake_now_s;
using test::message_of;
using test::toy_record;
using test::toy_step;

TEST(Checkpoints, InterruptionsAndResumesReadBack) {
  const Json whole = to_json(test::toy_resumed());
  EXPECT_EQ(to_json(run_record_from_json(parse(dump(whole), "j"))), whole);
  EXPECT_FALSE(to_json(toy_record()).contains("resumes"));  // as in results of runs that nothing interrupted
  const auto changed = [&](const char* pointer, const Json& value) {
    Json j = whole;
    j.at(Json::json_pointer(pointer)) = value;
    return message_of([&] { run_record_from_json(j); });
  };
  EXPECT_NE(changed("/checkpoints/2/stall_s", "x").find("checkpoints[2].stall_s"), std::string::npos);
  EXPECT_NE(changed("/resumes/0/ranks", 1.5).find("resumes[0].ranks"), std::string::npos);
  EXPECT_NE(changed("/interrupted/requeue", 1).find("interrupted.requeue"), std::string::npos);
}

// What an earlier process took is reduced already; this one's is added, and then the whole is reduced as one.
TEST(RunRecorder, EarlierProcess_SamplesArePrepended) {
  TempFolder folder;
  RunRecord past = test::toy_resumed();
  past.steps = past.steps.from(0);
  past.steps.truncate(4);
  RunRecorder recorder;
  recorder.start_journal(folder / "journal", 0);
  recorder.restore(past);
  recorder.step(toy_step(4));
  recorder.reduce(
      2,
      [](double* v, std::size_t n) {
        for (; n > 0; --n) *v++ += 1;
      },
      [](double* v, std::size_t n) {
        for (; n > 0; --n) *v++ *= 4;
      });
  const RunRecord r = recorder.snapshot();
  ASSERT_EQ(r.steps.step, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(r.steps.step_s, (std::vector<double>{0.5, 0.5, 0.5, 0.5, 1.5}));
  EXPECT_EQ(r.steps.phase_s[1], (std::vector<double>{0.125, 0.125, 0.125, 0.125, 0.25}));
  EXPECT_EQ(r.steps.step_ranks + r.steps.phase_ranks + r.steps.loss_ranks, "maxmeanmean");
  EXPECT_EQ(recorder.steps_from(4).step, std::vector<std::int64_t>{4});
  const Json again = to_json(recorder.past()), whole = to_json(past);
  for (const char* key : {"accuracy", "checkpoints", "resumes", "warnings"})
    EXPECT_EQ(again.at(key), whole.at(key)) << key;
  const Json recovered = to_json(recover_run(folder / "journal"));  // killed in its turn
  EXPECT_EQ(recovered.at("steps").at("step"), Json::parse("[0, 1, 2, 3, 4]"));
  for (const char* key : {"accuracy", "checkpoints"}) EXPECT_EQ(recovered.at(key), whole.at(key)) << key;
}

// First process: 5 s of start-up, 20 s of run with 2 s of evaluation up to the checkpoint. 100 s later the second is
// about to be resumed.
TEST(RunClock, GoesOnAfterAnInterruption) {
  const Clocks earlier{.init_s = 5, .run_s = 20, .train_s = 18};
  fake_now_s = 1000;
  RunClock clock(997, fake_now);
  clock.go_on(earlier, 100);
  fake_now_s = 1004;
  EXPECT_EQ(clock.read().lost_s, 104);  // so far
  clock.start_run();
  fake_now_s = 1014;
  const Clocks c = clock.read();
  EXPECT_EQ(c.init_s, 5);
  EXPECT_EQ(c.run_s, 134);
  EXPECT_EQ(c.lost_s, 104);
  EXPECT_EQ(c.train_s, 28);
  EXPECT_EQ(c.total_s, 139);
  // interrupted once more; a calendar's clock that was set back cannot undo time that was seen to pass
  RunClock again(997, fake_now);
  again.go_on(c, -50);
  again.start_run();
  EXPECT_EQ(again.read().lost_s, 104 + 17);
  EXPECT_EQ(again.read().train_s, 28);
}

}  // namespace
}  // namespace ttt::result
