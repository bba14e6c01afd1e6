// A training step as a list of stages. A runner executes the list: in order here, as captured graphs in
// train/graph_runner.h.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/model.h"
#include "result/phase_clock.h"
#include "settings/json.h"
#include "train/device_batch.h"
#include "train/loss_scaler.h"
#include "train/reducers/reducer.h"

namespace ttt::train {

// A stage keeps these, so that others can be captured and replayed by themselves.
struct Keep {
  bool history = false;    // autograd's graph of the forward pass, for another backward pass
  bool addresses = false;  // of what it takes from the stage before
};

struct Stage {
  std::string name;
  result::Phase phase;
  std::function<void(const Keep& keep)> run;
  std::vector<std::string> backward_of = {};  // the stages whose backward pass it is: captured with them or not at all
  std::string not_capturable = {};            // why; "" where it can be captured
  std::int64_t part = 0;                      // of the batch (Step::parts) that it takes forward or back
  std::string continues = {};                 // the stage whose memory it reads: captured after it or not at all
  // As in model::Section: on the host, after the stage; and its form, which its backward pass has too.
  std::function<void()> after = {};
  std::function<std::int64_t()> form = {};
};

// Inputs and results that the stages of one step share. It outlives them.
struct StepState {
  StepInputs inputs;
  std::vector<at::Tensor> losses = {};                 // of the last run, without history
  std::vector<std::vector<at::Tensor>> of_parts = {};  // the same of each part of a batch that is taken in parts
  // Where the losses go, in memory of no graph. Empty: they stay where they come.
  std::vector<at::Tensor> kept = {};
};

// Forward and backward: what an ablation replaces.
class Step {
 public:
  virtual ~Step() = default;
  // Stages that turn s.inputs.batch into s.losses and gradients in parameters().flat_gradients(). Between two runs of a
  // stage the values of the inputs may change, their shapes and addresses do not.
  virtual std::vector<Stage> stages(StepState& s) = 0;
  virtual std::int64_t parts() const { return 1; }  // in which a batch goes through the model: so many backward passes
  virtual result::Json describe() const = 0;

  // Runs these stages alone, in order.
  std::vector<at::Tensor> forward_backward(const model::DeviceBatch& batch, result::PhaseClock& clock);
};

// How gradients are set to zero before backward. `clear` empty: one fill of the flat allocation of which they are
// views, and into which autograd adds.
struct ClearGradients {
  std::string name = "flat_fill";
  std::function<void()> clear;
};

// The model's sections, and their backward passes in reverse order. What lies between two sections is cut out of
// autograd's graph, which changes no bit: its gradient is summed in the same order.
class EagerStep final : public Step {
 public:
  // `scaler`: multiplies the loss before backward, null: the loss as it is; outlives the step. `parts`: in which a
  // batch goes through the model, one after the other; their gradients are averaged, and so are their losses.
  explicit EagerStep(
      model::Model& model, ClearGradients clear = {}, const LossScaler* scaler = nullptr, std::int64_t parts = 1)
      : model_(model), clear_(std::move(clear)), scaler_(scaler), parts_(parts) {}
  std::vector<Stage> stages(StepState& s) override;
  std::int64_t parts() const override { return parts_; }
  result::Json describe() const override;

 private:
  struct Cut;
  struct Pass;
  void add_part(StepState& s, std::int64_t part, std::vector<Stage>& all);
  void keep_losses(StepState& s, std::int64_t part, const std::vector<at::Tensor>& losses) const;
  void losses_backward(const std::vector<at::Tensor>& losses, std::int64_t part, bool keep_history) const;

  model::Model& model_;
  ClearGradients clear_;
  const LossScaler* scaler_;
  std::int64_t parts_;
};

at::Tensor total(const std::vector<at::Tensor>& losses);  // added in order

inline constexpr const char* kNextBatch = "next_batch";
inline constexpr const char* kAllReduce = "all_reduce";

// All stages of a step, in order.
std::vector<Stage> stages_of(
    Step& step, Reducer& reducer, Optimizer& optimizer, StepState& s, std::function<void()> next_batch);

// Executes steps.
class StepRunner {
 public:
  virtual ~StepRunner() = default;
  // One step. Calls next_batch() once, where the host has time: gradients are on their way.
  virtual std::vector<at::Tensor> run(
      StepInputs inputs, result::PhaseClock& clock, const std::function<void()>& next_batch) = 0;
  // What was captured, when and how large, and what could not be and why; "none" where nothing is.
  virtual result::Json describe() const = 0;
};

// Runs the stages in order. The parts outlive the runner.
class EagerRunner final : public StepRunner {
 public:
  EagerRunner(Step& step, Reducer& reducer, Optimizer& optimizer)
      : step_(step), reducer_(reducer), optimizer_(optimizer) {}
  std::vector<at::Tensor> run(
      StepInputs inputs, result::PhaseClock& clock, const std::function<void()>& next_batch) override;
  result::Json describe() const override { return "none"; }

 private:
  Step& step_;
  Reducer& reducer_;
  Optimizer& optimizer_;
};

}  // namespace ttt::train
