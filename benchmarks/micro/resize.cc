// Bytes of an image to normalised floats of another size. Peer: ATen, bytes to floats, normalised, upsample_bilinear2d
// (antialiased: _upsample_bilinear2d_aa).
// links: ttt_data torch::cpu
#include <ATen/ops/_upsample_bilinear2d_aa.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/upsample_bilinear2d.h>

#include "bench.h"
#include "data/transform.h"
#include "input_image.h"
#include "torch_peer.h"

namespace ttt::micro {
namespace {

struct Shape {
  const char* name;
  std::int64_t short_side;
  bool antialias;
};
constexpr Shape kShapes[] = {{"enlarge_800", 800, false}, {"same_480", 480, false}, {"shrink_240", 240, false},
    {"shrink_240_antialias", 240, true}};

DataSettings settings_of(const Shape& s) {
  DataSettings d;
  d.short_side = s.short_side, d.long_side = 4 * s.short_side, d.antialias = s.antialias;
  return d;
}

struct Case {
  explicit Case(const Shape& s)
      : shape(s), settings(settings_of(s)), image(input_image().image),
        out(resized_size(settings, {image.height, image.width})),
        pixels(static_cast<std::size_t>(out.height) * out.width * 3), transform(settings) {}
  void ours() {
    transform.run(image, {.out = out, .flip = false, .pixels = pixels.data(), .row_stride = out.width * 3});
  }
  void aten() {
    const at::Tensor bytes =
        at::from_blob(const_cast<std::uint8_t*>(image.pixels.data()), {1, image.height, image.width, 3}, at::kByte)
            .permute({0, 3, 1, 2});
    const at::Tensor mean = at::tensor(at::ArrayRef<double>(settings.mean), at::kFloat).view({1, 3, 1, 1}),
                     std = at::tensor(at::ArrayRef<double>(settings.std), at::kFloat).view({1, 3, 1, 1});
    const at::Tensor x = (bytes.to(at::kFloat) / settings.pixel_divisor - mean) / std;  // stays channels last
    result = shape.antialias ? at::_upsample_bilinear2d_aa(x, {out.height, out.width}, false)
                             : at::upsample_bilinear2d(x, {out.height, out.width}, false);
  }
  std::string disagreement() {
    ours(), aten();
    const at::Tensor theirs = result.permute({0, 2, 3, 1}).contiguous();
    return difference<float>("resize", pixels, values_of(theirs), 1e-3);
  }
  std::string label() const { return words("%d x %d to %d x %d", image.height, image.width, out.height, out.width); }
  double items() const { return 1; }
  static constexpr const char* kItems = "images/s";
  const Shape& shape;
  DataSettings settings;
  const RgbImage& image;
  Size out;
  std::vector<float> pixels;
  ImageTransform transform;
  at::Tensor result;
};

const bool added = [] {
  for (const Shape& s : kShapes) {
    add<Case>("resize", s, "ours", &Case::ours);
    add<Case>("resize", s, "aten", &Case::aten);
  }
  return true;
}();

}  // namespace
}  // namespace ttt::micro
