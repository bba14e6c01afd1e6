// PNG to and from RGB bytes, through libpng.
#pragma once

#include <span>
#include <string>

#include "data/jpeg.h"

namespace ttt::data {

// 8 bits, RGB, lossless. Quick rather than small: pictures of a run are written while it runs.
std::string encode_png(const RgbImage& image);

// Any PNG as 8-bit RGB: palettes and grey are expanded, 16 bits cut to 8, transparent parts lie on black. Throws
// DataError "is not a whole PNG that can be decoded (...)": the caller puts the file's name before it.
RgbImage decode_png(std::span<const std::uint8_t> png);

}  // namespace ttt::data
