// Detections without the host, in two launches. A block per image and class sorts its candidates, decodes them and
// applies NMS; then every survivor computes its rank among those of all classes.
#include "kernels/common/block.h"
#include "kernels/common/box_math.h"
#include "kernels/common/launch.h"
#include "kernels/common/score_key.h"
#include "kernels/detections/detections.h"
#include "kernels/nms/nms.h"

namespace ttt::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// Lists are numbered image * (classes - 1) + class - 1.
struct Work {
  float* box;            // [lists, rois, 4] of the candidates, in order
  std::int32_t* alive;   // [lists, rois]
  std::uint64_t* key;    // [lists, most] score_key(probability, roi * classes + class) of what is left, ascending
  std::int32_t* source;  // [lists, most] which box
  std::int32_t* count;   // [lists]
  int most;
};

Work work_in(const DetectionParams& p, Workspace&& memory) {
  Work w{};
  const std::int64_t lists = p.images * (p.classes - 1);
  w.most = static_cast<int>(p.detections < p.rois ? p.detections : p.rois);
  w.box = memory.take<float>(4 * lists * p.rois);
  w.alive = memory.take<std::int32_t>(lists * p.rois);
  w.key = memory.take<std::uint64_t>(lists * w.most);
  w.source = memory.take<std::int32_t>(lists * w.most);
  w.count = memory.take<std::int32_t>(lists);
  return w;
}

// Decodes the candidates keys[0, found), best first, drops the small ones and returns how many are left; their keys
// move up.
__device__ int decode_candidates(const DetectionParams& p, const DetectionsIn& in, std::int64_t image,
                                 std::uint64_t* keys, int found, float* boxes, int* sums) {
  const float extra = p.coder.legacy ? 1.0f : 0.0f;
  const auto height = static_cast<float>(in.image_size[2 * image]),
             width = static_cast<float>(in.image_size[2 * image + 1]);
  int left = 0;
  for (int first = 0; first < found; first += kThreads) {
    const int i = first + static_cast<int>(threadIdx.x);
    const std::uint64_t key = i < found ? keys[i] : 0;
    bool large = false;
    float box[4];
    if (i < found) {
      const std::int64_t candidate = key_index(key), roi = candidate / p.classes;
      float delta[4], reference[4];
      for (int k = 0; k < 4; ++k) {
        delta[k] = in.deltas[4 * (image * p.rois * p.classes + candidate) + k];
        reference[k] = in.rois[4 * (image * p.rois + roi) + k];
      }
      decode_box(p.coder, delta, reference, box);
      clip_box(box, height, width, extra);
      large = box_is_large(box, p.min_size, extra);
    }
    int here = 0;
    const int at =
        left + block_exclusive_sum(large, sums, here);  // its barriers stand between reading keys and moving them
    left += here;
    if (!large) continue;
    keys[at] = key;
    for (int k = 0; k < 4; ++k) boxes[4 * at + k] = box[k];
  }
  return left;
}

// Greedy NMS by rounds: the best box alive is kept, all others are tested against it at once. At most `most` rounds.
__device__ int suppress(const DetectionParams& p, const std::uint64_t* keys, int n, const float* boxes,
                        std::int32_t* alive, int most, std::uint64_t* key_out, std::int32_t* source_out,
                        std::int32_t first_source) {
  const float extra = p.coder.legacy ? 1.0f : 0.0f;
  for (int i = static_cast<int>(threadIdx.x); i < n; i += kThreads) alive[i] = 1;
  __syncthreads();
  int kept = 0;
  for (int best = 0; best < n && kept < most; ++best) {
    if (!alive[best]) continue;  // the same for all threads: what is before a barrier is settled
    if (threadIdx.x == 0) {
      key_out[kept] = keys[best];
      source_out[kept] = first_source + best;
    }
    ++kept;
    for (int i = best + 1 + static_cast<int>(threadIdx.x); i < n; i += kThreads)
      if (alive[i] && suppresses(boxes + 4 * best, boxes + 4 * i, p.nms_threshold, extra)) alive[i] = 0;
    __syncthreads();
  }
  return kept;
}

