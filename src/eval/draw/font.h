// A small font for labels: stb_easy_font (S. Barrett, public domain).
#pragma once

#include <string>
#include <vector>

namespace ttt::eval {

// A filled rectangle [x, x + width) x [y, y + height) of a text whose upper left corner is (0, 0).
struct GlyphPart {
  int x = 0, y = 0, width = 0, height = 0;
};
struct TextShape {
  int width = 0, height = 0;
  std::vector<GlyphPart> parts;
};

// One line of `text`; other than printable ASCII is drawn as '?'.
TextShape text_shape(const std::string& text);

}  // namespace ttt::eval
