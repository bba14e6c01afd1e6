#include "run/components.h"

#include "run/assemble.h"

namespace ttt {
namespace {

std::unique_ptr<train::Reducer> make_reducer(const train::ReducerConfig& config, Run& run) {
  model::ParameterStore& store = run.parts.model->parameters();
  std::vector<std::int64_t> offsets;
  for (const model::Parameter* p : store.trainable()) offsets.push_back(p->offset);
  at::Tensor& flat = store.flat_gradients();
  const std::span<float> gradients(flat.data_ptr<float>(), static_cast<std::size_t>(flat.numel()));
  return train::make_reducer(
      config, {.gradients = gradients, .offsets = offsets, .comm = *run.gradients, .trace = run.parts.trace});
}

std::unique_ptr<model::Model> make_model(Run& run) {
  const train::Recipe& recipe = run.recipe;
  return recipe.workload->make_model({.settings = recipe.model,
      .ops = *run.ops,
      .seed = static_cast<std::uint64_t>(recipe.seed),
      .device = run.parts.device,
      // What ranks add up within the step lies where the gradients do.
      .sync = run.host_of_gradients ? run.gradients.get() : run.control.get(),
      .memory = run.parts.memory});
}

std::unique_ptr<eval::Evaluator> make_evaluator(Run& run) {
  eval::EvaluationInputs inputs = run.evaluation_inputs();
  inputs.batches_done = &run.place->count;
  return run.recipe.workload->make_evaluator(inputs);
}

}  // namespace

Components components_of(const train::Recipe& recipe) {
  const train::TrainSettings t = recipe.train;
  return {.order = {"order",
              [](Run& run) {
                return std::make_unique<data::TrainOrder>(*run.train_images, run.recipe.data, run.order_settings());
              }},
      .ops = {"ops", [](Run& run) { return std::make_unique<model::DetectionOps>(run.accelerator.ops); }},
      .model = {"model", make_model},
      .step = {"step",
          [](Run& run) {
            return std::make_unique<train::EagerStep>(
                *run.parts.model, train::ClearGradients{}, run.parts.scaler.get(), run.recipe.train.accumulate);
          }},
      .reducer = {"reducer", [t](Run& run) { return make_reducer(t.reducer, run); }},
      .optimizer = {"optimizer",
          [t](Run& run) {
            return train::make_optimizer(t.optimizer, {.store = run.parts.model->parameters(),
                                                          .kernels = run.accelerator.parameters,
                                                          .scaler = run.parts.scaler.get(),
                                                          .seed = static_cast<std::uint64_t>(run.recipe.seed)});
          }},
      .schedule = {"schedule",
          [t](Run& run) {
            const Epochs& epochs = run.order->epochs();
            return train::make_schedule(
                t.schedule, {.global_batch = run.recipe.train.global_batch,
                                .epochs = epochs,
                                .total_steps = train::planned_steps(t, epochs),
                                .phases = train::rate_phases(t.phases, t.schedule.lr, epochs, run.gradients->size())});
          }},
      .evaluator = {"evaluator", make_evaluator}};
}

std::vector<std::string> Components::replaced() const {
  std::vector<std::string> names;
  const auto note = [&](const auto& slot) {
    if (!slot.owner().empty()) names.push_back(slot.name());
  };
  note(order), note(ops), note(model), note(step), note(reducer), note(optimizer), note(schedule), note(evaluator);
  return names;
}

}  // namespace ttt
