#include "train/graph_runner.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/error.h"

namespace ttt::train {
namespace {

// Steps of each shape before capture: libraries choose their algorithms at the first, allocators settle, caches fill.
constexpr std::int64_t kWarmUpSteps = 3;
constexpr std::int64_t kNoForm = -1;

struct Sizes {
  std::vector<std::int64_t> images, objects;
  auto operator<=>(const Sizes&) const = default;
};
Sizes sizes_of(const StepInputs& in) { return {in.batch.images.sizes().vec(), in.batch.gt_box.sizes().vec()}; }

std::vector<std::pair<at::Tensor*, bool>> tensors_of(StepInputs& in) {
  std::vector<std::pair<at::Tensor*, bool>> all;
  in.for_each_tensor([&](at::Tensor& t, bool grows) { all.emplace_back(&t, grows); });
  return all;
}

// Inputs at addresses that stay, with room for twice the objects' outlines, and for those that `before` had room for
// where it is not null.
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
  // A backward pass over a replayed forward pass is to find the new values: they do not count as changes.
  const at::AutoDispatchBelowADInplaceOrView unversioned;
  const auto mine = tensors_of(fixed), theirs = tensors_of(in);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (!theirs[i].first->defined()) continue;
    const at::Tensor to = mine[i].second ? mine[i].first->narrow(0, 0, theirs[i].first->size(0)) : *mine[i].first;
    to.copy_(*theirs[i].first, /*non_blocking=*/true);
  }
  fixed.rates.lr = in.rates.lr, fixed.rates.gradient_scale = in.rates.gradient_scale;
}

// Of a stage, or of several that one graph holds.
struct Form {
  std::unique_ptr<cuda::Graph> graph = nullptr;
  double capture_s = 0;
  std::int64_t replays = 0;
};

struct Entry {
  Stage stage;             // not_capturable: also what an attempt to capture it said
  bool has_forms = false;  // Stage::form of it or of a stage before, on which it depends
  std::map<std::int64_t, Form> forms = {};

  bool has_graph() const {
    return std::ranges::any_of(forms, [](const auto& f) { return f.second.graph != nullptr; });
  }
  void describe(result::Json& parts) const {
    for (const auto& [key, form] : forms) {
      result::Json part = {{"part", stage.name}};
      if (has_forms) part["form"] = key;
      if (form.graph) {
        const cuda::GraphSize size = form.graph->size();
        part["nodes"] = size.nodes, part["memory_bytes"] = size.bytes, part["capture_s"] = form.capture_s;
        part["replays"] = form.replays;
      } else {
        const std::string never = "it did not come after its first " + std::to_string(kWarmUpSteps) + " steps";
        part["not_recorded"] = stage.not_capturable.empty() ? never : stage.not_capturable;
      }
      parts.push_back(std::move(part));
    }
  }
};

// One shape of inputs.
struct Shape {
  StepState state;
  std::vector<Entry> entries = {};
  std::map<std::int64_t, std::int64_t> runs = {};  // by form, of all at kNoForm

  Entry& named(const std::string& name) {
    return *std::ranges::find_if(entries, [&](const Entry& e) { return e.stage.name == name; });
  }
};

Stage joined(const Stage& a, const Stage& b) {
  return {.name = b.name,
      .phase = b.phase,
      .run = [a = a.run, b = b.run](const Keep& keep) { a(keep), b(keep); },
      .not_capturable = a.not_capturable.empty() ? b.not_capturable : a.not_capturable,
      .after = b.after,
      .form = a.form};
}

class GraphRunner final : public StepRunner {
 public:
  GraphRunner(Parts& parts, comm::Communicator& comm, bool whole) : parts_(parts), comm_(comm), whole_(whole) {
    if (!whole_) {
      parts_.hooks.reset();  // a captured backward must not start collectives
      return;
    }
    StepState unused;
    const std::vector<Entry> all = entries(unused);
    if (const std::string reason = first_reason(all); !reason.empty()) refuse(reason);
    // NCCL: whether a collective is captured must be alike on all ranks.
    if (comm_.size() > 1 && std::ranges::any_of(all, &Entry::has_forms))
      refuse(
          "ranks record the forms of a step, of which each chooses its own, and the sums of gradients in them, in "
          "different steps (model.shapes = \"quarters\")");
  }

  std::vector<at::Tensor> run(
      StepInputs in, result::PhaseClock& clock, const std::function<void()>& next_batch) override {
    Shape& shape = shape_for(in);
    load(shape.state.inputs, in);
    ++shape.runs[kNoForm];
    bool replayed = false;
    std::int64_t form = kNoForm;
    std::optional<result::Phase> phase;
    for (Entry& e : shape.entries) {
      if (phase != e.stage.phase) clock.enter(e.stage.phase), phase = e.stage.phase;
      if (e.stage.form) {
        if (replayed) comm_.watch("the step's first part, replayed");
        ++shape.runs[form = e.stage.form()];
      }
      replayed |= run(shape, e, e.has_forms ? form : kNoForm);
      if (e.stage.after) e.stage.after();
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
      for (const Entry& e : shape.entries) e.describe(parts);
      shapes.push_back({{"images", sizes.images}, {"steps", shape.runs.at(kNoForm)}, {"parts", parts}});
    }
    return {{"level", whole_ ? "full" : "parts"}, {"shapes", shapes}, {"recorded_again", captured_again_}};
  }

 private:
  static std::string first_reason(const std::vector<Entry>& all) {
    for (const Entry& e : all)
      if (!e.stage.not_capturable.empty()) return e.stage.not_capturable;
    return "";
  }
  [[noreturn]] static void refuse(const std::string& reason) {
    throw NotSupported("train.graphs = \"full\": the step cannot be recorded: " + reason +
                       ". Choose train.graphs = \"parts\" or \"none\".");
  }

