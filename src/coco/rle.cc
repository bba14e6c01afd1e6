#include "coco/rle.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/error.h"

namespace ttt::coco {
namespace {

static_assert(std::endian::native == std::endian::little, "encode_box reads eight mask bytes as one word");

std::uint64_t load8(const std::uint8_t* p) {
  std::uint64_t v;
  std::memcpy(&v, p, 8);
  return v;
}

// Each byte: 0 stays 0, anything else becomes 1.
std::uint64_t nonzero_bytes(std::uint64_t v) {
  constexpr std::uint64_t kLow7 = 0x7f7f7f7f7f7f7f7full;
  return ((((v & kLow7) + kLow7) | v) >> 7) & 0x0101010101010101ull;
}

// The rows of up to eight columns as bits: column c, row y is bit y % 64 of words[c * stride + y / 64].
void pack_columns(const std::uint8_t* bits, std::int64_t row_stride, std::int64_t rows, std::int64_t columns,
    std::int64_t stride, std::uint64_t* words) {
  std::fill(words, words + 8 * stride, 0);
  for (std::int64_t y = 0; y < rows; y += 8) {
    const std::int64_t n = std::min<std::int64_t>(8, rows - y);
    std::uint64_t eight = 0;  // byte c holds the rows y .. y+7 of column c
    for (std::int64_t r = 0; r < n; ++r) {
      const std::uint8_t* row = bits + (y + r) * row_stride;
      std::uint64_t v = 0;
      if (columns == 8) {
        v = load8(row);
      } else {
        std::memcpy(&v, row, columns);
      }
      eight |= nonzero_bytes(v) << r;
    }
    if (eight == 0) continue;
    for (std::int64_t c = 0; c < 8; ++c) { words[c * stride + y / 64] |= (eight >> (8 * c) & 0xff) << (y % 64); }
  }
}

// Collects the positions where the value changes and turns them into runs.
class RunWriter {
 public:
  explicit RunWriter(std::vector<std::uint32_t>& counts) : counts_(counts) {}
  bool value() const { return value_; }
  void change_at(std::uint64_t position) {
    counts_.push_back(static_cast<std::uint32_t>(position - last_));
    last_ = position;
    value_ = !value_;
  }
  void finish(std::uint64_t end) { counts_.push_back(static_cast<std::uint32_t>(end - last_)); }

