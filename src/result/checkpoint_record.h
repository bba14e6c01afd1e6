// Checkpoints of a run, their cost, and its interruptions and resumptions.
#pragma once

#include <cstdint>
#include <string>

#include "settings/json.h"

namespace ttt::result {

// One checkpoint that was written.
struct CheckpointSample {
  std::int64_t step = 0;   // steps finished
  double wall_s = 0;       // from the start of the run to the moment whose state it holds
  double stall_s = 0;      // for which training stood still on rank 0: agreeing, copying, waiting for the one before
  double write_s = 0;      // another thread's: writing, checking, waiting for the disk
  std::int64_t bytes = 0;  // of the file
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
};

// The run was asked to end, and its state was saved: the same command resumes from there.
struct Interruption {
  std::string signal;
  std::int64_t step = 0;   // steps finished
  std::string checkpoint;  // the newest file that was written
  bool requeue = false;    // asked for by SIGUSR1: the marker REQUEUE lies beside the checkpoint
};

Json checkpoint_json(const CheckpointSample& sample);
Json resume_json(const Resume& resume);
Json interruption_json(const Interruption& interruption);
// All throw DataError naming the member that is missing or wrong; `path` is where the object lies.
CheckpointSample checkpoint_from_json(const Json& object, const std::string& path);
Resume resume_from_json(const Json& object, const std::string& path);
Interruption interruption_from_json(const Json& object, const std::string& path);

}  // namespace ttt::result
