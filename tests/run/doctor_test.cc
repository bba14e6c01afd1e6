// The doctor's rules: planted mistakes are named, and the shipped recipes have none where they belong.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "embedded_recipes.h"
#include "eval/mask_rcnn.h"
#include "result/symptoms.h"
#include "run/recipe.h"
#include "settings/fields_json.h"
#include "settings/settings_reader.h"

namespace ttt::result {
namespace {

Json settings_of(const std::string& recipe, const std::string& changes = "") {
  train::Recipe r(eval::mask_rcnn());
  FieldTable table = field_table(r);
  harness::read_settings_text(table, embedded_recipes().at(recipe), recipe);
  harness::read_settings_text(table, changes, "changes");
  assign(table, r);
  return fields_json(r);
}

// Two ranks on a quiet machine of two cores.
SymptomFacts host(const std::string& changes = "", const std::string& recipe = "default") {
  return {.settings = settings_of(recipe, changes),
      .built = {{"threads_per_rank", 1}, {"loader", {{"read", "pread"}}}},
      .build_type = "Release",
      .ranks = 2,
      .node_ranks = 2,
      .cores = 2,
      .usable_cores = 2,
      .bound_cores = 2,
      .steps_per_epoch = 200,
      .cold_bytes = 1e7,
      .others_share = 0.01,
      .clock_share = 0.97};
}

// Eight GPUs of one node, with what the recipes leave to the machine: batch and precision.
SymptomFacts gpus(const std::string& changes = "", const std::string& recipe = "mlperf") {
  SymptomFacts f = host("", recipe);
  f.settings = settings_of(recipe);
  f.settings["device"] = "cuda";
  f.settings["train"]["images_per_rank"] = 12;
  f.settings["model"]["precision"] = "bf16";
  f.settings.merge_patch(parse(changes.empty() ? "{}" : changes, "changes"));
  f.ranks = f.node_ranks = 8, f.cores = f.usable_cores = 96, f.bound_cores = 96;
  f.built["threads_per_rank"] = 12;
  return f;
}

std::string ids(const SymptomFacts& facts) {
  std::string all;
  for (const Symptom& s : symptoms(facts)) all += (all.empty() ? "" : " ") + s.id;
  return all;
}

TEST(Doctor, ShippedRecipes_HaveNothing) {
  for (const char* recipe : {"default", "mini"}) EXPECT_EQ(ids(host("", recipe)), "") << recipe;
  for (const char* recipe : {"mlperf", "torchvision"}) EXPECT_EQ(ids(gpus("", recipe)), "") << recipe;
}

SymptomFacts with(SymptomFacts facts, const std::function<void(SymptomFacts&)>& change) {
  change(facts);
  return facts;
}

TEST(Doctor, PlantedMistakes_AreNamedAlone) {
  const std::vector<std::pair<std::string, SymptomFacts>> planted = {
      {"sanitizer", with(host(), [](auto& f) { f.sanitize = "address"; })},
      {"debug_build", with(host(), [](auto& f) { f.build_type = "Debug"; })},
      {"debug_environment", with(host(), [](auto& f) { f.environment["ONEDNN_VERBOSE"] = "1"; })},
      {"debug_environment", with(gpus(), [](auto& f) { f.environment["CUDA_LAUNCH_BLOCKING"] = "1"; })},
      {"older_instructions", with(host(), [](auto& f) { f.environment["ONEDNN_MAX_CPU_ISA"] = "SSE41"; })},
      {"more_ranks_than_cores", with(host(), [](auto& f) { f.ranks = f.node_ranks = 4; })},
      {"more_threads_than_cores", with(host(), [](auto& f) { f.built["threads_per_rank"] = 2; })},
      {"bound_too_narrowly", with(gpus(), [](auto& f) { f.usable_cores = 1; })},
      {"ranks_share_cores", with(host(), [](auto& f) { f.bound_cores = 1; })},
      {"busy_machine", with(host(), [](auto& f) { f.others_share = 0.5; })},
      {"throttled", with(host(), [](auto& f) { f.clock_share = 0.5; })},
      {"cold_data", with(host(), [](auto& f) { f.cold_bytes = 2e10; })}, {"no_worker", host("data.workers = 0")},
      {"too_many_workers", host("data.workers = 8")}, {"no_prefetch", host("data.workers = 2\ndata.prefetch = 1")},
      {"hdf5_reads", with(host(), [](auto& f) { f.built["loader"]["read"] = "hdf5"; })},
      {"profiler", gpus(R"({"train": {"profile_steps": 10}})")}, {"trace", host("train.trace_steps = 100")},
      {"strict_sync", gpus(R"({"train": {"strict_sync": true}})")},
      {"histograms_each_step", host("train.telemetry.folder = \"t\"\ntrain.telemetry.histograms_every = 1")},
      {"telemetry_each_step", host("train.telemetry.folder = \"t\"\ntrain.telemetry.every_steps = 1")},
      {"replica_checks", host("train.check_replicas_every = 1")},
      {"frequent_checkpoints", host("train.checkpoint.folder = \"c\"\ntrain.checkpoint.every_s = 5")},
      {"frequent_evaluations", host("train.eval_every_epochs = 0.02")}, {"fillers", host("model.shapes = \"static\"")},
      {"memory_returned", host("train.keep_memory = false")},
      {"small_buckets", host("train.reducer.bucket_bytes = 4096")},
      {"tcp_in_a_node", with(host(), [](auto& f) { f.environment["OMPI_MCA_btl"] = "tcp,self"; })},
      {"no_matrix_units", gpus(R"({"model": {"precision": "fp32"}})")},
      {"waits_for_shapes", gpus(R"({"model": {"shapes": "dynamic"}, "train": {"cudnn_autotune": false}})")},
      {"pageable_copies", gpus(R"({"train": {"pin_memory": false}})")},
      {"copies_in_line", gpus(R"({"train": {"copy_stream": false}})")},
      {"tuning_of_each_shape", gpus(R"({"data": {"padding": "batch"}})")},
      {"no_autotune", gpus(R"({"train": {"cudnn_autotune": false}})")},
      {"small_batch", gpus(R"({"train": {"images_per_rank": 2, "graphs": "full"}})")},
      {"no_graphs", gpus(R"({"train": {"images_per_rank": 4}})")},
      {"blocking_reducer", gpus(R"({"train": {"reducer": {"kind": "blocking"}}})")},
      {"frequent_looks", gpus(R"({"train": {"gpu_every_s": 0.001}})")}};
  std::set<std::string> named;
  for (const auto& [id, facts] : planted) {
    EXPECT_EQ(ids(facts), id);
    named.insert(id);
  }
  EXPECT_GE(named.size(), 20u);
}

TEST(Doctor, SeveralMistakes_WorstFirst) {
  SymptomFacts facts = host("data.workers = 0\ntrain.keep_memory = false");
  facts.sanitize = "thread";
  EXPECT_EQ(ids(facts), "sanitizer no_worker memory_returned");
  const std::string text = symptoms_text(symptoms(facts));
  EXPECT_TRUE(text.starts_with("3 things found that cost time, the worst first:\n- sanitizer: ")) << text;
  EXPECT_NE(text.find("How much it is worth here: ablate workers."), std::string::npos) << text;
}

TEST(Doctor, UnknownFacts_AreSilent) {
  SymptomFacts facts = host();
  facts.cold_bytes = facts.others_share = facts.clock_share = std::nullopt;
  facts.built = Json::object();
  EXPECT_EQ(ids(facts), "");
  EXPECT_EQ(symptoms_text({}), "Nothing found that costs time without need.\n");
}

}  // namespace
}  // namespace ttt::result
