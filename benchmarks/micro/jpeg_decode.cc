// Decoding of one JPEG, whole and at 1/2, 1/4, 1/8 of its size. Peer: libjpeg-turbo called directly, without our
// checks, colour conversions and error texts.
// links: ttt_data PkgConfig::turbojpeg
#include <turbojpeg.h>

#include "bench.h"
#include "input_image.h"

namespace ttt::micro {
namespace {

struct Shape {
  const char* name;
  int shrink;
};
constexpr Shape kShapes[] = {{"whole", 1}, {"half", 2}, {"quarter", 4}, {"eighth", 8}};

struct Case {
  explicit Case(const Shape& s) : shrink(s.shrink), jpeg(input_image().jpeg), handle(tjInitDecompress(), &tjDestroy) {}
  void ours() { decoder.decode(jpeg, image, shrink); }
  void libjpeg_turbo() {
    int width = 0, height = 0, sampling = 0, colours = 0;
    tjDecompressHeader3(handle.get(), jpeg.data(), jpeg.size(), &width, &height, &sampling, &colours);
    const tjscalingfactor factor{1, shrink};
    width = TJSCALED(width, factor), height = TJSCALED(height, factor);
    pixels.resize(static_cast<std::size_t>(width) * height * 3);
    tjDecompress2(
        handle.get(), jpeg.data(), jpeg.size(), pixels.data(), width, 0, height, TJPF_RGB, TJFLAG_ACCURATEDCT);
  }
  std::string disagreement() {
    ours(), libjpeg_turbo();
    const auto used = static_cast<std::size_t>(image.height) * image.width * 3;
    return difference<std::uint8_t>("jpeg_decode", std::span(image.pixels).first(used), pixels, 0);
  }
  std::string label() const { return words("%zu bytes to %d x %d", jpeg.size(), image.height, image.width); }
  double items() const { return 1; }
  static constexpr const char* kItems = "images/s";
  int shrink;
  const std::vector<std::uint8_t>& jpeg;
  std::unique_ptr<void, int (*)(tjhandle)> handle;
  JpegDecoder decoder;
  RgbImage image;
  std::vector<std::uint8_t> pixels;
};

const bool added = [] {
  for (const Shape& s : kShapes) {
    add<Case>("jpeg_decode", s, "ours", &Case::ours);
    add<Case>("jpeg_decode", s, "libjpeg_turbo", &Case::libjpeg_turbo);
  }
  return true;
}();

}  // namespace
}  // namespace ttt::micro
