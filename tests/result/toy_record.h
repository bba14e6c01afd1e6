// A run record with a value in every field; times are multiples of 1/8, so that sums are exact.
#pragma once

#include <cmath>

#include "result/fields_json.h"
#include "result/provenance.h"
#include "result/run_record.h"
#include "result/system_info.h"
#include "tests/result/toy_settings.h"

namespace ttt::test {

inline result::Evaluation toy_evaluation(std::int64_t epoch, double bbox_ap, double segm_ap) {
  result::Evaluation e{.epoch = epoch,
                       .step = epoch * 4,
                       .images = epoch * 64,
                       .wall_s = static_cast<double>(epoch) * 3,
                       .duration_s = 1};
  for (std::size_t i = 0; i < e.bbox.size(); ++i) e.bbox[i] = e.segm[i] = 0.25 + 0.03125 * static_cast<double>(i);
  e.bbox[3] = e.segm[3] = -1;  // no small object in the ground truth
  e.bbox[0] = bbox_ap, e.segm[0] = segm_ap;
  return e;
}

inline result::StepSample toy_step(std::int64_t step) {
  result::StepSample s{.step = step, .images = 16, .step_s = 0.5, .learning_rate = 0.02};
  s.phase_s = {0.0625, 0.125, 0.1875, 0.0625, 0.03125, 0.03125};
  s.loss = {0.5, 0.25, 1.0, 0.75, 1.0 / static_cast<double>(step + 1)};
  return s;
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
  r.target = result::Target{0.5, 0.5};
  r.provenance = result::provenance_json({"./toy", "--set", "solver.lr=0.01"}, {{"libfoo", {"1.0", "1.1"}}});
  result::Json node = result::node_json();
  r.system = result::system_json({node, node});
  r.recipe = {"toy", result::fields_json(table), result::fields_changed(defaults, table), result::fields_sha256(table)};
  r.built = {{"reducer", {{"kind", "bucketed"}, {"bucket_bytes", 1048576}}}};
  r.data = {{"train_images", 64}, {"eval_images", 16}};
  r.clocks = {.total_s = 8.5, .init_s = 2, .run_s = 6, .train_s = 4};
  for (std::int64_t i = 0; i < 8; ++i) r.steps.add(toy_step(i));
  r.steps.step_ranks = "max", r.steps.phase_ranks = r.steps.loss_ranks = "mean";
  r.accuracy = {toy_evaluation(1, 0.4, 0.51), toy_evaluation(2, 0.52, 0.505)};
  r.warnings = {"no CPU binding"};
  return r;
}

// Two steps of half a second, from 10 s on. An all-reduce of two buckets lies a third each behind backward, the wait for data and comm_exposed;
// on rank 1 the first bucket starts 1/32 s later.
inline result::TraceRecord toy_trace(std::int64_t ranks = 2) {
  result::TraceRecord t{.from_step = 3, .steps = 2};
  t.events.assign(trace::kEventNames.begin(), trace::kEventNames.end());
  using trace::Event;
  for (std::int64_t r = 0; r < ranks; ++r) {
    result::TraceLane main{.name = "main"}, travel{.name = "gradients travel"}, ready{.name = "gradients ready"};
    const auto add = [](result::TraceLane& l, Event e, double start, double end, std::int64_t number = 0, std::int64_t bytes = 0) {
      l.event.push_back(static_cast<std::int64_t>(e)), l.start_s.push_back(start), l.end_s.push_back(end), l.number.push_back(number), l.bytes.push_back(bytes);
    };
    for (std::int64_t step = 3; step < 5; ++step) {
      const double b = 10 + 0.5 * static_cast<double>(step - 3), late = 0.03125 * static_cast<double>(r);
      add(main, Event::kOther, b, b + 0.0625), add(main, Event::kForward, b + 0.0625, b + 0.125), add(main, Event::kBackward, b + 0.125, b + 0.25);
      add(main, Event::kDataWait, b + 0.25, b + 0.3125), add(main, Event::kCommExposed, b + 0.3125, b + 0.4375);
      add(main, Event::kOptimizer, b + 0.4375, b + 0.46875), add(main, Event::kOther, b + 0.46875, b + 0.5), add(main, Event::kStep, b, b + 0.5, step);
      add(ready, Event::kBucketReady, b + 0.1875 + late, b + 0.1875 + late, 0, 1000), add(ready, Event::kBucketReady, b + 0.25, b + 0.25, 1, 500);
      add(travel, Event::kAllReduce, b + 0.1875 + late, b + 0.28125, 0, 1000), add(travel, Event::kAllReduce, b + 0.28125, b + 0.375, 1, 500);
    }
    t.ranks.push_back({.rank = r, .clock_offset_s = r ? 0.25 : 0, .clock_uncertainty_s = r ? 1e-6 : 0, .lanes = {main, ready, travel}});
  }
  return t;
}

// Sample `i` of two groups, of which the second's gradients are four times the first's; its weights grow by 2 % from sample to sample.
inline result::TelemetrySample toy_sample(std::int64_t i, std::int64_t every = 2) {
  const double g = 1 + 0.25 * static_cast<double>(i % 4), w = 8 * std::pow(1.02, static_cast<double>(i));
  return {.step = i * every, .cost_s = 0.001953125, .gradient_norm = {g, 4 * g}, .weight_norm = {16, w}, .update_norm = {0.015625, w / 128}};
}
inline result::TelemetrySeries toy_telemetry(std::int64_t samples = 4, std::int64_t every = 2) {
  result::TelemetrySeries t(every, {"box_head", "mask_head"}, {1000, 2000});
  for (std::int64_t i = 0; i < samples; ++i) t.add(toy_sample(i, every));
  t.picture_step = {4}, t.picture_cost_s = {0.25};
  return t;
}

// An ablation with one measured row, of seven rounds of four steps in which the variant takes a quarter longer, and one that cannot run here.
inline result::RunRecord toy_ablation() {
  result::RunRecord r = toy_record();
  r.kind = "ablation";
  r.target.reset();
  r.steps = {};
  r.accuracy.clear();
  r.reason = "1 comparisons measured, promises kept, 1 not supported here";
  result::Comparison c{.ablation = "reducer", .question = "What is overlap worth?", .expectation = "Little.", .baseline = "blocking",
                       .variant = "bucketed", .promise = "bitwise", .gate_steps = 3};
  c.built = {{"reducer", {"a", "b"}}};
  c.phases = {{"forward", {0.25, 0.25}}, {"comm_exposed", {0.5, 0.625}}, {"backward", {0.25, 0.375}}};
  c.phases["comm_exposed"] = {0.5, 0.6875};
  c.samples.warmup_rounds = 2;
  c.samples.stopped = "precise";
  for (std::int64_t i = 0; i < 28; ++i) {
    c.samples.round.push_back(i / 4), c.samples.step.push_back(i), c.samples.variant_first.push_back(i % 4 / 2);
    c.samples.baseline_s.push_back(1 + 0.125 * static_cast<double>(i % 4)), c.samples.variant_s.push_back(1.25 * c.samples.baseline_s.back());
  }
  r.comparisons = {c, {.ablation = "cuda_graphs", .question = "What do graphs bring?", .expectation = "Launches vanish.", .baseline = "none",
                       .variant = "full", .status = "not_supported", .reason = "CUDA Graphs exists on CUDA devices only", .promise = "bitwise"}};
  return r;
}

// A machine's ceilings, on two ranks.
inline result::RunRecord toy_roofline() {
  result::RunRecord r = toy_record();
  r.kind = "roofline";
  r.target.reset();
  r.steps = {};
  r.accuracy.clear();
  r.reason = "2 peaks measured";
  r.peaks = {{"matrix_multiply", "flop/s", "fp32 matrices of 1024 x 1024", 2147483648.0, {1e11, 1.5e11, 1.25e11}},
             {"memory_copy", "B/s", "arrays of 512 MiB a rank, plain stores", 1073741824.0, {2e10, 1e10, 3e10}}};
  return r;
}

}  // namespace ttt::test
