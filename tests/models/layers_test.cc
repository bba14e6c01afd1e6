// Layers over a ParameterStore.
#include "models/layers.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "models/ops/detection_ops.h"

namespace ttt::model {
namespace {

struct Layer {
  BackboneConfig config;
  DetectionOps ops = host_ops(nullptr);
  ParameterStore store{3};
  ConvNorm norm;

  explicit Layer(bool trainable) {
    config.norm = "frozen";
    norm = ConvNorm(store, "conv", "norm", {3, 4, 3, 1}, {config, ops}, trainable);
    store.finalise(at::kCPU);
  }
  void load(const std::string& name, float value) {
    for (Parameter& p : store.all())
      if (p.name == name) store.from_file(p, at::full(p.file_shape, value), "a test");
  }
  at::Tensor operator()() const { return norm(at::ones({1, 3, 5, 5}), true, false).detach(); }
};

// Its constants are kept. What is loaded after a first pass must count in the second, as in a layer that had it before.
TEST(ConvNorm, LoadedAfterAPass_Counts) {
  for (const bool trainable : {true, false}) {
    for (const char* name : {"conv.weight", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var"}) {
      Layer late(trainable), early(trainable);
      const at::Tensor before = late();
      late.load(name, 0.375f), early.load(name, 0.375f);
      EXPECT_TRUE(at::equal(late(), early())) << name << trainable;
      EXPECT_FALSE(at::equal(late(), before)) << name << trainable;
    }
  }
}

}  // namespace
}  // namespace ttt::model
