// The real models' parameters, for operations on all of them: their number and sizes are what the time depends on.
#pragma once

#include "core/parallel.h"
#include "embedded_recipes.h"
#include "eval/mask_rcnn.h"
#include "models/mask_rcnn/mask_rcnn.h"
#include "run/recipe.h"
#include "settings/settings_reader.h"

namespace ttt::micro {

struct RecipeName {
  const char* name;
  std::int64_t classes;  // of the recipe's data set, background included
};
inline constexpr RecipeName kRecipes[] = {{"default", 7}, {"mlperf", 81}};

inline train::Recipe recipe_of(const RecipeName& which) {
  train::Recipe recipe(eval::mask_rcnn());
  result::FieldTable table = result::field_table(recipe);
  harness::read_settings_text(table, embedded_recipes().at(which.name), which.name);
  result::assign(table, recipe);
  recipe.model.as<model::ModelConfig>().classes = which.classes;
  return recipe;
}

inline std::unique_ptr<model::MaskRcnn> model_of(const train::Recipe& recipe) {
  return std::make_unique<model::MaskRcnn>(
      recipe.model.as<model::ModelConfig>(), model::host_ops(nullptr), 1, at::kCPU, nullptr);
}

}  // namespace ttt::micro
