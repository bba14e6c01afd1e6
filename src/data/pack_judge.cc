#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "data/pack.h"
#include "data/shard_format.h"

namespace ttt::data {
namespace {

bool inside(double low, double high, double extent) {
  return low >= -kOutsideTolerance && high <= extent + kOutsideTolerance;  // false for NaN
}

bool is_inside(const coco::Annotation& a, const coco::Image& image) {
  if (!inside(a.bbox[0], a.bbox[0] + a.bbox[2], image.width) || !inside(a.bbox[1], a.bbox[1] + a.bbox[3], image.height))
    return false;
  if (const auto* polygons = std::get_if<std::vector<coco::Polygon>>(&a.segmentation))
    for (const coco::Polygon& p : *polygons)
      for (std::size_t v = 0; v + 1 < p.size(); v += 2)
        if (!inside(p[v], p[v], image.width) || !inside(p[v + 1], p[v + 1], image.height)) return false;
  return true;
}

// What cannot be repaired by cutting.
void refuse_nonsense(const coco::Annotation& a, const coco::Image& image) {
  const auto refuse = [&](const std::string& what) {
    throw DataError("Annotation " + std::to_string(a.id) + " of image " + std::to_string(image.id) + " " + what +
                    ": correct the annotations' file.");
  };
  if (!std::all_of(a.bbox.begin(), a.bbox.end(), [](double v) { return std::isfinite(v); }) || !std::isfinite(a.area))
    refuse("has a box or area that is not a finite number");
  if (a.area < 0 || a.area > 65535.0 * 65535.0) refuse("has an area that no image can have");
  if (a.bbox[2] < 0 || a.bbox[3] < 0) refuse("has a box of negative width or height");
  if (const auto* rle = std::get_if<coco::Rle>(&a.segmentation)) {
    if (rle->height != image.height || rle->width != image.width)
      refuse("has a mask of " + std::to_string(rle->height) + " x " + std::to_string(rle->width) +
             " pixels in an image of " + std::to_string(image.height) + " x " + std::to_string(image.width));
    std::uint64_t filled = 0;
    for (const std::uint32_t run : rle->counts) filled += run;
    if (filled != std::uint64_t{image.height} * image.width) refuse("has run lengths that do not fill its image");
  }
}

// False where nothing is left.
bool clip(coco::Annotation& a, const coco::Image& image) {
  const double W = image.width, H = image.height;
  const double x2 = std::clamp(a.bbox[0] + a.bbox[2], 0.0, W), y2 = std::clamp(a.bbox[1] + a.bbox[3], 0.0, H);
  a.bbox[0] = std::clamp(a.bbox[0], 0.0, W), a.bbox[1] = std::clamp(a.bbox[1], 0.0, H);
  a.bbox[2] = x2 - a.bbox[0], a.bbox[3] = y2 - a.bbox[1];
  if (auto* polygons = std::get_if<std::vector<coco::Polygon>>(&a.segmentation))
    for (coco::Polygon& p : *polygons)
      for (std::size_t v = 0; v + 1 < p.size(); v += 2) {
        p[v] = std::isfinite(p[v]) ? std::clamp(p[v], 0.0, W) : 0.0;
        p[v + 1] = std::isfinite(p[v + 1]) ? std::clamp(p[v + 1], 0.0, H) : 0.0;
      }
  return a.bbox[2] > 0 && a.bbox[3] > 0;
}

}  // namespace

JudgedAnnotations judge_annotations(
    const coco::Image& image, const std::vector<const coco::Annotation*>& annotations, const std::string& outside) {
  JudgedAnnotations out;
  for (const coco::Annotation* a : annotations) {
    refuse_nonsense(*a, image);
    if (is_inside(*a, image)) {
      out.kept.push_back(*a);
      continue;
    }
    if (outside == "error")
      throw DataError("Annotation " + std::to_string(a->id) + " leaves image " + std::to_string(image.id) + " (" +
                      std::to_string(image.width) + " x " + std::to_string(image.height) +
                      " pixels) by more than a pixel: correct it, or pack with --outside clip or --outside skip.");
    coco::Annotation cut = *a;
    if (outside == "clip" && clip(cut, image)) {
      out.kept.push_back(std::move(cut));
      ++out.clipped;
    } else {
      ++out.skipped;
    }
  }
  return out;
}

}  // namespace ttt::data
