#include "data/shard_format.h"

#include <algorithm>
#include <cmath>

#include "core/crc32c.h"
#include "core/error.h"

namespace ttt::data {
namespace {

template <class T> bool starts_are_sound(const std::vector<T>& starts, std::size_t items, std::size_t end) {
  return starts.size() == items + 1 && starts.front() == 0 && starts.back() == end &&
         std::is_sorted(starts.begin(), starts.end());
}

// NaN is outside. The rasteriser's integers are sized for coordinates of an image.
bool is_inside(double v, double extent) { return v >= -kOutsideTolerance && v <= extent + kOutsideTolerance; }

}  // namespace

std::uint32_t index_crc32c(const ShardIndex& index) {
  std::uint32_t crc = 0;
  for_each_array(index,
      [&](const char*, const auto& array, int) { crc = crc32c(array.data(), array.size() * sizeof(array[0]), crc); });
  for (const std::string& name : index.category_name) crc = crc32c(name.c_str(), name.size() + 1, crc);
  return crc;
}

void check_index(const ShardIndex& s, std::uint64_t total_bytes, const std::string& path) {
  const auto refuse = [&](const std::string& what) {
    throw DataError(
        "The index of " + path + " contradicts itself (" + what + "): the file is damaged; copy or pack it again.");
  };
  const std::size_t n = s.image_id.size(), m = s.ann_id.size();
  if (s.offset.size() != n || s.length.size() != n || s.crc32c.size() != n || s.width.size() != n ||
      s.height.size() != n)
    refuse("/img");
  if (!starts_are_sound(s.ann_start, n, m)) refuse("/ann/start");
  if (s.category.size() != m || s.bbox.size() != 4 * m || s.area.size() != m || s.iscrowd.size() != m ||
      s.rle_hw.size() != 2 * m)
    refuse("/ann");
  if (s.poly_start.empty() || !starts_are_sound(s.poly_ann_start, m, s.poly_start.size() - 1))
    refuse("/poly/ann_start");
  if (s.poly_xy.size() % 2 != 0 || !starts_are_sound(s.poly_start, s.poly_start.size() - 1, s.poly_xy.size() / 2))
    refuse("/poly/start");
  if (!starts_are_sound(s.rle_ann_start, m, s.rle_counts.size())) refuse("/rle/ann_start");
  if (s.category_id.size() > 256 || s.category_name.size() != s.category_id.size() ||
      std::adjacent_find(s.category_id.begin(), s.category_id.end(), std::greater_equal<>()) != s.category_id.end())
    refuse("/category");
  for (std::size_t i = 0; i < n; ++i) {
    if (s.offset[i] > total_bytes || s.length[i] > total_bytes - s.offset[i])
      refuse("record " + std::to_string(i) + " lies outside /bytes");
    if (s.width[i] == 0 || s.height[i] == 0) refuse("record " + std::to_string(i) + " has no pixels");
  }
  for (std::size_t a = 0; a < m; ++a) {
    if (s.category[a] >= s.category_id.size()) refuse("annotation " + std::to_string(s.ann_id[a]) + " has no category");
    if (!std::all_of(&s.bbox[4 * a], &s.bbox[4 * a] + 4, [](double v) { return std::isfinite(v); }))
      refuse("annotation " + std::to_string(s.ann_id[a]) + " has a box that is not finite");
  }
  // What rasterises and decodes masks may rely on this: vertices near the image, runs that fill it exactly.
  for (std::size_t i = 0; i < n; ++i)
    for (std::uint32_t a = s.ann_start[i]; a < s.ann_start[i + 1]; ++a) {
      for (std::uint32_t v = s.poly_start[s.poly_ann_start[a]]; v < s.poly_start[s.poly_ann_start[a + 1]]; ++v)
        if (!is_inside(s.poly_xy[2 * v], s.width[i]) || !is_inside(s.poly_xy[2 * v + 1], s.height[i]))
          refuse("a vertex of annotation " + std::to_string(s.ann_id[a]) + " lies outside its image");
      if (s.rle_ann_start[a] == s.rle_ann_start[a + 1]) continue;
      std::uint64_t filled = 0;
      for (std::uint32_t r = s.rle_ann_start[a]; r < s.rle_ann_start[a + 1]; ++r) filled += s.rle_counts[r];
      const std::uint64_t h = s.rle_hw[2 * a], w = s.rle_hw[2 * a + 1];
      if (h != s.height[i] || w != s.width[i] || filled != h * w)
        refuse("the runs of annotation " + std::to_string(s.ann_id[a]) + " do not fill its image");
    }
}

void append_image(ShardIndex& s, const coco::Image& image, const std::vector<const coco::Annotation*>& annotations) {
  if (s.ann_start.empty()) s.ann_start = s.poly_ann_start = s.poly_start = s.rle_ann_start = {0};
  s.image_id.push_back(image.id);
  s.width.push_back(static_cast<std::uint16_t>(image.width));
  s.height.push_back(static_cast<std::uint16_t>(image.height));
  for (const coco::Annotation* a : annotations) {
    const auto category = std::lower_bound(s.category_id.begin(), s.category_id.end(), a->category_id);
    s.ann_id.push_back(a->id);
    s.category.push_back(static_cast<std::uint8_t>(category - s.category_id.begin()));
    s.bbox.insert(s.bbox.end(), a->bbox.begin(), a->bbox.end());
    s.area.push_back(a->area);
    s.iscrowd.push_back(a->iscrowd);
    std::uint16_t hw[2] = {0, 0};
    if (const auto* polygons = std::get_if<std::vector<coco::Polygon>>(&a->segmentation)) {
      for (const coco::Polygon& p : *polygons) {
        // COCO ignores a last odd number
        s.poly_xy.insert(s.poly_xy.end(), p.begin(), p.end() - static_cast<long>(p.size() % 2));
        s.poly_start.push_back(static_cast<std::uint32_t>(s.poly_xy.size() / 2));
      }
    } else if (const auto* rle = std::get_if<coco::Rle>(&a->segmentation)) {
      s.rle_counts.insert(s.rle_counts.end(), rle->counts.begin(), rle->counts.end());
      hw[0] = static_cast<std::uint16_t>(rle->height), hw[1] = static_cast<std::uint16_t>(rle->width);
    }
    s.rle_hw.insert(s.rle_hw.end(), hw, hw + 2);
    s.poly_ann_start.push_back(static_cast<std::uint32_t>(s.poly_start.size() - 1));
    s.rle_ann_start.push_back(static_cast<std::uint32_t>(s.rle_counts.size()));
  }
  s.ann_start.push_back(static_cast<std::uint32_t>(s.ann_id.size()));
}

std::vector<coco::Polygon> polygons_at(const ShardIndex& s, std::int64_t a) {
  std::vector<coco::Polygon> polygons;
  for (std::uint32_t p = s.poly_ann_start[a]; p < s.poly_ann_start[a + 1]; ++p)
    polygons.emplace_back(s.poly_xy.begin() + 2 * s.poly_start[p], s.poly_xy.begin() + 2 * s.poly_start[p + 1]);
  return polygons;
}

coco::Rle rle_at(const ShardIndex& s, std::int64_t a) {
  return {s.rle_hw[2 * a], s.rle_hw[2 * a + 1],
      {s.rle_counts.begin() + s.rle_ann_start[a], s.rle_counts.begin() + s.rle_ann_start[a + 1]}};
}

coco::Annotation annotation_at(const ShardIndex& s, std::int64_t a, std::int64_t image_id) {
  coco::Annotation out;
  out.id = s.ann_id[a], out.image_id = image_id, out.category_id = s.category_id[s.category[a]];
  std::copy_n(&s.bbox[4 * a], 4, out.bbox.begin());
  out.area = s.area[a], out.iscrowd = s.iscrowd[a] != 0;
  if (s.poly_ann_start[a] != s.poly_ann_start[a + 1]) {
    out.segmentation = polygons_at(s, a);
  } else if (s.rle_ann_start[a] != s.rle_ann_start[a + 1]) {
    out.segmentation = rle_at(s, a);
  }
  return out;
}

}  // namespace ttt::data
