#include "eval/coco/detection.h"

#include <cstring>

#include "core/error.h"

namespace ttt::eval::coco {
namespace {

constexpr std::uint64_t kMagic = 0x31544544'54545400ull;

// Everything of a detection but its mask's runs, as it lies in the bytes.
struct Record {
  std::int64_t image_id, category_id;
  double score, bbox[4];
  std::uint32_t height, width, counts_bytes, has_mask;
};

template <class T> void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T> T take(std::string_view& bytes) {
  T value;
  if (bytes.size() < sizeof value) throw DataError("The serialised detections end early. Send all of their bytes.");
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

}  // namespace

std::vector<DetectionView> views(std::span<const Detection> detections) {
  std::vector<DetectionView> out;
  out.reserve(detections.size());
  for (const Detection& d : detections) {
    out.push_back({d.image_id, d.category_id, d.score, d.bbox,
        {d.bbox[2] * d.bbox[3], static_cast<double>(ttt::coco::area(d.mask))}, d.mask});
  }
  return out;
}

std::string serialise(std::span<const Detection> detections) {
  std::string out;
  put(out, kMagic);
  put(out, static_cast<std::uint64_t>(detections.size()));
  for (const Detection& d : detections) {
    const std::string counts = ttt::coco::to_string(d.mask);
    put(out, Record{d.image_id, d.category_id, d.score, {d.bbox[0], d.bbox[1], d.bbox[2], d.bbox[3]}, d.mask.height,
                 d.mask.width, static_cast<std::uint32_t>(counts.size()), !d.mask.counts.empty()});
    out += counts;
  }
  return out;
}

std::vector<Detection> deserialise(std::string_view bytes) {
  if (take<std::uint64_t>(bytes) != kMagic) {
    throw DataError("These bytes are not serialised detections. Send what serialise() returns.");
  }
  const auto n = take<std::uint64_t>(bytes);
  if (n > bytes.size() / sizeof(Record))
    throw DataError("The serialised detections end early. Send all of their bytes.");
  std::vector<Detection> out(n);
  for (Detection& d : out) {
    const auto r = take<Record>(bytes);
    if (bytes.size() < r.counts_bytes) throw DataError("The serialised detections end early. Send all of their bytes.");
    d.image_id = r.image_id, d.category_id = r.category_id, d.score = r.score;
    d.bbox = {r.bbox[0], r.bbox[1], r.bbox[2], r.bbox[3]};
    if (r.has_mask) {
      d.mask = ttt::coco::from_string(bytes.substr(0, r.counts_bytes), r.height, r.width);
    } else {
      d.mask.height = r.height, d.mask.width = r.width;
    }
    bytes.remove_prefix(r.counts_bytes);
  }
  if (!bytes.empty()) throw DataError("Bytes follow the serialised detections. Send exactly what serialise() returns.");
  return out;
}

}  // namespace ttt::eval::coco
