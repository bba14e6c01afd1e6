#include "coco/json_reader.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "core/error.h"

namespace ttt::coco::json {
namespace {

// The characters of a JSON string between its quotes, escapes undone. Run-length strings hold backslashes; other
// escapes are legal but nobody writes them, and what is not ASCII becomes a character that no run length has.
void unescape(std::string_view escaped, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    const std::size_t stop = std::min(escaped.find('\\', i), escaped.size());
    out.append(escaped.substr(i, stop - i));
    i = stop;
    if (i + 1 >= escaped.size()) break;
    const char c = escaped[++i];
    if (c == 'u' && i + 4 < escaped.size()) {
      const unsigned long code = std::strtoul(std::string(escaped.substr(i + 1, 4)).c_str(), nullptr, 16);
      out.push_back(code < 128 ? static_cast<char>(code) : '\0');
      i += 4;
    } else {
      out.push_back(c == '\\' ? c : '\0');
    }
  }
}

void check_runs(std::span<const std::uint32_t> runs, Size size, const Place& place) {
  const std::uint64_t sum = std::accumulate(runs.begin(), runs.end(), std::uint64_t{0});
  if (sum != pixels(size.height, size.width)) {
    fail_value(place, "its runs cover " + std::to_string(sum) + " pixels of a " + std::to_string(size.height) + " x " +
                          std::to_string(size.width) + " mask; write run lengths that fill it");
  }
}

}  // namespace

void RunBuffer::decode(std::string_view escaped, std::uint32_t height, std::uint32_t width) {
  if (escaped.find('\\') != std::string_view::npos) {
    unescape(escaped, unescaped_);
    escaped = unescaped_;
  }
  size_ = decode_string(escaped, height, width, room(escaped.size() + 1));
}

std::string Place::text() const {
  std::string out = file + ": ";
  if (index >= 0) {
    out += (list.empty() ? "entry " : list + "[") + std::to_string(index) + (list.empty() ? "" : "]");
    if (id) out += " (id " + std::to_string(*id) + ")";
  } else {
    out += list.empty() ? "the file" : "the list '" + list + "'";
  }
  return out;
}

void fail_missing(const Place& place, const char* key, const char* needed) {
  throw DataError(place.text() + " has no '" + key + "'. It needs " + needed + ".");
}

void fail_value(const Place& place, const std::string& problem) {
  throw DataError(place.text() + (place.key ? std::string(", '") + place.key + "'" : "") + ": " + problem + ".");
}

void fail_json(const Place& place, const simdjson::simdjson_error& error) {
  switch (error.error()) {
    case simdjson::INCORRECT_TYPE:
    case simdjson::NUMBER_ERROR:
    case simdjson::NUMBER_OUT_OF_RANGE:
    case simdjson::INDEX_OUT_OF_BOUNDS:
    case simdjson::NO_SUCH_FIELD:
      if (place.key) fail_value(place, std::string("the value is wrong; write ") + place.expected);
      throw DataError(place.text() + " is not laid out as expected. Write " +
                      (place.expected ? place.expected : "COCO's format") + ".");
    default:
      throw DataError(place.text() + " is not valid JSON" +
                      (place.key ? std::string(" near '") + place.key + "'" : "") + " (" + error.what() +
                      "). Write the file again, with a JSON library.");
  }
}

namespace {

simdjson::padded_string read(const std::string& path) {
  // simdjson's own loader says "IO error" for everything, reads a folder as an empty file, and needs to seek.
  std::ifstream in(path, std::ios::binary);
  if (!in || (in.peek(), in.bad())) {
    throw UsageError(
        "Cannot read " + path + ": " + std::strerror(errno ? errno : EIO) + ". Name a JSON file that exists.");
  }
  if (!std::filesystem::is_regular_file(path)) {  // a pipe
    in.clear();
    return simdjson::padded_string(std::string(std::istreambuf_iterator<char>(in), {}));
  }
  simdjson::padded_string text;
  if (simdjson::padded_string::load(path).get(text)) {
    throw UsageError("Cannot read " + path + ". Name a JSON file that fits into memory.");
  }
  return text;
}

}  // namespace

