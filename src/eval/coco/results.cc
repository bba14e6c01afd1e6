#include "eval/coco/results.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "eval/coco/result_entries.h"

namespace ttt::eval::coco {
namespace {

namespace json = ttt::coco::json;

constexpr std::int64_t kWindowBytes = 64 << 10;  // in which a border between two entries is looked for

class File {
 public:
  explicit File(const std::string& path) {
    struct stat s;
    // A pipe is not even opened: its writer would take the closing for the end.
    if (::stat(path.c_str(), &s) != 0 || !S_ISREG(s.st_mode)) return;
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ >= 0 && ::fstat(fd_, &s) == 0) size_ = s.st_size;
  }
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::int64_t size() const { return size_; }  // -1: not a file that can be read in pieces
  bool read(std::int64_t offset, std::int64_t bytes, char* out) const {
    while (bytes > 0) {
      const ssize_t n = ::pread(fd_, out, bytes, offset);
      if (n <= 0) return false;
      out += n, offset += n, bytes -= n;
    }
    return true;
  }

 private:
  int fd_ = -1;
  std::int64_t size_ = -1;
};

// [begin, end) holds whole entries, separated by commas; the first piece begins with the file's bracket, the last ends
// with it.
struct Piece {
  std::int64_t begin, end;
};

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// The first "} , {" in the text: where the one entry ends and the next begins. It may be a wrong one (inside a string,
// or in a list of objects within an entry). Then a piece is no list of entries, and the file is read as a whole.
std::optional<Piece> border_in(std::string_view text) {
  for (std::size_t close = text.find('}'); close != std::string_view::npos; close = text.find('}', close + 1)) {
    std::size_t i = close + 1;
    while (i < text.size() && is_space(text[i])) ++i;
    if (i >= text.size() || text[i] != ',') continue;
    for (++i; i < text.size() && is_space(text[i]);) ++i;
    if (i < text.size() && text[i] == '{')
      return Piece{static_cast<std::int64_t>(close + 1), static_cast<std::int64_t>(i)};
  }
  return std::nullopt;
}

std::vector<Piece> cut(const File& file, std::int64_t piece_bytes) {
  std::vector<Piece> pieces = {{0, file.size()}};
  std::string window(std::min(kWindowBytes, piece_bytes), '\0');
  for (std::int64_t at = piece_bytes; at + std::ssize(window) < file.size(); at += piece_bytes) {
    if (!file.read(at, std::ssize(window), window.data())) return {};
    if (const auto border = border_in(window)) {
      pieces.back().end = at + border->begin;
      pieces.push_back({at + border->end, file.size()});
    }
  }
  return pieces;
}

// A piece as a JSON list of its own, with simdjson's padding behind it.
std::optional<simdjson::padded_string_view> load(const File& file, const Piece& piece, std::string& buffer) {
  const bool open = piece.begin != 0, close = piece.end != file.size();
  const std::int64_t length = piece.end - piece.begin, bytes = length + open + close;
  if (static_cast<std::int64_t>(buffer.size()) < bytes + static_cast<std::int64_t>(simdjson::SIMDJSON_PADDING)) {
    buffer.resize(bytes + simdjson::SIMDJSON_PADDING);
  }
  if (open) buffer[0] = '[';
  if (!file.read(piece.begin, length, buffer.data() + open)) return std::nullopt;
  if (close) buffer[bytes - 1] = ']';
  std::memset(buffer.data() + bytes, ' ', simdjson::SIMDJSON_PADDING);
  return simdjson::padded_string_view(buffer.data(), bytes, buffer.size());
}

// Lists that parse, put one behind the other, are the file: so where every piece parses, their entries are the file's.
// Where one does not, the caller reads the file as a whole, and finds the error's true place.
std::optional<std::vector<EntryReader::Output>> read_pieces(
    const File& file, const GroundTruth& truth, const ReadOptions& options) {
  const std::vector<Piece> pieces = cut(file, options.piece_bytes);
  if (pieces.size() < 2) return std::nullopt;
  std::vector<EntryReader::Output> out(pieces.size());
  std::atomic<bool> failed = false;
  AreaRule rule = AreaRule::kBoxes;
  const auto guarded = [&](auto&& body) {
    try {
      body();
    } catch (const simdjson::simdjson_error&) { failed = true; } catch (const Error&) {
      failed = true;
    }
  };
  guarded([&] {
    std::string buffer;
    json::Place place;
    const auto text = load(file, pieces[0], buffer);
    if (!text) throw Error("");
    rule = EntryReader(truth, options.masks).rule(*text, place);
  });
  if (failed) return std::nullopt;
  std::atomic<std::size_t> next = 0;
  parallel_for(options.pool, options.pool ? options.pool->threads() : 1, [&](std::int64_t) {
    EntryReader reader(truth, options.masks);
    std::string buffer;
    for (std::size_t i; !failed && (i = next++) < pieces.size();) {
      guarded([&] {
        json::Place place;
        const auto text = load(file, pieces[i], buffer);
        if (!text) throw Error("");
        reader.read(*text, rule, place, out[i]);
      });
    }
  });
  if (failed) return std::nullopt;
  return out;
}

EntryReader::Output read_whole(const std::string& path, const GroundTruth& truth, bool masks) {
  const simdjson::padded_string text = json::load(path);
  json::Place place{.file = path};
  EntryReader::Output out;
  try {
    EntryReader reader(truth, masks);
    const AreaRule rule = reader.rule(text, place);
    place = {.file = path};
    reader.read(text, rule, place, out);
  } catch (const simdjson::simdjson_error& error) { json::fail_json(place, error); }
  return out;
}

}  // namespace

ResultFile read_results(const std::string& path, const GroundTruth& truth, const ReadOptions& options) {
  std::vector<EntryReader::Output> parts;
  const File file(path);
  if (auto pieces = file.size() > 0 ? read_pieces(file, truth, options) : std::nullopt) {
    parts = std::move(*pieces);
  } else {
    parts.push_back(read_whole(path, truth, options.masks));
  }
  ResultFile out;
  std::size_t n = 0;
  for (const auto& part : parts) n += part.detections.size();
  out.detections.reserve(n);
  for (auto& part : parts) {
    out.detections.insert(out.detections.end(), part.detections.begin(), part.detections.end());
    // Moving a vector keeps its elements where they are, and the masks point at them.
    out.runs.push_back(std::make_unique<std::vector<std::uint32_t>>(std::move(part.runs)));
  }
  for (std::size_t i = 0; i < out.detections.size(); ++i) {
    if (truth.images().find(out.detections[i].image_id) >= 0) continue;
    throw DataError(path + ": entry " + std::to_string(i) + " is on image " +
                    std::to_string(out.detections[i].image_id) +
                    ", which the ground truth does not have. Evaluate against the images that were detected on.");
  }
  return out;
}

}  // namespace ttt::eval::coco
