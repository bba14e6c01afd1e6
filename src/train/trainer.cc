#include "train/trainer.h"

#include <ATen/ops/cat.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "models/weights.h"

namespace ttt::train {
namespace {

// "box AP 0.5123 and mask AP 0.5034 after 5 epochs, at or above the target of 0.500 and 0.500"
std::string accuracy_text(
    const result::Evaluation& e, double epochs, const result::Metrics& target, const char* relation) {
  char after[40];
  std::snprintf(after, sizeof after, " after %.3g epoch%s, ", epochs, epochs == 1 ? "" : "s");
  return result::metrics_text(result::bounded(e.metrics, target), 4) + after + relation + " the target of " +
         result::values_text(target, 3);
}

}  // namespace

Trainer::Trainer(const TrainConfig& config, Parts parts, Epochs epochs, comm::Communicator& comm,
    comm::Communicator& control, const Observer& observer)
    : config_(config), parts_(std::move(parts)), control_(control), observer_(observer),
      loop_(config_, parts_, comm, observer.checkpoints ? observer.checkpoints->progress().step : 0),
      epochs_(std::move(epochs)) {
  observer_.recorder.update([&](result::RunRecord& r) { r.steps.name_losses(parts_.model->loss_names()); });
  if (parts_.scaler) observer_.listeners.push_back(parts_.scaler.get());
  total_steps_ = planned_steps(config, epochs_);
  if (config.max_steps > 0) total_steps_ = std::min(total_steps_, config.max_steps);
  evaluations_ = EvaluationPlan::of(config, epochs_);
  if (observer.checkpoints) images_ = observer.checkpoints->progress().images;
  if (loop_.step() > total_steps_)
    throw UsageError("The checkpoint is of step " + std::to_string(loop_.step()) + ", and the run ends at step " +
                     std::to_string(total_steps_) +
                     ". Raise train.epochs or train.max_steps, or name another train.checkpoint.folder.");
}

Ending Trainer::run() {
  Ending ending = train();
  observer_.clock.end_run();
  observer_.recorder.update([&](result::RunRecord& r) {
    r.built["graphs"] = loop_.runner().describe();
    if (parts_.scaler) r.built["loss_scale"] = parts_.scaler->describe();
  });
  if (observer_.checkpoints) observer_.checkpoints->finish();
  if (ending.to_be_resumed) return ending;
  tell(&Listener::run_ended, ending);
  if (!config_.save_weights.empty()) {
    average_running_statistics();
    if (control_.rank() == 0) model::save_weights(config_.save_weights, parts_.model->parameters());
  }
  return ending;
}

Ending Trainer::train() {
  const TrainConfig& t = config_;
  control_.barrier();
  observer_.clock.start_run();
  if (observer_.checkpoints) observer_.checkpoints->resumed(observer_.listeners);
  if (const auto& evaluations = observer_.recorder.past().accuracy; !evaluations.empty()) last_ = evaluations.back();
  tell(&Listener::run_started, loop_.step() > 0 ? after_step() : before_step());
  // The first one, so that also what a run loses before its first interval has passed is known when it is resumed.
  if (observer_.checkpoints) save_checkpoint(before_step());
  loop_.phases().start_step();
  std::optional<Ending> ending = evaluate_where_due();  // a checkpoint is made before the evaluation of its step
  for (bool enters = true; !ending && loop_.step() < total_steps_; enters = false) {
    if (enters || epochs_.begins_at(loop_.step())) tell(&Listener::epoch_started, before_step());
    const Agreement agreed = train_step();
    if (epochs_.begins_at(loop_.step())) tell(&Listener::epoch_ended, after_step());
    ending = answer(agreed);
    if (!ending) ending = evaluate_where_due();
  }
  if (ending) return *ending;
  if (t.max_steps > 0)
    return {result::Verdict::kSmoke,
        "stopped at train.max_steps = " + std::to_string(t.max_steps) + ", without evaluation"};
  return {result::Verdict::kNotConverged, accuracy_text(*last_, epochs_of(*last_), parts_.target, "below")};
}

Trainer::Agreement Trainer::train_step() {
  tell(&Listener::step_starts, before_step());
  open_.push_back(loop_.start(loop_.step() + 1 < total_steps_));
  // On a device a step's losses are on the host when the next step runs, so one step stays open; unless somebody looks
  // at what it left.
  const bool stays = loop_.late() && loop_.step() < total_steps_ && !epochs_.begins_at(loop_.step()) &&
                     !evaluation_is_due() &&
                     std::none_of(observer_.listeners.begin(), observer_.listeners.end(),
                         [&](const Listener* l) { return l->needs_sync(after_step()); });
  return settle(stays ? 1 : 0, true);
}

Trainer::Agreement Trainer::settle(std::size_t stay, bool step_ends) {
  const std::size_t settled = open_.size() - std::min(stay, open_.size());
  for (std::size_t i = 0; i < settled; ++i) loop_.settle(open_[i]);
  const Agreement agreed = agree(std::span(open_).first(settled), step_ends);
  if (step_ends) loop_.phases().end_step(open_.back());
  const std::vector<result::StepSample> samples(open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(settled));
  open_.erase(open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(settled));
  for (const result::StepSample& sample : samples) observer_.recorder.step(sample);
  if (agreed.not_finite >= 0)
    throw Incorrect("A loss of step " + std::to_string(agreed.step) + " on rank " + std::to_string(agreed.not_finite) +
                    " is not finite (see non_finite and steps.loss in the result, or that rank's journal). Lower "
                    "train.schedule.lr, lengthen train.schedule.warmup_steps, or look at the data of that step.");
  for (const result::StepSample& sample : samples) {
    images_ += sample.images;
    tell(&Listener::step_ended, position(sample.step + 1, sample.step), sample);
  }
  return agreed;
}

Trainer::Agreement Trainer::agree(std::span<const result::StepSample> settled, bool step_ends) {
  const std::string signal = observer_.interrupted();
  // Signal names travel as a number: their order here.
  static constexpr std::array<const char*, 4> kSignals = {"", "SIGUSR1", "SIGTERM", "SIGINT"};
  // The greatest is the one that counts: of steps that are not finite the first, of its ranks the lowest.
  double shared[4] = {0, 0, 0, 0};
  for (std::size_t i = 1; i < kSignals.size(); ++i)
    if (signal == kSignals[i]) shared[0] = static_cast<double>(i);
  const int size = control_.size();
  for (std::size_t i = settled.size(); i-- > 0;)
    for (double l : settled[i].loss)
      if (!std::isfinite(l)) shared[1] = static_cast<double>(settled.size() - 1 - i) * size + size - control_.rank();
  if (step_ends && observer_.checkpoints && observer_.checkpoints->due(loop_.step())) shared[2] = 1;
  if (step_ends && evaluation_ && control_.rank() == 0 && parts_.evaluator->scored()) shared[3] = 1;
  control_.all_reduce_max(shared, 4);
  Agreement agreed{.interrupted = kSignals[static_cast<std::size_t>(shared[0])],
      .checkpoint = shared[2] != 0,
      .scored = shared[3] != 0};
  if (shared[1] > 0) {
    const auto code = static_cast<std::int64_t>(shared[1]) - 1;
    agreed.step = settled[settled.size() - 1 - static_cast<std::size_t>(code / size)].step;
    agreed.not_finite = static_cast<int>(size - 1 - code % size);
  }
  return agreed;
}

std::optional<Ending> Trainer::answer(const Agreement& agreed) {
  const bool stands = !agreed.interrupted.empty() || agreed.checkpoint || agreed.scored;
  if (stands && !open_.empty()) settle(0, false);
  // What is saved has no open evaluation.
  if (stands && evaluation_)
    if (auto ending = finish_evaluation()) return ending;
  if (agreed.interrupted.empty()) {
    if (agreed.checkpoint) {
      save_checkpoint(after_step());
      loop_.phases().start_step();  // a checkpoint is no part of a step: it has samples of its own
    }
    return std::nullopt;
  }
  const std::string what = "Interrupted by " + agreed.interrupted + " after step " + std::to_string(loop_.step()) +
                           " of at most " + std::to_string(total_steps_) + ". ";
  if (!observer_.checkpoints) throw Interrupted(what + "To go on next time add --set train.checkpoint.folder=DIR.");
  const auto saved = observer_.checkpoints->interrupt(after_step(), observer_.listeners, agreed.interrupted);
  if (!saved) throw Interrupted(what + "No checkpoint of it was written: start the run again to repeat it.");
  const std::string remedy = what + "The same command again resumes from " + saved->checkpoint + ".";
  if (!saved->requeue) throw Interrupted(remedy);
  return Ending{.verdict = result::Verdict::kFailed, .reason = remedy, .to_be_resumed = true};
}

void Trainer::save_checkpoint(const Position& at) {
  tell(&Listener::checkpoint_started, at);
  observer_.checkpoints->save(at, observer_.listeners);
  tell(&Listener::checkpoint_ended, at);
}

std::optional<Ending> Trainer::evaluate_where_due() {
  if (!evaluation_is_due()) return std::nullopt;
  if (evaluation_)
    if (auto ending = finish_evaluation()) return ending;
  start_evaluation();
  const bool goes_on = config_.eval_overlap && loop_.step() < total_steps_;
  tell(&Listener::evaluation_predicted, evaluation_->at, goes_on);
  if (!goes_on)
    if (auto ending = finish_evaluation()) return ending;
  loop_.phases().start_step();
  return loop_.step() < total_steps_ ? answer(agree({}, false)) : std::nullopt;
}

bool Trainer::evaluation_is_due() const {
  const std::int64_t step = loop_.step();
  return config_.max_steps == 0 && step > 0 && (evaluations_.due(step, last_, parts_.target) || step == total_steps_) &&
         !(last_ && last_->step == step);
}

void Trainer::start_evaluation() {
  const std::int64_t epoch = epochs_.epoch_of(loop_.step());
  const trace::Scope span(loop_.lane(), trace::Event::kEvaluation, epoch);
  evaluation_ = {.at = after_step(), .record = {.epoch = epoch, .step = loop_.step(), .images = images_}};
  observer_.clock.start_evaluation();
  tell(&Listener::evaluation_started, evaluation_->at);
  average_running_statistics();
  parts_.evaluator->start();
  evaluation_->record.duration_s = observer_.clock.end_evaluation();
}

std::optional<Ending> Trainer::finish_evaluation() {
  auto [at, e] = *std::exchange(evaluation_, std::nullopt);
  {
    const trace::Scope span(loop_.lane(), trace::Event::kEvaluation, e.epoch);
    observer_.clock.start_evaluation();
    e.metrics = parts_.evaluator->finish();
    e.duration_s += observer_.clock.end_evaluation();
  }
  e.wall_s = observer_.clock.wall_s();
  observer_.recorder.evaluation(e);
  tell(&Listener::evaluated, at, e);
  last_ = e;
  loop_.phases().start_step();
  if (result::reached(e.metrics, parts_.target))
    return Ending{result::Verdict::kPassed, accuracy_text(e, epochs_of(e), parts_.target, "at or above")};
  return std::nullopt;
}

Position Trainer::position(std::int64_t steps_done, std::int64_t step_of_epoch) const {
  return {
      .step = steps_done, .total_steps = total_steps_, .epoch = epochs_.epoch_of(step_of_epoch) + 1, .images = images_};
}

void Trainer::average_running_statistics() {
  // Each rank has seen its own images: the mean over ranks is the better estimate, and every rank evaluates the same
  // model.
  if (control_.size() == 1 || !parts_.model->buffers_per_rank()) return;
  std::vector<at::Tensor> flat;
  std::vector<model::Parameter*> buffers;
  for (model::Parameter& p : parts_.model->parameters().all())
    if (p.buffer) flat.push_back(p.value.flatten()), buffers.push_back(&p);
  at::Tensor all = at::cat(flat).to(at::kCPU).contiguous();
  control_.all_reduce_sum(all.data_ptr<float>(), static_cast<std::size_t>(all.numel()));
  all.div_(control_.size());
  std::int64_t offset = 0;
  for (model::Parameter* p : buffers) {
    p->value.copy_(all.narrow(0, offset, p->count).view(p->shape));
    offset += p->count;
  }
}

}  // namespace ttt::train