simdjson::padded_string load(const std::string& path) {
  simdjson::padded_string text = read(path);
  if (std::string_view(text).starts_with("\xef\xbb\xbf"))
    throw DataError(path + " begins with a byte-order mark, which JSON does not have. Save it as UTF-8 without one.");
  return text;
}

std::uint32_t read_uint32(ondemand::value value) {
  const std::uint64_t v = value.get_uint64();
  if (v > 0xffffffffull) throw simdjson::simdjson_error(simdjson::NUMBER_OUT_OF_RANGE);
  return static_cast<std::uint32_t>(v);
}

std::int64_t read_id(ondemand::value value) {
  std::int64_t id = 0;
  if (value.get_int64().get(id) == simdjson::SUCCESS) return id;
  const double number = value.get_double();
  // Beyond 2^53 a double no longer says which id it was.
  if (number != std::floor(number) || std::abs(number) > 9007199254740992.0) {
    throw simdjson::simdjson_error(simdjson::NUMBER_ERROR);
  }
  return static_cast<std::int64_t>(number);
}

std::array<double, 4> read_box(ondemand::value value, const Place& place) {
  std::array<double, 4> box{};
  std::size_t n = 0;
  for (ondemand::value v : value.get_array()) {
    if (n < 4) box[n] = v.get_double();
    ++n;
  }
  if (n != 4) fail_value(place, "it has " + std::to_string(n) + " numbers; write [x, y, width, height]");
  return box;
}

Size read_rle(ondemand::object object, RunBuffer& buffer, Place& place) {
  Size size;
  bool has_size = false, has_list = false, has_text = false;
  std::string_view text;  // the token of "counts", kept until the size is known
  place.at("segmentation", "polygons, or {\"size\": [height, width], \"counts\": \"...\" or [...]}");
  for (ondemand::field field : object) {
    const ondemand::raw_json_string key = field.key();
    if (key == std::string_view("counts")) {
      ondemand::value value = field.value();
      buffer.clear(), has_list = has_text = false;  // of a key given twice the last counts
      if (value.type() == ondemand::json_type::string) {
        text = value.raw_json_token();
        has_text = true;
      } else {
        for (ondemand::value run : value.get_array()) buffer.push_back(read_uint32(run));
        has_list = true;
      }
    } else if (key == std::string_view("size")) {
      std::uint32_t hw[2] = {};
      std::size_t n = 0;
      for (ondemand::value v : field.value().get_array()) {
        if (n < 2) hw[n] = read_uint32(v);
        ++n;
      }
      if (n != 2) throw simdjson::simdjson_error(simdjson::INDEX_OUT_OF_BOUNDS);
      size = {hw[0], hw[1]}, has_size = true;
    }
  }
  if (!has_size || (!has_list && !has_text)) fail_value(place, "a mask needs 'size' and 'counts'");
  try {
    // The token reaches from the opening quote to the next token: it ends at its last quote.
    if (has_text) buffer.decode(text.substr(1, text.rfind('"') - 1), size.height, size.width);
    if (has_list && buffer.runs().empty()) buffer.push_back(pixels(size.height, size.width));  // an empty mask
  } catch (const DataError& e) { throw DataError(place.text() + ", 'segmentation': " + e.what()); }
  if (has_list) check_runs(buffer.runs(), size, place);
  return size;
}

Segmentation read_segmentation(ondemand::value value, RunBuffer& buffer, Place& place) {
  place.at("segmentation", "polygons, or {\"size\": [height, width], \"counts\": \"...\" or [...]}");
  switch (value.type()) {
    case ondemand::json_type::null: return {};
    case ondemand::json_type::object: {
      const Size size = read_rle(value.get_object(), buffer, place);
      return Rle{size.height, size.width, {buffer.runs().begin(), buffer.runs().end()}};
    }
    default: {
      std::vector<Polygon> polygons;
      for (ondemand::value item : value.get_array()) {
        Polygon polygon;
        for (ondemand::value v : item.get_array()) polygon.push_back(v.get_double());
        polygons.push_back(std::move(polygon));
      }
      return polygons;
    }
  }
}

}  // namespace ttt::coco::json
