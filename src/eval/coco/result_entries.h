// Entries of a result file, from JSON text. Internal to results.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "coco/json_reader.h"
#include "eval/coco/detection.h"
#include "eval/coco/ground_truth.h"

namespace ttt::eval::coco {

enum class AreaRule { kBoxes, kMasks };

// Parses JSON lists of entries, one after the other.
class EntryReader {
 public:
  struct Output {
    std::vector<DetectionView> detections;
    std::vector<std::uint32_t> runs;
  };
  EntryReader(const GroundTruth& truth, bool masks) : truth_(truth), masks_(masks) {}

  // What the first entry of the list decides; kBoxes for an empty list.
  AreaRule rule(simdjson::padded_string_view text, ttt::coco::json::Place& place);
  // Appends all entries of the list. The masks of `out` are valid until the next call that appends to it.
  void read(simdjson::padded_string_view text, AreaRule rule, ttt::coco::json::Place& place, Output& out);

 private:
  void read_entry(ttt::coco::json::ondemand::object object, AreaRule rule, ttt::coco::json::Place& place, Output& out);
  bool read_mask(ttt::coco::json::ondemand::value value, ttt::coco::json::Place& place, ttt::coco::RleView& mask,
      std::vector<ttt::coco::Polygon>& polygons);

  const GroundTruth& truth_;
  bool masks_;
  ttt::coco::json::ondemand::parser parser_;
  ttt::coco::json::RunBuffer mask_;
  std::vector<std::size_t> starts_;  // of each detection's runs in Output::runs
};

}  // namespace ttt::eval::coco
