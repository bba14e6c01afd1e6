// COCO's run-length masks on its usual image size: drawing, encoding, decoding, strings, overlap. Peers: the same
// through bitmaps, pixel by pixel. (Drawing and strings are checked by going there and back.)
// links: ttt_coco_eval
#include "coco/rle.h"

#include <numbers>
#include <vector>

#include "bench.h"
#include "eval/coco/iou.h"

namespace ttt::micro {
namespace {

using namespace ttt::coco;

constexpr std::uint32_t kHeight = 480, kWidth = 640;

struct Shape {
  const char* name;
  int vertices;
  std::int64_t size;  // pixels across
};
constexpr Shape kShapes[] = {{"small", 22, 40}, {"medium", 22, 150}, {"large", 60, 400}};

// A wavy outline, two decimals as in COCO's files.
Polygon outline(const Shape& s, double x, double y) {
  Polygon polygon;
  for (int i = 0; i < s.vertices; ++i) {
    const double angle = 2 * std::numbers::pi * i / s.vertices,
                 radius = static_cast<double>(s.size) / 2 * (.8 + .2 * std::sin(5 * angle));
    polygon.push_back(std::round(100 * (x + radius * std::cos(angle))) / 100);
    polygon.push_back(std::round(100 * (y + radius * std::sin(angle))) / 100);
  }
  return polygon;
}

struct Case {
  explicit Case(const Shape& s)
      : shape(s), polygon(outline(s, 320, 240)), x0(320 - s.size / 2), y0(240 - s.size / 2), bits(s.size * s.size),
        image(kHeight * kWidth), image_simple(image.size()), other(image.size()) {
    draw();
    object.mask = mask, object.summary = eval::coco::summarise(mask);
    moved = coco::rasterize(std::span<const double>(outline(s, 325, 243)), kHeight, kWidth);
    summary = eval::coco::summarise(moved);
    coco::decode(moved, other.data());
    decode_box(mask, x0, y0, s.size, s.size, bits.data());
  }
  void draw() { mask = coco::rasterize(std::span<const double>(polygon), kHeight, kWidth); }
  void encode() { encoded = encode_box(bits.data(), x0, y0, shape.size, shape.size, kHeight, kWidth); }
  void encode_simple() {
    simple = {kHeight, kWidth, {}};
    std::uint32_t run = 0;
    std::uint8_t last = 0;
    for (std::int64_t x = 0; x < kWidth; ++x)
      for (std::int64_t y = 0; y < kHeight; ++y) {
        const bool inside = x >= x0 && x < x0 + shape.size && y >= y0 && y < y0 + shape.size;
        const std::uint8_t bit = inside ? bits[(y - y0) * shape.size + x - x0] : 0;
        if (bit != last) simple.counts.push_back(run), run = 0, last = bit;
        ++run;
      }
    simple.counts.push_back(run);
  }
  void decode() { coco::decode(mask, image.data()); }
  void decode_simple() {
    std::size_t at = 0;
    std::uint8_t bit = 0;
    for (const std::uint32_t n : mask.counts) {
      for (std::uint32_t k = 0; k < n; ++k, ++at) image_simple[at % kHeight * kWidth + at / kHeight] = bit;
      bit = !bit;
    }
  }
  void string_out() { text = to_string(mask); }
  void string_in() { parsed = from_string(text, kHeight, kWidth); }
  void overlap() { iou = eval::coco::mask_iou(moved, summary, object); }
  void overlap_simple() {
    std::int64_t both = 0, any = 0;
    for (std::size_t i = 0; i < image.size(); ++i) both += image[i] & other[i], any += image[i] | other[i];
    iou_simple = static_cast<double>(both) / static_cast<double>(any);
  }
  std::string disagreement() {
    encode(), encode_simple(), decode(), decode_simple(), string_out(), string_in(), overlap(), overlap_simple();
    using Runs = std::span<const std::uint32_t>;
    for (const std::string& bad :
        {difference<std::uint32_t>("rle_encode", Runs(encoded.counts), Runs(simple.counts), 0),
            difference<std::uint32_t>("rasterize", Runs(mask.counts), Runs(encoded.counts), 0),
            difference<std::uint8_t>("rle_decode", image, image_simple, 0),
            difference<std::uint32_t>("rle_string", Runs(parsed.counts), Runs(mask.counts), 0)})
      if (!bad.empty()) return bad;
    return iou >= 0.5 && iou == iou_simple ? "" : words("rle_iou: %.17g, by pixels %.17g", iou, iou_simple);
  }
  std::string label() const {
    return words("%lld pixels across in %u x %u, %zu runs", (long long)shape.size, kHeight, kWidth, mask.counts.size());
  }
  double items() const { return 1; }
  static constexpr const char* kItems = "masks/s";
  const Shape& shape;
  Polygon polygon;
  std::int64_t x0, y0;
  std::vector<std::uint8_t> bits, image, image_simple, other;
  Rle mask, moved, encoded, simple, parsed;
  eval::coco::Object object;
  eval::coco::MaskSummary summary;
  std::string text;
  double iou = 0, iou_simple = 0;
};

const bool added = [] {
  for (const Shape& s : kShapes) {
    add<Case>("rasterize", s, "ours", &Case::draw);
    add<Case>("rle_encode", s, "ours", &Case::encode);
    add<Case>("rle_encode", s, "pixels", &Case::encode_simple);
    add<Case>("rle_decode", s, "ours", &Case::decode);
    add<Case>("rle_decode", s, "pixels", &Case::decode_simple);
    add<Case>("rle_to_string", s, "ours", &Case::string_out);
    add<Case>("rle_from_string", s, "ours", &Case::string_in);
    add<Case>("rle_iou", s, "ours", &Case::overlap);
    add<Case>("rle_iou", s, "pixels", &Case::overlap_simple);
  }
  return true;
}();

}  // namespace
}  // namespace ttt::micro
