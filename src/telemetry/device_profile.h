// Profile of a rank's device over a few steps (train.profile_steps): busy time, and the kernels that took it.
#pragma once

#include <optional>
#include <string>

#include "comm/communicator.h"
#include "cuda/activity.h"
#include "result/run_recorder.h"
#include "train/listener.h"

namespace ttt::train {

class DeviceProfile final : public Listener {
 public:
  // Of steps [from, from + steps). `log`, `comm` and `recorder` outlive it.
  DeviceProfile(cuda::ActivityLog& log, std::int64_t from, std::int64_t steps, comm::Communicator& comm,
      result::RunRecorder& recorder)
      : log_(log), from_(from), steps_(steps), comm_(comm), recorder_(recorder) {}

  void step_starts(const Position& at) override;
  void step_ended(const Position& at, const result::StepSample&) override;
  // So that the device has ended the last step before its records are asked for, and the one before the first before
  // they begin.
  bool needs_sync(const Position& at) const override { return at.step == from_ || at.step == from_ + steps_; }
  // collective: health.profile, and a warning where the run ended before the steps did
  void run_ended(const Ending&) override;

 private:
  cuda::ActivityLog& log_;
  std::int64_t from_, steps_;
  comm::Communicator& comm_;
  result::RunRecorder& recorder_;
  bool started_ = false;
  std::optional<result::RankProfile> own_;  // empty until the steps are over
};

}  // namespace ttt::train
