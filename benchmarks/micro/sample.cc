// Sampling of anchors for the RPN's loss. Peer: the definition, a full sort by the same random keys.
// links: ttt_kernels_host
#include "bench.h"
#include "kernels/sample/sample.h"
#include "rpn_inputs.h"

namespace ttt::micro {
namespace {

struct Case : RpnInputs {
  explicit Case(const Detector& s)
      : RpnInputs(s), id(s.images, 7), index(s.images * s.rpn_sample), sorted(index.size()), positives(s.images), total(s.images) {
    match_anchors();
  }
  void ours() {
    constexpr std::int64_t kKey[] = {0, 0};
    kernels::host::sample({.images = shape.images, .candidates = n, .size = shape.rpn_sample}, {kKey, matched.data(), id.data()},
                          {index.data(), positives.data(), total.data()});
  }
  void full_sort() {
    std::vector<std::pair<std::uint64_t, std::int32_t>> keyed;
    std::vector<std::int32_t> chosen;
    for (std::int64_t i = 0; i < shape.images; ++i) {
      std::int32_t* out = sorted.data() + i * shape.rpn_sample;
      std::int64_t filled = 0;
      for (const bool positive : {true, false}) {
        keyed.clear();
        for (std::int64_t a = 0; a < n; ++a) {
          const std::int32_t m = matched[i * n + a];
          if (positive ? m >= 0 : m == -1)
            keyed.emplace_back(random_bits(0, Purpose{}, 0, static_cast<std::uint64_t>(id[i]), static_cast<std::uint64_t>(a)), static_cast<std::int32_t>(a));
        }
        std::sort(keyed.begin(), keyed.end());
        const std::int64_t most = positive ? shape.rpn_sample / 2 : shape.rpn_sample - filled;
        chosen.clear();
        for (std::int64_t k = 0; k < std::min<std::int64_t>(most, std::ssize(keyed)); ++k) chosen.push_back(keyed[k].second);
        std::sort(chosen.begin(), chosen.end());
        std::copy(chosen.begin(), chosen.end(), out + filled);
        filled += std::ssize(chosen);
      }
      std::fill(out + filled, out + shape.rpn_sample, 0);
    }
  }
  std::string disagreement() {
    ours(), full_sort();
    return difference<std::int32_t>("sample", index, sorted, 0);
  }
  std::string label() const { return words("%lld of %lld anchors, %lld images", (long long)shape.rpn_sample, (long long)n, (long long)shape.images); }
  double items() const { return static_cast<double>(shape.images * n); }
  static constexpr const char* kItems = "anchors/s";
  std::vector<std::int64_t> id;
  std::vector<std::int32_t> index, sorted, positives, total;
};

const bool added = [] {
  for (const Detector& s : kDetectors) {
    add<Case>("sample", s, "ours", &Case::ours);
    add<Case>("sample", s, "full_sort", &Case::full_sort);
  }
  return true;
}();

}  // namespace
}  // namespace ttt::micro
