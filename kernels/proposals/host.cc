// Proposals: torchvision's filter_proposals, and maskrcnn-benchmark's variant by parameters. NMS runs on each level
// apart, as torchvision's batched_nms does. (For up to 1000 boxes torchvision shifts the levels apart by an offset,
// which rounds the coordinates; that rounding is not reproduced.) Order: descending logit, ties by the lower anchor. A
// NaN logit or box is never a proposal.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error.h"
#include "core/parallel.h"
#include "kernels/common/box_math.h"
#include "kernels/common/score_key.h"
#include "kernels/nms/nms.h"
#include "kernels/proposals/proposals.h"

namespace ttt::kernels::host {
namespace {

struct Proposal {
  std::uint64_t key;  // score_key(logit, anchor)
  float box[4];
};

struct ImageIn {
  const float* logits;   // [A]
  const float* deltas;   // [A, 4]
  const float* anchors;  // [A, 4]
  float height, width;
};

// The pre_nms best anchors of a level, best first.
std::vector<std::uint64_t> best_anchors(const ProposalParams& p, const ImageIn& in, int level) {
  std::vector<std::uint64_t> keys;
  keys.reserve(p.level_start[level + 1] - p.level_start[level]);
  for (std::int64_t a = p.level_start[level]; a < p.level_start[level + 1]; ++a)
    if (!std::isnan(in.logits[a])) keys.push_back(score_key(in.logits[a], static_cast<std::uint32_t>(a)));
  if (static_cast<std::int64_t>(keys.size()) > p.pre_nms) {
    std::nth_element(keys.begin(), keys.begin() + p.pre_nms, keys.end());
    keys.resize(p.pre_nms);
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::vector<Proposal> level_proposals(const ProposalParams& p, const ImageIn& in, int level) {
  const float extra = p.coder.legacy ? 1.0f : 0.0f;
  std::vector<std::uint64_t> keys = best_anchors(p, in, level);
  std::vector<float> boxes(4 * keys.size());
  std::size_t n = 0;
  for (const std::uint64_t key : keys) {
    const std::int64_t a = key_index(key);
    float* box = boxes.data() + 4 * n;
    decode_box(p.coder, in.deltas + 4 * a, in.anchors + 4 * a, box);
    clip_box(box, in.height, in.width, extra);
    if (box_is_large(box, p.min_size, extra)) keys[n++] = key;
  }
  // No more than the cut over all levels can survive from one level.
  const std::int64_t over_all = p.cut_over_batch ? p.post_nms_batch : p.post_nms;
  const std::int64_t most = p.post_nms_per_level > 0 ? std::min(p.post_nms_per_level, over_all) : over_all;
  KeptBoxes kept(std::min<std::int64_t>(most, n));
  std::vector<std::int32_t> keep(n);
  const std::int64_t count = greedy_nms(n, boxes.data(), {p.nms_threshold, extra}, most, kept, keep.data());
  std::vector<Proposal> out(count);
  for (std::int64_t i = 0; i < count; ++i) {
    out[i].key = keys[keep[i]];
    std::copy_n(boxes.data() + 4 * keep[i], 4, out[i].box);
  }
  return out;
}

// All levels of one image, best first; not yet cut.
std::vector<Proposal> merge_levels(std::vector<std::vector<Proposal>>::iterator first, int levels) {
  std::vector<Proposal> all;
  for (int l = 0; l < levels; ++l) all.insert(all.end(), first[l].begin(), first[l].end());
  std::sort(all.begin(), all.end(), [](const Proposal& a, const Proposal& b) { return a.key < b.key; });
  return all;
}

// How many each image keeps of the `most` best over all images; ties go to the lower image, then the lower anchor.
void cut_over_batch(std::int64_t most, std::vector<std::vector<Proposal>>& images) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> order;  // score alone, image
  for (std::uint32_t n = 0; n < images.size(); ++n)
    for (const Proposal& proposal : images[n]) order.emplace_back(proposal.key >> 32, n);
  if (static_cast<std::int64_t>(order.size()) <= most) return;
  std::nth_element(order.begin(), order.begin() + most, order.end());
  std::vector<std::size_t> count(images.size(), 0);
  for (std::int64_t i = 0; i < most; ++i) ++count[order[i].second];
  for (std::size_t n = 0; n < images.size(); ++n) images[n].resize(count[n]);
}

void check(const ProposalParams& p) {
  if (p.levels < 1 || p.levels > kMaxLevels || p.level_start[0] != 0 || p.level_start[p.levels] != p.anchors)
    throw UsageError("The levels' anchor ranges do not cover all anchors. Correct ProposalParams::level_start.");
  if (p.cut_over_batch && p.post_nms_batch < 1)
    throw UsageError("A cut over the batch wants a number of proposals. Set post_nms_batch.");
  if (!(p.nms_threshold >= 0.0f)) throw UsageError("NMS wants a threshold of at least 0. Correct nms_threshold.");
}

}  // namespace

void proposals(const ProposalParams& p, const ProposalsIn& in, const ProposalsOut& out, ThreadPool* pool) {
  check(p);
  std::vector<std::vector<Proposal>> levels(p.images * p.levels), images(p.images);
  parallel_for(pool, p.images * p.levels, [&](std::int64_t unit) {
    const std::int64_t n = unit / p.levels;
    const ImageIn image{in.logits + n * p.anchors, in.deltas + n * p.anchors * 4, in.anchors,
                        static_cast<float>(in.image_size[2 * n]), static_cast<float>(in.image_size[2 * n + 1])};
    levels[unit] = level_proposals(p, image, static_cast<int>(unit % p.levels));
  });
  for (std::int64_t n = 0; n < p.images; ++n) images[n] = merge_levels(levels.begin() + n * p.levels, p.levels);
  if (p.cut_over_batch) cut_over_batch(p.post_nms_batch, images);
  for (std::int64_t n = 0; n < p.images; ++n) {
    const std::int64_t rows = std::min<std::int64_t>(p.post_nms, images[n].size());
    float* box = out.boxes + n * p.post_nms * 4;
    float* score = out.scores + n * p.post_nms;
    for (std::int64_t i = 0; i < rows; ++i) {
      std::copy_n(images[n][i].box, 4, box + 4 * i);
      score[i] = key_score(images[n][i].key);
    }
    std::fill(box + 4 * rows, box + 4 * p.post_nms, 0.0f);
    std::fill(score + rows, score + p.post_nms, 0.0f);
    out.count[n] = static_cast<std::int32_t>(rows);
  }
}

}  // namespace ttt::kernels::host
