#include "run/guards.h"

#include <unistd.h>

#include "comm/text.h"
#include "result/system_info.h"

namespace ttt {
namespace {

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

}  // namespace

Guards::Guards(Run& run, const comm::World& world, harness::RunContext& context,
    const std::function<void(const std::string&)>& note) {
  const bool reduces = !run.parts.reducer->traits().idle;
  plant(run, world, context);
  const train::TrainSettings& t = run.recipe.train;
  const std::vector<std::string> nodes = comm::texts_of_all(*run.control, result::this_node().host);
  heartbeat_ = world.heartbeat(*run.place);
  watchdog_ = std::make_unique<train::Watchdog>(train::Watchdog::Settings{.limit_s = t.watchdog_s,
                                                    .rank = world.rank(),
                                                    .nodes = nodes,
                                                    .recorder = &context.recorder,
                                                    .give_up = context.give_up},
      *heartbeat_, *run.place);
  const std::int64_t every = reduces ? t.check_replicas_every : 0;
  replicas_ = std::make_unique<train::ReplicaCheck>(
      every, run.parts.model->parameters(), *run.parts.optimizer, *run.control, context.recorder, nodes);
  stragglers_ = std::make_unique<train::Stragglers>(t.stragglers, *run.control, context.recorder,
      train::Stragglers::Names{nodes, comm::texts_of_all(*run.control, host_name())}, note);
  witness_ = std::make_unique<harness::Witness::Scope>(context.witness, [this] { return watchdog_->diagnosis(); });
}

void Guards::plant(Run& run, const comm::World& world, harness::RunContext& context) {
  const std::vector<train::Fault> faults = train::parse_faults(context.options.inject, world.size());
  if (faults.empty()) return;
  injector_ = std::make_unique<train::Injector>(faults, world.rank(), run.order->epochs());
  injector_->plant(run.parts);
  // a run that resumes is left in peace
  if (auto order = injector_->hanging(run.batches); order && run.parts.loader->position() == 0)
    run.parts.loader =
        std::make_unique<data::Loader>(*run.train_images, run.recipe.data, std::move(order), run.loader_start());
  std::string all;
  for (const train::Fault& f : faults) all += (all.empty() ? "" : "; ") + train::fault_text(f);
  context.recorder.update([&](result::RunRecord& r) {
    for (const train::Fault& f : faults) r.injected.push_back(train::fault_text(f));
  });
  context.recorder.warn("Faults were injected (" + all + "): this run is no measurement.");
}

std::vector<train::Listener*> Guards::listeners() {
  std::vector<train::Listener*> all = {watchdog_.get()};
  if (injector_) all.push_back(injector_.get());
  all.insert(all.end(), {replicas_.get(), stragglers_.get()});
  return all;
}

train::Ending Guards::finished(train::Ending ending) {
  watchdog_->stop();
  if (injector_ && ending.verdict == result::Verdict::kPassed)
    ending.verdict = result::Verdict::kSmoke, ending.reason += ", but faults were injected";
  return ending;
}

}  // namespace ttt
