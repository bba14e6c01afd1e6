#include "train/graphed_step.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "train/step_loop.h"

namespace ttt::train {
namespace {

// Steps of each shape before it is recorded: libraries choose their algorithms at the first, allocators settle, and what is made once is made.
constexpr std::int64_t kWarmUpSteps = 3;

struct Sizes {
  std::vector<std::int64_t> images, objects;
  auto operator<=>(const Sizes&) const = default;
};
Sizes sizes_of(const StepInputs& in) { return {in.batch.images.sizes().vec(), in.batch.gt_box.sizes().vec()}; }

std::vector<std::pair<at::Tensor*, bool>> tensors_of(StepInputs& in) {
  std::vector<std::pair<at::Tensor*, bool>> all;
  for_each_tensor(in, [&](at::Tensor& t, bool grows) { all.emplace_back(&t, grows); });
  return all;
}

// Inputs at addresses that stay.
class FixedInputs {
 public:
  // With room for as many objects' outlines again, and for what `before` had room for, where that is not null.
  FixedInputs(StepInputs& first, FixedInputs* before) : inputs_(first) {
    const auto mine = tensors_of(inputs_), old = before ? tensors_of(before->inputs_) : mine;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      at::Tensor& t = *mine[i].first;
      if (!t.defined()) continue;
      std::vector<std::int64_t> shape = t.sizes().vec();
      if (mine[i].second) shape[0] = std::max(2 * shape[0] + 64, old[i].first->size(0));
      t = mine[i].second ? at::empty(shape, t.options()) : at::empty_like(t);
    }
  }
  bool hold(StepInputs& in) {
    const auto mine = tensors_of(inputs_), theirs = tensors_of(in);
    for (std::size_t i = 0; i < mine.size(); ++i)
      if (mine[i].second && theirs[i].first->defined() && theirs[i].first->size(0) > mine[i].first->size(0)) return false;
    return true;
  }
  void load(StepInputs& in) {
    const auto mine = tensors_of(inputs_), theirs = tensors_of(in);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      if (!theirs[i].first->defined()) continue;
      const at::Tensor to = mine[i].second ? mine[i].first->narrow(0, 0, theirs[i].first->size(0)) : *mine[i].first;
      to.copy_(*theirs[i].first, /*non_blocking=*/true);
    }
    inputs_.rates.lr = in.rates.lr, inputs_.rates.gradient_scale = in.rates.gradient_scale;
  }
  const StepInputs& get() const { return inputs_; }

 private:
  StepInputs inputs_;
};

struct Unit {
  std::string name;
  result::Phase phase;
  std::function<void(bool keep)> run;
  std::string backward_of = {};
  std::string reason = {};  // why it is not recorded
  std::unique_ptr<cuda::Graph> graph = nullptr;
  double capture_s = 0;
  std::int64_t replays = 0;
};

// What is recorded for one shape of inputs.
struct Recording {
  Recording(StepInputs& first, FixedInputs* before) : inputs(first, before) {}
  FixedInputs inputs;
  Pass pass;
  std::vector<Unit> units;
  std::int64_t runs = 0;
};

class GraphedRunner final : public StepRunner {
 public:
  GraphedRunner(Parts& parts, comm::Communicator& comm, bool whole) : parts_(parts), comm_(comm), whole_(whole) {
    if (!whole_) {
      parts_.hooks.reset();  // what is recorded of backward must not start collectives
      return;
    }
    for (const std::string& reason : {parts_.step->bound_to_host(), parts_.reducer->bound_to_host(), parts_.optimizer->bound_to_host()})
      if (!reason.empty()) refuse(reason);
  }

  DetachedLosses run(StepInputs in, result::PhaseClock& clock, const std::function<void()>& meanwhile) override {
    Recording& r = recording_for(in);
    r.inputs.load(in);
    const bool record = r.runs++ >= kWarmUpSteps;
    bool replayed = false;
    std::optional<result::Phase> phase;
    for (Unit& u : r.units) {
      if (phase != u.phase) clock.enter(u.phase), phase = u.phase;
      if (record && !u.graph && u.reason.empty()) capture(r, u);
      if (u.graph) u.graph->replay(), ++u.replays, replayed = true;
      else u.run(/*keep=*/false);
    }
    clock.enter(result::Phase::kOther);
    if (replayed) comm_.watch("step " + std::to_string(++steps_) + " of those that were replayed");
    meanwhile();
    clock.enter(result::Phase::kOther);
    return r.pass.losses();
  }

