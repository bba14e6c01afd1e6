// From a plan to a HostBatch: the padded size, each image's place in it, and the packed targets.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/trace.h"
#include "data/host_batch.h"
#include "data/jpeg.h"
#include "data/order.h"
#include "data/settings.h"
#include "data/shard_set.h"
#include "data/targets.h"
#include "data/transform.h"

namespace ttt::data {

// What a worker thread owns.
class ImageWorker {
 public:
  explicit ImageWorker(const DataSettings& settings) : transform(settings) {}
  std::vector<std::uint8_t> jpeg;
  JpegDecoder decoder;
  RgbImage image;
  ImageTransform transform;
  trace::Lane* lane = nullptr;  // where its work is recorded
};

struct StageSeconds {
  double read = 0, decode = 0, transform = 0;
};

// Which ground truth a batch has.
struct Targets {
  bool any = true;      // false, in evaluation: gt_count is 0 everywhere
  bool bitmaps = true;  // false: each mask has its polygons alone, which costs the workers and the copy less
};

// A HostBatch under construction; used again and again, so that its memory is touched once.
class BatchBuilder {
 public:
  // `images`: of a batch at most. `memory`: of the batch; outlives the builder.
  BatchBuilder(const ShardSet& set, const DataSettings& settings, std::int64_t images, std::int64_t gt_capacity,
      Targets targets, std::pmr::memory_resource* memory = std::pmr::new_delete_resource());

  void begin(const BatchPlan& plan);
  // Fills image k; different k from different threads. Throws DataError that names the record.
  StageSeconds fill(std::int64_t k, ImageWorker& worker);
  // After all images: packs the masks.
  void finish(const StageSeconds& spent);
  const HostBatch& batch() const { return batch_; }

 private:
  void set_images(std::int64_t n);
  void place_raw();
  void clear_padding(std::int64_t k, Size used);
  void place_targets(std::int64_t k, const Sample& sample, const ImageInfo& info, Size out);

  const ShardSet& set_;
  const DataSettings& settings_;
  DataSettings sized_;  // the same for the images of this plan
  Targets targets_;
  bool raw_;
  HostBatch batch_;
  BatchPlan plan_;
  std::vector<ImageTargets> image_targets_;
  std::vector<Size> written_;  // extent of the pixels that image k's place still holds from before
};

// Settings for images of that short side, whose long side is in proportion; 0: as they are.
DataSettings sized(const DataSettings& settings, std::int64_t short_side);
// One padded size for a batch, by settings.padding. Throws UsageError where an image does not fit, naming it.
Size padded_size(const ShardSet& set, const DataSettings& settings, const std::vector<Sample>& samples);
// The same of images of these sizes; whether each fits is check_fits()'s to say, which throws UsageError beginning with
// `name`.
Size padded_size(const DataSettings& settings, const std::vector<Size>& images);
void check_fits(const DataSettings& settings, Size image, Size padded, const std::string& name);
// The settings' capacity, or from the shards; throws UsageError where it is below what the shards hold.
std::int64_t gt_capacity(const ShardSet& set, const DataSettings& settings);
// Throws UsageError where the settings contradict each other.
void check(const DataSettings& settings);

}  // namespace ttt::data
