// The mask branch over quarters of its rows: the same losses as over all rows, and graphs for each quarter, replayed
// where it comes again.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "tests/support/fake_device/convolution_keys.h"
#include "tests/support/fake_host.h"
#include "tests/support/message_of.h"
#include "tests/train/device_trial.h"

namespace ttt {
namespace {

using test::expect_same;
using test::Failing;
using test::Outcome;
using test::Planned;
using test::Trial;

// 12 rows may be positive, so a quarter is three.
model::ModelConfig in_quarters() {
  model::ModelConfig config = test::small_model();
  config.shapes = "quarters";
  config.roi.sample = 24, config.roi.sample_positive = 0.25;
  return config;
}

// Large objects have more proposals that match them. Three quarters come: two of them more than three times, in turns.
Planned varied(std::uint64_t from = 1) {
  Planned all;
  for (std::uint64_t i = 0; i < 14; ++i) all.push_back({.noise = from + i, .larger = i % 2 == 0 ? 24 : 0});
  return all;
}

const Outcome& eager_steps() {
  static const Outcome once = run({.model = in_quarters()}, varied());
  return once;
}

// Of each part: by form, how often it was replayed.
std::map<std::string, std::map<std::int64_t, std::int64_t>> replays_of(const Outcome& o) {
  std::map<std::string, std::map<std::int64_t, std::int64_t>> all;
  for (const auto& part : o.described["shapes"][0]["parts"])
    all[part["part"]][part.value("form", 0)] = part.value("replays", 0);
  return all;
}

TEST(Quarters, AllRows_SameLosses) {
  Trial fixed{.model = in_quarters()};
  fixed.model.shapes = "static";
  const Planned one = {varied()[0]};
  const Outcome want = run(fixed, one), got = run({.model = in_quarters()}, one);
  ASSERT_EQ(want.losses.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    const float a = std::bit_cast<float>(want.losses[i]), b = std::bit_cast<float>(got.losses[i]);
    EXPECT_NEAR(a, b, 1e-6 * std::abs(a)) << i;  // sums over other numbers of zeros: some last places of float32
  }
  // The losses' tolerance, of the largest change of a weight; and float32's rounding of a weight between 1 and 2.
  const double moved = (want.weights - run(fixed, {}).weights).abs().max().item<double>();
  const double apart = (want.weights - got.weights).abs().max().item<double>();
  EXPECT_GT(moved, 0);
  EXPECT_LT(apart, 1e-6 * moved + 1.2e-7) << moved;
}

// Where the last image has no row left, fillers are copies of one that counts.
TEST(Quarters, FullLastImage_SameLosses) {
  model::ModelConfig config = in_quarters();
  config.roi.match_iou = 0.2;  // many positives
  std::int64_t came = 0;
  for (std::uint64_t noise = 1; noise <= 8; ++noise) {
    model::DeviceBatch batch = test::small_batch(at::kCPU, {.noise = noise});
    batch.gt_count.select(0, 0).fill_(1);
    std::map<std::string, std::vector<at::Tensor>> losses;
    for (const char* shapes : {"static", "quarters"}) {
      config.shapes = shapes;
      const model::MaskRcnn net(config, test::ops_on(at::kCPU), 5, at::kCPU, nullptr);
      model::TrainingTrace trace;
      losses[shapes] = net.training_losses(batch, &trace);
      const at::Tensor positives = trace.rois.positives;
      if (const std::int64_t last = positives[1].item<std::int64_t>(), all = positives.sum().item<std::int64_t>();
          last == 6 && all % 3 != 0)
        ++came;
    }
    for (std::size_t i = 0; i < 5; ++i) {
      const float want = losses["static"][i].item<float>();
      EXPECT_NEAR(losses["quarters"][i].item<float>(), want, 1e-6 * std::abs(want)) << noise << " " << i;
    }
  }
  EXPECT_GT(came, 0);
}

TEST(Quarters, ReplaysAreRealSteps) {
  const Outcome parts = run({.graphs = "parts", .model = in_quarters()}, varied()),
                full = run({.graphs = "full", .model = in_quarters()}, varied());
  expect_same(eager_steps(), parts);
  expect_same(eager_steps(), full);
  auto whole = replays_of(full), each = replays_of(parts);
  const std::map<std::int64_t, std::int64_t> all_but_three = {{0, 11}};
  for (const char* part : {"step up to proposals", "step up to boxes"}) EXPECT_EQ(whole.at(part), all_but_three);
  for (const char* part : {"backbone", "proposals", "boxes", "backbone_backward", "optimizer"})
    EXPECT_EQ(each.at(part), all_but_three) << part;
  const auto forms = whole.at("step up to optimizer");
  EXPECT_EQ(whole.size(), 3u);
  EXPECT_EQ(each.at("masks"), forms);
  EXPECT_EQ(each.at("masks_backward"), forms);
  EXPECT_GE(std::ranges::count_if(forms, [](const auto& f) { return f.second > 1; }), 2) << full.described.dump();
  EXPECT_EQ(std::ranges::count_if(forms, [](const auto& f) { return f.second == 0; }), 1) << full.described.dump();
}

TEST(Quarters, LowerPrecision_ReplaysAreRealSteps) {
  Trial trial{.model = in_quarters()};
  trial.model.precision = "bf16";
  const Outcome eager = run(trial, varied());
  EXPECT_NE(eager.losses, eager_steps().losses);
  trial.graphs = "full";
  expect_same(eager, run(trial, varied()));
}

// Each part of the batch has a form of its own.
TEST(Quarters, BatchInParts_IsReal) {
  Trial trial{.model = in_quarters(), .change = [](train::Parts& parts) {
                parts.step =
                    std::make_unique<train::EagerStep>(*parts.model, train::ClearGradients{}, parts.scaler.get(), 2);
              }};
  const Outcome eager = run(trial, varied());
  trial.graphs = "full";
  const Outcome full = run(trial, varied());
  expect_same(eager, full);
  std::int64_t replays = 0, with_forms = 0;
  for (const auto& [part, forms] : replays_of(full))
    for (const auto& [form, count] : forms) replays += count, with_forms += form != 0;
  EXPECT_GE(with_forms, 2);
  EXPECT_GE(replays, 4 * 11) << full.described.dump();  // the first two stretches of either part in all but three steps
}

TEST(Quarters, UnrecordablePart_RunsEagerly) {
  // Of seven parts and two second forms: the backbone, boxes, masks and their backward pass, and that in a second form.
  for (const std::int64_t at : {0, 2, 3, 4, 8}) {
    SCOPED_TRACE(at);
    Failing device(at, -1);
    const Outcome parts = run({.graphs = "parts", .model = in_quarters(), .device = &device}, varied());
    expect_same(eager_steps(), parts);
    EXPECT_NE(parts.described.dump().find("planted"), std::string::npos);
  }
}

// sample_positive = 0: the mask branch has no rows in any form.
TEST(Quarters, NoRows_ReplaysAreRealSteps) {
  Trial trial{.model = in_quarters()};
  trial.model.roi.sample_positive = 0;
  const Outcome eager = run(trial, test::one_size());
  ASSERT_EQ(eager.losses.size(), 5 * test::one_size().size());
  for (std::size_t i = 4; i < eager.losses.size(); i += 5) EXPECT_EQ(std::bit_cast<float>(eager.losses[i]), 0) << i;
  trial.graphs = "full";
  expect_same(eager, run(trial, test::one_size()));
}

TEST(Quarters, SeveralRanks_FullRefused) {
  test::DeviceHost ranks(0, 2);
  Trial trial{.graphs = "full", .model = in_quarters(), .ranks = &ranks};
  EXPECT_NE(test::message_of<NotSupported>([&] { run(trial, {}); }).find("model.shapes"), std::string::npos);
  trial.model.shapes = "static";
  EXPECT_NO_THROW(run(trial, {}));
}

TEST(Quarters, CountsOfRanks_NotCapturable) {
  test::DeviceHost ranks(0, 2);
  const auto reason = [&](const char* shapes) {
    model::ModelConfig config = in_quarters();
    config.shapes = shapes, config.loss_mean = "global";
    return model::MaskRcnn(config, test::ops_on(at::kCPU), 5, at::kCPU, &ranks).not_capturable();
  };
  EXPECT_NE(reason("quarters").find("model.shapes"), std::string::npos);
  EXPECT_EQ(reason("static"), "");
}

// Plans that are searched for in later batches, when others have been seen.
std::vector<std::string> later_searches(const std::string& shapes) {
  Trial trial{.model = in_quarters()};
  trial.model.shapes = shapes;
  test::reset_convolution_keys();
  run(trial, varied());
  const std::set<std::string> first = test::convolution_keys();
  run(trial, varied(101));
  const std::set<std::string> all = test::convolution_keys();
  std::vector<std::string> later;
  std::ranges::set_difference(all, first, std::back_inserter(later));
  return later;
}

TEST(Quarters, LaterBatchesNeedNoSearch) {
  EXPECT_EQ(later_searches("quarters"), std::vector<std::string>{});
  EXPECT_FALSE(later_searches("dynamic").empty());
}

}  // namespace
}  // namespace ttt
