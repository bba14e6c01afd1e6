// Tells a reducer when backward has finished a parameter's gradient.
#pragma once

#include <memory>

#include "models/parameters.h"
#include "train/reducers/reducer.h"

namespace ttt::train {

// A reducer over the model's flat gradient.
std::unique_ptr<GradientReducer> make_reducer(const ReducerConfig& config, model::ParameterStore& store, comm::Communicator& comm);

// While it lives, autograd calls reducer.ready() after it has accumulated a gradient, where the reducer overlaps backward.
class GradientHooks {
 public:
  GradientHooks(model::ParameterStore& store, GradientReducer& reducer);
  ~GradientHooks();
  GradientHooks(const GradientHooks&) = delete;
  GradientHooks& operator=(const GradientHooks&) = delete;

 private:
  model::ParameterStore& store_;
};

}  // namespace ttt::train
