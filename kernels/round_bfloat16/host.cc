#include <bit>

#include "kernels/round_bfloat16/round_one.h"

namespace ttt::kernels::host {
namespace {

template <Rounding kRounding> void round_all(std::uint64_t key, std::int64_t count, float* values) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t draw = kRounding == Rounding::kStochastic ? rounding_draw(key, i) : 0;
    values[i] = std::bit_cast<float>(bfloat16_bits(kRounding, std::bit_cast<std::uint32_t>(values[i]), draw));
  }
}

}  // namespace

void round_bfloat16(Rounding rounding, std::uint64_t key, const float* update, std::int64_t count, float* values) {
  if (rounding == Rounding::kNearestEven) round_all<Rounding::kNearestEven>(0, count, values);
  else if (rounding == Rounding::kTowardZero) round_all<Rounding::kTowardZero>(0, count, values);
  else round_all<Rounding::kStochastic>(rounding_key(key, *update), count, values);
}

}  // namespace ttt::kernels::host
