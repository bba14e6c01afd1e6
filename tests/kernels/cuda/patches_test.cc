// The CUDA kernels of patches against their reference implementation: to the bit.
#include "kernels/patches/patches.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "same_bits.h"
#include "tests/kernels/patch_inputs.h"

namespace ttt::kernels {
namespace {

class Patches : public testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Channels, Patches, testing::Values(1, 3, 8, 16, 260, 264));

template <class T> class Maps {
 public:
  Maps(const std::vector<std::vector<T>>& values, Kind kind) {
    for (const auto& v : values) {
      buffers_.push_back(std::make_unique<DeviceBuffer<T>>(v, kind, "a level"));
      pointers_.push_back(buffers_.back()->get());
    }
  }
  T* const* get() const { return pointers_.data(); }
  const DeviceBuffer<T>& operator[](std::size_t l) const { return *buffers_[l]; }

 private:
  std::vector<std::unique_ptr<DeviceBuffer<T>>> buffers_;
  std::vector<T*> pointers_;
};

// Of the reference implementation, which is float32: its result for the widened numbers, rounded once.
template <class T> void expect_both_passes(const PatchInputs& t) {
  std::vector<std::vector<T>> features, zeros;
  std::vector<std::vector<float>> wide, gradients;
  for (const auto& f : t.features) {
    wide.push_back(widen_all(features.emplace_back(narrow_all<T>(f))));
    zeros.emplace_back(f.size(), T{}), gradients.emplace_back(f.size(), 0.0f);
  }
  const std::vector<T> grad = narrow_all<T>(t.grad);
  std::vector<float> patches(t.grad.size());
  host::patches_forward(t.p, pointers_to<const float>(wide).data(), t.rows(), patches.data());
  host::patches_backward(t.p, widen_all(grad).data(), t.rows(), pointers_to<float>(gradients).data());
  under_all_schedules([&] {
    auto index = input(t.index, "index"), count = input(t.count, "count");
    const PatchRows rows{index.get(), count.get()};
    const Maps<T> maps(features, Kind::kInput), grad_maps(zeros, Kind::kInOut);
    auto out = output<T>(std::ssize(t.grad), "patches");
    auto g = input(grad, "grad");
    cuda::patches_forward<T>(t.p, maps.get(), rows, out.get(), nullptr);
    expect_same_bits(narrow_all<T>(patches), out, "patches");
    cuda::patches_backward<T>(t.p, g.get(), rows, grad_maps.get(), nullptr);
    for (std::size_t l = 0; l < gradients.size(); ++l)
      expect_same_bits(narrow_all<T>(gradients[l]), grad_maps[l], "gradient of level " + std::to_string(l));
  });
}

TEST_P(Patches, BothPasses_SameBits) {
  const PatchInputs t(GetParam());
  expect_both_passes<float>(t);
  expect_both_passes<Bfloat16>(t);
  expect_both_passes<Float16>(t);
}

// More rows than lanes, and all at one pixel: one row adds up all.
TEST(PatchesGradient, ManyRowsAtOnce_SameBits) {
  PatchInputs t(8, 70);
  std::fill(t.index.begin(), t.index.end(), 17), std::fill(t.count.begin(), t.count.end(), 70);
  expect_both_passes<float>(t);
}

TEST(PatchesGradient, TooManyRows_Refused) {
  PatchInputs t(1);
  t.p.rows = 12289;
  const float* none[5] = {};
  float* to[5] = {};
  EXPECT_THROW(cuda::patches_backward<float>(t.p, nullptr, {}, to, nullptr), UsageError);
  t.p.rows = 4, t.p.width[0] = 16385;
  EXPECT_THROW(cuda::patches_forward<float>(t.p, none, {}, nullptr, nullptr), UsageError);
}

}  // namespace
}  // namespace ttt::kernels
