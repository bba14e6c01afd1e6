// Watchdog, replica check, straggler detection and fault injection of one run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/heartbeat.h"
#include "faults/inject.h"
#include "health/replicas.h"
#include "health/stragglers.h"
#include "health/watchdog.h"
#include "run/assemble.h"

namespace ttt {

class Guards {
 public:
  // Collective. Before the trainer takes over the run's parts; `run`, `world` and `context` outlive it. `note`: a line
  // for the terminal. Throws UsageError for a fault that cannot be understood.
  Guards(Run& run, const comm::World& world, harness::RunContext& context,
      const std::function<void(const std::string&)>& note);

  // The watchdog first, then the faults; and those that end a run before others make something of its step.
  std::vector<train::Listener*> listeners();
  // Collective, with what the trainer returned: nothing is watched any more. A run in which faults were planted is no
  // measurement, whatever it reached.
  train::Ending finished(train::Ending ending);

 private:
  void plant(Run& run, const comm::World& world, harness::RunContext& context);

  std::unique_ptr<comm::Heartbeat> heartbeat_;
  std::unique_ptr<train::Watchdog> watchdog_;
  std::unique_ptr<train::Injector> injector_;  // null without faults
  std::unique_ptr<train::ReplicaCheck> replicas_;
  std::unique_ptr<train::Stragglers> stragglers_;
  std::unique_ptr<harness::Witness::Scope> witness_;  // last: it asks the watchdog
};

}  // namespace ttt
