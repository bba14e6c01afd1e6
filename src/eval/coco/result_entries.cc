#include "eval/coco/result_entries.h"

#include <string>

#include "core/error.h"

namespace ttt::eval::coco {
namespace {

namespace json = ttt::coco::json;
using json::ondemand::field;
using json::ondemand::object;
using json::ondemand::value;

constexpr const char* kList = "a list of {\"image_id\", \"category_id\", \"score\", \"bbox\" and/or \"segmentation\"}";

// pycocotools takes an empty list for no box.
bool read_optional_box(value v, const json::Place& place, std::array<double, 4>& box) {
  if (v.type() == json::ondemand::json_type::null) return false;
  std::size_t n = 0;
  for (value number : v.get_array()) {
    if (n < 4) box[n] = number.get_double();
    ++n;
  }
  if (n != 0 && n != 4)
    json::fail_value(place, "it has " + std::to_string(n) + " numbers; write [x, y, width, height]");
  return n == 4;
}

// The outline that loadRes makes of a box.
ttt::coco::Polygon outline(const std::array<double, 4>& box) {
  const double x1 = box[0], x2 = box[0] + box[2], y1 = box[1], y2 = box[1] + box[3];
  return {x1, y1, x1, y2, x2, y2, x2, y1};
}

ttt::coco::Rle draw(const std::vector<ttt::coco::Polygon>& polygons, GroundTruth::Size size, const json::Place& place) {
  try {
    return ttt::coco::rasterize(polygons, size.height, size.width);
  } catch (const DataError& e) { throw DataError(place.text() + ", '" + place.key + "': " + e.what()); }
}

}  // namespace

AreaRule EntryReader::rule(simdjson::padded_string_view text, json::Place& place) {
  place.at(nullptr, kList);
  json::ondemand::document document = parser_.iterate(text);
  for (value first : document.get_array()) {
    place.index = 0;
    bool has_mask = false;
    for (field f : first.get_object()) {
      const json::ondemand::raw_json_string key = f.key();
      std::array<double, 4> box;
      if (key == std::string_view("bbox")) {
        place.at("bbox", "[x, y, width, height]");
        if (read_optional_box(f.value(), place, box)) return AreaRule::kBoxes;
      } else if (key == std::string_view("segmentation")) {
        has_mask = true;
      }
    }
    if (has_mask) return AreaRule::kMasks;
    json::fail_missing(place, "bbox", "'bbox' or 'segmentation', besides image_id, category_id and score");
  }
  return AreaRule::kBoxes;
}

void EntryReader::read(simdjson::padded_string_view text, AreaRule rule, json::Place& place, Output& out) {
  place.at(nullptr, kList);
  starts_.clear();
  const std::size_t first = out.detections.size();
  json::ondemand::document document = parser_.iterate(text);
  for (value element : document.get_array()) {
    ++place.index;
    place.at(nullptr, kList);
    starts_.push_back(out.runs.size());
    read_entry(element.get_object(), rule, place, out);
  }
  const bool more = document.current_location().error() == simdjson::SUCCESS;
  if (more) throw simdjson::simdjson_error(simdjson::TAPE_ERROR);
  starts_.push_back(out.runs.size());
  for (std::size_t i = 0; i + 1 < starts_.size(); ++i) {
    ttt::coco::RleView& mask = out.detections[first + i].mask;
    mask.counts = std::span(out.runs).subspan(starts_[i], starts_[i + 1] - starts_[i]);
  }
}

// Run lengths into `mask`, polygons into `polygons`; false for null.
bool EntryReader::read_mask(
    value v, json::Place& place, ttt::coco::RleView& mask, std::vector<ttt::coco::Polygon>& polygons) {
  mask_.clear(), polygons.clear();
  if (v.type() == json::ondemand::json_type::null) return false;
  if (v.type() == json::ondemand::json_type::object) {
    const json::Size size = json::read_rle(v.get_object(), mask_, place);
    mask = {size.height, size.width, mask_.runs()};
  } else {
    polygons = std::get<std::vector<ttt::coco::Polygon>>(json::read_segmentation(v, mask_, place));
  }
  return true;
}

void EntryReader::read_entry(object o, AreaRule rule, json::Place& place, Output& out) {
  DetectionView d;
  bool has_image = false, has_category = false, has_score = false, has_box = false, has_mask = false;
  const bool wants_mask = masks_ || rule == AreaRule::kMasks;
  std::vector<ttt::coco::Polygon> polygons;
  for (field f : o) {
    const json::ondemand::raw_json_string key = f.key();
    if (key == std::string_view("image_id")) {
      place.at("image_id", "a whole number");
      d.image_id = json::read_id(f.value());
      has_image = true;
    } else if (key == std::string_view("category_id")) {
      place.at("category_id", "a whole number");
      d.category_id = json::read_id(f.value());
      has_category = true;
    } else if (key == std::string_view("score")) {
      place.at("score", "a number");
      d.score = f.value().get_double();
      has_score = true;
    } else if (key == std::string_view("bbox")) {
      place.at("bbox", "[x, y, width, height]");
      has_box = read_optional_box(f.value(), place, d.bbox);
    } else if (key == std::string_view("segmentation") && wants_mask) {
      place.at("segmentation", "polygons, or {\"size\": [height, width], \"counts\": \"...\" or [...]}");
      has_mask = read_mask(f.value(), place, d.mask, polygons);
    }
  }
  const bool has_area = rule == AreaRule::kBoxes ? has_box : rule != AreaRule::kMasks || has_mask;
  const char* missing = !has_image                 ? "image_id"
                        : !has_category            ? "category_id"
                        : !has_score               ? "score"
                        : has_area                 ? nullptr
                        : rule == AreaRule::kBoxes ? "bbox"
                                                   : "segmentation";
  if (missing) {
    json::fail_missing(
        place, missing, "image_id, category_id and score, and what the first entry has of bbox and segmentation");
  }
  if (wants_mask && !has_mask) polygons = {outline(d.bbox)};
  const std::int32_t image = truth_.images().find(d.image_id), category = truth_.categories().find(d.category_id);
  ttt::coco::Rle drawn;
  if (!polygons.empty() && image >= 0) {  // an unknown image is reported when all entries are there
    place.at(has_mask ? "segmentation" : "bbox", "");
    drawn = draw(polygons, truth_.image_size(image), place);
    d.mask = drawn;
  }
  if (rule == AreaRule::kMasks && !has_box) d.bbox = ttt::coco::bounding_box(d.mask);
  const double area = rule == AreaRule::kBoxes ? d.bbox[2] * d.bbox[3] : static_cast<double>(ttt::coco::area(d.mask));
  d.area = {area, area};
  // Nothing is compared with the masks where there is no object: they need not be kept.
  if (image >= 0 && category >= 0 && truth_.has_objects(image, category)) {
    out.runs.insert(out.runs.end(), d.mask.counts.begin(), d.mask.counts.end());
  }
  d.mask.counts = {};
  out.detections.push_back(d);
}

}  // namespace ttt::eval::coco
