// A run record with a value in every field; times are multiples of 1/8, so that sums are exact.
#pragma once

#include <array>
#include <cmath>

#include "result/provenance.h"
#include "result/run_record.h"
#include "result/system_info.h"
#include "settings/fields_json.h"
#include "tests/support/toy_settings.h"

namespace ttt::test {

inline result::Evaluation toy_evaluation(std::int64_t epoch, double bbox_ap, double segm_ap) {
  result::Evaluation e{.epoch = epoch,
      .step = epoch * 4,
      .images = epoch * 64,
      .wall_s = static_cast<double>(epoch) * 3,
      .duration_s = 1};
  const char* names[] = {"AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl"};
  for (const auto& [group, first] : {std::pair{"bbox.", bbox_ap}, std::pair{"segm.", segm_ap}})
    for (std::size_t i = 0; i < 12; ++i)  // no small object in the ground truth
      e.metrics.push_back({group + std::string(names[i]), i == 0   ? first
                                                          : i == 3 ? -1
                                                                   : 0.25 + 0.03125 * static_cast<double>(i)});
  return e;
}

inline const std::vector<std::string> kToyLosses = {"objectness", "rpn_box_reg", "classifier", "box_reg", "mask"};
inline const result::Metrics kToyTarget = {{"bbox_ap", 0.5}, {"segm_ap", 0.5}};

inline result::StepSample toy_step(std::int64_t step) {
  result::StepSample s{.step = step, .images = 16, .step_s = 0.5, .learning_rate = 0.02};
  s.phase_s = {0.0625, 0.125, 0.1875, 0.0625, 0.03125, 0.03125};
  s.loss = {0.5, 0.25, 1.0, 0.75, 1.0 / static_cast<double>(step + 1)};
  return s;
}

// The moments of toy_record().
inline std::vector<result::Event> toy_events() {
  using result::EventKind;
  std::vector<result::Event> events;
  const auto add = [&](EventKind kind, double at_s, std::int64_t step, std::int64_t epoch,
                       result::Json value = result::Json::object()) {
    events.push_back(
        {kind, 1700000000000 + static_cast<std::int64_t>(at_s * 1e3), at_s, step, epoch, std::move(value)});
  };
  add(EventKind::kProgramStart, 0, 0, 0), add(EventKind::kRunStart, 2, 0, 1);
  add(EventKind::kEpochStart, 2, 0, 1), add(EventKind::kEpochStop, 4, 4, 1, {{"images", 64}});
  add(EventKind::kEvaluationStart, 4, 4, 1), add(EventKind::kEvaluationStop, 5, 4, 1, {{"BBOX", 0.4}, {"SEGM", 0.51}});
  add(EventKind::kEpochStart, 5, 4, 2), add(EventKind::kEpochStop, 7, 8, 2, {{"images", 64}});
  add(EventKind::kEvaluationStart, 7, 8, 2),
      add(EventKind::kEvaluationStop, 8, 8, 2, {{"BBOX", 0.52}, {"SEGM", 0.505}});
  add(EventKind::kRunStop, 8, 8, 2, {{"status", "success"}}), add(EventKind::kProgramStop, 8.5, 8, 0);
  return events;
}

// What a GPU did, with a value in every member.
inline result::GpusRecord toy_gpus() {
  return {.every_s = 0.5,
      .ranks = {{.rank = 0,
          .node = "0123456789ab",
          .gpu = "Toy GPU",
          .looks = 100,
          .slowed_by = {{"heat (hardware)", 0.25}},
          .power_w = result::Spread{300, 512, 700},
          .sm_clock_mhz = result::Spread{1845, 1950, 1980},
          .busy_percent = result::Spread{90, 97, 100},
          .temperature_c = result::Spread{40, 61, 67},
          .memory_bytes = result::Spread{1e9, 4e10, 5e10},
          .energy_j = 51200}},
      .energy_j = 51200,
      .joules_per_image = 400};
}

inline result::ProfileRecord toy_profile() {
  return {.from = 10,
      .ranks = {{.steps = 4,
          .window_s = 0.04,
          .busy_s = 0.03,
          .total_s = 0.04,
          .kernels = 1000,
          .copies_and_fills = 12,
          .longest = {{"toy_kernel", 10, 0.024}, {"copy", 12, 0.016}}}}};
}

// Two epochs of four steps of 16 images: init 2 s, training 2 x 2 s, two evaluations of 1 s, 0.5 s at the end.
inline result::RunRecord toy_record() {
  result::RunRecord r;
  ToyRecipe recipe;
  const auto defaults = result::field_table(recipe);
  recipe.solver.lr = 0.01;
  const auto table = result::field_table(recipe);
  r.run_id = "0123456789abcdef";
  r.verdict = result::Verdict::kPassed;
  r.reason = "box AP 0.520 >= 0.50 and mask AP 0.505 >= 0.50 after 2 epochs";
  r.target = kToyTarget;
  r.provenance = result::provenance_json({"./toy", "--set", "solver.lr=0.01"}, {{"libfoo", {"1.0", "1.1"}}});
  const result::Node node = result::this_node();
  r.system = result::system_json({node, node});
  r.recipe = {"toy", result::fields_json(table), result::fields_changed(defaults, table), result::fields_sha256(table)};
  r.built = {{"reducer", {{"kind", "bucketed"}, {"bucket_bytes", 1048576}}}};
  r.data = {{"train_images", 64}, {"eval_images", 16}};
  r.clocks = {.total_s = 8.5, .init_s = 2, .run_s = 6, .train_s = 4};
  r.events = toy_events();
  r.mlperf = {"closed", "toy.mllog.txt", {{"data_set", "--data", "64 images", "117266 images"}}};
  r.steps.name_losses(kToyLosses);
  for (std::int64_t i = 0; i < 8; ++i) r.steps.add(toy_step(i));
  r.steps.step_ranks = "max", r.steps.phase_ranks = r.steps.loss_ranks = "mean";
  r.accuracy = {toy_evaluation(1, 0.4, 0.51), toy_evaluation(2, 0.52, 0.505)};
  r.warnings = {"no CPU binding"};
  return r;
}

// The same run, on its second start: killed in step 5 of four ranks, 10 s lost, and a checkpoint every two steps.
// Interrupted again.
inline result::RunRecord toy_resumed() {
  result::RunRecord r = toy_record();
  r.checkpoints = {{0, 0, 0.125, 0.5, 1000000}, {2, 1, 0.125, 0.25, 2000000}, {4, 13, 0.25, 0.75, 2000000},
      {8, 16, 0.5, 0.5, 2000000}};
  r.resumes = {{.step = 4,
      .ranks_before = 4,
      .ranks = 2,
      .lost_s = 10,
      .checkpoint = "step-00000004.h5",
      .signal = "",
      .resumed_at = "2026-03-01T12:34:56Z",
      .changed = {{{"key", "train.threads"}, {"before", 1}, {"value", 2}}}}};
  r.interrupted =
      result::Interruption{.signal = "SIGUSR1", .step = 8, .checkpoint = "step-00000008.h5", .requeue = true};
  r.verdict = result::Verdict::kFailed;
  r.accuracy[1].wall_s += 10.5;
  r.clocks = {.total_s = 19, .init_s = 2, .run_s = 16.5, .train_s = 4.5, .lost_s = 10};
  return r;
}

// Two steps of half a second, from 10 s on. An all-reduce of two buckets lies a third each behind backward, the wait
// for data and comm_exposed; on rank 1 the first bucket starts 1/32 s later.
inline result::TraceRecord toy_trace(std::int64_t ranks = 2) {
  result::TraceRecord t{.from_step = 3, .steps = 2};
  t.events.assign(trace::kEventNames.begin(), trace::kEventNames.end());
  using trace::Event;
  for (std::int64_t r = 0; r < ranks; ++r) {
    result::TraceLane main{.name = "main"}, travel{.name = "gradients travel"}, ready{.name = "gradients ready"};
    const auto add = [](result::TraceLane& l, Event e, double start, double end, std::int64_t number = 0,
                         std::int64_t bytes = 0) {
      l.event.push_back(static_cast<std::int64_t>(e)), l.start_s.push_back(start), l.end_s.push_back(end),
          l.number.push_back(number), l.bytes.push_back(bytes);
    };
    for (std::int64_t step = 3; step < 5; ++step) {
      const double b = 10 + 0.5 * static_cast<double>(step - 3), late = 0.03125 * static_cast<double>(r);
      add(main, Event::kOther, b, b + 0.0625), add(main, Event::kForward, b + 0.0625, b + 0.125),
          add(main, Event::kBackward, b + 0.125, b + 0.25);
      add(main, Event::kDataWait, b + 0.25, b + 0.3125), add(main, Event::kCommExposed, b + 0.3125, b + 0.4375);
      add(main, Event::kOptimizer, b + 0.4375, b + 0.46875), add(main, Event::kOther, b + 0.46875, b + 0.5),
          add(main, Event::kStep, b, b + 0.5, step);
      add(ready, Event::kBucketReady, b + 0.1875 + late, b + 0.1875 + late, 0, 1000),
          add(ready, Event::kBucketReady, b + 0.25, b + 0.25, 1, 500);
      add(travel, Event::kAllReduce, b + 0.1875 + late, b + 0.28125, 0, 1000),
          add(travel, Event::kAllReduce, b + 0.28125, b + 0.375, 1, 500);
    }
    t.ranks.push_back({.rank = r,
        .clock_offset_s = r ? 0.25 : 0,
        .clock_uncertainty_s = r ? 1e-6 : 0,
        .lanes = {main, ready, travel}});
  }
  return t;
}

// Sample `i` of two groups, of which the second's gradients are four times the first's; its weights grow by 2 % from
// sample to sample.
inline result::TelemetrySample toy_sample(std::int64_t i, std::int64_t every = 2) {
  const double g = 1 + 0.25 * static_cast<double>(i % 4), w = 8 * std::pow(1.02, static_cast<double>(i));
  return {.step = i * every,
      .cost_s = 0.001953125,
      .gradient_norm = {g, 4 * g},
      .weight_norm = {16, w},
      .update_norm = {0.015625, w / 128}};
}
inline result::TelemetrySeries toy_telemetry(std::int64_t samples = 4, std::int64_t every = 2) {
  result::TelemetrySeries t{.every_steps = every,
      .groups = {{.name = "box_head", .parameters = 1000}, {.name = "mask_head", .parameters = 2000}}};
  for (std::int64_t i = 0; i < samples; ++i) t.add(toy_sample(i, every));
  t.picture_step = {4}, t.picture_cost_s = {0.25};
  return t;
}

// An ablation with one measured row, of seven rounds of four steps in which the variant takes a quarter longer, and one
// that cannot run here.
inline result::RunRecord toy_ablation() {
  result::RunRecord r = toy_record();
  r.kind = "ablation";
  r.target.reset();
  r.steps.truncate(0);
  r.accuracy.clear();
  r.reason = "1 comparison measured, promises kept, 1 not supported here";
  result::Comparison c{.ablation = "reducer",
      .question = "What is overlap worth?",
      .expectation = "Little.",
      .baseline = "blocking",
      .variant = "bucketed",
      .promise = "bitwise",
      .gate_steps = 3};
  c.built = {{"reducer", {"a", "b"}}};
  c.phases = {{"forward", {0.25, 0.25}}, {"comm_exposed", {0.5, 0.6875}}, {"backward", {0.25, 0.375}}};
  for (const auto& [phase, sides] : c.phases.items())
    c.samples.phases[phase] = {
        std::vector<double>(7, sides[0].get<double>()), std::vector<double>(7, sides[1].get<double>())};
  c.noise = {
      {"clock_mhz", std::vector(7, std::array{2600.0, 2600.0})}, {"others", std::vector(7, std::array{0.0, 0.03125})}};
  c.samples.warmup_turns = 2;
  c.samples.stopped = "precise";
  for (std::int64_t i = 0; i < 28; ++i) {
    c.samples.build.push_back(i / 4), c.samples.round.push_back(i / 4), c.samples.step.push_back(i),
        c.samples.variant_first.push_back(i % 4 / 2);
    c.samples.baseline_s.push_back(1 + 0.125 * static_cast<double>(i % 4)),
        c.samples.variant_s.push_back(1.25 * c.samples.baseline_s.back());
  }
  r.comparisons = {c, {.ablation = "cuda_graphs",
                          .question = "What do graphs bring?",
                          .expectation = "Launches vanish.",
                          .baseline = "none",
                          .variant = "full",
                          .status = "not_supported",
                          .reason = "CUDA Graphs exists on CUDA devices only",
                          .promise = "bitwise"}};
  return r;
}

// A machine's ceilings, on two ranks.
inline result::RunRecord toy_roofline() {
  result::RunRecord r = toy_record();
  r.kind = "roofline";
  r.target.reset();
  r.steps.truncate(0);
  r.accuracy.clear();
  r.reason = "2 peaks measured";
  r.peaks = {{"matrix_multiply", "flop/s", "fp32 matrices of 1024 x 1024", 2147483648.0, {1e11, 1.5e11, 1.25e11}},
      {"memory_copy", "B/s", "arrays of 512 MiB a rank, plain stores", 1073741824.0, {2e10, 1e10, 3e10}}};
  return r;
}

// What was found before a run of four ranks on two nodes.
inline result::RunRecord toy_preflight() {
  result::RunRecord r = toy_roofline();
  r.kind = "preflight";
  r.verdict = result::Verdict::kFailed;
  r.reason = "binding: ranks 0 and 1 (node 0) share core 3.";
  r.peaks.clear();
  r.checks = {{"versions", "ok", "All 4 ranks are of one build.", result::Json::object()},
      {"binding", "failed", "Ranks 0 and 1 (node 0) share core 3.",
          result::Json::object({{"cores_of_rank", {"3", "3", "0-1", "2-3"}}, {"threads", 8}})},
      {"speed", "warning", "Rank 3 is slow.",
          result::Json::object({{"copy_bytes_per_s_of_rank", {1.5e9, 1.5e9, 1.5e9, 1e9}}})},
      {"gpus", "not_supported", "No GPU here.", result::Json::object()}};
  return r;
}

}  // namespace ttt::test
