// The text form of run lengths: little-endian groups of five bits, signed, run i >= 3 as a difference to run i - 2.
#include <string>

#include "coco/rle.h"
#include "core/error.h"

namespace ttt::coco {
namespace {

constexpr int kMaxGroups = 7;  // 35 bits: differences of 32-bit runs need 33

[[noreturn]] void fail_string(const char* what, std::uint32_t height, std::uint32_t width) {
  throw DataError("The run-length string of a " + std::to_string(height) + " x " + std::to_string(width) + " mask " +
                  what + ". Write 'counts' as pycocotools' encode() does.");
}

}  // namespace

std::string to_string(const RleView& rle) {
  std::string out;
  out.reserve(rle.counts.size() * 2);
  for (std::size_t i = 0; i < rle.counts.size(); ++i) {
    std::int64_t v = rle.counts[i];
    if (i > 2) v -= rle.counts[i - 2];
    for (bool more = true; more;) {
      const std::int64_t group = v & 31;
      v >>= 5;
      more = (group & 16) ? v != -1 : v != 0;
      out.push_back(static_cast<char>((group | (more ? 32 : 0)) + 48));
    }
  }
  return out;
}

std::size_t decode_string(std::string_view counts, std::uint32_t height, std::uint32_t width, std::uint32_t* out) {
  const std::int64_t total = pixels(height, width);
  if (counts.empty()) {
    out[0] = static_cast<std::uint32_t>(total);
    return 1;
  }
  std::size_t n = 0;
  std::int64_t sum = 0;
  const char* const end = counts.data() + counts.size();
  for (const char* p = counts.data(); p != end; ++n) {
    unsigned c = static_cast<unsigned char>(*p++) - 48u;
    std::int64_t v;
    if (c < 32) {  // one character, nine times out of ten: five bits with their sign
      v = static_cast<int>(c ^ 16u) - 16;
    } else {
      v = 0;
      int shift = 0;
      for (; c >= 32; shift += 5) {
        if (c > 63) fail_string("holds a character outside '0' to 'o'", height, width);
        if (p == end) fail_string("ends in the middle of a number", height, width);
        if (shift == 5 * (kMaxGroups - 1)) fail_string("holds a number of more than 35 bits", height, width);
        v |= static_cast<std::int64_t>(c & 31) << shift;
        c = static_cast<unsigned char>(*p++) - 48u;
      }
      v |= static_cast<std::int64_t>(static_cast<int>(c ^ 16u) - 16) * (std::int64_t{1} << shift);
    }
    if (n > 2) v += out[n - 2];
    sum += v;
    if (v < 0) fail_string("holds a negative run", height, width);
    if (sum > total) fail_string("has more pixels than the mask", height, width);
    out[n] = static_cast<std::uint32_t>(v);
  }
  if (sum != total) fail_string("has fewer pixels than the mask", height, width);
  return n;
}

Rle from_string(std::string_view counts, std::uint32_t height, std::uint32_t width) {
  Rle rle{height, width, std::vector<std::uint32_t>(counts.size() + 1)};
  rle.counts.resize(decode_string(counts, height, width, rle.counts.data()));
  rle.counts.shrink_to_fit();
  return rle;
}

}  // namespace ttt::coco
