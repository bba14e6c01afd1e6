#include "run/recipe.h"

#include "core/error.h"
#include "data/collate.h"

namespace ttt::train {
namespace {

void check_precision(const Recipe& recipe) {
  const std::string p = recipe.workload->precision(recipe.model);
  // in fp16 a step takes minutes: torch multiplies one by one there
  if (recipe.device == "cpu" && (p == "tf32" || p == "fp16"))
    throw NotSupported("model.precision = \"" + p +
                       "\" is for GPUs, and device = \"cpu\". Choose fp32 or bf16, or device = \"cuda\".");
}

void check_trace(const TrainSettings& t) {
  if (t.trace_steps > 0 && t.max_steps > 0 && t.trace_from >= t.max_steps)
    throw UsageError("train.trace_from = " + std::to_string(t.trace_from) +
                     " is after the last step of train.max_steps = " + std::to_string(t.max_steps) +
                     ": nothing would be recorded. Lower the one or raise the other.");
}

void check_fresh(const Recipe& recipe) {
  if (recipe.data.generated_fresh > 0 && recipe.train.eval_overlap)
    throw UsageError(
        "data.generated_fresh is compared with the last evaluation, and with train.eval_overlap the weights "
        "move on after it. Leave one of them away.");
}

}  // namespace

void check(const Recipe& recipe) {
  data::check(recipe.data);
  recipe.workload->check(recipe.model, recipe.data, recipe.device);
  check(recipe.train.schedule);
  check(recipe.train.optimizer);
  check(recipe.train.phases, recipe.train.schedule.lr, recipe.train.epochs);
  if (!recipe.train.phases.short_side.empty() && (recipe.data.pad_height > 0 || recipe.data.pad_width > 0))
    throw UsageError(
        "train.phases.short_side changes the images' size, and data.pad_height or data.pad_width fixes it: set both to "
        "0.");
  check(recipe.train.telemetry);
  check_trace(recipe.train);
  check_precision(recipe);
  check_fresh(recipe);
}

}  // namespace ttt::train
