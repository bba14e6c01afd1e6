// COCO's instances JSON in memory.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "coco/rle.h"

namespace ttt::coco {

struct Image {
  std::int64_t id = 0;
  std::uint32_t height = 0, width = 0;
  std::string file_name;
};

struct Category {
  std::int64_t id = 0;
  std::string name;
};

struct Annotation {
  std::int64_t id = 0, image_id = 0, category_id = 0;
  std::array<double, 4> bbox{};  // x, y, width, height
  double area = 0;
  bool iscrowd = false;
  std::variant<std::monostate, std::vector<Polygon>, Rle> segmentation;
};

struct Dataset {
  std::vector<Image> images;
  std::vector<Annotation> annotations;  // file order
  std::vector<Category> categories;
};

// Reads with simdjson. Throws UsageError (no such file) or DataError (not JSON, a missing key, a wrong type), with the
// file, the annotation's id and the key. Of a key given twice the last counts, as in Python's json; iscrowd is a number
// or a boolean. An image without height and width has 0, without file_name "" (evaluating boxes needs neither);
// `iscrowd` may be missing, null segmentations are. Annotations may name images and categories that the file does not
// list: whether that matters is the caller's to say.
Dataset read_instances(const std::string& path);
// The same from text; `name` stands for the file in messages.
Dataset parse_instances(std::string_view text, const std::string& name);

// The mask of an annotation on its image; run lengths keep their own size. Throws DataError where it has no
// segmentation, or polygons on an image without a size.
Rle mask_of(const Annotation& annotation, const Image& image);

}  // namespace ttt::coco
