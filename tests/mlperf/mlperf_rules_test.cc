// The closed division's rules: what they allow, and that each is broken by what breaks it.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "core/error.h"
#include "core/temp_folder.h"
#include "eval/mask_rcnn.h"
#include "mlperf/log.h"
#include "mlperf/rules.h"
#include "mlperf/run_events.h"
#include "result/mllog.h"
#include "run/recipe.h"
#include "settings/field_table.h"
#include "settings/settings_reader.h"
#include "tests/support/message_of.h"
#include "tests/support/python.h"

namespace ttt::train {
namespace {

Recipe reference() {
  Recipe r(eval::mask_rcnn());
  result::FieldTable table = result::field_table(r);
  harness::read_settings_file(table, TTT_SOURCE_DIR "/benchmarks/recipes/mlperf.toml");
  result::assign(table, r);
  return r;
}

// The recipe mlperf on 32 ranks, with what a closed run adds to it.
Recipe closed() {
  Recipe r = reference();
  r.train.images_per_rank = 4;
  r.train.weights_backbone = "r50.h5";
  r.mlperf.division = "closed", r.mlperf.organisation = "us", r.mlperf.platform = "one",
  r.mlperf.cache_cleared = r.mlperf.draw_seed = true;
  return r;
}

RunFacts facts(const Recipe& recipe, const Recipe& reference, std::int64_t train_images = 117266) {
  return {.seed = recipe.seed,
      .data = recipe.data,
      .train = recipe.train,
      .mlperf = recipe.mlperf,
      .settings = result::field_table(recipe),
      .reference = result::field_table(reference),
      .train_images = train_images,
      .eval_images = 5000,
      .categories = 80,
      .epochs = 917};
}

std::set<std::string> broken(const Recipe& r, std::int64_t train_images = 117266) {
  const Recipe ref = reference();
  std::set<std::string> rules;
  for (const Breach& b : closed_breaches(facts(r, ref, train_images))) rules.insert(b.rule);
  return rules;
}

TEST(ClosedRules, AllowTheRecipeMlperfOnCoco) {
  EXPECT_EQ(broken(closed()), std::set<std::string>{});
  const Recipe ref = reference(), r = closed();
  EXPECT_TRUE(relaxed_breaches(facts(r, ref)).empty());
}

void change_rate_between(Recipe& r) { r.train.phases.epochs = {1, 1}, r.train.phases.lr = {0.16, 0.08}; }
void grow_batches(Recipe& r) { r.train.phases.epochs = {1, 1}, r.train.phases.images_per_rank = {2, 4}; }
void grow_images(Recipe& r) { r.train.phases.epochs = {1, 1}, r.train.phases.short_side = {400, 800}; }

using Case = std::pair<std::string, std::function<void(Recipe&)>>;

// What breaks a rule by itself.
std::vector<Case> cases_of_data_and_model() {
  return {
      {"preprocessing", [](Recipe& r) { r.data.antialias = false; }},
      {"preprocessing", [](Recipe& r) { r.data.flip = 0; }},
      {"image_size", [](Recipe& r) { r.data.short_side = 640; }},
      {"image_size", [](Recipe& r) { r.data.long_side = 1024; }},
      {"data_order", [](Recipe& r) { r.data.last_batch = "drop"; }},
      {"model", [](Recipe& r) { r.model.as<model::ModelConfig>().backbone.width = 32; }},
      {"model", [](Recipe& r) { r.model.as<model::ModelConfig>().loss_mean = "global"; }},
      {"model", [](Recipe& r) { r.model.as<model::ModelConfig>().roi.box_loss = "giou"; }},
      {"model", [](Recipe& r) { r.model.as<model::ModelConfig>().rpn.box_loss = "ciou"; }},
      {"model", [](Recipe& r) { r.model.as<model::ModelConfig>().roi.box_loss_weight = 10; }},
      {"model",
          [](Recipe& r) {
            r.model.as<model::ModelConfig>().roi.box_weights = {20, 20, 10, 10};
          }},
      {"model", [](Recipe& r) { r.model.as<model::ModelConfig>().roi.label_smoothing = 0.1; }},
      {"model", [](Recipe& r) { r.model.as<model::ModelConfig>().rpn.label_smoothing = 0.1; }},
  };
}

std::vector<Case> cases_of_training() {
  return {
      {"initial_weights", [](Recipe& r) { r.train.weights = "trained.h5"; }},
      {"initial_weights", [](Recipe& r) { r.train.weights_backbone = ""; }},
      {"optimizer", [](Recipe& r) { r.train.optimizer.momentum = 0.95; }},
      {"optimizer", [](Recipe& r) { r.train.optimizer.clip_norm = 1; }},
      {"optimizer", [](Recipe& r) { r.train.optimizer.kind = "novograd"; }},
      {"optimizer", [](Recipe& r) { r.train.optimizer.nesterov = true; }},
      {"optimizer", [](Recipe& r) { r.train.optimizer.round_weights = "nearest"; }},
      {"optimizer", [](Recipe& r) { r.train.optimizer.round_state = "stochastic"; }},
      {"optimizer", [](Recipe& r) { r.train.optimizer.round_gradients = "toward_zero"; }},
      {"base_learning_rate", [](Recipe& r) { r.train.schedule.lr = 0.13; }},
      {"base_learning_rate", [](Recipe& r) { r.train.schedule.lr = 0.01; }},  // 0.02 / 2: below a batch of 16 only
      {"base_learning_rate", [](Recipe& r) { r.train.schedule.reference_batch = 96; }},  // 0.16 x 128 / 96
      {"base_learning_rate", change_rate_between},
      {"base_learning_rate", grow_batches},
      {"image_size", grow_images},
      {"warmup", [](Recipe& r) { r.train.schedule.warmup_steps = 0; }},
      {"warmup", [](Recipe& r) { r.train.schedule.warmup_start = 1; }},
      {"decay_factor", [](Recipe& r) { r.train.schedule.decay_factor = 0.5; }},
      {"decay_factor", [](Recipe& r) { r.train.schedule.final_fraction = 0.05; }},
      {"decay_steps", [](Recipe& r) { r.train.schedule.kind = "cosine", r.train.schedule.decay_steps = {}; }},
      {"base_learning_rate",  // 0.16 (128 / 96)^(1/2)
          [](Recipe& r) { r.train.schedule.reference_batch = 96, r.train.schedule.batch_rule = "sqrt"; }},
      {"decay_steps",
          [](Recipe& r) {
            r.train.schedule.decay_steps = {9000, 12100};
          }},
      {"decay_steps", [](Recipe& r) { r.train.schedule.decay_steps = {9000}; }},
      {"decay_steps", [](Recipe& r) { r.train.schedule.decay_steps = {}; }},
      {"num_image_candidates", [](Recipe& r) { r.model.as<model::ModelConfig>().rpn.post_nms_train = 2000; }},
      {"quality_target", [](Recipe& r) { r.train.targets.as<eval::DetectionTargets>().target_box_ap = 0.376; }},
      {"quality_target", [](Recipe& r) { r.train.targets.as<eval::DetectionTargets>().target_mask_ap = 0.35; }},
      {"evaluation", [](Recipe& r) { r.train.eval_every_epochs = 0.5; }},
      {"evaluation", [](Recipe& r) { r.train.eval_near_every_epochs = 0.5; }},
      {"evaluation", [](Recipe& r) { r.train.max_steps = 10; }},
      {"gradients", [](Recipe& r) { r.train.reducer.kind = "none"; }},
      {"seed", [](Recipe& r) { r.mlperf.draw_seed = false; }},
      {"cache_clear", [](Recipe& r) { r.mlperf.cache_cleared = false; }},
  };
}

TEST(ClosedRules, EachIsBrokenByItself) {
  std::vector<Case> cases = cases_of_data_and_model();
  for (Case& c : cases_of_training()) cases.push_back(std::move(c));
  std::set<std::string> tried = {"data_set"};
  for (const auto& [rule, change] : cases) {
    Recipe r = closed();
    change(r);
    EXPECT_EQ(broken(r), std::set<std::string>{rule});
    tried.insert(rule);
  }
  EXPECT_EQ(broken(closed(), 118287), std::set<std::string>{"data_set"});
  const auto names = closed_rule_names().choices;
  EXPECT_EQ(tried, std::set<std::string>(names.begin(), names.end()));
}

// What the rules leave to the one who runs it.
TEST(ClosedRules, TunableSettings_BreakNoRule) {
  Recipe r = closed();
  r.data.workers = 9, r.data.padding = "batch", r.data.prefetch = 7,
  r.model.as<model::ModelConfig>().shapes = "dynamic", r.train.threads = 3, r.train.reducer.kind = "blocking";
  r.train.schedule.warmup_steps = 2300, r.train.epochs = 99, r.model.as<model::ModelConfig>().rpn.post_nms_train = 1000,
  r.train.trace_steps = 5;
  r.data.transform = "device";
  EXPECT_EQ(broken(r), std::set<std::string>{});
  for (const char* format : {"fp32", "tf32", "bf16", "fp16"}) {
    r.model.as<model::ModelConfig>().precision = format;
    EXPECT_EQ(broken(r), std::set<std::string>{}) << format;
  }
}

// The hyper-parameters of the reference convergence points are within the rules.
TEST(ClosedRules, AllowThePublishedHyperParameters) {
  struct Point {
    std::int64_t batch;
    double lr;
    std::vector<std::int64_t> steps;
  };
  for (const Point& p : {Point{8, 0.01, {144000, 192000}}, {48, 0.06, {24000, 32000}}, {64, 0.08, {18000, 24000}},
           {96, 0.12, {12000, 16000}}, {128, 0.16, {9000, 12000}}, {256, 0.24, {5625, 7500}},
           {272, 0.24, {5294, 7058}}}) {
    Recipe r = closed();
    r.train.global_batch = p.batch, r.train.schedule.lr = p.lr, r.train.schedule.decay_steps = p.steps;
    EXPECT_EQ(broken(r), std::set<std::string>{}) << p.batch;
  }
}

TEST(Divisions, Closed_NamesRuleKeyAllowed) {
  const Recipe ref = reference();
  Recipe r = closed();
  r.train.schedule.lr = 0.13, r.model.as<model::ModelConfig>().backbone.width = 32,
  r.model.as<model::ModelConfig>().roi.sample = 64;
  const std::string said = test::message_of<UsageError>([&] { relaxed_breaches(facts(r, ref)); });
  EXPECT_NE(said.find("rule model: model.backbone.width = 32 (allowed: 64) and 1 more setting; rule "
                      "base_learning_rate: train.schedule.lr = 0.13 (allowed: 0.02 K"),
      std::string::npos)
      << said;
  r.mlperf.relax = {"model"};
  EXPECT_EQ(
      test::message_of<UsageError>([&] { relaxed_breaches(facts(r, ref)); }).find("model.backbone"), std::string::npos);
  r.mlperf.relax = {"model", "base_learning_rate", "seed"};
  const std::vector<Breach> relaxed = relaxed_breaches(facts(r, ref));
  ASSERT_EQ(relaxed.size(), 3u);  // the seed's rule is kept, so it is not named as broken
  EXPECT_EQ(breach_text(relaxed[2]),
      "train.schedule.lr = 0.13 (allowed: 0.02 K, below a global batch of 16 also 0.02 / K, K a whole number)");
}

TEST(Divisions, AskForNames) {
  const Recipe ref = reference();
  for (const char* division : {"closed", "open"}) {
    Recipe r = closed();
    r.mlperf.division = division, r.mlperf.organisation = "";
    EXPECT_NE(test::message_of<UsageError>([&] { relaxed_breaches(facts(r, ref)); }).find("mlperf.organisation"),
        std::string::npos);
  }
  Recipe r = closed();
  r.mlperf.division = "open", r.train.schedule.lr = 0.13;
  EXPECT_TRUE(relaxed_breaches(facts(r, ref)).empty());
  r.mlperf.division = "none", r.mlperf.platform = "";
  EXPECT_TRUE(relaxed_breaches(facts(r, ref)).empty());
}

// A run told by hand: the log's lines in their order, and what an exception leaves.
TEST(RunEvents, LogAndRecord_SameMoments) {
  const Recipe ref = reference(), r = closed();
  TempFolder folder;
  for (const bool thrown : {false, true}) {
    result::RunRecorder recorder;
    const auto path = folder / (thrown ? "thrown.mllog.txt" : "whole.mllog.txt");
    {
      RunEvents events(now_s(), recorder,
          std::make_unique<MlperfLog>(
              path, false, facts(r, ref), std::vector<Breach>{{"model", "a", "b", "c"}}, 12345));
      events.run_started({});
      events.epoch_started({});
      events.step_ended({.step = 1, .epoch = 1, .images = 128}, {});
      if (!thrown) {
        events.epoch_ended({.step = 917, .epoch = 1, .images = 117376});
        events.evaluation_started({.step = 917, .epoch = 1, .images = 117376});
        const result::Evaluation e{.metrics = {{"bbox.AP", 0.4}, {"segm.AP", 0.35}}};
        events.evaluated({.step = 917, .epoch = 1, .images = 117376}, e);
        events.run_ended({result::Verdict::kPassed, ""});
      }
    }
    const auto log = result::parse_mllog(test::read_text(path));
    EXPECT_TRUE(log.faults.empty());
    std::string keys;
    for (const result::MllogRecord& line : log.records)
      if (!line.key.starts_with("submission_") && !line.key.starts_with("opt_")) keys += line.key + " ";
    const std::string head =
        "cache_clear init_start seed global_batch_size d_batch_size num_image_candidates gradient_accumulation_steps "
        "min_image_size max_image_size "
        "relaxed_rule init_stop run_start train_samples block_start epoch_start ";
    EXPECT_EQ(keys,
        head + (thrown ? "run_stop "
                       : "epoch_stop block_stop throughput eval_start eval_samples eval_accuracy eval_stop run_stop "));
    EXPECT_EQ(log.records.back().metadata["status"], thrown ? "aborted" : "success");
    EXPECT_EQ(log.records.front().time_ms, 12345);
    EXPECT_TRUE(log.records.front().metadata["file"].get<std::string>().starts_with("src/mlperf/"))
        << log.records.front().metadata;
    const auto events = recorder.snapshot().events;
    EXPECT_EQ(events.size(), thrown ? 5u : 8u);
    EXPECT_EQ(events[events.size() - 2].step, thrown ? 1 : 917);
    EXPECT_TRUE(result::benchmark_clocks(events));
  }
}

}  // namespace
}  // namespace ttt::train
