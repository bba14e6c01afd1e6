#include "tests/coco/fuzz/targets.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "coco/dataset.h"
#include "core/error.h"
#include "eval/coco/evaluate.h"
#include "eval/coco/results.h"

namespace ttt::test {
namespace {

using coco::Dataset;
using coco::Rle;
using eval::coco::GroundTruth;
using eval::coco::IouType;

#define TTT_MUST(condition)                                              \
  if (!(condition)) {                                                    \
    std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
    std::abort();                                                        \
  } else static_cast<void>(0)

constexpr std::size_t kSmall = 1 << 16;  // pixels that are worth decoding in every run

void check_mask(const Rle& rle) {
  const std::uint64_t total = std::uint64_t{rle.height} * rle.width;
  TTT_MUST(std::accumulate(rle.counts.begin(), rle.counts.end(), std::uint64_t{0}) == total);
  const std::uint64_t area = coco::area(rle);
  const auto box = coco::bounding_box(rle);
  TTT_MUST(area <= total && static_cast<double>(area) <= box[2] * box[3]);
  TTT_MUST(box[0] + box[2] <= rle.width && box[1] + box[3] <= rle.height);
  TTT_MUST(coco::from_string(coco::to_string(rle), rle.height, rle.width).counts == rle.counts);
  if (total > kSmall) return;
  std::vector<std::uint8_t> bits(total);
  coco::decode(rle, bits.data());
  TTT_MUST(std::accumulate(bits.begin(), bits.end(), std::uint64_t{0}) == area);
  const Rle tidy = coco::encode_box(bits.data(), 0, 0, rle.width, rle.height, rle.height, rle.width);
  TTT_MUST(coco::area(tidy) == area && coco::bounding_box(tidy) == box);
  const std::vector<Rle> twice = {rle, tidy};
  TTT_MUST(coco::merge(twice, false).counts == tidy.counts && coco::merge(twice, true).counts == tidy.counts);
}

// A file without a name.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("fuzz", 0)) {
    TTT_MUST(fd_ >= 0 && ::write(fd_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

constexpr const char* kTruth = R"({"images": [{"id": 7, "height": 9, "width": 8}, {"id": 3, "height": 5, "width": 6}],
  "categories": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}],
  "annotations": [{"id": 1, "image_id": 7, "category_id": 1, "bbox": [1, 1, 4, 4], "area": 16, "iscrowd": 0,
                   "segmentation": [[1, 1, 5, 1, 5, 5, 1, 5]]},
                  {"id": 2, "image_id": 3, "category_id": 2, "bbox": [0, 0, 6, 5], "area": 30, "iscrowd": 1,
                   "segmentation": {"size": [5, 6], "counts": [0, 30]}}]})";

void check_statistics(const eval::coco::Evaluation& e) {
  for (const double v : e.stats) TTT_MUST(v == -1 || (v >= 0 && v <= 1));
}

bool same(const eval::coco::ResultFile& a, const eval::coco::ResultFile& b) {
  if (a.detections.size() != b.detections.size()) return false;
  for (std::size_t i = 0; i < a.detections.size(); ++i) {
    const auto &x = a.detections[i], &y = b.detections[i];
    if (x.image_id != y.image_id || x.category_id != y.category_id || x.mask.height != y.mask.height ||
        x.mask.width != y.mask.width || !std::ranges::equal(x.mask.counts, y.mask.counts)) {
      return false;
    }
    if (std::memcmp(&x.score, &y.score, sizeof x.score) || std::memcmp(&x.bbox, &y.bbox, sizeof x.bbox) ||
        std::memcmp(&x.area, &y.area, sizeof x.area)) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool fuzz_rle(std::string_view bytes) {
  if (bytes.size() < 2) return false;
  Rle rle;
  try {
    rle =
        coco::from_string(bytes.substr(2), static_cast<unsigned char>(bytes[0]), static_cast<unsigned char>(bytes[1]));
  } catch (const DataError&) { return false; }
  check_mask(rle);
  return true;
}

bool fuzz_instances(std::string_view bytes) {
  Dataset dataset;
  try {
    dataset = coco::parse_instances(bytes, "fuzz");
  } catch (const DataError&) { return false; }
  for (const auto& a : dataset.annotations) {
    if (const Rle* rle = std::get_if<Rle>(&a.segmentation)) check_mask(*rle);
  }
  // Memory for the arrays grows with the categories, and the outline of a polygon with the image.
  if (dataset.categories.size() > 8) return true;
  for (const auto& image : dataset.images) {
    if (image.height > 10000 || image.width > 10000) return true;
  }
  try {
    const GroundTruth truth(dataset);
    for (const auto& o : truth.objects()) check_mask(o.mask);
    check_statistics(eval::coco::evaluate(truth, std::span<const eval::coco::Detection>(), IouType::kSegm));
  } catch (const DataError&) { return false; }
  return true;
}

bool fuzz_results(std::string_view bytes) {
  static const GroundTruth truth(coco::parse_instances(kTruth, "truth"));
  const MemoryFile file(bytes);
  eval::coco::ResultFile whole;
  bool accepted = true;
  try {
    whole = eval::coco::read_results(file.path(), truth);
  } catch (const Error&) { accepted = false; }
  for (const std::int64_t piece : {40, 300}) {  // cut anywhere, the file reads the same
    try {
      const auto pieces = eval::coco::read_results(file.path(), truth, {.piece_bytes = piece});
      TTT_MUST(accepted && same(whole, pieces));
    } catch (const Error&) { TTT_MUST(!accepted); }
  }
  if (!accepted) return false;
  try {
    const eval::coco::Prepared prepared(truth, whole.detections, nullptr);
    for (const IouType type : {IouType::kBbox, IouType::kSegm}) {
      check_statistics(eval::coco::evaluate(prepared, type, eval::coco::NumpySum::kFrom2_3, nullptr));
    }
  } catch (const DataError&) {
    return false;  // a box that overflows
  }
  return true;
}

bool fuzz_serialised(std::string_view bytes) {
  std::vector<eval::coco::Detection> detections;
  try {
    detections = eval::coco::deserialise(bytes);
  } catch (const DataError&) { return false; }
  const std::string again = eval::coco::serialise(detections);
  TTT_MUST(eval::coco::serialise(eval::coco::deserialise(again)) == again);
  return true;
}

FuzzTarget fuzz_target(std::string_view name) {
  if (name == "rle") return fuzz_rle;
  if (name == "instances") return fuzz_instances;
  if (name == "results") return fuzz_results;
  if (name == "serialised") return fuzz_serialised;
  return nullptr;
}

}  // namespace ttt::test
