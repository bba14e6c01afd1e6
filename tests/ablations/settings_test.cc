// Rules that all ablations keep.
#include <gtest/gtest.h>

#include "eval/mask_rcnn.h"
#include "measure/ablation.h"
#include "models/mask_rcnn/config.h"

namespace ttt::ablations {
namespace {

// With cuDNN's search each new size is timed anew: the comparison would be of searches.
TEST(Ablations, ShapesThatVary_NoSearch) {
  int vary = 0;
  for (const Ablation& a : all_ablations()) {
    std::vector<Setting> settings = a.settings;
    if (settings.empty()) settings.push_back({.name = "the recipe"});
    for (const Setting& s : settings) {
      bool varies = false, tunes = false;
      for (const Variant& v : a.variants) {
        train::Recipe r(eval::mask_rcnn());
        r.model.as<model::ModelConfig>().shapes = "static";
        if (s.change) s.change(r);
        if (v.change) v.change(r);
        varies = varies || r.model.as<model::ModelConfig>().shapes == "dynamic";
        tunes = tunes || r.train.cudnn_autotune;
      }
      vary += varies;
      EXPECT_FALSE(varies && tunes) << a.name << ", " << s.name;
    }
  }
  EXPECT_GE(vary, 5);  // sync_free at three sizes, freed_memory, balanced_sampling
}

}  // namespace
}  // namespace ttt::ablations
