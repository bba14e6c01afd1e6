// Shared by the readers of COCO's JSON files: masks, boxes, and errors with file and position. Includes simdjson; for
// .cc files only.
#pragma once

#include <simdjson.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "coco/rle.h"

namespace ttt::coco::json {

namespace ondemand = simdjson::ondemand;

// Where a reader stands, for its messages. `key` and `expected` are set before each value is read.
struct Place {
  std::string file;
  std::string list;                // "annotations"; "" for the file's outermost level
  std::int64_t index = -1;         // of the element in the list
  std::optional<std::int64_t> id;  // of the element, as soon as it was read
  const char* key = nullptr;
  const char* expected = nullptr;

  void at(const char* k, const char* what) { key = k, expected = what; }
  std::string text() const;  // "F.json: annotations[3] (id 17)"
};

// DataErrors. The second explains what the value should have been; the third translates simdjson's error.
[[noreturn]] void fail_missing(const Place& place, const char* key, const char* needed);
[[noreturn]] void fail_value(const Place& place, const std::string& problem);
[[noreturn]] void fail_json(const Place& place, const simdjson::simdjson_error& error);

// The whole file with simdjson's padding. Throws UsageError where it cannot be read.
simdjson::padded_string load(const std::string& path);

// The readers below throw simdjson_error for a wrong type, and DataError (fail_value) for a wrong value.
std::uint32_t read_uint32(ondemand::value value);
std::int64_t read_id(ondemand::value value);  // also 12.0, as tools that keep ids in float arrays write it
std::array<double, 4> read_box(ondemand::value value, const Place& place);

// The runs of one mask at a time; both parts keep their memory from call to call.
class RunBuffer {
 public:
  std::span<const std::uint32_t> runs() const { return {runs_.data(), size_}; }
  void clear() { size_ = 0; }
  void push_back(std::uint32_t run) { room(size_ + 1)[size_] = run, ++size_; }
  // Decodes the characters between a JSON string's quotes.
  void decode(std::string_view escaped, std::uint32_t height, std::uint32_t width);

 private:
  std::uint32_t* room(std::size_t n) {
    if (runs_.size() < n) runs_.resize(2 * n);
    return runs_.data();
  }
  std::vector<std::uint32_t> runs_;  // the first size_ count
  std::size_t size_ = 0;
  std::string unescaped_;
};
struct Size {
  std::uint32_t height = 0, width = 0;
};
// {"size": [h, w], "counts": "..." or [...]}, keys in any order. Replaces what `buffer` holds.
Size read_rle(ondemand::object object, RunBuffer& buffer, Place& place);

using Segmentation = std::variant<std::monostate, std::vector<Polygon>, Rle>;
// Polygons, compressed or uncompressed run lengths; null gives monostate.
Segmentation read_segmentation(ondemand::value value, RunBuffer& buffer, Place& place);

}  // namespace ttt::coco::json
