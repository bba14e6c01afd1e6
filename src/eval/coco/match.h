// Greedy matching of one image's detections of one category, at all thresholds and in all area ranges at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "eval/coco/detection.h"
#include "eval/coco/ground_truth.h"

namespace ttt::eval::coco {

// Bit a * kThresholds + t stands for area range a and threshold t.
inline constexpr std::uint64_t kThresholdBits = (std::uint64_t{1} << kThresholds) - 1;

struct Match {
  std::uint64_t matched = 0;  // kAreas * kThresholds bits
  std::uint64_t ignored = 0;
  bool alone = true;  // overlaps no object by 0.5: matched is 0, and ignored is the same at all thresholds of an area
};

// pycocotools' order: an object already taken is skipped unless it is a crowd. One that counts is preferred to one that
// is ignored; then the larger overlap, and of equal ones the later object.
class Matcher {
 public:
  // `detections`: by falling score, at most 100. `objects`: of the same image and category. out: [detections].
  void match(
      std::span<const DetectionView* const> detections, std::span<const Object> objects, IouType type, Match* out);

 private:
  struct Candidate {
    double iou;
    std::size_t object;
    std::uint64_t reached;  // thresholds <= iou
  };
  void find_candidates(const DetectionView& detection, std::span<const Object> objects, IouType type);
  Match choose(std::span<const Object> objects, unsigned outside);

  std::vector<Candidate> candidates_;
  std::vector<std::uint64_t> taken_;  // [objects]
};

}  // namespace ttt::eval::coco
