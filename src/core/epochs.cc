#include "core/epochs.h"

#include <cmath>

namespace ttt {

Epochs::Epochs(const std::vector<Phase>& phases) {
  for (const Phase& p : phases)
    parts_.push_back({p.first_epoch, p.steps_per_epoch, parts_.empty() ? 0 : steps_before(p.first_epoch)});
}

std::int64_t Epochs::steps(double epochs) const {
  const Part* part = &parts_.front();
  for (const Part& p : parts_)
    if (static_cast<double>(p.first_epoch) <= epochs) part = &p;
  return part->first_step +
         std::llround((epochs - static_cast<double>(part->first_epoch)) * static_cast<double>(part->steps_per_epoch));
}

const Epochs::Part& Epochs::part_of_step(std::int64_t step) const {
  const Part* part = &parts_.front();
  for (const Part& p : parts_)
    if (p.first_step <= step) part = &p;
  return *part;
}

double Epochs::after(std::int64_t steps) const {
  const Part& p = part_of_step(steps);
  return static_cast<double>(p.first_epoch) +
         static_cast<double>(steps - p.first_step) / static_cast<double>(p.steps_per_epoch);
}

std::int64_t Epochs::epoch_of(std::int64_t step) const {
  const Part& p = part_of_step(step);
  return p.first_epoch + (step - p.first_step) / p.steps_per_epoch;
}

bool Epochs::is_multiple(std::int64_t done, double interval) const {
  const double nearest = std::round(after(done) / interval);
  return nearest >= 1 && steps(nearest * interval) == done;
}

}  // namespace ttt
