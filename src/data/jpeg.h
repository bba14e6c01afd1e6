// JPEG to and from RGB bytes, through libjpeg-turbo.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ttt::data {

struct RgbImage {
  std::int32_t height = 0, width = 0;
  std::vector<std::uint8_t> pixels;  // [height, width, 3] in the first height * width * 3 bytes
};

// One per thread. Errors are DataError "is not a whole JPEG (...)": the caller puts the record's name before it.
class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  // Height and width without decoding.
  std::pair<std::int32_t, std::int32_t> size(std::span<const std::uint8_t> jpeg);
  // Grayscale becomes RGB; CMYK and YCCK become RGB as PIL converts them (Adobe's inverted inks). The slow, exact DCT.
  // A warning of the library (bytes missing, a marker out of place) is an error: its pixels would be grey filling.
  // `shrink` 2, 4 or 8 decodes at 1/shrink of the size, rounded up: other pixels than decoding and then resizing.
  void decode(std::span<const std::uint8_t> jpeg, RgbImage& out, int shrink = 1);

 private:
  void* handle_;
  std::vector<std::uint8_t> inks_;
};

// Baseline, 4:4:4. The same pixels and quality give the same bytes.
std::vector<std::uint8_t> encode_jpeg(const RgbImage& image, int quality);

}  // namespace ttt::data
