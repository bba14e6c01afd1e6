// One forward and backward pass as a list of parts. Run in turn they are an eager step; each can also be recorded by a device and replayed
// (train/step_runner.h).
#pragma once

#include <functional>
#include <memory>

#include "models/mask_rcnn/mask_rcnn.h"
#include "settings/json.h"
#include "result/phase_clock.h"
#include "train/loss_scaler.h"

namespace ttt::train {

using DetachedLosses = std::array<at::Tensor, model::kLosses>;  // without history

struct StepPart {
  std::string name;
  result::Phase phase;
  // `keep`: what it needs of earlier parts is kept, so that it could be run again on the same forward pass; and what it reads of earlier
  // parts' results will be read at the same addresses until it is run again.
  std::function<void(bool keep)> run;
  std::string backward_of;  // the part whose backward pass it is, "" where it is none: recorded with it or not at all
};

// Over one batch, whose tensors' values may change between two runs, and nothing else about them.
struct Pass {
  std::vector<StepPart> parts;             // to be run in this order
  std::function<DetachedLosses()> losses;  // of the last run
};

class Step {
 public:
  virtual ~Step() = default;
  // Its runs leave the gradient of the summed losses in parameters().flat_gradients().
  virtual Pass pass(const model::DeviceBatch& batch) = 0;
  // Why a pass cannot be recorded and replayed: it does something on the host that belongs to a certain step. "" where it can.
  virtual std::string bound_to_host() const { return ""; }
  virtual result::Json describe() const = 0;

  DetachedLosses forward_backward(const model::DeviceBatch& batch, result::PhaseClock& clock);
};

// How gradients are set to zero before backward. `clear` empty: one fill of the flat allocation of which they are views, and into which
// autograd adds.
struct ClearGradients {
  std::string name = "flat_fill";
  std::function<void()> clear;
};

// Four parts: the backbone, the heads with the losses, and their backward passes. The pyramid between them is cut out of autograd's graph,
// which changes no bit: its gradient is summed in the same order.
class EagerStep final : public Step {
 public:
  // `scaler`: multiplies the loss before backward, null: nobody does; outlives the step.
  explicit EagerStep(model::MaskRcnn& model, ClearGradients clear = {}, const LossScaler* scaler = nullptr) : model_(model), clear_(std::move(clear)), scaler_(scaler) {}
  Pass pass(const model::DeviceBatch& batch) override;
  std::string bound_to_host() const override { return model_.bound_to_host(); }
  result::Json describe() const override;

 private:
  struct State;
  static void cut(State& state);
  void losses_backward(State& state, bool keep) const;

  model::MaskRcnn& model_;
  ClearGradients clear_;
  const LossScaler* scaler_;
};

}  // namespace ttt::train
