// Boxes, masks and labels on an image: the pictures of a run and of `predict`. Without LibTorch.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "coco/rle.h"
#include "data/jpeg.h"

namespace ttt::eval {

using Colour = std::array<std::uint8_t, 3>;  // red, green, blue
// Hues that lie far apart for neighbouring numbers: each turns the circle by the golden ratio.
Colour colour_of(std::size_t number);

struct Marked {
  std::array<double, 4> box{};           // x, y, width, height [pixel of the image]
  const ttt::coco::Rle* mask = nullptr;  // of the image's size; null: none
  std::string label;                     // other than printable ASCII becomes '?'; "": none
  Colour colour{};
};

// The image, each pixel as a square of `magnify` pixels, with the objects drawn one over the other: a mask blends its
// pixels half with the colour. A box is an outline along its inner edge. A label is above its box, or inside it, or
// where else it hides no other label; the last object's comes first. What lies outside of the image is not drawn.
// Throws DataError where a mask has another size than the image.
data::RgbImage draw(const data::RgbImage& image, std::span<const Marked> objects, int magnify = 1);

// How often to magnify so that the shorter side has some 400 pixels: labels are readable then. At least 1.
int magnification(const data::RgbImage& image);

// Both on one picture, with a black line of 4 pixels between; below the lower one black.
data::RgbImage beside(const data::RgbImage& left, const data::RgbImage& right);

}  // namespace ttt::eval
