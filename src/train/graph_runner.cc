#include "train/graph_runner.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/error.h"

namespace ttt::train {
namespace {

// Steps of each shape before capture: libraries choose their algorithms at the first, allocators settle, caches fill.
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

// Inputs at addresses that stay, with room for twice the objects' outlines, and for those that `before` had room for where it
// is not null.
StepInputs fixed_inputs(const StepInputs& first, StepInputs* before) {
  StepInputs fixed = first;
  const auto mine = tensors_of(fixed), old = before ? tensors_of(*before) : mine;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    at::Tensor& t = *mine[i].first;
    if (!t.defined()) continue;
    std::vector<std::int64_t> shape = t.sizes().vec();
    if (mine[i].second) shape[0] = std::max(2 * shape[0] + 64, old[i].first->size(0));
    t = mine[i].second ? at::empty(shape, t.options()) : at::empty_like(t);
  }
  return fixed;
}

bool has_room(StepInputs& fixed, StepInputs& in) {
  const auto mine = tensors_of(fixed), theirs = tensors_of(in);
  for (std::size_t i = 0; i < mine.size(); ++i)
    if (mine[i].second && theirs[i].first->defined() && theirs[i].first->size(0) > mine[i].first->size(0)) return false;
  return true;
}

void load(StepInputs& fixed, StepInputs& in) {
  const auto mine = tensors_of(fixed), theirs = tensors_of(in);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (!theirs[i].first->defined()) continue;
    const at::Tensor to = mine[i].second ? mine[i].first->narrow(0, 0, theirs[i].first->size(0)) : *mine[i].first;
    to.copy_(*theirs[i].first, /*non_blocking=*/true);
  }
  fixed.rates.lr = in.rates.lr, fixed.rates.gradient_scale = in.rates.gradient_scale;
}

// A stage, or several that one graph holds.
struct Entry {
  Stage stage;  // not_capturable: also what an attempt to capture it said
  std::unique_ptr<cuda::Graph> graph = nullptr;
  double capture_s = 0;
  std::int64_t replays = 0;

  result::Json describe() const {
    if (!graph) {
      const std::string never = "no step of this shape came after the first " + std::to_string(kWarmUpSteps);
      return {{"part", stage.name}, {"not_recorded", stage.not_capturable.empty() ? never : stage.not_capturable}};
    }
    const cuda::GraphSize size = graph->size();
    return {{"part", stage.name}, {"nodes", size.nodes}, {"memory_bytes", size.bytes}, {"capture_s", capture_s}, {"replays", replays}};
  }
};

// One shape of inputs.
struct Shape {
  StepState state;
  std::vector<Entry> entries = {};
  std::int64_t runs = 0;
};

Stage joined(const Stage& a, const Stage& b) {
  return {.name = b.name, .phase = b.phase, .run = [a = a.run, b = b.run](bool keep) { a(keep), b(keep); },
          .not_capturable = a.not_capturable.empty() ? b.not_capturable : a.not_capturable};
}

class GraphRunner final : public StepRunner {
 public:
  GraphRunner(Parts& parts, comm::Communicator& comm, bool whole) : parts_(parts), comm_(comm), whole_(whole) {
    if (!whole_) {
      parts_.hooks.reset();  // a captured backward must not start collectives
      return;
    }
    StepState unused;
    if (const std::string reason = entries(unused).front().stage.not_capturable; !reason.empty()) refuse(reason);
  }

  DetachedLosses run(StepInputs in, result::PhaseClock& clock, const std::function<void()>& next_batch) override {
    Shape& shape = shape_for(in);
    load(shape.state.inputs, in);
    const bool captures = shape.runs++ >= kWarmUpSteps;
    bool replayed = false;
    std::optional<result::Phase> phase;
    for (Entry& e : shape.entries) {
      if (phase != e.stage.phase) clock.enter(e.stage.phase), phase = e.stage.phase;
      if (captures && !e.graph && e.stage.not_capturable.empty()) capture(shape, e);
      if (e.graph) e.graph->replay(), ++e.replays, replayed = true;
      else e.stage.run(/*keep=*/false);
    }
    clock.enter(result::Phase::kOther);
    if (replayed) comm_.watch("step " + std::to_string(++steps_) + " of those that were replayed");
    next_batch();
    clock.enter(result::Phase::kOther);
    return shape.state.losses;
  }

