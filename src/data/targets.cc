#include "data/targets.h"

#include <algorithm>
#include <cmath>

namespace ttt::data {
namespace {

// Source position of every output position, as torch's upsample_nearest finds it in float32.
std::vector<std::int32_t> nearest_sources(std::int32_t in, std::int32_t out) {
  std::vector<std::int32_t> source(static_cast<std::size_t>(out));
  const float scale = static_cast<float>(in) / static_cast<float>(out);
  for (std::int32_t i = 0; i < out; ++i)
    source[i] = in == out ? i : std::min(static_cast<std::int32_t>(std::floor(static_cast<float>(i) * scale)), in - 1);
  return source;
}

// The outputs [first, end) whose source lies in [low, high).
std::pair<std::int32_t, std::int32_t> outputs_of(
    const std::vector<std::int32_t>& source, std::int32_t low, std::int32_t high) {
  const auto first = std::lower_bound(source.begin(), source.end(), low),
             end = std::lower_bound(first, source.end(), high);
  return {static_cast<std::int32_t>(first - source.begin()), static_cast<std::int32_t>(end - source.begin())};
}

class Maker {
 public:
  Maker(const TargetGeometry& g, ImageTargets& out)
      : g_(g), out_(out), columns_(nearest_sources(g.in.width, g.out.width)),
        lines_(nearest_sources(g.in.height, g.out.height)) {
    ratio_x_ = static_cast<float>(g.out.width) / static_cast<float>(g.in.width);
    ratio_y_ = static_cast<float>(g.out.height) / static_cast<float>(g.in.height);
  }

  // False where nothing is left of it.
  bool box(const double* xywh) {
    float x1, y1, x2, y2;
    if (g_.legacy) {
      const auto w = static_cast<float>(xywh[2]), h = static_cast<float>(xywh[3]);
      x1 = static_cast<float>(xywh[0]), y1 = static_cast<float>(xywh[1]);
      x2 = x1 + std::max(w - 1.0f, 0.0f), y2 = y1 + std::max(h - 1.0f, 0.0f);
    } else {
      x1 = static_cast<float>(xywh[0]), y1 = static_cast<float>(xywh[1]);
      x2 = static_cast<float>(xywh[0] + xywh[2]), y2 = static_cast<float>(xywh[1] + xywh[3]);
    }
    const float right = static_cast<float>(g_.in.width - (g_.legacy ? 1 : 0)),
                bottom = static_cast<float>(g_.in.height - (g_.legacy ? 1 : 0));
    x1 = std::clamp(x1, 0.0f, right), x2 = std::clamp(x2, 0.0f, right);
    y1 = std::clamp(y1, 0.0f, bottom), y2 = std::clamp(y2, 0.0f, bottom);
    if (!(x2 > x1 && y2 > y1)) return false;
    x1 *= ratio_x_, x2 *= ratio_x_, y1 *= ratio_y_, y2 *= ratio_y_;
    if (g_.flip) {
      const float left = mirror(x2);
      x2 = mirror(x1), x1 = left;
    }
    out_.box.insert(out_.box.end(), {x1, y1, x2, y2});
    return true;
  }

  void polygons(const std::vector<coco::Polygon>& polygons) {
    out_.polygons.push_back(static_cast<std::int32_t>(polygons.size()));
    for (const coco::Polygon& p : polygons) {
      out_.vertices.push_back(static_cast<std::int32_t>(p.size() / 2));
      for (std::size_t v = 0; v + 1 < p.size(); v += 2) {
        const float x = static_cast<float>(p[v]) * ratio_x_;
        out_.xy.push_back(g_.flip ? mirror(x) : x);
        out_.xy.push_back(static_cast<float>(p[v + 1]) * ratio_y_);
      }
    }
  }

