#include "eval/draw/font.h"

#include <stb/stb_easy_font.h>

#include <array>
#include <cstring>

namespace ttt::eval {
namespace {

constexpr std::size_t kVertex = 16, kQuad = 4 * kVertex;  // bytes: x, y, z as float32 and a colour; four corners

std::array<float, 2> corner(const std::vector<char>& quads, std::size_t quad, std::size_t i) {
  std::array<float, 2> xy;
  std::memcpy(xy.data(), quads.data() + quad * kQuad + i * kVertex, sizeof xy);
  return xy;
}

}  // namespace

TextShape text_shape(const std::string& text) {
  std::string ascii = text;
  for (char& c : ascii)
    if (c < ' ' || c > '~') c = '?';
  std::vector<char> quads(ascii.size() * 16 * kQuad);  // no glyph has more than 13 strokes
  const int count = stb_easy_font_print(0, 0, ascii.data(), nullptr, quads.data(), static_cast<int>(quads.size()));
  // of a line's 12 rows the last two are empty
  TextShape shape{.width = stb_easy_font_width(ascii.data()), .height = 10};
  for (std::size_t q = 0; q < static_cast<std::size_t>(count); ++q) {
    const auto begin = corner(quads, q, 0), end = corner(quads, q, 2);
    shape.parts.push_back({static_cast<int>(begin[0]), static_cast<int>(begin[1]), static_cast<int>(end[0] - begin[0]),
        static_cast<int>(end[1] - begin[1])});
  }
  return shape;
}

}  // namespace ttt::eval
