#include "run/submission.h"

#include <random>

#include "core/error.h"
#include "embedded_recipes.h"
#include "result/mllog.h"
#include "settings/fields_json.h"
#include "settings/settings_reader.h"

namespace ttt {
namespace {

result::FieldTable reference_settings(const eval::Workload& workload) {
  result::FieldTable table = result::field_table(train::Recipe(workload));
  harness::read_settings_text(table, embedded_recipes().at("mlperf"), "recipe mlperf");
  return table;
}

// The result's recipe is the one that ran.
void record_seed(const train::Recipe& recipe, std::int64_t before, result::RunRecorder& recorder) {
  const result::FieldTable table = result::field_table(recipe);
  recorder.update([&](result::RunRecord& r) {
    r.recipe.settings = result::fields_json(table);
    r.recipe.sha256 = result::fields_sha256(table);
    result::Json changes = result::Json::array();
    for (const result::Json& change : r.recipe.changes)
      if (change.at("key") != "seed") changes.push_back(change);
    changes.push_back({{"key", "seed"}, {"default", before}, {"value", recipe.seed}});
    r.recipe.changes = std::move(changes);
  });
}

}  // namespace

train::Recipe with_drawn_seed(const train::Recipe& recipe, const Start& start, harness::RunContext& context) {
  train::Recipe own = recipe;
  if (!recipe.mlperf.draw_seed) return own;
  std::random_device entropy;
  // as other logs' seeds: 31 bits
  own.seed = start.resumed ? start.seed : std::stoll(context.launch.from_root(std::to_string(entropy() & 0x7fffffff)));
  record_seed(own, recipe.seed, context.recorder);
  return own;
}

std::unique_ptr<train::MlperfLog> open_mlperf_log(const Run& run, const Start& start, harness::RunContext& context) {
  const train::MlperfConfig& m = run.recipe.mlperf;
  if (!m.writes_log()) return nullptr;
  if (start.resumed && m.division != "none")
    throw UsageError("mlperf.division = \"" + m.division +
                     "\": the clock of a run to be submitted does not pause, and this one would resume from step " +
                     std::to_string(start.step) +
                     " of an earlier one. Name another train.checkpoint.folder, or set mlperf.division=none.");
  if (start.resumed) {
    context.recorder.warn("A run that resumes from a checkpoint has no MLPerf log: its clock would have paused.");
    return nullptr;
  }
  const train::RunFacts facts{.seed = run.recipe.seed,
      .data = run.recipe.data,
      .train = run.recipe.train,
      .mlperf = m,
      .settings = result::field_table(run.recipe),
      .reference = reference_settings(*run.recipe.workload),
      .train_images = run.train_images->size(),
      .eval_images = run.eval_images->size(),
      .categories = static_cast<std::int64_t>(run.train_images->categories().size()),
      .epochs = run.order->epochs()};
  const std::vector<train::Breach> relaxed = train::relaxed_breaches(facts);
  const auto path = result::mllog_path(context.out);
  context.recorder.update([&](result::RunRecord& r) {
    r.mlperf = result::MlperfRecord{.division = m.division, .log = path.filename().string(), .relaxed = relaxed};
  });
  for (const train::Breach& b : relaxed)
    context.recorder.warn("MLPerf's closed rule " + b.rule + " is relaxed: " + train::breach_text(b) + ".");
  if (context.launch.rank != 0) return nullptr;
  for (const train::Breach& b : relaxed)
    if (!context.options.quiet)
      std::fprintf(stderr, "relaxed rule %s: %s\n", b.rule.c_str(), train::breach_text(b).c_str());
  const auto since_ms = static_cast<std::int64_t>((now_s() - context.launch.start_s) * 1e3);
  return std::make_unique<train::MlperfLog>(path, context.options.force, facts, relaxed, unix_ms() - since_ms);
}

}  // namespace ttt
