#include "mlperf/rules.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "result/mlperf_limits.h"
#include "settings/json.h"

namespace ttt::train {
namespace {

namespace limits = result::mlperf;
using Found = std::vector<Breach>;

std::string text(std::int64_t n) { return std::to_string(n); }
std::string text(double x) { return result::number_text(x); }

// Settings of a group that differ from the reference's. Left out are settings that change no number of the training,
// and those with a rule of their own. The rules leave the numerical format free [Numerical formats: fp64 to int8 are
// pre-approved; loss scaling].
constexpr const char* kFree[] = {"data.short_side", "data.long_side", "data.last_batch", "data.gt_capacity",
    "data.padding", "data.pad_height", "data.pad_width", "data.pad_multiple", "data.group_by_aspect", "data.workers",
    "data.prefetch", "data.read", "data.generated", "data.transform", "model.classes", "model.precision",
    "model.shapes", "model.rpn.post_nms_train", "train.optimizer.implementation"};

std::string value_text(const result::FieldValue& value) {
  return std::visit([](const auto& v) { return result::Json(v).dump(); }, value);
}

Found unlike_reference(const RunFacts& f, const std::string& group) {
  Found found;
  for (std::size_t i = 0; i < f.settings.fields.size(); ++i) {
    const result::Field &mine = f.settings.fields[i], &theirs = f.reference.fields[i];
    const bool free = std::find(std::begin(kFree), std::end(kFree), mine.key) != std::end(kFree);
    if (!mine.key.starts_with(group + ".") || mine.value == theirs.value || free) continue;
    found.push_back({.setting = mine.key, .is = value_text(mine.value), .allowed = value_text(theirs.value)});
  }
  return found;
}

Found data_set(const RunFacts& f) {
  if (f.train_images == limits::kTrainImages && f.eval_images == limits::kEvalImages && f.categories == 80) return {};
  return {{.setting = "--data",
      .is = text(f.train_images) + " images to train on, " + text(f.eval_images) + " to evaluate, " +
            text(f.categories) + " categories",
      .allowed = "COCO 2017: " + text(limits::kTrainImages) + ", " + text(limits::kEvalImages) + ", 80"}};
}

Found image_size(const RunFacts& f) {
  Found found;
  if (const auto& sides = f.train.phases.short_side; !sides.empty())
    found.push_back({.setting = "train.phases.short_side", .is = result::Json(sides).dump(), .allowed = "[]"});
  const auto side = [&](const char* key, std::int64_t is, std::int64_t allowed) {
    if (is != allowed) found.push_back({.setting = key, .is = text(is), .allowed = text(allowed)});
  };
  side("data.short_side", f.data.short_side, 800), side("data.long_side", f.data.long_side, 1333);
  return found;
}

// Each image exactly once in an epoch: a remainder that is dropped is never seen.
Found data_order(const RunFacts& f) {
  if (f.data.last_batch == "wrap") return {};
  return {{.setting = "data.last_batch", .is = f.data.last_batch, .allowed = "wrap"}};
}

Found initial_weights(const RunFacts& f) {
  const TrainConfig& t = f.train;
  Found found;
  if (!t.weights.empty())
    found.push_back({.setting = "train.weights",
        .is = t.weights,
        .allowed = "none: nothing but the backbone is trained before the clock starts"});
  if (t.weights_backbone.empty())
    found.push_back({.setting = "train.weights_backbone",
        .is = "none",
        .allowed = "a file made of Detectron's MSRA R-50.pkl by data/convert_weights.py"});
  return found;
}

Found base_rate(const RunFacts& f) {
  if (const auto& rates = f.train.phases.lr; !rates.empty())
    return {{.setting = "train.phases.lr", .is = result::Json(rates).dump(), .allowed = "[]"}};
  // The rate is that of one batch, which the log names.
  if (const auto& batches = f.train.phases.images_per_rank; !batches.empty())
    return {{.setting = "train.phases.images_per_rank", .is = result::Json(batches).dump(), .allowed = "[]"}};
  const double lr = schedule_of(f)->base_lr();
  if (lr > 0 && limits::base_rate_allowed(lr, static_cast<double>(f.train.global_batch))) return {};
  return {{.setting = "train.schedule.lr",
      .is = text(lr),
      .allowed = "0.02 K, below a global batch of 16 also 0.02 / K, K a whole number"}};
}

Found warmup(const RunFacts& f) {
  if (schedule_of(f)->warmup_slope() > 0) return {};
  return {{.setting = "train.schedule.warmup_steps, train.schedule.warmup_start",
      .is = "a rate that does not rise",
      .allowed = "a linear rise: opt_learning_rate_warmup_factor > 0"}};
}

Found decay_factor(const RunFacts& f) {
  const ScheduleConfig& schedule = f.train.schedule;
  Found found;
  if (schedule.decay_factor != limits::kDecayFactor)
    found.push_back({.setting = "train.schedule.decay_factor",
        .is = text(schedule.decay_factor),
        .allowed = text(limits::kDecayFactor)});
  if (schedule.final_fraction != 0)
    found.push_back({.setting = "train.schedule.final_fraction", .is = text(schedule.final_fraction), .allowed = "0"});
  return found;
}

// (60000, 80000) (1 + K / 10) 16 / global batch, in whole iterations.
Found decay_steps(const RunFacts& f) {
  if (f.train.schedule.kind != "step_decay")
    return {{.setting = "train.schedule.kind", .is = f.train.schedule.kind, .allowed = "step_decay, with two decays"}};
  const std::vector<std::int64_t> steps = schedule_of(f)->decay_steps();
  const double scale = static_cast<double>(limits::kSmallBatch) / static_cast<double>(f.train.global_batch);
  if (steps.size() == 2) {
    const double k = std::nearbyint((static_cast<double>(steps[0]) / (60000 * scale) - 1) * 10);
    for (const double near : {k - 1, k, k + 1}) {
      const double first = 60000 * (1 + near / 10) * scale, second = 80000 * (1 + near / 10) * scale;
      if (std::abs(static_cast<double>(steps[0]) - first) <= 1 && std::abs(static_cast<double>(steps[1]) - second) <= 1)
        return {};
    }
  }
  return {{.setting = "train.schedule.decay_steps",
      .is = result::Json(steps).dump(),
      .allowed = "[60000, 80000] (1 + K / 10) 16 / train.global_batch, K a whole number: here [" +
                 text(std::lround(72000 * scale)) + ", " + text(std::lround(96000 * scale)) + "] for K = 2"}};
}

Found candidates(const RunFacts& f) {
  const std::int64_t is = f.setting<std::int64_t>("model.rpn.post_nms_train"),
                     per_chip = limits::kCandidates * f.train.images_per_rank / f.train.accumulate;
  if (is == limits::kCandidates || is == per_chip) return {};
  return {{.setting = "model.rpn.post_nms_train",
      .is = text(is),
      .allowed =
          text(limits::kCandidates) + " or 1000 for each image of a rank that is taken at once, " + text(per_chip)}};
}

Found target(const RunFacts& f) {
  Found found;
  const auto ap = [&](const char* key, double allowed) {
    if (const double is = f.setting<double>(key); is != allowed)
      found.push_back({.setting = key, .is = text(is), .allowed = text(allowed)});
  };
  ap("train.target_box_ap", limits::kBoxTarget);
  ap("train.target_mask_ap", limits::kMaskTarget);
  return found;
}

Found evaluation(const RunFacts& f) {
  Found found;
  const TrainConfig& t = f.train;
  if (t.eval_every_epochs != 1)
    found.push_back({.setting = "train.eval_every_epochs", .is = text(t.eval_every_epochs), .allowed = "1.0"});
  if (t.eval_from_epochs != 0)
    found.push_back({.setting = "train.eval_from_epochs", .is = text(t.eval_from_epochs), .allowed = "0"});
  if (t.eval_near_every_epochs != 0)
    found.push_back({.setting = "train.eval_near_every_epochs", .is = text(t.eval_near_every_epochs), .allowed = "0"});
  if (t.max_steps != 0)
    found.push_back({.setting = "train.max_steps",
        .is = text(t.max_steps),
        .allowed = "0: a run without evaluation reaches nothing"});
  return found;
}

Found gradients(const RunFacts& f) {
  if (f.train.reducer.kind != "none") return {};
  return {{.setting = "train.reducer.kind", .is = "none", .allowed = "any that reduces: replicas must not diverge"}};
}

Found seed(const RunFacts& f) {
  if (f.mlperf.draw_seed) return {};
  return {{.setting = "mlperf.draw_seed",
      .is = "false",
      .allowed = "true: seeds come from the clock or the system's entropy"}};
}

Found cache_clear(const RunFacts& f) {
  if (f.mlperf.cache_cleared) return {};
  return {{.setting = "mlperf.cache_cleared", .is = "false", .allowed = "true, once the caches were flushed"}};
}

// Sources: training_rules.adoc at v3.1, the section in brackets.
struct Rule {
  const char* name;
  Found (*breaches)(const RunFacts&);
};
constexpr Rule kRules[] = {
    {"data_set", data_set},                                                            // [Benchmarks; Data set]
    {"preprocessing", [](const RunFacts& f) { return unlike_reference(f, "data"); }},  // [Pre-processing]
    {"image_size", image_size},  // [Hyperparameters: min_image_size, max_image_size]
    {"data_order", data_order},  // [Data set: traversal order, last batch]
    // [Model: graph definition, "as the reference"]
    {"model", [](const RunFacts& f) { return unlike_reference(f, "model"); }},
    {"initial_weights", initial_weights},  // [Model: weight initialization]
    // [Training loop: optimizers]
    {"optimizer", [](const RunFacts& f) { return unlike_reference(f, "train.optimizer"); }},
    {"base_learning_rate", base_rate},     // [Hyperparameters: opt_base_learning_rate]
    {"warmup", warmup},                    // [Hyperparameters: opt_learning_rate_warmup_*]
    {"decay_factor", decay_factor},        // [Hyperparameters: opt_learning_rate_decay_factor]
    {"decay_steps", decay_steps},          // [Hyperparameters: opt_learning_rate_decay_steps]
    {"num_image_candidates", candidates},  // [Hyperparameters: num_image_candidates]
    {"quality_target", target},            // [Quality measure: target]
    {"evaluation", evaluation},            // [Quality measure: evaluation frequency]
    {"gradients", gradients},              // [Training loop: equivalence]
    {"seed", seed},                        // [Random numbers]
    {"cache_clear", cache_clear},          // [Run: caches]
};

bool is_relaxed(const RunFacts& f, const std::string& rule) {
  const auto& names = f.mlperf.relax;
  return std::find(names.begin(), names.end(), rule) != names.end();
}

// "rule model: model.backbone.width = 16 (allowed: 64) and 3 more settings; rule ..."
std::string refusal(const Found& broken) {
  std::string out;
  for (std::size_t i = 0; i < broken.size();) {
    const auto own = static_cast<std::size_t>(
        std::count_if(broken.begin(), broken.end(), [&](const Breach& b) { return b.rule == broken[i].rule; }));
    out += (out.empty() ? "" : "; ") + ("rule " + broken[i].rule + ": " + breach_text(broken[i]));
    if (own > 1) out += " and " + std::to_string(own - 1) + (own > 2 ? " more settings" : " more setting");
    i += own;
  }
  return out;
}

void check_names(const MlperfConfig& m) {
  const std::pair<std::string, const std::string*> names[] = {
      {"mlperf.organisation", &m.organisation}, {"mlperf.platform", &m.platform}};
  for (const auto& [key, value] : names)
    if (value->empty())
      throw UsageError("mlperf.division = \"" + m.division + "\" needs " + key +
                       ", which is empty: the log must say it. Set it with --set " + key + "=NAME.");
}

}  // namespace

std::unique_ptr<Schedule> schedule_of(const RunFacts& f) {
  return make_schedule(f.train.schedule,
      {.global_batch = f.train.global_batch, .epochs = f.epochs, .total_steps = planned_steps(f.train, f.epochs)});
}

Limits closed_rule_names() {
  Limits names;
  for (const Rule& rule : kRules) names.choices.emplace_back(rule.name);
  return names;
}

std::string breach_text(const Breach& b) { return b.setting + " = " + b.is + " (allowed: " + b.allowed + ")"; }

std::vector<Breach> closed_breaches(const RunFacts& facts) {
  Found all;
  for (const Rule& rule : kRules)
    for (Breach& b : rule.breaches(facts)) {
      b.rule = rule.name;
      all.push_back(std::move(b));
    }
  return all;
}

std::vector<Breach> relaxed_breaches(const RunFacts& facts) {
  const MlperfConfig& m = facts.mlperf;
  if (m.division == "none") return {};
  check_names(m);
  if (m.division == "open") return {};
  Found relaxed, broken;
  for (Breach& b : closed_breaches(facts)) (is_relaxed(facts, b.rule) ? relaxed : broken).push_back(std::move(b));
  if (!broken.empty())
    throw UsageError("mlperf.division = \"closed\" does not allow this run: " + refusal(broken) +
                     ". Change these settings, name the rules in mlperf.relax to break them openly, or choose "
                     "mlperf.division = \"open\".");
  return relaxed;
}

}  // namespace ttt::train