  void empty_bitmap() { out_.bitmap_box.insert(out_.bitmap_box.end(), {0, 0, 0, 0}); }
  void bitmap(const coco::Rle& mask) {
    const std::array<double, 4> extent = coco::bounding_box(mask);
    const auto x = static_cast<std::int32_t>(extent[0]), y = static_cast<std::int32_t>(extent[1]);
    const auto w = static_cast<std::int32_t>(extent[2]), h = static_cast<std::int32_t>(extent[3]);
    if (w <= 0 || h <= 0) return empty_bitmap();
    crop_.resize(static_cast<std::size_t>(w) * h);
    coco::decode_box(mask, x, y, w, h, crop_.data());
    auto [left, right] = outputs_of(columns_, x, x + w);
    auto [top, bottom] = outputs_of(lines_, y, y + h);
    // Shrinking may step over the outermost pixels: tighten until each side has one.
    const auto hit = [&](std::int32_t u, std::int32_t v) {
      return crop_[static_cast<std::size_t>(lines_[v] - y) * w + (columns_[u] - x)] != 0;
    };
    const auto line_hit = [&, &left = left, &right = right](std::int32_t v) {
      for (std::int32_t u = left; u < right; ++u)
        if (hit(u, v)) return true;
      return false;
    };
    const auto column_hit = [&, &top = top, &bottom = bottom](std::int32_t u) {
      for (std::int32_t v = top; v < bottom; ++v)
        if (hit(u, v)) return true;
      return false;
    };
    while (top < bottom && !line_hit(top)) ++top;
    while (top < bottom && !line_hit(bottom - 1)) --bottom;
    if (top >= bottom) return empty_bitmap();
    while (!column_hit(left)) ++left;
    while (!column_hit(right - 1)) --right;
    place_bitmap(left, top, right - left, bottom - top, x, y, w);
  }

 private:
  float mirror(float x) const {
    return g_.legacy ? static_cast<float>(g_.out.width) - x - 1.0f : static_cast<float>(g_.out.width) - x;
  }

  void place_bitmap(std::int32_t left, std::int32_t top, std::int32_t width, std::int32_t height, std::int32_t x,
      std::int32_t y, std::int32_t w) {
    out_.bitmap_box.insert(out_.bitmap_box.end(), {g_.flip ? g_.out.width - left - width : left, top, width, height});
    const std::size_t begin = out_.bitmap_bytes.size();
    out_.bitmap_bytes.resize(begin + static_cast<std::size_t>(width) * height);
    std::uint8_t* to = out_.bitmap_bytes.data() + begin;
    for (std::int32_t v = top; v < top + height; ++v, to += width) {
      if (v > top && lines_[v] == lines_[v - 1]) {
        std::copy(to - width, to, to);
        continue;
      }
      const std::uint8_t* from = crop_.data() + static_cast<std::size_t>(lines_[v] - y) * w;
      for (std::int32_t u = 0; u < width; ++u) to[g_.flip ? width - 1 - u : u] = from[columns_[left + u] - x];
    }
  }

  const TargetGeometry& g_;
  ImageTargets& out_;
  std::vector<std::int32_t> columns_, lines_;
  float ratio_x_, ratio_y_;
  std::vector<std::uint8_t> crop_;
};

}  // namespace

void ImageTargets::clear() {
  box.clear(), label.clear(), polygons.clear(), vertices.clear(), xy.clear(), bitmap_box.clear(), bitmap_bytes.clear();
}

void make_targets(const ShardIndex& index, std::int64_t record, const TargetGeometry& geometry, ImageTargets& out) {
  out.clear();
  Maker maker(geometry, out);
  const auto height = static_cast<std::uint32_t>(geometry.in.height),
             width = static_cast<std::uint32_t>(geometry.in.width);
  for (std::uint32_t a = index.ann_start[record]; a < index.ann_start[record + 1]; ++a) {
    if (index.iscrowd[a] || !maker.box(&index.bbox[4 * a])) continue;
    out.label.push_back(index.category[a] + 1);
    const std::vector<coco::Polygon> polygons = polygons_at(index, a);
    maker.polygons(polygons);
    if (!geometry.bitmaps) {
      maker.empty_bitmap();
    } else if (!polygons.empty()) {
      maker.bitmap(coco::rasterize(polygons, height, width));
    } else {
      coco::Rle mask = rle_at(index, a);
      if (mask.counts.empty()) mask = {height, width, {height * width}};  // a box without a mask
      maker.bitmap(mask);
    }
  }
}

}  // namespace ttt::data