  Shape& shape_for(StepInputs& in) {
    const Sizes sizes = sizes_of(in);
    auto found = shapes_.find(sizes);
    std::map<std::int64_t, std::int64_t> runs;
    std::optional<StepInputs> before;
    if (found != shapes_.end()) {
      if (has_room(found->second.state.inputs, in)) return found->second;
      runs = found->second.runs;
      before = found->second.state.inputs;
      captured_again_ += runs.at(kNoForm) > kWarmUpSteps;
      shapes_.erase(found);
    }
    Shape& shape = shapes_[sizes];
    shape.state.inputs = fixed_inputs(in, before ? &*before : nullptr);
    shape.entries = entries(shape.state);
    // Graphs that take turns are replayed in another order than they are captured in. What one leaves may then be
    // another's workspace: only what the next one reads is safe. Losses are read after all of them.
    if (!whole_ || std::ranges::any_of(shape.entries, &Entry::has_forms))
      for (std::size_t i = 0; i < parts_.model->loss_names().size(); ++i)
        shape.state.kept.push_back(at::empty({}, at::TensorOptions(parts_.device).dtype(at::kFloat)));
    shape.runs = runs;
    return shape;
  }

  // The stages of the step but the next batch, which is fetched after the replay. Each is by itself, or all are in one
  // up to where the host must act. A stream that was forked must be joined within its capture, so launch and
  // all_reduce are one.
  std::vector<Entry> entries(StepState& s) {
    std::vector<Entry> all;
    std::set<std::string> of_forms;  // stages
    for (const Stage& stage : stages_of(*parts_.step, *parts_.reducer, *parts_.optimizer, s, [] {})) {
      if (stage.name == kNextBatch) continue;
      const bool has_forms = stage.form || std::ranges::any_of(stage.backward_of,
                                               [&](const auto& name) { return of_forms.contains(name); });
      if (has_forms) of_forms.insert(stage.name);
      const bool acts = !all.empty() && (all.back().stage.after || stage.form ||
                                            (all.back().has_forms && stage.phase == result::Phase::kForward));
      const bool joins = whole_ ? !all.empty() && !acts : stage.name == kAllReduce;
      if (joins) all.back().stage = joined(all.back().stage, stage), all.back().has_forms |= has_forms;
      else all.push_back({.stage = stage, .has_forms = has_forms});
    }
    if (!whole_) return all;
    for (Entry& e : all) {
      e.stage.phase = result::Phase::kForward;
      e.stage.name = all.size() == 1 ? "step" : "step up to " + e.stage.name;
      e.stage.continues = {};
    }
    return all;
  }

  // Returns whether it was replayed.
  bool run(Shape& shape, Entry& e, std::int64_t key) {
    Form& form = e.forms[key];
    const bool settled = std::min(shape.runs.at(kNoForm), shape.runs.at(key)) > kWarmUpSteps;
    if (settled && !form.graph && e.stage.not_capturable.empty()) capture(shape, e, key);
    if (!form.graph) {
      e.stage.run({.history = continues_replays(shape, e)});
      return false;
    }
    form.graph->replay(), ++form.replays;
    return true;
  }

  // Whether others are replayed which need autograd's graph again that this one goes back through.
  bool continues_replays(Shape& shape, const Entry& e) const {
    if (whole_) return std::ranges::any_of(shape.entries, &Entry::has_graph);
    return std::ranges::any_of(e.stage.backward_of, [&](const auto& name) { return shape.named(name).has_graph(); });
  }

  // Why it could not be captured for what it depends on; "" where that has graphs.
  std::string missing(Shape& shape, const Entry& e, std::int64_t form) const {
    const auto recorded = [&](const std::string& name) {
      const Entry& other = shape.named(name);
      const auto found = other.forms.find(other.has_forms ? form : kNoForm);
      return found != other.forms.end() && found->second.graph;
    };
    if (!e.stage.continues.empty() && !recorded(e.stage.continues)) return "what it continues is not recorded";
    if (!std::ranges::all_of(e.stage.backward_of, recorded)) return "its forward pass is not recorded";
    return "";
  }

  void capture(Shape& shape, Entry& e, std::int64_t key) {
    if (e.stage.not_capturable = missing(shape, e, key); !e.stage.not_capturable.empty()) return;
    Form& form = e.forms[key];
    const double start_s = now_s();
    const Keep keep = whole_ ? Keep{.history = shape.entries.size() > 1} : Keep{.history = true, .addresses = true};
    try {
      form.graph = parts_.graphs->capture([&] { e.stage.run(keep); });
      form.capture_s = now_s() - start_s;
    } catch (const cuda::NotCapturable& error) {
      if (whole_) refuse(error.what());
      e.stage.not_capturable = error.what();
      if (!e.stage.backward_of.empty())  // other forms belong to the same forward pass
        for (auto& [other, own] : e.forms) own.graph.reset();
      // This step's forward pass has been replayed, and this pass continues it; from the next step on it runs as it is.
      for (const std::string& name : e.stage.backward_of) {
        Entry& forward = shape.named(name);
        forward.forms.clear();
        forward.stage.not_capturable = "its backward pass cannot be recorded: " + e.stage.not_capturable;
      }
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
    throw NotSupported("train.graphs = \"" + graphs + "\" needs a device that can record its work, and this run's is " +
                       parts.device.str() + ". Choose device = \"cuda\" or train.graphs = \"none\".");
  return std::make_unique<GraphRunner>(parts, comm, graphs == "full");
}

}  // namespace ttt::train
