// CUDA kernels of mask targets and run lengths against their reference implementations: to the bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

#include "coco/rle.h"
#include "core/error.h"
#include "kernels/mask_targets/mask_targets.h"
#include "kernels/paste/paste.h"
#include "same_bits.h"
#include "tests/kernels/inputs.h"

namespace ttt::kernels {
namespace {

// Stars with spikes in and out, rectangles on half pixels, a polygon of two vertices, an object without polygons.
struct Outlines {
  std::vector<float> vertices;
  std::vector<std::int32_t> object_polygon{0}, polygon_vertex{0};
  void polygon(const std::vector<float>& xy) {
    vertices.insert(vertices.end(), xy.begin(), xy.end());
    polygon_vertex.push_back(static_cast<std::int32_t>(vertices.size() / 2));
  }
  void end_object() { object_polygon.push_back(static_cast<std::int32_t>(polygon_vertex.size()) - 1); }
  Outlines() {
    Stream s = stream(1000);
    for (int object = 0; object < 5; ++object) {
      for (int part = 0; part <= object % 3; ++part) {
        std::vector<float> xy;
        const int n = 5 + 37 * object;
        for (int i = 0; i < n; ++i) {
          const double angle = 2 * std::numbers::pi * i / n, radius = s.uniform(2, 20);
          xy.insert(xy.end(), {static_cast<float>(30 + 10 * part + radius * std::cos(angle)),
                                  static_cast<float>(30 + radius * std::sin(angle))});
        }
        polygon(xy);
      }
      end_object();
    }
    polygon({10.5f, 10.5f, 40.5f, 10.5f, 40.5f, 30.5f, 10.5f, 30.5f});
    polygon({1, 1, 2, 2});
    end_object();
    end_object();
  }
};

TEST(MaskTargets, Polygons_SameBits) {
  const Outlines o;
  Stream s = stream(1001);
  for (const int size : {28, 1, 7, 56})
    for (const std::int64_t rois : {14, 0}) {
      std::vector<float> boxes = boxes_in(s, rois, 60, 60, 0.2);
      const float odd[] = {10, 10, 40, 40, kNan, 10, 20, 20, -1e9f, 0, 1e9f, 50, 20, 20, 10, 10};
      if (rois > 8) std::copy_n(odd, 16, boxes.begin());
      std::vector<std::int32_t> object;
      for (std::int64_t r = 0; r < rois; ++r) object.push_back(static_cast<std::int32_t>(r % 8) - (r % 8 == 7 ? 8 : 0));
      std::vector<float> want(rois * size * size);
      const MaskTargetParams p{.rois = rois, .size = size};
      host::mask_targets_polygon(p, {o.object_polygon.data(), o.polygon_vertex.data(), o.vertices.data()},
          object.data(), boxes.data(), want.data());
      under_all_schedules([&] {
        auto polygon = input(o.object_polygon, "object_polygon"), vertex = input(o.polygon_vertex, "polygon_vertex"),
             own = input(object, "object");
        auto vertices = input(o.vertices, "vertices"), roi = input(boxes, "rois"),
             out = output<float>(std::ssize(want), "out");
        cuda::mask_targets_polygon(
            p, {polygon.get(), vertex.get(), vertices.get()}, own.get(), roi.get(), out.get(), nullptr);
        expect_same_bits(want, out, "target");
      });
      if (HasFatalFailure()) return;
    }
  EXPECT_THROW(cuda::mask_targets_polygon({.rois = 1, .size = 0}, {}, nullptr, nullptr, nullptr, nullptr), UsageError);
}

TEST(MaskTargets, Bitmaps_SameBits) {
  Stream s = stream(1010);
  // x0, y0, w, h of bitmaps in images of 70 x 90; one is empty, one a single pixel.
  const std::vector<std::int32_t> box{5, 3, 40, 33, 0, 0, 90, 70, 20, 20, 0, 0, 88, 69, 1, 1, 30, 10, 1, 50};
  std::vector<std::int64_t> offset;
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < box.size(); i += 4) {
    offset.push_back(std::ssize(bytes));
    for (int k = 0; k < box[i + 2] * box[i + 3]; ++k) bytes.push_back(s.below(3) == 0 ? 0 : 1);
  }
  for (const int size : {28, 1, 14, 130}) {
    const std::int64_t rois = size == 130 ? 2 : 13;
    std::vector<float> boxes = boxes_in(s, rois, 70, 90, 0.3);
    const float odd[] = {
        0, 0, 90, 70, kNan, 0, 20, 20, 0, 0, kInf, 5, -20, -20, 200, 300, 40, 40, 30, 30, 89, 69, 90, 70};
    if (rois > 6) std::copy_n(odd, 24, boxes.begin());
    std::vector<std::int32_t> object, height(rois, 70), width(rois, 90);
    for (std::int64_t r = 0; r < rois; ++r) object.push_back(static_cast<std::int32_t>(r % 6) - (r % 6 == 5 ? 6 : 0));
    std::vector<float> want(rois * size * size);
    const MaskTargetParams p{.rois = rois, .size = size, .longest_side = 90};
    host::mask_targets_bitmap(p,
        {bytes.data(), offset.data(), box.data(), object.data(), boxes.data(), height.data(), width.data()},
        want.data());
    under_all_schedules([&] {
      auto b = input(bytes, "bytes");
      auto o = input(offset, "bitmap_offset");
      auto at = input(box, "bitmap_box"), own = input(object, "object"), h = input(height, "image_height"),
           w = input(width, "image_width");
      auto roi = input(boxes, "rois"), out = output<float>(std::ssize(want), "out");
      cuda::mask_targets_bitmap(
          p, {b.get(), o.get(), at.get(), own.get(), roi.get(), h.get(), w.get()}, out.get(), nullptr);
      expect_same_bits(want, out, "target");
    });
    if (HasFatalFailure()) return;
  }
  EXPECT_THROW(
      cuda::mask_targets_bitmap({.rois = 1, .size = 28, .longest_side = 7000}, {}, nullptr, nullptr), UsageError);
}

// Changes of one mask, from the bitmap of paste_mask and the encoder that equals pycocotools.
std::vector<std::int32_t> changes_of(
    int size, const float* mask, const float* box, std::int64_t height, std::int64_t width) {
  std::vector<std::uint8_t> bits(height * width);
  std::int32_t touched[4] = {0, 0, 0, 0};
  if (std::all_of(box, box + 4, [](float v) { return std::fabs(v) < 1e8f; }))
    host::paste_mask(size, mask, box, height, width, touched, bits.data(), std::ssize(bits));
  std::vector<std::int32_t> changes;
  for (const std::uint32_t run :
      coco::encode_box(bits.data(), touched[0], touched[1], touched[2], touched[3], height, width).counts)
    changes.push_back((changes.empty() ? 0 : changes.back()) + static_cast<std::int32_t>(run));
  changes.pop_back();  // the image's end
  return changes;
}

TEST(MaskChanges, OddBoxes_EqualEncodedBitmaps) {
  Stream s = stream(1020);
  for (const int size : {28, 1, 5})
    for (const std::int64_t masks : {20, 0}) {
      std::vector<float> mask = uniform(s, masks * size * size, 0, 1);
      // Full masks too: their runs continue from one column into the next where a box reaches from the image's top to
      // its bottom.
      if (masks > 0) std::fill(mask.begin(), mask.begin() + 8 * size * size, 1.0f);
      std::vector<float> boxes = boxes_in(s, masks, 37, 51, 0.5);
      const float odd[] = {-30, -20, 100, 90, 0, 0, 51, 37, 10, -5, 20, 60, 30, 20, 80, 60, 10, 20, 30, 50, 60, 60, 70,
          70, kNan, 1, 2, 3, 5, 5, 5, 5, -40, -40, 300, 90, 20, 20, 51, 37, 49, 0, 60, 40, -10, 0, 4, 12, 0, 0, kInf,
          12, -kInf, 0, 9, 9, 1e8f, 0, 2e8f, 9};
      if (masks > 0) std::copy_n(odd, std::size(odd), boxes.begin());
      std::vector<std::int32_t> sizes, want, want_begin{0};
      for (std::int64_t i = 0; i < masks; ++i) {
        const std::int64_t height = i == 8 ? 5 : 37,
                           width = i == 8 ? 260 : 51;  // more columns than a block has threads
        sizes.insert(sizes.end(), {static_cast<std::int32_t>(height), static_cast<std::int32_t>(width)});
        const auto changes = changes_of(size, &mask[i * size * size], &boxes[4 * i], height, width);
        want.insert(want.end(), changes.begin(), changes.end());
        want_begin.push_back(static_cast<std::int32_t>(want.size()));
      }
      ASSERT_GE(std::ssize(want), masks * 5);
      under_all_schedules([&] {
        auto m = input(mask, "masks"), b = input(boxes, "boxes");
        auto extent = input(sizes, "image_size"), begin = output<std::int32_t>(masks + 1, "begin");
        const MaskChangesParams p{.size = size, .masks = masks};
        const MaskChangesIn in{m.get(), b.get(), extent.get()};
        cuda::count_mask_changes(p, in, begin.get(), nullptr);
        expect_same_bits(want_begin, begin, "begin");
        auto changes = output<std::int32_t>(begin[masks], "changes");
        cuda::write_mask_changes(p, in, begin.get(), changes.get(), nullptr);
        expect_same_bits(want, changes, "changes");
      });
    }
  EXPECT_THROW(cuda::count_mask_changes({.size = 0, .masks = 1}, {}, nullptr, nullptr), UsageError);
}

}  // namespace
}  // namespace ttt::kernels