  result::Json describe() const override {
    result::Json shapes = result::Json::array();
    for (const auto& [sizes, r] : recordings_) {
      result::Json units = result::Json::array();
      for (const Unit& u : r.units) {
        if (u.graph) {
          const cuda::GraphSize size = u.graph->size();
          units.push_back({{"part", u.name}, {"nodes", size.nodes}, {"memory_bytes", size.bytes}, {"capture_s", u.capture_s}, {"replays", u.replays}});
        } else {
          units.push_back({{"part", u.name}, {"not_recorded", u.reason.empty() ? "no step of this shape came after the first " + std::to_string(kWarmUpSteps) : u.reason}});
        }
      }
      shapes.push_back({{"images", sizes.images}, {"steps", r.runs}, {"parts", units}});
    }
    return {{"level", whole_ ? "full" : "parts"}, {"shapes", shapes}, {"recorded_again", recorded_again_}};
  }

 private:
  [[noreturn]] static void refuse(const std::string& reason) {
    throw NotSupported("train.graphs = \"full\": the step cannot be recorded: " + reason + ". Choose train.graphs = \"parts\" or \"none\".");
  }

  Recording& recording_for(StepInputs& in) {
    const Sizes sizes = sizes_of(in);
    auto found = recordings_.find(sizes);
    std::int64_t runs = 0;
    std::optional<FixedInputs> before;
    if (found != recordings_.end()) {
      if (found->second.inputs.hold(in)) return found->second;
      runs = found->second.runs;
      before = found->second.inputs;
      recorded_again_ += runs > kWarmUpSteps;
      recordings_.erase(found);
    }
    Recording& r = recordings_.try_emplace(sizes, in, before ? &*before : nullptr).first->second;
    r.runs = runs;
    r.pass = parts_.step->pass(r.inputs.get().batch);
    r.units = whole_ ? whole_step(r) : step_parts(r);
    return r;
  }

  std::vector<Unit> whole_step(Recording& r) {
    std::vector<Unit> units;
    units.push_back({.name = "step", .phase = result::Phase::kForward, .run = [this, &r](bool) {
                       parts_.reducer->begin();
                       for (const StepPart& part : r.pass.parts) part.run(/*keep=*/false);
                       parts_.reducer->launch();
                       parts_.reducer->finish();
                       parts_.optimizer->step(r.inputs.get().rates);
                     }});
    return units;
  }

  std::vector<Unit> step_parts(Recording& r) {
    std::vector<Unit> units;
    for (const StepPart& part : r.pass.parts)
      units.push_back({.name = part.name, .phase = part.phase, .run = part.run, .backward_of = part.backward_of, .reason = parts_.step->bound_to_host()});
    if (!parts_.reducer->idle())
      units.push_back({.name = "all_reduce", .phase = result::Phase::kCommExposed, .run = [this](bool) {
                         parts_.reducer->begin();
                         parts_.reducer->launch();
                         parts_.reducer->finish();
                       }, .reason = parts_.reducer->bound_to_host()});
    units.push_back({.name = "optimizer", .phase = result::Phase::kOptimizer, .run = [this, &r](bool) { parts_.optimizer->step(r.inputs.get().rates); },
                     .reason = parts_.optimizer->bound_to_host()});
    return units;
  }

  void capture(Recording& r, Unit& u) {
    Unit* forward = nullptr;
    if (!u.backward_of.empty()) {
      forward = &*std::find_if(r.units.begin(), r.units.end(), [&](const Unit& other) { return other.name == u.backward_of; });
      if (!forward->graph) {
        u.reason = "its forward pass is not recorded";
        return;
      }
    }
    const double start_s = now_s();
    try {
      u.graph = parts_.graphs->capture([&] { u.run(/*keep=*/!whole_); });
      u.capture_s = now_s() - start_s;
    } catch (const cuda::NotCapturable& e) {
      if (whole_) refuse(e.what());
      u.reason = e.what();
      // This step's forward pass has been replayed and is gone on with; from the next on it runs as it is.
      if (forward) forward->graph.reset(), forward->reason = "its backward pass cannot be recorded: " + u.reason;
    }
  }

  Parts& parts_;
  comm::Communicator& comm_;
  bool whole_;
  std::map<Sizes, Recording> recordings_;
  std::int64_t recorded_again_ = 0, steps_ = 0;
};

}  // namespace

std::unique_ptr<StepRunner> make_whole_step_runner(Parts& parts, comm::Communicator& comm) { return std::make_unique<GraphedRunner>(parts, comm, true); }
std::unique_ptr<StepRunner> make_part_runner(Parts& parts, comm::Communicator& comm) { return std::make_unique<GraphedRunner>(parts, comm, false); }

}  // namespace ttt::train
