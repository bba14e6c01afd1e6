// The replaceable parts of a run: what a recipe cannot say in numbers. The recipe fills every slot, an ablation replaces some.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "data/order.h"
#include "eval/evaluator.h"
#include "run/recipe.h"
#include "train/step.h"
#include "train/schedules/schedule.h"

namespace ttt {

struct Run;

// How one part is made, once, while a run is assembled: from the parts before it, in the order of Components.
template <class T>
class Slot {
 public:
  using Make = std::function<std::unique_ptr<T>(Run&)>;

  Slot(std::string name, Make make) : name_(std::move(name)), make_(std::move(make)) {}
  // `owner`: who replaces it, for the error. Throws UsageError naming both where somebody has replaced it already.
  void replace(const std::string& owner, Make make) {
    if (!owner_.empty()) throw UsageError("'" + owner_ + "' and '" + owner + "' both set the " + name_ + ", so one would undo the other: combine only one of them.");
    owner_ = owner, make_ = std::move(make);
  }
  std::unique_ptr<T> make(Run& run) const { return make_(run); }
  const std::string& name() const { return name_; }
  const std::string& owner() const { return owner_; }  // "": the recipe

 private:
  std::string name_, owner_;
  Make make_;
};

struct Components {
  Slot<data::BatchOrder> order;
  Slot<model::DetectionOps> ops;
  Slot<train::Step> step;
  Slot<train::Reducer> reducer;
  Slot<train::Optimizer> optimizer;
  Slot<train::Schedule> schedule;
  Slot<eval::Evaluator> evaluator;

  std::vector<std::string> replaced() const;  // names of the slots that are no longer the recipe's
};

Components components_of(const train::Recipe& recipe);

}  // namespace ttt
