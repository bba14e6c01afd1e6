// The sampler: candidate c of an image has the key random_bits(seed, purpose, step, image_id, c), and the smallest keys
// win. A draw depends neither on the rank that makes it nor on the other images.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/parallel.h"
#include "core/rng.h"
#include "kernels/sample/sample.h"

namespace ttt::kernels::host {
namespace {

using Key = std::pair<std::uint64_t, std::int32_t>;  // random bits, candidate

// Writes the `count` candidates of smallest key to out, ascending. Keys of one image are distinct: the last mix of
// random_bits is a bijection of the candidate.
void smallest(std::vector<Key>& keys, std::int64_t count, std::int32_t* out) {
  if (count < static_cast<std::int64_t>(keys.size())) std::nth_element(keys.begin(), keys.begin() + count, keys.end());
  for (std::int64_t i = 0; i < count; ++i) out[i] = keys[i].second;
  std::sort(out, out + count);
}

// One image's draw. Only candidates whose key is below a bound are kept and sorted: keys are uniform in 64 bits, so a
// bound of (wanted + slack) / number lets through a little more than wanted. Where it lets through too few (chance
// beyond eight standard deviations) it is lifted.
class Draw {
 public:
  Draw(const SampleParams& p, const std::int64_t* key, const std::int32_t* matched, std::int64_t image_id)
      : p_(p), key_(key), matched_(matched), image_id_(image_id) {
    for (std::int64_t c = 0; c < p.candidates; ++c) {
      positives_ += matched[c] >= 0;
      negatives_ += matched[c] == -1;
    }
  }

  // Writes min(most, how many there are) positives, or negatives, to out, ascending; returns how many.
  std::int64_t pick(bool positive, std::int64_t most, std::int32_t* out) {
    const std::int64_t there = positive ? positives_ : negatives_, count = std::min(most, there);
    if (count == 0) return 0;
    const double wanted = static_cast<double>(count) + 8 * std::sqrt(static_cast<double>(count)) + 64;
    const double share = wanted / static_cast<double>(there);
    collect(positive, share < 1 ? static_cast<std::uint64_t>(share * 0x1p64) : ~0ull);
    if (static_cast<std::int64_t>(keys_.size()) < count) collect(positive, ~0ull);
    smallest(keys_, count, out);
    return count;
  }

 private:
  void collect(bool positive, std::uint64_t bound) {
    keys_.clear();
    const auto purpose = static_cast<Purpose>(p_.purpose);
    const auto seed = static_cast<std::uint64_t>(key_[0]), step = static_cast<std::uint64_t>(key_[1]);
    const auto id = static_cast<std::uint64_t>(image_id_);
    for (std::int64_t c = 0; c < p_.candidates; ++c) {
      if (positive ? matched_[c] < 0 : matched_[c] != -1) continue;
      const std::uint64_t bits = random_bits(seed, purpose, step, id, static_cast<std::uint64_t>(c));
      if (bits <= bound) keys_.emplace_back(bits, static_cast<std::int32_t>(c));
    }
  }

  const SampleParams& p_;
  const std::int64_t* key_;
  const std::int32_t* matched_;
  std::int64_t image_id_, positives_ = 0, negatives_ = 0;
  std::vector<Key> keys_;
};

}  // namespace

void sample(const SampleParams& p, const SampleIn& in, const SampleOut& out, ThreadPool* pool) {
  if (!(p.positive_fraction >= 0.0f && p.positive_fraction <= 1.0f) || p.size < 0)
    throw UsageError("A sampler wants a size of at least 0 and a positive fraction in [0, 1]. Correct SampleParams.");
  // A product of floats rounds to what the decimal fraction means: 10 * 0.7f is 7, as 10 * 0.7 is in double.
  const auto most = static_cast<std::int64_t>(static_cast<float>(p.size) * p.positive_fraction);
  parallel_for(pool, p.images, [&](std::int64_t n) {
    Draw draw(p, in.key, in.matched + n * p.candidates, in.image_id[n]);
    std::int32_t* index = out.index + n * p.size;
    const std::int64_t pos = draw.pick(true, most, index);
    const std::int64_t neg = draw.pick(false, p.size - pos, index + pos);
    std::fill(index + pos + neg, index + p.size, 0);
    out.positives[n] = static_cast<std::int32_t>(pos);
    out.total[n] = static_cast<std::int32_t>(pos + neg);
  });
}

}  // namespace ttt::kernels::host
