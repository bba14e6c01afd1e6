// Ends a run that stands still, and says which rank keeps the others waiting.
//
// A communicator's own limit (comm/world.h) covers a rank that waits in a collective. It does not say where the rank that did not come is,
// and does not cover a run that hangs outside of collectives (in a file system, in a loader's thread, in a library).
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "comm/heartbeat.h"
#include "result/run_recorder.h"
#include "train/listener.h"

namespace ttt::train {

// "data_wait of step 40", "the evaluation after 64 steps", "the device's work of step 40"
std::string place_text(const comm::Sign& sign);

// What the signs of a run that stands still say: which ranks are silent (a process or a node that is gone), or at work, and who waits for
// them, where. One sentence without its full stop. `nodes`: by rank. A rank is taken for silent after `silent_s`, or where its process is gone.
std::string describe_stand(const std::vector<comm::Sign>& signs, const std::vector<std::string>& nodes, double silent_s);

class Watchdog final : public Listener {
 public:
  struct Settings {
    double limit_s = 0;                                // no rank has moved for so long: the run ends
    int rank = 0;                                      // this one
    std::vector<std::string> nodes;                    // by rank
    result::RunRecorder* recorder = nullptr;          // gets health.watchdog at the end; null: nobody does
    std::function<void(const std::string&)> give_up;  // on the watchdog's thread: writes the reason into the result, ends all ranks
  };
  // Watches from run_started() to run_ended() (or its own end). `heartbeat` and `place` outlive it.
  Watchdog(Settings settings, comm::Heartbeat& heartbeat, comm::Place& place);
  ~Watchdog() override;
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void run_started(const Position&) override;
  void step_starts(const Position&) override;
  void evaluation_started(const Position&) override;
  void run_ended(const Ending&) override;

  // Collective: nothing is watched any more, and the heartbeat ends. Where run_ended() was called, there is nothing left to do.
  void stop();

  // For a signal that ends the run in the middle: a sentence about the ranks that are silent, or that the others wait for. "" where nothing
  // is amiss. From any thread.
  std::string diagnosis() const;

 private:
  void watch();
  bool stands_still() const;
  bool wait(double seconds);  // false where the run has ended meanwhile
  void end();

  Settings settings_;
  comm::Heartbeat& heartbeat_;
  comm::Place& place_;
  std::mutex mutex_;
  std::condition_variable ended_changed_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace ttt::train
