// When a run saves its state, where, and whether it resumes from one that is there.
#pragma once

#include <cstdint>
#include <string>

#include "settings/fields.h"

namespace ttt::train {

struct CheckpointConfig {
  std::string folder;
  double every_epochs = 1.0;
  double every_s = 0.0;
  std::int64_t keep = 3;
  std::string resume = "auto";
  std::string from;

  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("folder", s.folder,
        "folder of one run's checkpoints, made where it is missing; empty: none are written. SIGUSR1 then saves and "
        "ends "
        "the run with exit code 0 and a file REQUEUE there, SIGTERM and SIGINT save and end it with 130");
    v("every_epochs", s.every_epochs,
        "epochs between checkpoints, parts of one too; 0: only at the start, by every_s and by a signal",
        between(0, 1e6));
    v("every_s", s.every_s, "also where so many seconds have passed since the last one [s]; 0: no", between(0, 1e9));
    v("keep", s.keep, "newest checkpoints that stay in the folder", between(1, 1e6));
    v("resume", s.resume,
        "auto: resume from the folder's newest whole checkpoint, where there is one (the same command again after a "
        "requeue); required: end where the newest is missing or damaged; never: start anew, in a folder without any",
        one_of({"never", "auto", "required"}));
    v("from", s.from, "resume from this checkpoint file instead; empty: from the folder's newest");
  }
};

}  // namespace ttt::train