 private:
  std::vector<std::uint32_t>& counts_;
  std::uint64_t last_ = 0;
  bool value_ = false;
};

// One column's bits: `rows` of them, the first at `position`. Rows above and below the box are background.
void write_column(const std::uint64_t* words, std::int64_t rows, std::uint64_t position, bool touches_top,
    bool touches_bottom, RunWriter& runs) {
  // The pixel before the column's first row is the last row of the column before it only where the box has no rows
  // above. Else it is background, and the run was closed there.
  std::uint64_t before = touches_top && runs.value() ? 1 : 0;
  for (std::int64_t y = 0; y < rows; y += 64) {
    const std::uint64_t word = words[y / 64];
    std::uint64_t changes = word ^ (word << 1 | before);
    const std::int64_t n = std::min<std::int64_t>(64, rows - y);
    if (n < 64) changes &= (std::uint64_t{1} << n) - 1;
    for (; changes != 0; changes &= changes - 1) runs.change_at(position + y + std::countr_zero(changes));
    before = word >> (n - 1) & 1;
  }
  if (!touches_bottom && runs.value()) runs.change_at(position + rows);
}

// One pass over two masks of one size, runs of length 0 skipped.
Rle merge_two(const RleView& a, const RleView& b, bool intersect) {
  Rle out{a.height, a.width, {}};
  RunWriter runs(out.counts);
  const std::uint64_t total = pixels(a.height, a.width);
  std::size_t ia = 0, ib = 0;
  std::uint64_t end_a = a.counts.empty() ? total : a.counts[0], end_b = b.counts.empty() ? total : b.counts[0];
  for (std::uint64_t position = 0; position < total;) {
    while (end_a == position && ia + 1 < a.counts.size()) end_a += a.counts[++ia];
    while (end_b == position && ib + 1 < b.counts.size()) end_b += b.counts[++ib];
    const bool va = ia % 2, vb = ib % 2;
    if ((intersect ? va && vb : va || vb) != runs.value()) runs.change_at(position);
    const std::uint64_t next = std::min(end_a, end_b);
    if (next <= position)
      throw DataError("A mask's runs end before its last pixel. Write run lengths that fill the image.");
    position = next;
  }
  runs.finish(total);
  return out;
}

}  // namespace

std::uint32_t pixels(std::uint32_t height, std::uint32_t width) {
  const std::uint64_t n = std::uint64_t{height} * width;
  if (n > 0xffffffffull) {
    throw DataError("A mask of " + std::to_string(height) + " x " + std::to_string(width) +
                    " pixels does not fit 32-bit run lengths. Use images of fewer than 2^32 pixels.");
  }
  return static_cast<std::uint32_t>(n);
}

Rle encode_box(const std::uint8_t* bits, std::int64_t x0, std::int64_t y0, std::int64_t w, std::int64_t h,
    std::uint32_t height, std::uint32_t width) {
  Rle out{height, width, {}};
  const std::uint32_t total = pixels(height, width);
  RunWriter runs(out.counts);
  const std::int64_t left = std::max<std::int64_t>(x0, 0), right = std::min<std::int64_t>(x0 + w, width);
  const std::int64_t top = std::max<std::int64_t>(y0, 0), bottom = std::min<std::int64_t>(y0 + h, height);
  const std::int64_t rows = bottom - top;
  if (rows > 0 && right > left) {
    const std::int64_t stride = (rows + 63) / 64;
    std::vector<std::uint64_t> words(8 * stride);
    const bool touches_top = top == 0, touches_bottom = bottom == height;
    // A run may cross from one column into the next only where the box has the image's full height.
    const bool through = touches_top && touches_bottom;
    for (std::int64_t x = left; x < right; x += 8) {
      const std::int64_t columns = std::min<std::int64_t>(8, right - x);
      pack_columns(bits + (top - y0) * w + (x - x0), w, rows, columns, stride, words.data());
      for (std::int64_t c = 0; c < columns; ++c) {
        const std::uint64_t position = static_cast<std::uint64_t>(x + c) * height + top;
        if (!through && touches_bottom && !touches_top && runs.value()) runs.change_at(position - top);
        write_column(words.data() + c * stride, rows, position, touches_top, touches_bottom, runs);
      }
    }
    if (runs.value() && static_cast<std::uint64_t>(right) * height < total) {
      runs.change_at(static_cast<std::uint64_t>(right) * height);
    }
  }
  runs.finish(total);
  return out;
}

void decode(const RleView& rle, std::uint8_t* out) { decode_box(rle, 0, 0, rle.width, rle.height, out); }

void decode_box(
    const RleView& rle, std::int64_t x0, std::int64_t y0, std::int64_t w, std::int64_t h, std::uint8_t* out) {
  if (w <= 0 || h <= 0) return;
  std::memset(out, 0, static_cast<std::size_t>(w) * h);
  const std::int64_t height = rle.height;
  std::int64_t end = 0;
  for (std::size_t i = 0; i < rle.counts.size(); ++i) {
    const std::int64_t begin = end;
    end += rle.counts[i];
    if (i % 2 == 0 || begin == end) continue;
    const std::int64_t first = std::max(begin / height, x0), last = std::min((end - 1) / height, x0 + w - 1);
    for (std::int64_t x = first; x <= last; ++x) {
      const std::int64_t top = std::max({begin - x * height, y0, std::int64_t{0}});
      const std::int64_t bottom = std::min({end - x * height, y0 + h, height});
      std::uint8_t* pixel = out + (top - y0) * w + (x - x0);
      for (std::int64_t y = top; y < bottom; ++y, pixel += w) *pixel = 1;
    }
  }
}

std::uint64_t area(const RleView& rle) {
  std::uint64_t sum = 0;
  for (std::size_t i = 1; i < rle.counts.size(); i += 2) sum += rle.counts[i];
  return sum;
}

std::array<double, 4> bounding_box(const RleView& rle) {
  const std::uint64_t height = rle.height;
  std::uint64_t left = rle.width, right = 0, top = height, bottom = 0, end = 0;
  bool any = false;
  for (std::size_t i = 0; i + 1 < rle.counts.size(); i += 2) {
    const std::uint64_t begin = end + rle.counts[i];
    end = begin + rle.counts[i + 1];
    if (begin == end) continue;
    any = true;
    const std::uint64_t first = begin / height, last = (end - 1) / height;
    left = std::min(left, first), right = std::max(right, last);
    if (first < last) {
      top = 0, bottom = height - 1;
    } else {
      top = std::min(top, begin % height), bottom = std::max(bottom, (end - 1) % height);
    }
  }
  if (!any) return {0, 0, 0, 0};
  return {static_cast<double>(left), static_cast<double>(top), static_cast<double>(right - left + 1),
      static_cast<double>(bottom - top + 1)};
}

Rle merge(std::span<const Rle> masks, bool intersect) {
  if (masks.empty()) return {};
  Rle out = masks[0];
  for (const Rle& mask : masks.subspan(1)) {
    if (mask.height != out.height || mask.width != out.width) {
      throw DataError("Masks of different sizes cannot be merged. Give masks of one image.");
    }
    out = merge_two(out, mask, intersect);
  }
  return out;
}

}  // namespace ttt::coco
