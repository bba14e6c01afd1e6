#include "reports/packed_text.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

#include "core/error.h"
#include "settings/json.h"

namespace ttt::reports {
namespace {

constexpr std::size_t kShortest = 8;  // shorter lists stay text

// The numbers of a list that begins at `at` ("[0.5, 1e-05]"), as they are written, if it is one of floats and written
// as result files are.
std::optional<std::vector<std::string_view>> list_at(std::string_view text, std::size_t at) {
  const std::size_t end = text.find(']', at);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view body = text.substr(at + 1, end - at - 1);
  if (body.find_first_not_of("0123456789.eE+-, ") != std::string_view::npos || body.find('.') == std::string_view::npos)
    return std::nullopt;
  std::vector<std::string_view> numbers;
  for (std::size_t begin = 0;;) {
    const std::size_t comma = body.find(", ", begin);
    numbers.push_back(body.substr(begin, comma - begin));
    double x = 0;
    const auto read = std::from_chars(numbers.back().data(), numbers.back().data() + numbers.back().size(), x);
    if (read.ec != std::errc() || read.ptr != numbers.back().data() + numbers.back().size()) return std::nullopt;
    if (comma == std::string_view::npos) break;
    begin = comma + 2;
  }
  if (numbers.size() < kShortest) return std::nullopt;
  return numbers;
}

// The bits of each as they travel.
std::string planes(const std::vector<std::uint64_t>& values) {
  std::string bytes(values.size() * sizeof(std::uint64_t), '\0');
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t b = 0; b < sizeof(std::uint64_t); ++b)
      bytes[b * values.size() + i] = static_cast<char>(values[i] >> (8 * b));
  return bytes;
}

// Integers that page.js divides by 1e9, which rounds alike everywhere; nothing where that gives another double.
std::optional<std::vector<std::uint64_t>> nanoseconds(const std::vector<double>& values) {
  constexpr double kExact = 9007199254740992.0;  // 2^53: up to there a double holds every integer
  std::vector<std::uint64_t> out;
  for (const double x : values) {
    const double n = std::round(x * 1e9);
    if (!(std::abs(n) < kExact) || n / 1e9 != x || (n == 0 && std::signbit(x))) return std::nullopt;
    out.push_back(static_cast<std::uint64_t>(static_cast<std::int64_t>(n)));
  }
  return out;
}

std::vector<std::uint64_t> bits_of(const std::vector<double>& values) {
  std::vector<std::uint64_t> out;
  for (const double x : values) out.push_back(std::bit_cast<std::uint64_t>(x));
  return out;
}

std::string gzip(const std::string& bytes) {
  z_stream z{};
  constexpr int kGzip = 15 + 16, kMemory = 9;  // zlib's manual: a window of 2^15 and a gzip header; most memory
  if (deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw Error("zlib cannot start. Free some memory.");
  std::string out(deflateBound(&z, bytes.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  if (status != Z_STREAM_END) throw Error("zlib could not compress a result. Free some memory.");
  return out;
}

}  // namespace

std::string json_number(double x) {
  char buffer[40];
  const char* end = std::to_chars(buffer, buffer + sizeof buffer, x, std::chars_format::scientific).ptr;  // "-1.25e-05"
  const std::string text(buffer, static_cast<std::size_t>(end - buffer)), sign = text[0] == '-' ? "-" : "";
  const std::size_t e = text.find('e');
  const int exponent = std::atoi(text.c_str() + e + 1);
  const std::string digits =
      text.substr(sign.size(), 1).append(text, std::min(e, sign.size() + 2), e - std::min(e, sign.size() + 2));
  const int n = static_cast<int>(digits.size()), point = exponent + 1;
  if (x == 0) return sign + "0.0";
  std::string out = sign;
  if (n <= point && point <= 15)
    return out.append(digits).append(static_cast<std::size_t>(point - n), '0').append(".0");
  if (0 < point && point <= 15)
    return out.append(digits, 0, static_cast<std::size_t>(point))
        .append(".")
        .append(digits, static_cast<std::size_t>(point));
  if (-4 < point && point <= 0) return out.append("0.").append(static_cast<std::size_t>(-point), '0').append(digits);
  out.append(digits, 0, 1).append(n > 1 ? "." : "").append(digits, 1).append(exponent < 0 ? "e-" : "e+");
  return out.append(std::abs(exponent) < 10 ? "0" : "").append(std::to_string(std::abs(exponent)));
}

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t b = 0; b < 3; ++b)
      group = group << 8 | (i + b < bytes.size() ? static_cast<unsigned char>(bytes[i + b]) : 0);
    for (int d = 0; d < 4; ++d)
      out += i + static_cast<std::size_t>(d) > bytes.size() ? '=' : kDigits[group >> (18 - 6 * d) & 63];
  }
  return out;
}

std::string pack_text(std::string_view text) {
  result::Json counts = result::Json::array(), own = result::Json::array();
  std::string skeleton, columns;
  std::size_t index = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') in_string = !in_string;
    if (in_string && text[i] == '\\') skeleton += text[i++];
    const auto numbers = !in_string && text[i] == '[' ? list_at(text, i) : std::nullopt;
    if (!numbers) {
      if (i < text.size()) skeleton += text[i];
      continue;
    }
    std::vector<double> values;
    for (const std::string_view number : *numbers) {
      values.push_back(0);
      std::from_chars(number.data(), number.data() + number.size(), values.back());
      if (json_number(values.back()) != number) own.push_back({index, std::string(number)});
      ++index;
    }
    skeleton += '\1';
    const auto whole = nanoseconds(values);
    const auto count = static_cast<std::int64_t>(values.size());
    counts.push_back(whole ? -count : count);
    columns += planes(whole ? *whole : bits_of(values));
    i = text.find(']', i);
  }
  const std::string header = result::dump({{"text", skeleton}, {"lists", counts}, {"own", own}}, -1);
  std::string length(4, '\0');
  for (std::size_t b = 0; b < 4; ++b) length[b] = static_cast<char>(header.size() >> (8 * b));
  return base64(gzip(length + header + columns));
}

}  // namespace ttt::reports
