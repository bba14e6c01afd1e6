// Means, extremes and the like of groups of gradients and weights, taken where the parameters lie.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/parameters.h"
#include "telemetry/layer_groups.h"

namespace ttt::train {

class Reductions {
 public:
  // store: outlives this. reductions: of train.telemetry.reductions.
  Reductions(model::ParameterStore& store, std::span<const LayerGroup> groups, std::vector<std::string> reductions);

  // Of each group the reductions of its gradients, times `gradient_scale` > 0, then those of its weights. The host
  // waits for the device, once.
  std::vector<double> take(double gradient_scale) const;

 private:
  std::vector<at::Tensor> of_group(const at::Tensor& flat, const LayerGroup& group) const;

  model::ParameterStore& store_;
  std::vector<LayerGroup> groups_;  // whose ranges are as few as they can be
  std::vector<std::string> reductions_;
};

}  // namespace ttt::train
