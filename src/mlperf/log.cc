#include "mlperf/log.h"

#include "core/clock.h"

namespace ttt::train {

using result::Event;
using result::EventKind;
using result::Json;
using result::MllogType;

MlperfLog::MlperfLog(const std::filesystem::path& path, bool force, const RunFacts& facts,
    const std::vector<Breach>& relaxed, std::int64_t start_ms)
    : file_(path, force), train_images_(facts.train_images), eval_images_(facts.eval_images) {
  submission(facts, start_ms);
  hyper_parameters(facts, unix_ms());
  relaxed_rules(relaxed, unix_ms());
}

void MlperfLog::put(
    std::int64_t time_ms, MllogType type, const char* key, Json value, Json metadata, std::source_location where) {
  const bool written = file_.write({.time_ms = time_ms,
      .type = type,
      .key = key,
      .value = std::move(value),
      .metadata = std::move(metadata),
      .where = where});
  whole_ = whole_ && written;
}

void MlperfLog::point(std::int64_t time_ms, const char* key, Json value, std::source_location where) {
  put(time_ms, MllogType::kPoint, key, std::move(value), Json::object(), where);
}

// The program's start is the start of initialisation: whatever it did, it did since then.
void MlperfLog::submission(const RunFacts& f, std::int64_t start_ms) {
  const MlperfConfig& m = f.mlperf;
  point(start_ms, "submission_benchmark", "maskrcnn");
  if (!m.organisation.empty()) point(start_ms, "submission_org", m.organisation);
  if (m.division != "none") point(start_ms, "submission_division", m.division);
  point(start_ms, "submission_status", m.status);
  if (!m.platform.empty()) point(start_ms, "submission_platform", m.platform);
  point(start_ms, "cache_clear", m.cache_cleared);
  put(start_ms, MllogType::kStart, "init_start");
}

// The checker wants the batch before the learning rate, which it judges by it.
void MlperfLog::hyper_parameters(const RunFacts& f, std::int64_t at) {
  const auto schedule = schedule_of(f);
  point(at, "seed", f.seed);
  point(at, "global_batch_size", f.train.global_batch);
  point(at, "d_batch_size", f.train.images_per_rank);
  point(at, "num_image_candidates", f.setting<std::int64_t>("model.rpn.post_nms_train"));
  point(at, "gradient_accumulation_steps", f.train.accumulate);
  point(at, "opt_name", f.train.optimizer.kind == "sgd" ? "sgd_with_momentum" : f.train.optimizer.kind);
  point(at, "opt_base_learning_rate", schedule->base_lr());
  point(at, "opt_learning_rate_warmup_steps", f.train.schedule.warmup_steps);
  point(at, "opt_learning_rate_warmup_factor", schedule->warmup_slope());
  point(at, "opt_learning_rate_decay_factor", f.train.schedule.decay_factor);
  point(at, "opt_learning_rate_decay_steps", schedule->decay_steps());
  point(at, "min_image_size", f.data.short_side);
  point(at, "max_image_size", f.data.long_side);
}

// Not a key of MLPerf's: its checker takes unknown keys, and whoever reads the log must see it.
void MlperfLog::relaxed_rules(const std::vector<Breach>& relaxed, std::int64_t at) {
  for (const Breach& b : relaxed)
    put(at, MllogType::kPoint, "relaxed_rule", b.rule, {{"setting", b.setting}, {"is", b.is}, {"allowed", b.allowed}});
}

bool MlperfLog::event(const Event& e) {
  const bool before = whole_;
  switch (e.kind) {
    case EventKind::kRunStart: run_start(e); break;
    case EventKind::kEpochStart: epoch_start(e); break;
    case EventKind::kEpochStop: epoch_stop(e); break;
    case EventKind::kEvaluationStart:
      put(e.time_ms, MllogType::kStart, "eval_start", {}, {{"epoch_num", e.epoch}});
      break;
    case EventKind::kEvaluationStop: evaluation_stop(e); break;
    case EventKind::kRunStop:
      put(e.time_ms, MllogType::kEnd, "run_stop", {}, {{"status", e.values.value("status", "aborted")}});
      break;
    default: break;  // the program's start is in the header; checkpoints have no key
  }
  return !before || whole_;
}

void MlperfLog::run_start(const Event& e) {
  put(e.time_ms, MllogType::kEnd, "init_stop");
  put(e.time_ms, MllogType::kStart, "run_start");
  point(e.time_ms, "train_samples", train_images_);
}

void MlperfLog::epoch_start(const Event& e) {
  epoch_start_s_ = e.clock_s;
  put(e.time_ms, MllogType::kStart, "block_start", {}, {{"first_epoch_num", e.epoch}, {"epoch_count", 1}});
  put(e.time_ms, MllogType::kStart, "epoch_start", {}, {{"epoch_num", e.epoch}});
}

void MlperfLog::epoch_stop(const Event& e) {
  put(e.time_ms, MllogType::kEnd, "epoch_stop", {}, {{"epoch_num", e.epoch}});
  put(e.time_ms, MllogType::kEnd, "block_stop", {}, {{"first_epoch_num", e.epoch}});
  if (e.values.contains("images") && e.clock_s > epoch_start_s_)
    put(e.time_ms, MllogType::kPoint, "throughput", e.values["images"].get<double>() / (e.clock_s - epoch_start_s_),
        {{"epoch_num", e.epoch}});
}

void MlperfLog::evaluation_stop(const Event& e) {
  if (!eval_samples_written_) point(e.time_ms, "eval_samples", eval_images_);
  eval_samples_written_ = true;
  const Json accuracy = {{"BBOX", e.values.value("BBOX", 0.0)}, {"SEGM", e.values.value("SEGM", 0.0)}};
  put(e.time_ms, MllogType::kPoint, "eval_accuracy", accuracy, {{"epoch_num", e.epoch}});
  put(e.time_ms, MllogType::kEnd, "eval_stop", {}, {{"epoch_num", e.epoch}});
}

}  // namespace ttt::train
