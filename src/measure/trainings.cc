#include "measure/trainings.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "measure/averaged_weights.h"
#include "result/exchange.h"
#include "run/fresh_images.h"

namespace ttt::ablations {

using result::Json;
using result::Training;

Training train_to(
    const Job& job, const TrainedFor& wanted, const comm::Team& team, const harness::RunContext& context) {
  Components components = components_of(job.recipe);
  if (job.variant->components) job.variant->components(components);
  Run run = assemble(job.recipe, components, team, context);
  if (job.variant->enter) job.variant->enter();
  result::RunRecorder recorder;
  result::RunClock clock;
  std::optional<AveragedWeights> averages;
  if (wanted.averaged) averages.emplace(run.parts.model->parameters());
  std::optional<FreshImages> fresh;
  if (run.recipe.data.generated_fresh > 0) fresh.emplace(run, context);
  const train::Observer observer{.recorder = recorder,
      .clock = clock,
      .interrupted = [&] { return context.signals.name(); },
      .listeners = averages ? std::vector<train::Listener*>{&*averages} : std::vector<train::Listener*>{}};
  const double images = static_cast<double>(run.train_images->size());
  train::Trainer trainer(
      run.recipe.train, std::move(run.parts), run.order->epochs(), *run.gradients, *run.control, observer);
  trainer.run();
  const result::RunRecord record = recorder.snapshot();
  std::optional<result::FreshEvaluation> on_fresh;
  if (fresh) {
    if (averages) averages->exchange();
    on_fresh = fresh->evaluate();
  }
  const result::Evaluation& last = record.accuracy.back();
  double seconds = last.wall_s;
  run.control->broadcast(&seconds, sizeof seconds, 0);
  Training t{.variant = job.variant->name,
      .seed = job.recipe.seed,
      .reached = result::reached(last.metrics, wanted.target),
      .epochs = static_cast<double>(last.images) / images,
      .seconds = seconds,
      .metrics = result::bounded(last.metrics, wanted.target)};
  for (const result::Evaluation& e : record.accuracy)
    t.accuracy.push_back({static_cast<double>(e.images) / images, result::bounded(e.metrics, wanted.target)});
  if (on_fresh) t.fresh = result::bounded(on_fresh->metrics, wanted.target);
  return t;
}

Trainings::Trainings(const comm::World& world, bool side_by_side)
    : world_(world), side_by_side_(side_by_side), control_(world.communicator()) {}

namespace {

Made made(const Job& job, const comm::Team& team, const Trainings::Train& train) {
  try {
    return {.training = train(job, team)};
  } catch (const Interrupted&) {  // whose remedy is a checkpoint, which a comparison has not
    return {};
  } catch (const Incorrect& e) {
    return {.training = Training{.variant = job.variant->name, .seed = job.recipe.seed, .problem = e.what()}};
  }
}

}  // namespace

std::vector<Made> Trainings::make(std::span<const Job> jobs, const Train& train) {
  std::vector<Made> all;
  if (!side_by_side_) {
    for (const Job& job : jobs) {
      all.push_back(made(job, world_.team(), train));
      if (!all.back().training) break;
    }
    return all;
  }
  for (std::size_t begin = 0; begin < jobs.size(); begin += static_cast<std::size_t>(world_.size())) {
    const std::size_t own = begin + static_cast<std::size_t>(world_.rank());
    const std::vector<std::string> texts =
        gathered(own < jobs.size() ? result::dump(result::json_of(made(jobs[own], by_itself(), train)), -1) : "");
    for (const std::string& text : texts)
      if (!text.empty()) all.push_back(result::record_from_json<Made>(result::parse(text, "training"), ""));
    if (std::any_of(all.begin(), all.end(), [](const Made& m) { return !m.training; })) break;
  }
  return all;
}

// With its share of the node's cores and devices.
comm::Team Trainings::by_itself() const {
  comm::Team team = comm::alone();
  team.local_rank = world_.local_rank(), team.local_size = world_.local_size();
  return team;
}

// The texts of all ranks in rank order, on all ranks.
std::vector<std::string> Trainings::gathered(const std::string& text) {
  std::string all;
  if (const auto texts = control_->gather(text, 0); world_.rank() == 0) all = result::dump(Json(texts), -1);
  std::uint64_t size = all.size();
  control_->broadcast(&size, sizeof size, 0);
  all.resize(size);
  control_->broadcast(all.data(), size, 0);
  return result::parse(all, "trainings").get<std::vector<std::string>>();
}

std::string training_text(const std::string& ablation, const Training& t, const result::Metrics& target) {
  const std::string name = ablation + ": " + t.variant + ", seed " + std::to_string(t.seed) + ": ";
  if (!t.problem.empty()) return name + t.problem;
  return name + result::fixed("progress %.3f after %.2f epochs, %.1f s (%s)", result::progress(t, target), t.epochs,
                    t.seconds, result::metrics_text(t.metrics, 3).c_str());
}

}  // namespace ttt::ablations
