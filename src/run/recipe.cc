#include "run/recipe.h"

#include "core/error.h"
#include "data/collate.h"

namespace ttt::train {
namespace {

void check_norm(const Recipe& recipe) {
  if (recipe.device != "cpu" && recipe.model.backbone.norm == "sync" && recipe.data.padding == "batch")
    throw UsageError("model.backbone.norm = \"sync\", data.padding = \"batch\" and device = \"" + recipe.device +
                     "\": the ranks' batches would differ in size, and the host does not wait for the device to add them up. Choose data.padding = \"fixed\" or \"two\".");
}

void check_precision(const Recipe& recipe) {
  const std::string& p = recipe.model.precision;
  if (recipe.device == "cpu" && (p == "tf32" || p == "fp16"))  // in fp16 a step takes minutes: torch multiplies one by one there
    throw NotSupported("model.precision = \"" + p + "\" is for GPUs, and device = \"cpu\". Choose fp32 or bf16, or device = \"cuda\".");
}

void check_trace(const TrainSettings& t) {
  if (t.trace_steps > 0 && t.max_steps > 0 && t.trace_from >= t.max_steps)
    throw UsageError("train.trace_from = " + std::to_string(t.trace_from) + " is after the last step of train.max_steps = " + std::to_string(t.max_steps) +
                     ": nothing would be recorded. Lower the one or raise the other.");
}

}  // namespace

void check(const Recipe& recipe) {
  data::check(recipe.data);
  if (const model::RpnConfig& rpn = recipe.model.rpn; rpn.match_low > rpn.match_high)
    throw UsageError("model.rpn.match_low is above model.rpn.match_high: an anchor would be positive and negative. Lower the one or raise the other.");
  check(recipe.train.schedule);
  check(recipe.train.telemetry);
  check_trace(recipe.train);
  check_norm(recipe);
  check_precision(recipe);
}

}  // namespace ttt::train
