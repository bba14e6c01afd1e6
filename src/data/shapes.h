// A data set that a small Mask R-CNN learns in minutes: coloured shapes on textured ground, in COCO's format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coco/dataset.h"
#include "data/jpeg.h"

namespace ttt::data {

inline constexpr int kShapeKinds = 10;

struct ShapesSettings {
  std::int64_t train = 1600, val = 200;
  std::int64_t size = 128;         // longer side of the images
  std::string aspects = "square";  // or mixed: half of the images 4:3, half 3:4
  std::uint64_t seed = 0;
  std::int64_t classes = 6;  // of kShapeKinds
  int threads = 0;           // 0: all cores; changes nothing but the time
  bool overwrite = false;    // replace a data set that is in the folder
};

// circle, square, triangle, star, cross, ring, half_disk, hourglass, arrow, crescent
std::vector<coco::Category> shape_categories(std::int64_t classes);

// Image `index` of split 0 (train) or 1 (val): a pure function of its arguments. Annotations: visible parts (later
// objects hide earlier ones), 1 to 6 objects, in 2 % of the images a crowd region besides. Masks are exact: polygons
// along the pixels' edges, or run lengths where a mask has holes and for one object in eight. Annotation ids are
// image id * 16 + 1 and so on; areas are pixel counts, boxes the masks' bounding boxes.
struct ShapesImage {
  RgbImage pixels;
  coco::Image info;
  std::vector<coco::Annotation> annotations;
};
ShapesImage draw_shapes(const ShapesSettings& settings, int split, std::int64_t index);

// Writes out/train/*.jpg, out/val/*.jpg, out/instances_train.json and out/instances_val.json. The same settings give
// the same bytes, for any number of threads. Throws UsageError or Error (disk full).
void make_shapes(const ShapesSettings& settings, const std::string& out);

// $TTT_CACHE, or ~/.cache/ttt: what runs make once and keep.
std::string cache_folder();

// Makes and packs the set once below `cache` and returns its folder. The folder is named by the generator's version
// and settings. It holds the output of make_shapes and the shards of splits "train" and "val". Any number of
// processes may call it at the same moment: one works, the others wait for it. What a killed attempt left is removed.
// `packer`: see PackSettings. Throws Error or UsageError where the cache cannot be written.
std::string default_dataset(
    const std::string& cache, const ShapesSettings& settings = {}, const std::string& packer = "");
// Its name, whether it is there or not. Where it is there, it is whole.
std::string default_dataset_folder(const std::string& cache, const ShapesSettings& settings = {});

}  // namespace ttt::data
