#include "train/step.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <utility>

namespace ttt::train {

using result::Phase;

// Not a change to autograd: a backward pass over a replayed forward pass is to find the new values.
static void unversioned_copy(const at::Tensor& to, const at::Tensor& from) {
  const at::AutoDispatchBelowADInplaceOrView unversioned;
  to.copy_(from);
}

// Between two sections.
struct EagerStep::Cut {
  std::vector<at::Tensor> outputs;    // of the section before, with history
  std::vector<at::Tensor> inputs;     // the same values, where the next section's history begins
  std::vector<at::Tensor> gradients;  // of `inputs`
  // Their addresses stay: a captured stage reads them, or captured forms of a stage write them in turns.
  bool inputs_fixed = false, gradients_fixed = false;

  void forward(std::vector<at::Tensor> of_section) {
    const at::NoGradGuard no_grad;
    outputs = std::move(of_section);
    inputs.resize(outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (inputs_fixed) unversioned_copy(inputs[i], outputs[i]);
      else inputs[i] = outputs[i].detach().requires_grad_();
    }
  }
  void clear() {
    for (at::Tensor& input : inputs) input.mutable_grad().reset();
  }
  void take_gradients() {
    gradients.resize(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (gradients_fixed && gradients[i].defined()) unversioned_copy(gradients[i], inputs[i].grad());
      else gradients[i] = inputs[i].grad();
    }
  }
};

// What the stages of forward and backward hand on.
struct EagerStep::Pass {
  std::vector<Cut> cuts;
  std::vector<at::Tensor> losses = {};  // with history
};

std::vector<Stage> EagerStep::stages(StepState& s) {
  std::vector<Stage> all;
  for (std::int64_t part = 0; part < parts_; ++part) add_part(s, part, all);
  return all;
}

void EagerStep::add_part(StepState& s, std::int64_t part, std::vector<Stage>& all) {
  const std::string suffix = part == 0 ? "" : " " + std::to_string(part + 1);
  const std::vector<model::Section> sections = model_.sections();
  const std::string host = model_.not_capturable();
  const auto cuts = std::count_if(sections.begin() + 1, sections.end(), [](const auto& n) { return !n.joined; });
  const auto pass = std::make_shared<Pass>(Pass{.cuts = std::vector<Cut>(static_cast<std::size_t>(cuts))});
  std::vector<Stage> forward, backward;
  std::vector<std::string> joined;  // names of the sections since the last cut
  std::size_t next_cut = 0;
  Cut* before = nullptr;  // the last one
  bool forms = false;     // whether a section since then has some
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const model::Section& section = sections[i];
    const bool last = i + 1 == sections.size();
    Cut* const from = section.joined ? nullptr : before;
    Cut* const after = last || sections[i + 1].joined ? nullptr : &pass->cuts[next_cut++];
    const auto run = [this, &s, part, pass, from, after, last, run = section.run](const Keep& keep) {
      if (from) from->inputs_fixed = keep.addresses;
      const std::int64_t images = s.inputs.batch.images.size(0) / parts_;
      std::vector<at::Tensor> outputs = run(from ? from->inputs : std::vector<at::Tensor>(),
          parts_ == 1 ? s.inputs.batch : model::part_of(s.inputs.batch, part * images, images));
      if (after) after->forward(std::move(outputs));
      else if (last) keep_losses(s, part, outputs), pass->losses = std::move(outputs);
    };
    joined.push_back(section.name + suffix);
    forms |= section.form != nullptr;
    forward.push_back({.name = joined.back(),
        .phase = Phase::kForward,
        .run = run,
        .not_capturable = host,
        .part = part,
        .continues = section.joined ? *(joined.end() - 2) : "",
        .after = section.after,
        .form = section.form});
    if (!after && !last) continue;
    const auto run_backward = [this, part, pass, before, after, forms](const Keep& keep) {
      if (before) before->clear(), before->gradients_fixed |= forms && keep.addresses;
      if (after) {
        after->gradients_fixed |= keep.addresses;
        torch::autograd::backward(after->outputs, after->gradients, keep.history);
      } else {
        losses_backward(pass->losses, part, keep.history);
        if (!keep.addresses) pass->losses.clear();  // and with it what it had kept for this pass
      }
      if (before) before->take_gradients();
    };
    backward.push_back({.name = section.name + "_backward" + suffix,
        .phase = Phase::kBackward,
        .run = run_backward,
        .backward_of = std::exchange(joined, {}),
        .not_capturable = host,
        .part = part});
    before = after, forms = false;
  }
  all.insert(all.end(), std::make_move_iterator(forward.begin()), std::make_move_iterator(forward.end()));
  all.insert(all.end(), std::make_move_iterator(backward.rbegin()), std::make_move_iterator(backward.rend()));
}

