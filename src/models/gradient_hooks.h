// Tells when backward has finished a parameter's gradient.
#pragma once

#include <cstddef>
#include <functional>

#include "models/parameters.h"

namespace ttt::model {

// While it lives, autograd calls ready(i) after it has accumulated the gradient of store.trainable()[i] for the last of
// `times` times in a step.
class GradientHooks {
 public:
  GradientHooks(ParameterStore& store, const std::function<void(std::size_t parameter)>& ready, std::int64_t times = 1);
  ~GradientHooks();
  GradientHooks(const GradientHooks&) = delete;
  GradientHooks& operator=(const GradientHooks&) = delete;

 private:
  ParameterStore& store_;
};

}  // namespace ttt::model
