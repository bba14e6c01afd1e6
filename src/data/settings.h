// Every number of the input path. The defaults are torchvision's GeneralizedRCNNTransform.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "settings/fields.h"

namespace ttt::data {

struct DataSettings {
  std::string resize = "torchvision";
  std::int64_t short_side = 800, long_side = 1333;
  bool antialias = false;
  bool scaled_decode = false;
  double flip = 0.5;
  std::string channels = "rgb";
  double pixel_divisor = 255;
  std::vector<double> mean = {0.485, 0.456, 0.406};
  std::vector<double> std = {0.229, 0.224, 0.225};
  std::string boxes = "plain";
  std::int64_t gt_capacity = 0;
  std::string transform = "host";
  std::string padding = "fixed";
  std::int64_t pad_height = 0, pad_width = 0;
  std::int64_t pad_multiple = 32;
  bool group_by_aspect = false;
  std::string last_batch = "drop";
  std::int64_t workers = 1, prefetch = 2;
  std::string read = "pread";
  std::string generated = "square";
  std::int64_t generated_images = 1600, generated_held_out = 200, generated_fresh = 0, generated_seed = 0;

  template <class Self, class V> static void fields(Self& s, V&& v) {
    v("resize", s.resize,
        "rule of the resized size: torchvision (both sides rounded down) or mlperf (short side exact)",
        one_of({"torchvision", "mlperf"}));
    v("short_side", s.short_side, "short side after the resize, where the long side allows it [pixel]",
        between(1, 16384));
    v("long_side", s.long_side, "the long side is at most this [pixel]", between(1, 16384));
    v("antialias", s.antialias,
        "shrinking averages over all source pixels, as PIL does (MLPerf); false: two taps, as torchvision");
    v("scaled_decode", s.scaled_decode,
        "decode at 1/2, 1/4 or 1/8 where the target is no larger; faster, other pixels");
    v("flip", s.flip, "probability of a horizontal flip in training", between(0, 1));
    v("channels", s.channels, "order of the channels", one_of({"rgb", "bgr"}));
    v("pixel_divisor", s.pixel_divisor, "bytes are divided by this before the mean is taken off (255, or 1 for MLPerf)",
        between(1e-6, 1e6));
    v("mean", s.mean, "taken off each channel, in the order of the channels", between(-1e6, 1e6).count(3, 3));
    v("std", s.std, "divides each channel, in the order of the channels", between(1e-6, 1e6).count(3, 3));
    v("boxes", s.boxes, "plain: x2 = x + w; legacy (MLPerf): x2 = x + max(w - 1, 0), borders at width - 1",
        one_of({"plain", "legacy"}));
    v("gt_capacity", s.gt_capacity, "room for objects per image; 0: the most in the shards, up to a multiple of 8",
        between(0, 65536));
    v("transform", s.transform,
        "who resizes, flips and normalises: host (the workers) or device (a kernel, with the same results; decoded "
        "bytes "
        "are copied to it, where images are not shrunk a quarter of the size or less)",
        one_of({"host", "device"}));
    v("padding", s.padding,
        "padded size: fixed (one), two (landscape and portrait; needs group_by_aspect), batch (its largest image)",
        one_of({"fixed", "two", "batch"}));
    v("pad_height", s.pad_height, "padded height (of landscape with two); 0: from short_side and long_side [pixel]",
        between(0, 16384));
    v("pad_width", s.pad_width, "padded width (of landscape with two); 0: from short_side and long_side [pixel]",
        between(0, 16384));
    v("pad_multiple", s.pad_multiple, "computed padded sizes are multiples of this [pixel]", between(1, 1024));
    v("group_by_aspect", s.group_by_aspect, "a global batch has only landscape (height < width) or only other images");
    v("last_batch", s.last_batch,
        "images left over at the end of an epoch: drop, or wrap (fill from the epoch's beginning)",
        one_of({"drop", "wrap"}));
    v("workers", s.workers, "threads that read, decode and resize; 0: the caller does it", between(0, 256));
    v("prefetch", s.prefetch, "batches made ready ahead of the one in use", between(1, 64));
    v("read", s.read, "how records are read: pread beside the library, or through HDF5", one_of({"pread", "hdf5"}));
    v("generated", s.generated,
        "images of the generated data set, used where --data names no other: square, mixed (half 4:3, half 3:4), or "
        "no: "
        "--data is required",
        one_of({"no", "square", "mixed"}));
    v("generated_images", s.generated_images, "images of the generated data set to train on", between(1, 1e6));
    v("generated_held_out", s.generated_held_out,
        "images of the generated data set to evaluate on; the more, the less of an accuracy is the luck of its images",
        between(1, 1e6));
    v("generated_seed", s.generated_seed, "of the generated data set: other images of the same kind",
        between(0, 999'999));
    v("generated_fresh", s.generated_fresh,
        "images that are generated for the run's seed alone, on which the last weights are evaluated when the clock "
        "has "
        "stopped; 0: none",
        between(0, 1e6));
  }
};

}  // namespace ttt::data
