#include "data/png.h"

#include <png.h>

#include <memory>

#include "core/error.h"

namespace ttt::data {
namespace {

// libpng's simplified interface: png_image_free() is allowed at any time.
class Image {
 public:
  Image() { image_.version = PNG_IMAGE_VERSION; }
  ~Image() { png_image_free(&image_); }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  png_image* operator->() { return &image_; }
  png_image* get() { return &image_; }

 private:
  png_image image_{};
};

}  // namespace

std::string encode_png(const RgbImage& image) {
  Image png;
  png->width = static_cast<png_uint_32>(image.width), png->height = static_cast<png_uint_32>(image.height);
  png->format = PNG_FORMAT_RGB, png->flags = PNG_IMAGE_FLAG_FAST;
  // Room for the worst case: one call instead of one that measures by compressing.
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(*png.get());
  std::string out(size, '\0');
  if (!png_image_write_to_memory(png.get(), out.data(), &size, 0, image.pixels.data(), 0, nullptr))
    throw Error(std::string("A PNG could not be made (") + png->message + "). Free memory.");
  out.resize(size);
  return out;
}

RgbImage decode_png(std::span<const std::uint8_t> bytes) {
  Image png;
  RgbImage out;
  const auto refuse = [&] {
    throw DataError(std::string("is not a whole PNG that can be decoded (") + png->message + "): get the file again.");
  };
  if (!png_image_begin_read_from_memory(png.get(), bytes.data(), bytes.size())) refuse();
  png->format = PNG_FORMAT_RGB;
  out.width = static_cast<std::int32_t>(png->width), out.height = static_cast<std::int32_t>(png->height);
  out.pixels.resize(PNG_IMAGE_SIZE(*png.get()));
  const png_color black{};
  if (!png_image_finish_read(png.get(), &black, out.pixels.data(), 0, nullptr)) refuse();
  return out;
}

}  // namespace ttt::data
