// A batch of four images from shard to padded floats and targets: everything that one worker does for it. Checked
// against one image alone.
// links: ttt_data
#include "data/collate.h"

#include "bench.h"
#include "input_image.h"

namespace ttt::micro {
namespace {

struct Shape {
  const char* name;
  std::int64_t short_side, long_side;
};
constexpr Shape kShapes[] = {{"default", 128, 128}, {"mlperf", 800, 1333}};

DataSettings settings_of(const Shape& s) {
  DataSettings d;
  d.short_side = s.short_side, d.long_side = s.long_side, d.padding = "batch", d.pad_multiple = 32;
  return d;
}

struct Case {
  explicit Case(const Shape& s)
      : settings(settings_of(s)), builder(*input_image().set, settings, 4, 8, data::Targets()), worker(settings) {}
  void ours() {
    builder.begin({.samples = {{0, false}, {0, true}, {0, false}, {0, true}}});
    StageSeconds spent;
    for (std::int64_t k = 0; k < 4; ++k) spent = builder.fill(k, worker);
    builder.finish(spent);
  }
  std::string disagreement() {
    ours();
    const HostBatch& b = builder.batch();
    const Size out = resized_size(settings, {480, 640});
    JpegDecoder decoder;
    RgbImage image;
    decoder.decode(input_image().jpeg, image);
    std::vector<float> alone(b.height * b.width * 3, 0.0f);  // padding is zero
    ImageTransform(settings).run(image, {.out = out, .flip = false, .pixels = alone.data(), .row_stride = b.width * 3});
    return difference<float>("collate", std::span(b.images).subspan(2 * alone.size(), alone.size()), alone, 0);
  }
  std::string label() const {
    return words(
        "4 images to %lld x %lld, 8 objects each", (long long)builder.batch().height, (long long)builder.batch().width);
  }
  double items() const { return 4; }
  static constexpr const char* kItems = "images/s";
  DataSettings settings;
  BatchBuilder builder;
  ImageWorker worker;
};

const bool added = [] {
  for (const Shape& s : kShapes) add<Case>("collate", s, "ours", &Case::ours);
  return true;
}();

}  // namespace
}  // namespace ttt::micro
