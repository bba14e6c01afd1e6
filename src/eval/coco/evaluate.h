// COCO's average precision and recall, equal to pycocotools 2.0.11 to the last bit.
//
//   const GroundTruth truth(dataset);                        // once
//   const Evaluation box = evaluate(truth, detections, IouType::kBbox);
//   box.stats[0];                                            // AP
//
// Any number of threads gives the same bits. Differences to pycocotools, all where it stops. An empty list of
// detections is evaluated (recall 0, and AP 0 where there are objects), and an overlap of 0 / 0 (areas that underflow)
// is none.
#pragma once

#include <span>
#include <vector>

#include "core/parallel.h"
#include "eval/coco/detection.h"
#include "eval/coco/ground_truth.h"
#include "eval/coco/summary.h"

namespace ttt::eval::coco {

struct Options {
  int threads = 1;
  NumpySum sum = NumpySum::kFrom2_3;
};

struct Evaluation {
  Stats stats{};
  Curves curves;
};

// Detections sorted for evaluation, which is the same for boxes and masks. `detections` and `truth` must outlive it.
// Of ties in score the earlier detection comes first, so their order matters: it is pycocotools' for a result file in
// the same order. Detections of unknown categories are left out. Throws DataError for an image that the ground truth
// does not have, and for a score or a box that is not finite.
class Prepared {
 public:
  Prepared(const GroundTruth& truth, std::span<const DetectionView> detections, ThreadPool* pool);

 private:
  friend Evaluation evaluate(const Prepared&, IouType, NumpySum, ThreadPool*, Evaluation);
  // The detections of one category on one image, and the objects there.
  struct Cell {
    std::size_t begin, end;  // of kept_
    std::span<const Object> objects;
  };
  void group(std::span<const DetectionView> detections);
  void rank(std::int32_t category);

  const GroundTruth& truth_;
  std::vector<const DetectionView*> kept_;  // by category, image, falling score; at most 100 of each
  std::vector<Ranked> ranked_;              // the same by category, then falling score
  std::vector<std::size_t> starts_;         // [categories + 1]: of both
  std::vector<Cell> cells_;
};

// Throws UsageError for kSegm where the ground truth was built without masks. The arrays are large (16 MB for 80
// categories): those of `reuse` are used again.
Evaluation evaluate(const Prepared& prepared, IouType type, NumpySum sum, ThreadPool* pool, Evaluation reuse = {});
Evaluation evaluate(
    const GroundTruth& truth, std::span<const DetectionView> detections, IouType type, const Options& options = {});
Evaluation evaluate(
    const GroundTruth& truth, std::span<const Detection> detections, IouType type, const Options& options = {});

}  // namespace ttt::eval::coco
