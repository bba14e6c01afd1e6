// The input path's image. A texture of 480 x 640 pixels drawn here (no data set needed), as JPEG of quality 90 in
// 4:4:4, as COCO's files are, with eight objects, in a shard.
#pragma once

#include <memory>

#include "core/crc32c.h"
#include "core/rng.h"
#include "core/temp_folder.h"
#include "data/jpeg.h"
#include "data/shard_set.h"
#include "data/shard_writer.h"

namespace ttt::micro {

using namespace ttt::data;

// Smooth noise of several octaves: compresses like a photograph (about 1.1 bits per byte at this quality).
inline RgbImage texture(std::int32_t height, std::int32_t width) {
  RgbImage image{height, width, std::vector<std::uint8_t>(static_cast<std::size_t>(height) * width * 3)};
  const auto lattice = [](std::int64_t octave, std::int64_t c, std::int64_t y, std::int64_t x) {
    return unit_double(random_bits(1, Purpose::kTest, static_cast<std::uint64_t>(octave * 3 + c),
        static_cast<std::uint64_t>(y), static_cast<std::uint64_t>(x)));
  };
  for (std::int32_t y = 0; y < height; ++y)
    for (std::int32_t x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c) {
        double value = 0;
        for (int octave = 0; octave < 6; ++octave) {
          const double step = 64 >> octave, v = y / step, u = x / step;
          const auto i = static_cast<std::int64_t>(v), j = static_cast<std::int64_t>(u);
          const double a = v - static_cast<double>(i), b = u - static_cast<double>(j);
          value += step / 127 *
                   ((lattice(octave, c, i, j) * (1 - b) + lattice(octave, c, i, j + 1) * b) * (1 - a) +
                       (lattice(octave, c, i + 1, j) * (1 - b) + lattice(octave, c, i + 1, j + 1) * b) * a);
        }
        image.pixels[(static_cast<std::size_t>(y) * width + x) * 3 + c] = static_cast<std::uint8_t>(255 * value);
      }
  return image;
}

// One image with eight objects as a shard in a temporary folder.
class InputImage {
 public:
  InputImage() : image(texture(480, 640)), jpeg(encode_jpeg(image, 90)) {
    std::vector<coco::Annotation> annotations(8);
    std::vector<const coco::Annotation*> pointers;
    for (std::size_t i = 0; i < annotations.size(); ++i) {
      coco::Annotation& a = annotations[i];
      const double x = 60.0 * static_cast<double>(i), y = 40.0 * static_cast<double>(i);
      a.id = static_cast<std::int64_t>(i) + 1, a.image_id = 1, a.category_id = 1, a.bbox = {x, y, 120, 160},
      a.area = 9600;
      a.segmentation = std::vector<coco::Polygon>{
          {x, y, x + 120, y + 20, x + 100, y + 90, x + 120, y + 160, x + 40, y + 130, x + 10.5, y + 70.25}};
      pointers.push_back(&a);
    }
    ShardIndex index;
    index.category_id = {1}, index.category_name = {"thing"};
    append_image(index, {.id = 1, .height = 480, .width = 640, .file_name = ""}, pointers);
    index.offset = {0}, index.length = {static_cast<std::uint32_t>(jpeg.size())},
    index.crc32c = {crc32c(jpeg.data(), jpeg.size())};
    ShardWriter writer((folder_ / "train-00000-of-00001.h5").string(), jpeg.size());
    writer.put(0, jpeg);
    writer.finish(index, {{"split", "train"}, {"pack_id", "x"}, {"source_sha256", ""}}, {});
    set = std::make_unique<ShardSet>(folder_.path().string(), "train");
  }
  RgbImage image;
  std::vector<std::uint8_t> jpeg;
  std::unique_ptr<ShardSet> set;

 private:
  TempFolder folder_;
};

// Made at the first use, its folder removed at exit.
inline const InputImage& input_image() {
  static const InputImage made;
  return made;
}

}  // namespace ttt::micro
