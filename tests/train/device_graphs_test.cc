// Steps recorded by a device and replayed: the bits of steps that are not, whatever can be recorded of them; and what
// is said about the rest.
#include <ATen/ops/isfinite.h>

#include <cmath>

#include "core/error.h"
#include "tests/train/device_trial.h"

namespace ttt {
namespace {

using test::eager_steps;
using test::expect_same;
using test::Failing;
using test::one_size;
using test::Outcome;
using test::parts_of;
using test::Planned;
using test::run;
using test::same_bits;
using test::Trial;
using test::two_sizes;

const std::map<std::string, std::string> kAllRecorded = {
    {"backbone", ""}, {"heads", ""}, {"heads_backward", ""}, {"backbone_backward", ""}, {"optimizer", ""}};

TEST(Graphs, ClippedUpdate) {
  const Trial clipped{.optimizer = {.clip_norm = 0.5}}, clipped_full{.graphs = "full", .optimizer = {.clip_norm = 0.5}};
  const Outcome eager = run(clipped, one_size());
  expect_same(eager, run(clipped_full, one_size()));
  EXPECT_FALSE(same_bits(eager.weights, eager_steps().weights)) << "nothing was clipped";
}

TEST(Graphs, EveryOptimizer) {
  constexpr const char* kKinds[] = {TTT_OPTIMIZERS(TTT_CHOICE_NAME)};
  for (const char* kind : kKinds) {
    SCOPED_TRACE(kind);
    const Trial eager{
        .optimizer = {.kind = kind}, .scale = train::LossScaleConfig{.initial = 1024, .interval = 2}, .not_numbers = 4};
    Trial full = eager;
    full.graphs = "full";
    const Outcome of_eager = run(eager, one_size()), of_full = run(full, one_size());
    expect_same(of_eager, of_full);
    EXPECT_EQ(parts_of(of_full), (std::map<std::string, std::string>{{"step", ""}}));
    EXPECT_TRUE(at::isfinite(of_eager.weights).all().item<bool>()) << "a step without numbers was not skipped";
  }
}

TEST(Graphs, BatchInParts) {
  const auto in_parts = [](train::Parts& parts) {
    parts.step = std::make_unique<train::EagerStep>(*parts.model, train::ClearGradients{}, parts.scaler.get(), 2);
  };
  const Trial eager{.change = in_parts, .scale = train::LossScaleConfig{.initial = 1024}};
  Trial by_parts = eager, full = eager;
  by_parts.graphs = "parts", full.graphs = "full";
  const Outcome want = run(eager, one_size()), replayed = run(by_parts, one_size());
  expect_same(want, replayed);
  expect_same(want, run(full, one_size()));
  EXPECT_EQ(
      parts_of(replayed), (std::map<std::string, std::string>{{"backbone", ""}, {"heads", ""}, {"heads_backward", ""},
                              {"backbone_backward", ""}, {"backbone 2", ""}, {"heads 2", ""}, {"heads_backward 2", ""},
                              {"backbone_backward 2", ""}, {"optimizer", ""}}));
  EXPECT_FALSE(same_bits(want.weights, eager_steps().weights)) << "means of means are other means";
}

TEST(Graphs, AReplayIsARealStep) {
  std::vector<std::pair<std::string, model::ModelConfig>> variants = {
      {"torchvision", test::small_model()}, {"mlperf", test::small_model()}, {"other losses", test::small_model()}};
  model::ModelConfig& losses = variants[2].second;
  losses.rpn.box_loss = "giou", losses.roi.box_loss = "ciou", losses.roi.box_loss_weight = 10;
  losses.rpn.label_smoothing = losses.roi.label_smoothing = 0.1;
  model::ModelConfig& mlperf = variants[1].second;
  mlperf.legacy_boxes = true, mlperf.backbone.norm = "frozen", mlperf.rpn.drop_straddling = true,
  mlperf.rpn.cut_over_batch = mlperf.rpn.cut_per_level = true;
  mlperf.roi.mask_target = "polygon";
  for (const auto& [name, config] : variants) {
    SCOPED_TRACE(name);
    const Planned& batches = name == "torchvision" ? two_sizes() : one_size();
    const Outcome eager = run({.model = config}, batches);
    EXPECT_EQ(eager.described, "none");
    const Outcome parts = run({.graphs = "parts", .model = config}, batches),
                  full = run({.graphs = "full", .model = config}, batches);
    expect_same(eager, parts);
    expect_same(eager, full);
    EXPECT_EQ(parts_of(parts), kAllRecorded);
    if (name == "torchvision") { EXPECT_EQ(parts_of(parts, 96), kAllRecorded); }
    const std::size_t shapes = name == "torchvision" ? 2 : 1;
    ASSERT_EQ(full.described["shapes"].size(), shapes) << full.described.dump();
    std::int64_t replays = 0;
    for (const auto& shape : full.described["shapes"]) {
      ASSERT_EQ(shape["parts"].size(), 1u);
      replays += shape["parts"][0]["replays"].get<std::int64_t>();
      EXPECT_GT(shape["parts"][0]["nodes"], 300);
      EXPECT_GT(shape["parts"][0]["memory_bytes"], 100000);
    }
    // all but the first three of each size
    EXPECT_EQ(replays, std::ssize(batches) - 3 * std::ssize(full.described["shapes"]));
  }
}

TEST(Graphs, Replay_LowerPrecisionIsAStep) {
  for (const char* precision : {"bf16", "fp16"}) {
    SCOPED_TRACE(precision);
    Trial trial;
    trial.model.precision = precision;
    if (trial.model.precision == "fp16") trial.scale = train::LossScaleConfig{.initial = 256, .interval = 2};
    const Outcome eager = run(trial, one_size());
    EXPECT_NE(eager.losses, eager_steps().losses);
    for (const char* graphs : {"parts", "full"}) {
      trial.graphs = graphs;
      const Outcome recorded = run(trial, one_size());
      expect_same(eager, recorded);
      EXPECT_EQ(recorded.scale, eager.scale);
      if (trial.graphs == "parts") { EXPECT_EQ(parts_of(recorded), kAllRecorded); }
    }
  }
}

TEST(Graphs, DeviceReads_AreNotRecorded) {
  model::ModelConfig classical = test::small_model();
  classical.shapes = "dynamic";
  const Outcome eager = run({.model = classical}, one_size()),
                parts = run({.graphs = "parts", .model = classical}, one_size());
  expect_same(eager, parts);
  const auto said = parts_of(parts);
  EXPECT_NE(said.at("heads").find("nonzero"), std::string::npos) << said.at("heads");
  EXPECT_EQ(said.at("heads_backward"), "its forward pass is not recorded");
  for (const char* part : {"backbone", "backbone_backward", "optimizer"}) EXPECT_EQ(said.at(part), "") << part;
  try {
    run({.graphs = "full", .model = classical}, one_size());
    ADD_FAILURE() << "a step that asks the device was recorded whole";
  } catch (const NotSupported& e) {
    EXPECT_NE(std::string(e.what()).find("nonzero"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("train.graphs"), std::string::npos) << e.what();
  }
}

TEST(Graphs, UnrecordablePart_RunsEagerly) {
  const char* order[] = {"backbone", "heads", "heads_backward", "backbone_backward", "optimizer"};
  for (std::int64_t at = 0; at < 5; ++at) {
    SCOPED_TRACE(order[at]);
    Failing device(at, -1);
    const Outcome parts = run({.graphs = "parts", .device = &device}, one_size());
    expect_same(eager_steps(), parts);
    std::map<std::string, std::string> said;
    for (const auto& [part, reason] : parts_of(parts))
      if (!reason.empty()) said[part] = reason;
    std::map<std::string, std::string> want = {{order[at], "planted"}};
    // A pass backward and the pass it belongs to are recorded together.
    if (at == 0) want["backbone_backward"] = "its forward pass is not recorded";
    if (at == 1) want["heads_backward"] = "its forward pass is not recorded";
    if (at == 2) want["heads"] = "its backward pass cannot be recorded: planted";
    if (at == 3) want["backbone"] = "its backward pass cannot be recorded: planted";
    EXPECT_EQ(said, want);
  }
  Failing device(0, -1);
  EXPECT_THROW(run({.graphs = "full", .device = &device}, one_size()), NotSupported);
}

TEST(Graphs, AFailingReplayEndsTheRun) {
  for (std::int64_t at = 0; at < 5; ++at) {
    Failing device(-1, at);
    EXPECT_THROW(run({.graphs = "parts", .device = &device}, one_size()), Error);
  }
  Failing device(-1, 2);
  EXPECT_THROW(run({.graphs = "full", .device = &device}, one_size()), Error);
}

TEST(Graphs, MoreRoomNeeded_RecordsAgain) {
  Planned batches;
  for (std::uint64_t i = 0; i < 8; ++i) batches.push_back({.noise = i + 1, .larger = i < 5 ? 0 : 40});
  const Outcome eager = run({}, batches), full = run({.graphs = "full"}, batches);
  expect_same(eager, full);
  EXPECT_EQ(full.described["recorded_again"], 1) << full.described.dump();
}

// A part of a step that is the host's, and says so, or does not.
class HostRates final : public train::Optimizer {
 public:
  HostRates(std::unique_ptr<train::Optimizer> inner, bool honest) : inner_(std::move(inner)), honest_(honest) {}
  void step(const train::Rates& rates) override { inner_->step(test::rates_on(test::fake_device(), rates.lr)); }
  std::string not_capturable() const override { return honest_ ? "its rate is the host's" : ""; }
  std::vector<train::NamedTensor> state() const override { return inner_->state(); }
  result::Json describe() const override { return inner_->describe(); }

 private:
  std::unique_ptr<train::Optimizer> inner_;
  bool honest_;
};
// As above, with the rate put into the device's memory by an operation: it can be recorded, with the number of the
// first time.
class BakedRates final : public train::Optimizer {
 public:
  explicit BakedRates(std::unique_ptr<train::Optimizer> inner) : inner_(std::move(inner)) {}
  void step(const train::Rates& rates) override {
    train::Rates own = rates;
    own.tensor = rates.tensor.clone();
    own.tensor.select(0, 0).fill_(rates.lr);
    inner_->step(own);
  }
  std::vector<train::NamedTensor> state() const override { return inner_->state(); }
  result::Json describe() const override { return inner_->describe(); }

 private:
  std::unique_ptr<train::Optimizer> inner_;
};

TEST(Graphs, HostPart_IsLeftOut) {
  const auto host_rates = [](bool honest) {
    return [honest](train::Parts& p) { p.optimizer = std::make_unique<HostRates>(std::move(p.optimizer), honest); };
  };
  const Outcome honest = run({.graphs = "parts", .change = host_rates(true)}, one_size());
  expect_same(eager_steps(), honest);
  EXPECT_EQ(parts_of(honest).at("optimizer"), "its rate is the host's");
  const Outcome found = run({.graphs = "parts", .change = host_rates(false)}, one_size());
  expect_same(eager_steps(), found);
  EXPECT_NE(parts_of(found).at("optimizer").find("copy from the host"), std::string::npos);
  EXPECT_THROW(run({.graphs = "full", .change = host_rates(true)}, one_size()), NotSupported);
}

// What the comparisons above are worth: a number of the host that a recording keeps is seen.
TEST(Graphs, KeptNumber_IsFound) {
  const auto baked = [](train::Parts& p) { p.optimizer = std::make_unique<BakedRates>(std::move(p.optimizer)); };
  const Outcome eager = run({.change = baked}, one_size()), full = run({.graphs = "full", .change = baked}, one_size());
  EXPECT_TRUE(same_bits(eager_steps().weights, eager.weights));
  EXPECT_FALSE(same_bits(eager.weights, full.weights));
}

// Powers of two change no bit of what stays in range, so a scaled loss gives the same training. And in a replay the
// scale grows, shrinks and skips as it does without.
TEST(Graphs, LossScale_LivesInTheReplay) {
  const train::LossScaleConfig growing{.initial = 256, .interval = 2};
  const Outcome eager = run({.scale = growing}, one_size()),
                full = run({.graphs = "full", .scale = growing}, one_size()),
                parts = run({.graphs = "parts", .scale = growing}, one_size());
  expect_same(eager_steps(), eager);
  expect_same(eager, full);
  expect_same(eager, parts);
  for (const Outcome* o : {&eager, &full, &parts})
    EXPECT_EQ(o->scale, (result::Json{{"scale", 256.0 * 8}, {"skipped_steps", 0}})) << o->scale;
  // Gradients that are not finite, in a replay: the step is skipped and the scale halved, and training continues.
  const Trial spoilt{.scale = growing, .not_numbers = 4};
  Trial replayed = spoilt;
  replayed.graphs = "full";
  const Outcome skipping = run(spoilt, one_size()), skipped = run(replayed, one_size());
  expect_same(skipping, skipped);
  for (const Outcome* o : {&skipping, &skipped})
    EXPECT_EQ(o->scale, (result::Json{{"scale", 256.0 * 4 / 2}, {"skipped_steps", 1}})) << o->scale;
  EXPECT_TRUE(std::isfinite(skipped.weights.sum().item<float>()));
}

TEST(Graphs, DeviceWithoutCapture_IsRefused) {
  EXPECT_THROW(run({.graphs = "parts", .device = nullptr}, one_size()), NotSupported);
}

}  // namespace
}  // namespace ttt