  result::Json describe() const override {
    result::Json shapes = result::Json::array();
    for (const auto& [sizes, shape] : shapes_) {
      result::Json parts = result::Json::array();
      for (const Entry& e : shape.entries) parts.push_back(e.describe());
      shapes.push_back({{"images", sizes.images}, {"steps", shape.runs}, {"parts", parts}});
    }
    return {{"level", whole_ ? "full" : "parts"}, {"shapes", shapes}, {"recorded_again", captured_again_}};
  }

 private:
  [[noreturn]] static void refuse(const std::string& reason) {
    throw NotSupported("train.graphs = \"full\": the step cannot be recorded: " + reason + ". Choose train.graphs = \"parts\" or \"none\".");
  }

  Shape& shape_for(StepInputs& in) {
    const Sizes sizes = sizes_of(in);
    auto found = shapes_.find(sizes);
    std::int64_t runs = 0;
    std::optional<StepInputs> before;
    if (found != shapes_.end()) {
      if (has_room(found->second.state.inputs, in)) return found->second;
      runs = found->second.runs;
      before = found->second.state.inputs;
      captured_again_ += runs > kWarmUpSteps;
      shapes_.erase(found);
    }
    Shape& shape = shapes_[sizes];
    shape.state.inputs = fixed_inputs(in, before ? &*before : nullptr);
    shape.entries = entries(shape.state);
    shape.runs = runs;
    return shape;
  }

  // The stages of the step but the next batch, which is fetched after the replay: all of them in one, or each by itself. A stream
  // that was forked must be joined within its capture, so launch and all_reduce are one.
  std::vector<Entry> entries(StepState& s) {
    std::vector<Entry> all;
    for (const Stage& stage : stages_of(*parts_.step, *parts_.reducer, *parts_.optimizer, s, [] {})) {
      if (stage.name == kNextBatch) continue;
      const bool joins = whole_ ? !all.empty() : stage.name == kAllReduce;
      if (joins) all.back().stage = joined(all.back().stage, stage);
      else all.push_back({.stage = stage});
    }
    if (whole_) all[0].stage.name = "step", all[0].stage.phase = result::Phase::kForward;
    return all;
  }

  void capture(Shape& shape, Entry& e) {
    Entry* forward = nullptr;
    if (!e.stage.backward_of.empty()) {
      forward = &*std::find_if(shape.entries.begin(), shape.entries.end(), [&](const Entry& other) { return other.stage.name == e.stage.backward_of; });
      if (!forward->graph) {
        e.stage.not_capturable = "its forward pass is not recorded";
        return;
      }
    }
    const double start_s = now_s();
    try {
      e.graph = parts_.graphs->capture([&] { e.stage.run(/*keep=*/!whole_); });
      e.capture_s = now_s() - start_s;
    } catch (const cuda::NotCapturable& error) {
      if (whole_) refuse(error.what());
      e.stage.not_capturable = error.what();
      // This step's forward pass has been replayed, and this pass continues it; from the next step on it runs as it is.
      if (forward) forward->graph.reset(), forward->stage.not_capturable = "its backward pass cannot be recorded: " + e.stage.not_capturable;
    }
  }

  Parts& parts_;
  comm::Communicator& comm_;
  bool whole_;
  std::map<Sizes, Shape> shapes_;
  std::int64_t captured_again_ = 0, steps_ = 0;
};

}  // namespace

std::unique_ptr<StepRunner> make_step_runner(const std::string& graphs, Parts& parts, comm::Communicator& comm) {
  if (graphs == "none") return std::make_unique<EagerRunner>(*parts.step, *parts.reducer, *parts.optimizer);
  if (!parts.graphs)
    throw NotSupported("train.graphs = \"" + graphs + "\" needs a device that can record its work, and this run's is " + parts.device.str() +
                       ". Choose device = \"cuda\" or train.graphs = \"none\".");
  return std::make_unique<GraphRunner>(parts, comm, graphs == "full");
}

}  // namespace ttt::train
