// Binary masks as COCO writes them: column-major run lengths (pycocotools' maskApi), polygons, strings.
// Specification: results are equal to pycocotools 2.0.11 to the bit.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ttt::coco {

// Runs alternate background, object, background, ...; the first may be 0. Pixel (row y, column x) is bit x * height +
// y.
struct Rle {
  std::uint32_t height = 0, width = 0;
  std::vector<std::uint32_t> counts;
};

// The same, where the runs belong to someone else.
struct RleView {
  std::uint32_t height = 0, width = 0;
  std::span<const std::uint32_t> counts;

  RleView() = default;
  RleView(const Rle& rle) : height(rle.height), width(rle.width), counts(rle.counts) {}  // NOLINT: a view of it
  RleView(std::uint32_t h, std::uint32_t w, std::span<const std::uint32_t> c) : height(h), width(w), counts(c) {}
};

using Polygon = std::vector<double>;  // x0, y0, x1, y1, ... in pixels; an odd last number is ignored

// One polygon, and the union of an object's polygons (overlaps are OR-ed), on a height x width image. A pixel belongs
// to it where its centre does: the square (0,0)-(9,9) has 9 x 9 pixels. Throws DataError where a coordinate is not
// finite or beyond +-1,600,000 pixels, and where height x width is 2^32 or more.
Rle rasterize(std::span<const double> polygon, std::uint32_t height, std::uint32_t width);
Rle rasterize(std::span<const Polygon> polygons, std::uint32_t height, std::uint32_t width);

// A mask that is zero outside the box [x0, x0+w) x [y0, y0+h); `bits` is row-major [h, w], nonzero is object. The part
// of the box that is outside the image is dropped.
Rle encode_box(const std::uint8_t* bits, std::int64_t x0, std::int64_t y0, std::int64_t w, std::int64_t h,
    std::uint32_t height, std::uint32_t width);
// Row-major [height, width] bytes of 0 and 1.
void decode(const RleView& rle, std::uint8_t* out);
// Only the box [x0, x0+w) x [y0, y0+h) of it, row-major [h, w]; outside the image is 0.
void decode_box(
    const RleView& rle, std::int64_t x0, std::int64_t y0, std::int64_t w, std::int64_t h, std::uint8_t* out);

std::uint64_t area(const RleView& rle);
// x, y, width, height. A run that continues into the next column counts with its full height, as in pycocotools. Zeros
// for a mask without object pixels. There pycocotools wraps around 2^32 where the mask has an empty object run; no box
// overlaps it either way.
std::array<double, 4> bounding_box(const RleView& rle);
// Union, or intersection, of masks of one size (else DataError). One mask is returned as it is, none as a 0 x 0 mask.
Rle merge(std::span<const Rle> masks, bool intersect);

std::string to_string(const RleView& rle);  // the "counts" string of a result file
// Throws DataError where the runs do not fill height x width exactly or a character is not of the format. No runs at
// all are an empty mask.
Rle from_string(std::string_view counts, std::uint32_t height, std::uint32_t width);
// The same into memory of the caller's, which has room for counts.size() + 1 runs. Returns their number.
std::size_t decode_string(std::string_view counts, std::uint32_t height, std::uint32_t width, std::uint32_t* out);
// height x width as runs count it. Throws DataError for 2^32 or more.
std::uint32_t pixels(std::uint32_t height, std::uint32_t width);

}  // namespace ttt::coco