static void keep(StepState& s) {
  if (s.kept.empty()) return;
  for (std::size_t i = 0; i < s.losses.size(); ++i) s.kept[i].copy_(s.losses[i]);
  s.losses = s.kept;
}

// Where all parts have come: their mean. A part's losses keep their addresses, as a captured stage needs.
void EagerStep::keep_losses(StepState& s, std::int64_t part, const std::vector<at::Tensor>& losses) const {
  const at::NoGradGuard no_grad;
  if (parts_ == 1) {
    s.losses.clear();
    for (const at::Tensor& loss : losses) s.losses.push_back(loss.detach());
    return keep(s);
  }
  s.of_parts.resize(static_cast<std::size_t>(parts_));
  std::vector<at::Tensor>& own = s.of_parts[static_cast<std::size_t>(part)];
  if (own.empty())
    for (const at::Tensor& loss : losses) own.push_back(at::empty_like(loss));
  for (std::size_t i = 0; i < losses.size(); ++i) own[i].copy_(losses[i]);
  if (part + 1 < parts_) return;
  s.losses.clear();
  for (std::size_t i = 0; i < losses.size(); ++i) {
    at::Tensor sum = s.of_parts[0][i];
    for (std::size_t p = 1; p < s.of_parts.size(); ++p) sum = sum + s.of_parts[p][i];
    s.losses.push_back(sum / parts_);
  }
  keep(s);
}

at::Tensor total(const std::vector<at::Tensor>& losses) {
  at::Tensor sum = losses[0];
  for (std::size_t i = 1; i < losses.size(); ++i) sum = sum + losses[i];
  return sum;
}

std::vector<Stage> stages_of(
    Step& step, Reducer& reducer, Optimizer& optimizer, StepState& s, std::function<void()> next_batch) {
  std::vector<Stage> all = step.stages(s);
  const ReducerTraits traits = reducer.traits();
  // Buckets have already left from backward's hooks: launch sends the others.
  if (!traits.idle)
    all.push_back({"launch", Phase::kOther, [&reducer](const Keep&) { reducer.launch(); }, {}, traits.not_capturable});
  all.push_back({kNextBatch, Phase::kDataWait, [next = std::move(next_batch)](const Keep&) { next(); }});
  if (!traits.idle)
    all.push_back(
        {kAllReduce, Phase::kCommExposed, [&reducer](const Keep&) { reducer.finish(); }, {}, traits.not_capturable});
  all.push_back({"optimizer", Phase::kOptimizer, [&optimizer, &s](const Keep&) { optimizer.step(s.inputs.rates); }, {},
      optimizer.not_capturable()});
  return all;
}

namespace {

void run(std::span<const Stage> stages, result::PhaseClock& clock) {
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (i == 0 || stages[i].phase != stages[i - 1].phase) clock.enter(stages[i].phase);
    if (stages[i].form) stages[i].form();
    stages[i].run({});
    if (stages[i].after) stages[i].after();
  }
  clock.enter(Phase::kOther);
}

}  // namespace

std::vector<at::Tensor> EagerRunner::run(
    StepInputs inputs, result::PhaseClock& clock, const std::function<void()>& next_batch) {
  StepState s{.inputs = std::move(inputs)};
  train::run(stages_of(step_, reducer_, optimizer_, s, next_batch), clock);
  return s.losses;
}

std::vector<at::Tensor> Step::forward_backward(const model::DeviceBatch& batch, result::PhaseClock& clock) {
  StepState s{.inputs = {.batch = batch, .rates = {}}};
  run(stages(s), clock);
  return s.losses;
}

void EagerStep::losses_backward(const std::vector<at::Tensor>& losses, std::int64_t part, bool keep_history) const {
  if (part == 0) {
    if (clear_.clear) clear_.clear();
    else model_.parameters().flat_gradients().zero_();
  }
  at::Tensor loss = total(losses);
  if (parts_ > 1) loss = loss / parts_;
  scaled(loss, scaler_).backward(/*gradient=*/{}, /*retain_graph=*/keep_history);
}

result::Json EagerStep::describe() const {
  result::Json built = model_.describe();
  built["kind"] = "eager";
  built["zero_grad"] = clear_.name;
  if (parts_ > 1) built["accumulate"] = parts_;
  return built;
}

}  // namespace ttt::train