__global__ void __launch_bounds__(kThreads) detect_class(DetectionParams p, DetectionsIn in, Work w) {
  __shared__ SelectScratch scratch;
  auto* keys = dynamic_shared<std::uint64_t>();
  const std::int64_t label = blockIdx.x + 1, image = blockIdx.y, list = image * (p.classes - 1) + blockIdx.x;
  const float* probabilities = in.probabilities + image * p.rois * p.classes;
  const std::int64_t rois = max(std::int64_t{0}, min(static_cast<std::int64_t>(in.roi_count[image]), p.rois));
  const auto key = [&](std::int64_t r, std::uint64_t& value) {
    const float score = probabilities[r * p.classes + label];
    value = score_key(score, static_cast<std::uint32_t>(r * p.classes + label));
    return score > p.score_threshold;
  };
  const int found = select_smallest(rois, static_cast<int>(p.rois), key, scratch, keys);
  float* boxes = w.box + 4 * list * p.rois;
  const int left = decode_candidates(p, in, image, keys, found, boxes, scratch.sums);
  __syncthreads();
  const int kept = suppress(p, keys, left, boxes, w.alive + list * p.rois, w.most, w.key + list * w.most,
                            w.source + list * w.most, static_cast<std::int32_t>(list * p.rois));
  if (threadIdx.x == 0) w.count[list] = kept;
}

__global__ void __launch_bounds__(kThreads)
    merge_classes(DetectionParams p, Work w, float* boxes, float* score, std::int32_t* label, std::int32_t* count) {
  const int lists = static_cast<int>(p.classes - 1), own = static_cast<int>(blockIdx.x);
  const std::int64_t image = blockIdx.y, first = image * lists, out = image * p.detections;
  for (int i = static_cast<int>(threadIdx.x); i < w.count[first + own]; i += kThreads) {
    const std::uint64_t key = w.key[(first + own) * w.most + i];
    std::int64_t rank = i;
    for (int other = 0; other < lists && rank < p.detections; ++other) {
      if (other == own) continue;
      const std::uint64_t* keys = w.key + (first + other) * w.most;
      rank += count_below([=](int k) { return keys[k]; }, w.count[first + other], key);
    }
    if (rank >= p.detections) continue;
    for (int k = 0; k < 4; ++k)
      boxes[4 * (out + rank) + k] = w.box[std::int64_t{4} * w.source[(first + own) * w.most + i] + k];
    score[out + rank] = key_score(key);
    label[out + rank] = own + 1;
  }
  if (own > 0) return;
  std::int64_t all = 0;
  for (int l = 0; l < lists; ++l) all += w.count[first + l];
  const std::int64_t rows = min(all, p.detections);
  for (std::int64_t i = rows + threadIdx.x; i < p.detections; i += kThreads) {
    for (int k = 0; k < 4; ++k) boxes[4 * (out + i) + k] = 0.0f;
    score[out + i] = 0.0f;
    label[out + i] = 0;
  }
  if (threadIdx.x == 0) count[image] = static_cast<std::int32_t>(rows);
}

}  // namespace

std::size_t detections_workspace(const DetectionParams& p) { return workspace_bytes(work_in, p); }

void detections(const DetectionParams& p, const DetectionsIn& in, const DetectionsOut& out, void* workspace,
                cudaStream_t stream) {
  if (!(p.nms_threshold >= 0.0f)) throw UsageError("NMS wants a threshold of at least 0. Correct nms_threshold.");
  if (p.classes < 2)
    throw UsageError("Detections want the background and at least one class. Correct DetectionParams::classes.");
  if (p.rois > kMostBoxes || p.images * (p.classes - 1) * p.rois > 0x7FFFFFFF)
    throw UsageError("Detections on a GPU take at most " + std::to_string(kMostBoxes) +
                     " RoIs an image and 2^31 candidates. Lower the number of proposals.");
  const Work w = work_in(p, Workspace(workspace));
  const Shape shape{.x = p.classes - 1,
                    .y = p.images,
                    .threads = kThreads,
                    .shared = std::size_t(power_of_two_from(static_cast<int>(p.rois))) * sizeof(std::uint64_t)};
  launch("detect_class", detect_class, shape, stream, p, in, w);
  launch("merge_classes", merge_classes, {.x = p.classes - 1, .y = p.images, .threads = kThreads}, stream, p, w,
         out.boxes, out.score, out.label, out.count);
}

}  // namespace ttt::kernels::cuda
