#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "measure/operation_arm.h"
#include "core/crc32c.h"
#include "core/error.h"
#include "data/jpeg.h"

namespace ttt::ablations {
namespace {

constexpr std::int64_t kImages = 64;  // of a step
// Where a decoder's few buffers happen to lie in memory is worth some per cent of its time, which no repetition within a process would show: so each
// side has many of them, as the loader's ring has, and takes them in turns.
constexpr std::size_t kDecoders = 16;

// Reads records of the training shards by pread, as the loader does, with or without the check, and decodes them.
class Reading {
 public:
  Reading(const Bench& bench, bool check) : run_(assemble(bench.recipe, components_of(bench.recipe), bench.world.team(), bench.context)), check_(check) {
    for (const auto& shard : run_.train_images->shards()) {
      const auto offset = data::h5::File::open(shard->path()).byte_offset("/bytes");
      if (!offset) throw NotSupported(shard->path() + " has no single place for its records: pack it again with pack_coco.");
      files_.push_back({::open(shard->path().c_str(), O_RDONLY | O_CLOEXEC), static_cast<off_t>(*offset), shard.get()});
    }
  }
  ~Reading() {
    for (const File& f : files_) ::close(f.descriptor);
  }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  void step(std::int64_t number) {
    sum_ = 0;
    for (std::int64_t i = 0; i < kImages; ++i) {
      const std::int64_t image = (number * kImages + i) % run_.train_images->size();
      const data::ShardFile& shard = run_.train_images->shard_of(image);
      Slot& slot = slots_[static_cast<std::size_t>(i) % kDecoders];
      const auto length = read(shard, run_.train_images->record_of(image), slot.jpeg);
      slot.decoder.decode({slot.jpeg.data(), length}, slot.pixels);
      sum_ += slot.pixels.pixels[0] + slot.pixels.pixels[static_cast<std::size_t>(slot.pixels.height) * slot.pixels.width * 3 - 1];
    }
  }
  double sum() const { return sum_; }

 private:
  struct File {
    int descriptor;
    off_t bytes_at;
    const data::ShardFile* shard;
  };
  struct Slot {
    std::vector<std::uint8_t> jpeg;
    data::JpegDecoder decoder;
    data::RgbImage pixels;
  };
  std::size_t read(const data::ShardFile& shard, std::int64_t record, std::vector<std::uint8_t>& jpeg) {
    const auto file = std::find_if(files_.begin(), files_.end(), [&](const File& f) { return f.shard == &shard; });
    const std::size_t length = shard.index().length[record];
    if (jpeg.size() < length) jpeg.resize(length);
    const ssize_t got = ::pread(file->descriptor, jpeg.data(), length, file->bytes_at + static_cast<off_t>(shard.index().offset[record]));
    if (got != static_cast<ssize_t>(length)) throw DataError(shard.describe(record) + " cannot be read: copy or pack the shard again.");
    if (check_ && crc32c(jpeg.data(), length) != shard.index().crc32c[record])
      throw DataError(shard.describe(record) + " does not match its checksum: copy or pack the shard again.");
    return length;
  }

  Run run_;
  bool check_;
  std::vector<File> files_;
  std::array<Slot, kDecoders> slots_;
  double sum_ = 0;  // of the last step's pixels: the first and last of each image
};

Variant variant(const char* name, bool check) {
  return {.name = name, .arm = [name, check](const Bench& bench) -> std::unique_ptr<Arm> {
            const auto reading = std::make_shared<Reading>(bench, check);
            return std::make_unique<OperationArm>(bench, Operation{.description = {{"records", name}}, .run = [reading](std::int64_t n) { reading->step(n); },
                                                                   .outputs = [reading] { return std::vector<double>{reading->sum()}; }});
          }};
}

}  // namespace

Ablation ablate_record_checksums() {
  return {.name = "record_checksums",
          .question = "What does the checksum of every record cost beside reading and decoding it?",
          .claim = "none known",
          .expectation = "CRC-32C runs at several GB/s with the processor's instruction, JPEG decoding at some 100 MB/s of compressed bytes: near nothing. "
                         "A step of this row reads and decodes 64 images.",
          .promise = Promise::kBitwise,
          .variants = {variant("checked", true), variant("unchecked", false)}};
}

}  // namespace ttt::ablations
