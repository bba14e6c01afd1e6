// Checkpoints of a run, their cost, and its interruptions and resumptions.
#pragma once

#include <cstdint>
#include <string>

#include "result/record_fields.h"

namespace ttt::result {

// One checkpoint that was written.
struct CheckpointSample {
  std::int64_t step = 0;   // steps finished
  double wall_s = 0;       // from the start of the run to the moment whose state it holds
  double stall_s = 0;      // for which training stood still on rank 0: agreeing, copying, waiting for the one before
  double write_s = 0;      // another thread's: writing, checking, waiting for the disk
  std::int64_t bytes = 0;  // of the file

  template <class Self, class Visitor> static void fields(Self& s, Visitor&& v) {
    v("step", s.step, "steps finished", at_least(0));
    v("wall_s", s.wall_s, "from the start of the run to the moment whose state it holds", at_least(0));
    v("stall_s", s.stall_s, "for which training stood still on rank 0", at_least(0));
    v("write_s", s.write_s, "of another thread: writing, checking, waiting for the disk", at_least(0));
    v("bytes", s.bytes, "of the file", at_least(1));
  }
};

// A setting of the present start that differs from the start before.
struct ChangedSetting {
  std::string key;
  Anything before, value;

  template <class Self, class Visitor> static void fields(Self& c, Visitor&& v) {
    v("key", c.key, ""), v("before", c.before, ""), v("value", c.value, "");
  }
};

// A start of the run from a checkpoint. Samples of steps before `step` are those of the processes before, reduced over
// ranks, also where steps.*.ranks says "local".
struct Resume {
  std::int64_t step = 0;  // steps finished in the checkpoint
  std::int64_t ranks_before = 1, ranks = 1;
  // from the moment whose state the checkpoint holds to the run's resumption, by the calendar's clock
  double lost_s = 0;
  std::string checkpoint;        // the file's name
  std::string signal;            // that the checkpoint answered; "" where the run was killed or ended
  std::string resumed_at;        // UTC
  Json changed = Json::array();  // settings: [{"key": "train.threads", "before": 4, "value": 2}]

  template <class Self, class Visitor> static void fields(Self& r, Visitor&& v) {
    v("step", r.step, "steps finished in the checkpoint; samples of earlier steps are those of the processes before",
        at_least(0));
    v("ranks_before", r.ranks_before, "", at_least(1));
    v("ranks", r.ranks, "", at_least(1));
    v("lost_s", r.lost_s, "from the checkpoint's moment to the resumption, by the calendar's clock", at_least(0));
    v("checkpoint", r.checkpoint, "the file's name", matching("."));
    v("signal", r.signal, "that the checkpoint answered; empty where the run was killed or ended",
        one_of({"", "SIGUSR1", "SIGTERM", "SIGINT"}));
    v("resumed_at", r.resumed_at, "UTC", matching(kUtcPattern));
    v.template described<std::vector<ChangedSetting>>("changed", r.changed, "settings that the start before had not");
  }
};

// The run was asked to end, and its state was saved: the same command resumes from there.
struct Interruption {
  std::string signal;
  std::int64_t step = 0;   // steps finished
  std::string checkpoint;  // the newest file that was written
  bool requeue = false;    // asked for by SIGUSR1: the marker REQUEUE lies beside the checkpoint

  template <class Self, class Visitor> static void fields(Self& i, Visitor&& v) {
    v("signal", i.signal, "", one_of({"SIGUSR1", "SIGTERM", "SIGINT"}));
    v("step", i.step, "steps finished", at_least(0));
    v("checkpoint", i.checkpoint, "the newest file that was written", matching("."));
    v("requeue", i.requeue, "the marker REQUEUE lies beside the checkpoint: the job is to be queued again");
  }
};

}  // namespace ttt::result
