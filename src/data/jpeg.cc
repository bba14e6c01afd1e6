#include "data/jpeg.h"

#include <turbojpeg.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/error.h"

namespace ttt::data {
namespace {

[[noreturn]] void refuse(tjhandle handle) {
  throw DataError(
      std::string("is not a whole JPEG that can be decoded (") + tjGetErrorStr2(handle) + "): get the file again.");
}

// round(a * b / 255) for bytes, as PIL computes it.
int multiply_255(int a, int b) {
  const int t = a * b + 128;
  return ((t >> 8) + t) >> 8;
}

struct Header {
  int width = 0, height = 0, subsampling = 0, colorspace = 0;
};
Header read_header(tjhandle handle, std::span<const std::uint8_t> jpeg) {
  Header h;
  if (tjDecompressHeader3(handle, jpeg.data(), jpeg.size(), &h.width, &h.height, &h.subsampling, &h.colorspace) != 0)
    refuse(handle);
  return h;
}

}  // namespace

JpegDecoder::JpegDecoder() : handle_(tjInitDecompress()) {
  if (handle_ == nullptr) throw Error("libjpeg-turbo could not start a decoder: free memory.");
}
JpegDecoder::~JpegDecoder() { tjDestroy(handle_); }

std::pair<std::int32_t, std::int32_t> JpegDecoder::size(std::span<const std::uint8_t> jpeg) {
  const Header h = read_header(handle_, jpeg);
  return {h.height, h.width};
}

void JpegDecoder::decode(std::span<const std::uint8_t> jpeg, RgbImage& out, int shrink) {
  const Header h = read_header(handle_, jpeg);
  out.width = (h.width + shrink - 1) / shrink, out.height = (h.height + shrink - 1) / shrink;
  const std::size_t pixels = static_cast<std::size_t>(out.width) * out.height;
  if (out.pixels.size() < pixels * 3) out.pixels.resize(pixels * 3);
  const bool inks = h.colorspace == TJCS_CMYK || h.colorspace == TJCS_YCCK;
  if (inks && inks_.size() < pixels * 4) inks_.resize(pixels * 4);
  if (tjDecompress2(handle_, jpeg.data(), jpeg.size(), inks ? inks_.data() : out.pixels.data(), out.width, 0,
          out.height, inks ? TJPF_CMYK : TJPF_RGB, TJFLAG_ACCURATEDCT) != 0)
    refuse(handle_);
  if (!inks) return;
  for (std::size_t i = 0; i < pixels; ++i) {
    const int k = inks_[4 * i + 3];
    for (int c = 0; c < 3; ++c)
      out.pixels[3 * i + c] =
          static_cast<std::uint8_t>(std::clamp(k - multiply_255(255 - inks_[4 * i + c], k), 0, 255));
  }
}

std::vector<std::uint8_t> encode_jpeg(const RgbImage& image, int quality) {
  const std::unique_ptr<void, int (*)(tjhandle)> handle(tjInitCompress(), tjDestroy);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const int status = handle ? tjCompress2(handle.get(), image.pixels.data(), image.width, 0, image.height, TJPF_RGB,
                                  &bytes, &size, TJSAMP_444, quality, TJFLAG_ACCURATEDCT)
                            : -1;
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owner(bytes, tjFree);
  if (status != 0)
    throw Error(std::string("A JPEG could not be written (") + tjGetErrorStr2(handle.get()) + "): free memory.");
  return {bytes, bytes + size};
}

}  // namespace ttt::data
