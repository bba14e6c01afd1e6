// A shard in memory: everything but the JPEG bytes. README.md of this folder describes the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coco/dataset.h"

namespace ttt::data {

inline constexpr const char* kShardFormat = "ttt-coco-shard";
inline constexpr std::int64_t kShardVersion = 1;
inline constexpr std::uint64_t kRecordAlignment = 64;  // bytes, within /bytes
// Boxes and vertices may leave their image by this much [pixel]: annotators round to the border on either side.
inline constexpr double kOutsideTolerance = 1.0;

// n images, m annotations grouped by image in the order of the source file, p polygons, q vertices, k runs. Boxes,
// areas and vertices are float64. As float32 a vertex such as 10.7 is rasterised to the other side of a pixel's
// border. AP from the shards would then differ from AP from the JSON.
struct ShardIndex {
  // images
  std::vector<std::uint64_t> offset;          // [n] bytes, from the start of /bytes
  std::vector<std::uint32_t> length, crc32c;  // [n]
  std::vector<std::int64_t> image_id;         // [n]
  std::vector<std::uint16_t> width, height;   // [n]
  // annotations
  std::vector<std::uint32_t> ann_start;  // [n + 1]
  std::vector<std::int64_t> ann_id;      // [m]
  std::vector<std::uint8_t> category;    // [m] index into category_id
  std::vector<double> bbox;              // [m, 4] x, y, width, height
  std::vector<double> area;              // [m]
  std::vector<std::uint8_t> iscrowd;     // [m]
  // polygons: annotation a has polygons [poly_ann_start[a], poly_ann_start[a + 1])
  std::vector<std::uint32_t> poly_ann_start;  // [m + 1]
  std::vector<std::uint32_t> poly_start;      // [p + 1] in vertices
  std::vector<double> poly_xy;                // [q, 2]
  // run lengths: annotation a has runs [rle_ann_start[a], rle_ann_start[a + 1])
  std::vector<std::uint32_t> rle_ann_start;  // [m + 1]
  std::vector<std::uint32_t> rle_counts;     // [k]
  std::vector<std::uint16_t> rle_hw;         // [m, 2] height, width; 0 without run lengths
  // categories, ascending ids
  std::vector<std::int64_t> category_id;   // [K]
  std::vector<std::string> category_name;  // [K]

  std::int64_t images() const { return static_cast<std::int64_t>(image_id.size()); }
  std::int64_t annotations() const { return static_cast<std::int64_t>(ann_id.size()); }
};

// Calls f(name of the dataset, array, second dimension or 1) for every numeric array, in the order of the checksum.
template <class Index, class F> void for_each_array(Index& s, F&& f) {
  f("/img/offset", s.offset, 1), f("/img/length", s.length, 1), f("/img/crc32c", s.crc32c, 1),
      f("/img/id", s.image_id, 1);
  f("/img/width", s.width, 1), f("/img/height", s.height, 1);
  f("/ann/start", s.ann_start, 1), f("/ann/id", s.ann_id, 1), f("/ann/category", s.category, 1),
      f("/ann/bbox", s.bbox, 4);
  f("/ann/area", s.area, 1), f("/ann/iscrowd", s.iscrowd, 1);
  f("/poly/ann_start", s.poly_ann_start, 1), f("/poly/start", s.poly_start, 1), f("/poly/xy", s.poly_xy, 2);
  f("/rle/ann_start", s.rle_ann_start, 1), f("/rle/counts", s.rle_counts, 1), f("/rle/hw", s.rle_hw, 2);
  f("/category/id", s.category_id, 1);
}

// CRC-32C of all numeric arrays' little-endian bytes in that order, then of the category names with their final zeros.
std::uint32_t index_crc32c(const ShardIndex& index);

// Throws DataError, naming `path`, where the arrays contradict each other or point outside `total_bytes`.
void check_index(const ShardIndex& index, std::uint64_t total_bytes, const std::string& path);

// Appends an image's annotations (all but offset, length and checksum of its bytes).
void append_image(ShardIndex& index, const coco::Image& image, const std::vector<const coco::Annotation*>& annotations);
// Annotation `a` of the index as it stood in the JSON. `image_id` is the id of the image it belongs to.
coco::Annotation annotation_at(const ShardIndex& index, std::int64_t a, std::int64_t image_id);
// Its segmentation alone.
std::vector<coco::Polygon> polygons_at(const ShardIndex& index, std::int64_t a);
coco::Rle rle_at(const ShardIndex& index, std::int64_t a);

}  // namespace ttt::data
