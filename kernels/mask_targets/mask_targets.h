// Targets of the mask head (He et al. 2017, section 3): the matched object's mask inside each positive RoI.
#pragma once

#include "kernels/common/operation.h"

namespace ttt::kernels {

struct MaskTargetParams {
  std::int64_t rois = 0;
  int size = 28;
  // Bitmaps on a device: bound of any bitmap's sides [pixel]; weights of its rows and columns fill shared memory, which
  // takes 6000. The reference implementation does not read it.
  std::int64_t longest_side = 0;
};

struct BitmapTargetsIn {
  const std::uint8_t* bytes;          // bitmaps of 0 and 1
  const std::int64_t* bitmap_offset;  // [objects] into bytes
  const std::int32_t* bitmap_box;     // [objects, 4] x0, y0, w, h
  const std::int32_t* object;         // [R] index of the object, negative: zeros
  const float* rois;                  // [R, 4]
  // [R] extent of the bitmap's image: samples beyond it are treated as RoIAlign treats the border.
  const std::int32_t *image_height, *image_width;
};

// Outlines of objects, as in data/host_batch.h. Its members are device pointers on a device.
struct PolygonView {
  const std::int32_t* object_polygon;  // [objects + 1] into polygon_vertex
  const std::int32_t* polygon_vertex;  // [polygons + 1] into vertices
  const float* vertices;               // [vertices, 2] x, y
};

// bitmap: torchvision's project_masks_on_boxes, which is RoIAlign (adaptive sampling, not aligned) of the whole image's
// bitmap.
// polygon: MLPerf's reference. An object's polygons are moved by -(x1, y1) of the RoI, scaled by size / max(side, 1) in
// float32, filled by COCO's rule (pycocotools' frPoly) on a size x size grid and united: 0 or 1. Polygons of fewer than
// three vertices are skipped.
//   in:  object and rois as above
//   out: out [R, size, size]
namespace host {
void mask_targets_bitmap(const MaskTargetParams& p, const BitmapTargetsIn& in, float* out, ThreadPool* pool = nullptr);
void mask_targets_polygon(const MaskTargetParams& p, const PolygonView& polygons, const std::int32_t* object,
                          const float* rois, float* out, ThreadPool* pool = nullptr);
}  // namespace host
namespace cuda {
void mask_targets_bitmap(const MaskTargetParams& p, const BitmapTargetsIn& in, float* out, cudaStream_t stream);
void mask_targets_polygon(const MaskTargetParams& p, const PolygonView& polygons, const std::int32_t* object,
                          const float* rois, float* out, cudaStream_t stream);
}  // namespace cuda

}  // namespace ttt::kernels
