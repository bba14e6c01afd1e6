// Faults that the user asked for (train/fault.h) strike: from a listener's calls, and from decorators of the parts that
// they concern. A run without faults has none of this.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/epochs.h"
#include "data/order.h"
#include "faults/fault.h"
#include "train/listener.h"
#include "train/step_loop.h"

namespace ttt::train {

class Injector final : public Listener {
 public:
  // Those of `faults` that are this rank's.
  Injector(const std::vector<Fault>& faults, int rank, const Epochs& epochs);

  // Puts decorators around the parts that its faults concern. The model stays where it is.
  void plant(Parts& parts);
  // The order whose batch never comes, where a fault asks for it; null: the loader may stay as it is.
  std::shared_ptr<const data::BatchOrder> hanging(std::shared_ptr<const data::BatchOrder> order) const;

  // A run that resumes from a checkpoint is left in peace: else a job that is started again after a fault would meet it
  // again.
  void run_started(const Position& at) override { armed_ = at.step == 0; }
  void step_starts(const Position& at) override;
  void evaluation_started(const Position& at) override;

 private:
  void strike(const Fault& fault, const std::string& where) const;

  std::vector<Fault> faults_;  // by step
  int rank_;
  bool armed_ = true;
  std::int64_t step_ = -1;  // at which the run is
};

}  // namespace ttt::train
