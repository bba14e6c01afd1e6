// The reference implementation of patches: against the definition, and its gradient as the transpose of it.
#include "kernels/patches/patches.h"

#include <gtest/gtest.h>

#include "core/parallel.h"
#include "tests/kernels/patch_inputs.h"

namespace ttt::kernels {
namespace {

// One value of the patch around an anchor, from the anchors listed one by one.
float value_of(const PatchInputs& t, std::int64_t image, std::int32_t anchor, int dy, int dx, std::int64_t channel) {
  std::int32_t at = 0;
  for (int l = 0; l < t.p.levels; ++l)
    for (std::int64_t y = 0; y < t.p.height[l]; ++y)
      for (std::int64_t x = 0; x < t.p.width[l]; ++x)
        for (std::int64_t kind = 0; kind < t.p.kinds; ++kind)
          if (at++ == anchor) {
            const std::int64_t v = y + dy, u = x + dx;
            if (v < 0 || u < 0 || v >= t.p.height[l] || u >= t.p.width[l]) return 0;
            return t.features[l][((image * t.p.height[l] + v) * t.p.width[l] + u) * t.p.channels + channel];
          }
  throw std::logic_error("no such anchor");
}

TEST(Patches, Forward_IsTheDefinition) {
  PatchInputs t(3);
  std::vector<float> got(t.grad.size(), kNan);
  host::patches_forward(t.p, pointers_to<const float>(t.features).data(), t.rows(), got.data());
  std::size_t at = 0;
  for (std::int64_t n = 0; n < t.p.images; ++n)
    for (std::int64_t r = 0; r < t.p.rows; ++r)
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
          for (std::int64_t c = 0; c < t.p.channels; ++c, ++at) {
            const float want = r < t.count[n] ? value_of(t, n, t.index[n * t.p.rows + r], dy, dx, c) : 0;
            ASSERT_EQ(got[at], want) << n << " " << r << " " << dy << " " << dx;
          }
}

// <P x, g> = <x, P' g>, exactly: all numbers are small and whole.
TEST(Patches, Backward_IsTheTranspose) {
  PatchInputs t(5);
  Stream s = stream(950);
  t.grad = PatchInputs::whole(s, std::ssize(t.grad));
  std::vector<float> patches(t.grad.size());
  host::patches_forward(t.p, pointers_to<const float>(t.features).data(), t.rows(), patches.data());
  std::vector<std::vector<float>> gradients;
  for (const auto& f : t.features) gradients.emplace_back(f.size(), 0.0f);
  ThreadPool pool(2);
  host::patches_backward(t.p, t.grad.data(), t.rows(), pointers_to<float>(gradients).data(), &pool);
  double left = 0, right = 0;
  for (std::size_t i = 0; i < patches.size(); ++i) left += static_cast<double>(patches[i]) * t.grad[i];
  for (std::size_t l = 0; l < gradients.size(); ++l)
    for (std::size_t i = 0; i < gradients[l].size(); ++i)
      right += static_cast<double>(gradients[l][i]) * t.features[l][i];
  EXPECT_EQ(left, right);
  EXPECT_NE(left, 0);
}

}  // namespace
}  // namespace ttt::kernels
