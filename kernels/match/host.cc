// Matching (Ren et al. 2015, section 3.1.2), as torchvision's Matcher over box_iou.
#include <algorithm>
#include <vector>

#include "core/error.h"
#include "core/parallel.h"
#include "kernels/match/host_block.h"
#include "kernels/match/match.h"

#define TTT_SIMD_BODY "kernels/match/host_simd.inc"
#include "kernels/common/simd_variants.inc"

namespace ttt::kernels::host {
namespace {

// One image: candidates in blocks, so that the best IoU of each ground truth within a block says whether a tie with the
// image's best can be there at all.
struct Image {
  const float* gt;  // [count, 4]
  std::int64_t count;
  const float* candidates;           // [candidates, 4]
  std::int32_t* matched;             // [candidates]
  const std::uint8_t* visible;       // [candidates] or null
  std::vector<float> block_best;     // [blocks, count]
  std::vector<std::int32_t> argmax;  // [candidates], only with allow_low_quality
};

void classify(const MatchParams& p, const CandidateBlock& b, const std::int32_t* argmax, std::int32_t* matched) {
  for (int i = 0; i < b.size; ++i) matched[i] = b.best[i] < p.low ? -1 : (b.best[i] < p.high ? -2 : argmax[i]);
}

void first_pass(const MatchParams& p, const MatchLoops& loops, Image& image, std::int64_t block) {
  CandidateBlock b;
  const std::int64_t begin = block * kMatchBlock;
  fill_block(image.candidates + 4 * begin, std::min<std::int64_t>(kMatchBlock, p.candidates - begin),
             p.legacy ? 1.0f : 0.0f, b);
  for (std::int64_t g = 0; g < image.count; ++g) {
    const float best = loops.iou(b, image.gt + 4 * g) ? loops.update(b, static_cast<std::int32_t>(g)) : 0.0f;
    image.block_best[block * image.count + g] = best;
  }
  classify(p, b, b.argmax, image.matched + begin);
  if (p.allow_low_quality) std::copy_n(b.argmax, b.size, image.argmax.data() + begin);
}

// Every candidate tied for a ground truth's best IoU gets its own argmax back, which may be another ground truth. Where
// no candidate touches a ground truth all of them tie at 0, and all get theirs back: torchvision's rule, kept.
void second_pass(const MatchParams& p, const MatchLoops& loops, Image& image, const std::vector<float>& best,
                 std::int64_t block) {
  CandidateBlock b;
  const std::int64_t begin = block * kMatchBlock;
  bool filled = false;
  for (std::int64_t g = 0; g < image.count; ++g) {
    if (image.block_best[block * image.count + g] != best[g]) continue;
    if (!filled) {
      fill_block(image.candidates + 4 * begin, std::min<std::int64_t>(kMatchBlock, p.candidates - begin),
                 p.legacy ? 1.0f : 0.0f, b);
      filled = true;
    }
    if (!loops.iou(b, image.gt + 4 * g)) std::fill_n(b.iou, b.size, 0.0f);
    for (int i = 0; i < b.size; ++i)
      if (b.iou[i] == best[g]) image.matched[begin + i] = image.argmax[begin + i];
  }
}

void match_image(const MatchParams& p, const MatchLoops& loops, Image& image, ThreadPool* pool) {
  const std::int64_t blocks = (p.candidates + kMatchBlock - 1) / kMatchBlock;
  image.block_best.resize(blocks * image.count);
  if (p.allow_low_quality) image.argmax.resize(p.candidates);
  parallel_for(pool, blocks, [&](std::int64_t block) { first_pass(p, loops, image, block); });
  if (p.allow_low_quality) {
    std::vector<float> best(image.count, 0.0f);
    for (std::int64_t block = 0; block < blocks; ++block)
      for (std::int64_t g = 0; g < image.count; ++g)
        best[g] = std::max(best[g], image.block_best[block * image.count + g]);
    parallel_for(pool, blocks, [&](std::int64_t block) { second_pass(p, loops, image, best, block); });
  }
}

}  // namespace

MatchLoops match_loops(Isa isa) { return {TTT_PICK(isa, iou), TTT_PICK(isa, update)}; }

void match(const MatchParams& p, const MatchIn& in, std::int32_t* matched, ThreadPool* pool) {
  if (!(p.low <= p.high)) throw UsageError("A matcher's low threshold exceeds its high one. Set low <= high.");
  const MatchLoops loops = match_loops(best_isa());
  for (std::int64_t n = 0; n < p.images; ++n) {
    Image image;
    image.gt = in.gt + n * p.gt_capacity * 4;
    image.count = in.gt_count[n];
    if (image.count < 0 || image.count > p.gt_capacity)
      throw UsageError("An image has more objects than the ground truth's capacity. Raise the capacity.");
    image.candidates = in.candidates + (p.shared_candidates ? 0 : n * p.candidates * 4);
    image.matched = matched + n * p.candidates;
    if (image.count == 0) {
      std::fill_n(image.matched, p.candidates, -1);
    } else {
      match_image(p, loops, image, pool);
    }
    if (in.visible == nullptr) continue;
    for (std::int64_t i = 0; i < p.candidates; ++i)
      if (!in.visible[n * p.candidates + i]) image.matched[i] = -2;
  }
}

}  // namespace ttt::kernels::host
