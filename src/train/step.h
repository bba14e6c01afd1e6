// One forward and backward pass. The seam for how a step is executed: eager here, captured on a device.
#pragma once

#include <functional>

#include "model/mask_rcnn.h"
#include "result/json.h"
#include "result/phase_clock.h"

namespace ttt::train {

class Step {
 public:
  virtual ~Step() = default;
  // Leaves the gradient of the summed losses in parameters().flat_gradients(), and returns the five losses without history.
  virtual std::array<at::Tensor, model::kLosses> forward_backward(const model::DeviceBatch& batch, const model::DrawKey& key,
                                                                  result::PhaseClock& clock) = 0;
  virtual result::Json describe() const = 0;
};

// How gradients are set to zero before backward. `clear` empty: one fill of the flat allocation of which they are views, and into which
// autograd adds.
struct ClearGradients {
  std::string name = "flat_fill";
  std::function<void()> clear;
};

class EagerStep final : public Step {
 public:
  explicit EagerStep(model::MaskRcnn& model, ClearGradients clear = {}) : model_(model), clear_(std::move(clear)) {}
  std::array<at::Tensor, model::kLosses> forward_backward(const model::DeviceBatch& batch, const model::DrawKey& key,
                                                          result::PhaseClock& clock) override;
  result::Json describe() const override;

 private:
  model::MaskRcnn& model_;
  ClearGradients clear_;
};

}  // namespace ttt::train
