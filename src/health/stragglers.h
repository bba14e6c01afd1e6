// Finds ranks that are slower than the others. In synchronous training every rank waits for the slowest in every step.
//
// A rank's own work in a step is the step without comm_exposed, in which it waits for the others. Over each window of
// steps every rank takes its median; a rank's straggler index is its median over the middle one of all ranks' medians
// (the lower of two). Medians: one hiccup is no straggler.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "result/run_recorder.h"
#include "settings/fields.h"
#include "train/listener.h"

namespace ttt::train {

struct StragglerConfig {
  std::int64_t window = 20;
  double index = 1.5;

  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("window", s.window, "steps of which a rank's median is compared with the other ranks'; 0: not at all",
        between(0, 1e6));
    v("index", s.index, "a rank is called slow from so many times the middle rank's time on its own work",
        between(1.01, 1000));
  }
};

// Of every rank's median, in rank order. Empty for less than two ranks.
std::vector<double> straggler_indices(std::span<const double> medians_s);

class Stragglers final : public Listener {
 public:
  struct Names {
    std::vector<std::string> nodes, hosts;  // by rank: as the result calls them (hashed), and as the terminal does
  };
  // `comm` and `recorder` outlive it. `note` gets a line for the terminal; it may be empty.
  Stragglers(const StragglerConfig& config, comm::Communicator& comm, result::RunRecorder& recorder, Names names,
      std::function<void(const std::string&)> note);

  void step_ended(const Position&, const result::StepSample&) override;  // collective at the end of each window
  // health.stragglers: ranks, windows and indices
  void run_ended(const Ending&) override;

 private:
  struct Found {
    std::int64_t windows = 0, first_step = 0, last_step = 0;
    double index = 0;  // the greatest
  };
  void judge(const Position& at);

  StragglerConfig config_;
  comm::Communicator& comm_;
  result::RunRecorder& recorder_;
  Names names_;
  std::function<void(const std::string&)> note_;
  std::vector<double> own_s_;  // of the window at hand
  std::vector<Found> found_;   // by rank
  std::int64_t windows_ = 0;
};

}  // namespace ttt::train
