#include "data/collate.h"

#include <algorithm>
#include <cmath>

#include "core/clock.h"
#include "core/error.h"

namespace ttt::data {
namespace {

std::int32_t round_up(std::int64_t value, std::int64_t multiple) {
  return static_cast<std::int32_t>((value + multiple - 1) / multiple * multiple);
}

// The largest of 8, 4, 2 by which decoding may shrink and still leave no side smaller than the target.
int decode_shrink(const DataSettings& settings, const ImageInfo& image, Size out) {
  if (!settings.scaled_decode) return 1;
  for (const int shrink : {8, 4, 2})
    if (out.height * shrink <= image.height && out.width * shrink <= image.width) return shrink;
  return 1;
}

Size decoded_size(const ImageInfo& image, int shrink) {
  return {(image.height + shrink - 1) / shrink, (image.width + shrink - 1) / shrink};
}

}  // namespace

void check(const DataSettings& s) {
  if (s.mean.size() != 3 || s.std.size() != 3)
    throw UsageError("data.mean and data.std need three values each, one per channel.");
  if (s.padding == "two" && !s.group_by_aspect)
    throw UsageError(
        "data.padding = \"two\" needs batches of one orientation: set data.group_by_aspect = true or data.padding = "
        "\"fixed\".");
  if (s.long_side < s.short_side)
    throw UsageError("data.long_side = " + std::to_string(s.long_side) +
                     " is smaller than data.short_side = " + std::to_string(s.short_side) + ": raise data.long_side.");
}

std::int64_t gt_capacity(const ShardSet& set, const DataSettings& settings) {
  const std::int64_t needed = set.max_objects();
  if (settings.gt_capacity == 0) return std::max<std::int64_t>(8, round_up(needed, 8));
  if (settings.gt_capacity < needed)
    throw UsageError("gt_capacity is " + std::to_string(settings.gt_capacity) + " and an image of split '" +
                     set.split() + "' has " + std::to_string(needed) +
                     " objects: set gt_capacity to at least that, or 0.");
  return settings.gt_capacity;
}

Size padded_size(const DataSettings& s, const std::vector<Size>& images) {
  Size largest;
  bool any_landscape = false, any_portrait = false;
  for (const Size& image : images) {
    (image.height < image.width ? any_landscape : any_portrait) = true;
    const Size out = resized_size(s, image);
    largest = {std::max(largest.height, out.height), std::max(largest.width, out.width)};
  }
  if (s.padding == "batch")
    return {
        round_up(std::max(largest.height, 1), s.pad_multiple), round_up(std::max(largest.width, 1), s.pad_multiple)};
  if (s.padding != "two")
    return {s.pad_height ? static_cast<std::int32_t>(s.pad_height) : round_up(s.long_side, s.pad_multiple),
        s.pad_width ? static_cast<std::int32_t>(s.pad_width) : round_up(s.long_side, s.pad_multiple)};
  const Size padded = {s.pad_height ? static_cast<std::int32_t>(s.pad_height) : round_up(s.short_side, s.pad_multiple),
      s.pad_width ? static_cast<std::int32_t>(s.pad_width) : round_up(s.long_side, s.pad_multiple)};
  // Training batches have one orientation; one of evaluation that mixes them gets a square.
  if (!any_portrait) return padded;
  return any_landscape ? Size{padded.width, padded.width} : Size{padded.width, padded.height};
}

void check_fits(const DataSettings& s, Size image, Size padded, const std::string& name) {
  const Size out = resized_size(s, image);
  if (out.height > padded.height || out.width > padded.width)
    throw UsageError(name + " is " + std::to_string(out.height) + " x " + std::to_string(out.width) +
                     " after the resize and does not fit the padded size " + std::to_string(padded.height) + " x " +
                     std::to_string(padded.width) + ": raise pad_height and pad_width, or set them to 0.");
}

Size padded_size(const ShardSet& set, const DataSettings& s, const std::vector<Sample>& samples) {
  std::vector<Size> images;
  for (const Sample& sample : samples)
    if (sample.image >= 0) images.push_back({set.image(sample.image).height, set.image(sample.image).width});
  const Size padded = padded_size(s, images);
  for (const Sample& sample : samples) {
    if (sample.image < 0) continue;
    const ImageInfo info = set.image(sample.image);
    check_fits(s, {info.height, info.width}, padded, "Image " + std::to_string(info.id));
  }
  return padded;
}

DataSettings sized(const DataSettings& settings, std::int64_t short_side) {
  DataSettings s = settings;
  if (short_side == 0) return s;
  s.short_side = short_side;
  s.long_side = std::llround(static_cast<double>(short_side) * static_cast<double>(settings.long_side) /
                             static_cast<double>(settings.short_side));
  return s;
}

BatchBuilder::BatchBuilder(const ShardSet& set, const DataSettings& settings, std::int64_t images,
    std::int64_t capacity, Targets targets, std::pmr::memory_resource* memory)
    : set_(set), settings_(settings), sized_(settings), targets_(targets), raw_(settings.transform == "device"),
      batch_(HostBatch::in(memory)), image_targets_(images), written_(images) {
  batch_.gt_capacity = capacity;
  set_images(images);
}

void BatchBuilder::set_images(std::int64_t images) {
  if (batch_.images_n == images) return;
  batch_.images_n = images;
  const auto n = static_cast<std::size_t>(images), g = static_cast<std::size_t>(batch_.gt_capacity);
  batch_.image_size.resize(2 * n), batch_.original_size.resize(2 * n), batch_.image_id.resize(n),
      batch_.flipped.resize(n);
  batch_.gt_box.resize(4 * n * g), batch_.gt_label.resize(n * g), batch_.gt_count.resize(n);
}

void BatchBuilder::begin(const BatchPlan& plan) {
  plan_ = plan;
  set_images(std::ssize(plan.samples));
  sized_ = sized(settings_, plan.short_side);
  const Size padded = padded_size(set_, sized_, plan.samples);
  if (raw_) {
    batch_.height = padded.height, batch_.width = padded.width;
    return place_raw();
  }
  batch_.images.resize(static_cast<std::size_t>(batch_.images_n) * padded.height * padded.width * 3);
  if (batch_.height != padded.height || batch_.width != padded.width) {
    // Everything that lies in memory counts as written: the rows have moved.
    batch_.height = padded.height, batch_.width = padded.width;
    std::fill(written_.begin(), written_.end(), padded);
  }
}

// Where each image's bytes will lie: their sizes are known before they are decoded.
void BatchBuilder::place_raw() {
  constexpr std::int64_t kAlignment = 16;
  RawImages& raw = batch_.raw;
  raw.offset.clear(), raw.size.clear();
  std::int64_t end = 0;
  for (const Sample& sample : plan_.samples) {
    Size size;
    if (sample.image >= 0) {
      const ImageInfo info = set_.image(sample.image);
      size = decoded_size(info, decode_shrink(sized_, info, resized_size(sized_, {info.height, info.width})));
    }
    raw.offset.push_back(end);
    raw.size.push_back(size.height), raw.size.push_back(size.width);
    end += (std::int64_t{3} * size.height * size.width + kAlignment - 1) / kAlignment * kAlignment;
  }
  raw.bytes.resize(static_cast<std::size_t>(end));
}

// Zeroes what an earlier image left outside `used`: the rest is zero already.
void BatchBuilder::clear_padding(std::int64_t k, Size used) {
  float* base = batch_.images.data() + k * batch_.height * batch_.width * 3;
  const Size old = written_[k];
  for (std::int32_t y = 0; y < old.height; ++y) {
    const std::int32_t from = y < used.height ? used.width : 0;
    float* row = base + static_cast<std::int64_t>(y) * batch_.width * 3;
    if (from < old.width) std::fill(row + 3 * from, row + 3 * old.width, 0.0f);
  }
  written_[k] = used;
}

StageSeconds BatchBuilder::fill(std::int64_t k, ImageWorker& worker) {
  const Sample sample = plan_.samples[k];
  image_targets_[k].clear();
  batch_.flipped[k] = sample.flip;
  if (sample.image < 0) {
    batch_.image_id[k] = -1, batch_.gt_count[k] = 0;
    for (std::int32_t* size : {&batch_.image_size[2 * k], &batch_.original_size[2 * k]})
      size[0] = static_cast<std::int32_t>(batch_.height), size[1] = static_cast<std::int32_t>(batch_.width);
    if (!raw_) clear_padding(k, {});
    place_targets(k, sample, {}, {});
    return {};
  }
  const double begin = now_s();
  const ImageInfo info = set_.image(sample.image);
  const std::int64_t bytes = set_.read(sample.image, worker.jpeg);
  const double read = now_s();
  const Size out = resized_size(sized_, {info.height, info.width});
  const int shrink = decode_shrink(sized_, info, out);
  try {
    worker.decoder.decode({worker.jpeg.data(), static_cast<std::size_t>(bytes)}, worker.image, shrink);
  } catch (const DataError& e) { throw DataError(set_.describe(sample.image) + " " + e.what()); }
  if (Size{worker.image.height, worker.image.width} != decoded_size(info, shrink))
    throw DataError(set_.describe(sample.image) + " is a JPEG of " + std::to_string(worker.image.height) + " x " +
                    std::to_string(worker.image.width) + " pixels where the index says " + std::to_string(info.height) +
                    " x " + std::to_string(info.width) + ": pack the data again.");
  const double decoded = now_s();
  if (raw_) {
    std::copy_n(worker.image.pixels.data(), std::int64_t{3} * worker.image.height * worker.image.width,
        batch_.raw.bytes.data() + batch_.raw.offset[k]);
  } else {
    worker.transform.run(worker.image, {.out = out,
                                           .flip = sample.flip,
                                           .pixels = batch_.images.data() + k * batch_.height * batch_.width * 3,
                                           .row_stride = batch_.width * 3});
    clear_padding(k, out);
  }
  batch_.image_id[k] = info.id;
  batch_.image_size[2 * k] = out.height, batch_.image_size[2 * k + 1] = out.width;
  batch_.original_size[2 * k] = info.height, batch_.original_size[2 * k + 1] = info.width;
  place_targets(k, sample, info, out);
  return {.read = read - begin, .decode = decoded - read, .transform = now_s() - decoded};
}

void BatchBuilder::place_targets(std::int64_t k, const Sample& sample, const ImageInfo& info, Size out) {
  ImageTargets& t = image_targets_[k];
  if (targets_.any && sample.image >= 0) {
    make_targets(set_.shard_of(sample.image).index(), set_.record_of(sample.image),
        {.in = {info.height, info.width},
            .out = out,
            .flip = sample.flip,
            .legacy = settings_.boxes == "legacy",
            .bitmaps = targets_.bitmaps},
        t);
  }
  const std::int64_t g = batch_.gt_capacity, count = t.objects();
  if (count > g)
    throw UsageError(set_.describe(sample.image) + " has " + std::to_string(count) + " objects and gt_capacity is " +
                     std::to_string(g) + ": raise gt_capacity.");
  batch_.gt_count[k] = static_cast<std::int32_t>(count);
  float* box = &batch_.gt_box[4 * k * g];
  std::fill(std::copy(t.box.begin(), t.box.end(), box), box + 4 * g, 0.0f);
  std::int32_t* label = &batch_.gt_label[k * g];
  std::fill(std::copy(t.label.begin(), t.label.end(), label), label + g, 0);
}

void BatchBuilder::finish(const StageSeconds& spent) {
  const double begin = now_s();
  PackedMasks& m = batch_.masks;
  const auto slots = static_cast<std::size_t>(batch_.images_n * batch_.gt_capacity);
  m.object_polygon.assign(1, 0), m.polygon_vertex.assign(1, 0), m.vertices.clear(), m.bitmap_bytes.clear();
  m.bitmap_box.assign(4 * slots, 0), m.bitmap_offset.assign(slots, 0);
  for (std::int64_t k = 0; k < batch_.images_n; ++k) {
    const ImageTargets& t = image_targets_[k];
    std::size_t polygon = 0;
    auto offset = static_cast<std::int64_t>(m.bitmap_bytes.size());
    for (std::int64_t g = 0; g < batch_.gt_capacity; ++g) {
      const auto slot = static_cast<std::size_t>(k * batch_.gt_capacity + g);
      if (g < t.objects()) {
        for (std::int32_t p = 0; p < t.polygons[g]; ++p)
          m.polygon_vertex.push_back(m.polygon_vertex.back() + t.vertices[polygon++]);
        std::copy_n(&t.bitmap_box[4 * g], 4, &m.bitmap_box[4 * slot]);
        m.bitmap_offset[slot] = offset;
        offset += static_cast<std::int64_t>(t.bitmap_box[4 * g + 2]) * t.bitmap_box[4 * g + 3];
      }
      m.object_polygon.push_back(static_cast<std::int32_t>(m.polygon_vertex.size()) - 1);
    }
    m.vertices.insert(m.vertices.end(), t.xy.begin(), t.xy.end());
    m.bitmap_bytes.insert(m.bitmap_bytes.end(), t.bitmap_bytes.begin(), t.bitmap_bytes.end());
  }
  batch_.read_s = spent.read, batch_.decode_s = spent.decode, batch_.transform_s = spent.transform + (now_s() - begin);
}

}  // namespace ttt::data
