// COCO result files: a JSON list of {"image_id", "category_id", "score", "bbox" and/or "segmentation"}.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/parallel.h"
#include "eval/coco/detection.h"
#include "eval/coco/ground_truth.h"

namespace ttt::eval::coco {

struct ResultFile {
  // File order. Masks lie in `runs`; one whose image has no object of its category has no runs, since nothing is
  // compared with it (its area and box were taken before).
  std::vector<DetectionView> detections;
  std::vector<std::unique_ptr<std::vector<std::uint32_t>>> runs;
};

// As pycocotools' loadRes reads it: the first entry decides. Where it has a box, every entry needs one, areas are those
// of the boxes in both evaluations, and an entry without segmentation has its box as mask. Where it has none, every
// entry needs a segmentation, areas are the masks' and missing boxes are those around the masks. Segmentations may
// also be polygons or uncompressed run lengths, which loadRes refuses in places.
//
// Throws UsageError (no such file) or DataError naming the entry and its key.
struct ReadOptions {
  bool masks = true;                   // segmentations are wanted; else they are read only where the rule needs them
  ThreadPool* pool = nullptr;          // the file is cut into pieces that are parsed in parallel
  std::int64_t piece_bytes = 1 << 20;  // stays in a core's second-level cache while it is parsed
};
ResultFile read_results(const std::string& path, const GroundTruth& truth, const ReadOptions& options = {});

}  // namespace ttt::eval::coco
