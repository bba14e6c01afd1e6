// Sides of an ablation with other detection operations.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "measure/ablation.h"

namespace ttt::ablations {

// The recipe's operations, changed. `how`: added to their name, which results hold.
inline std::function<void(Components&)> with_ops(
    const std::string& ablation, const std::string& how, const std::function<void(model::DetectionOps&)>& change) {
  return [=](Components& c) {
    c.ops.replace(ablation, [=](Run& run) {
      auto ops = std::make_unique<model::DetectionOps>(run.accelerator.ops);
      ops->name += ", " + how;
      change(*ops);
      return ops;
    });
  };
}

}  // namespace ttt::ablations
