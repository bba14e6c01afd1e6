#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "core/error.h"
#include "core/rng.h"
#include "data/shapes.h"
#include "data/shapes_outline.h"

namespace ttt::data {
namespace {

using Colour = std::array<double, 3>;

constexpr const char* kNames[kShapeKinds] = {
    "circle", "square", "triangle", "star", "cross", "ring", "half_disk", "hourglass", "arrow", "crescent"};

bool in_polygon(const double (*corner)[2], int corners, double x, double y) {
  bool inside = false;
  for (int i = 0, j = corners - 1; i < corners; j = i++)
    if ((corner[i][1] > y) != (corner[j][1] > y) &&
        x < (corner[j][0] - corner[i][0]) * (y - corner[i][1]) / (corner[j][1] - corner[i][1]) + corner[i][0])
      inside = !inside;
  return inside;
}

// Five points; corners alternate between radius 1 and 0.45.
struct Star {
  double corner[10][2];
  Star() {
    for (int i = 0; i < 10; ++i) {
      const double angle = std::numbers::pi * (i / 5.0 - 0.5), radius = i % 2 ? 0.45 : 1.0;
      corner[i][0] = radius * std::cos(angle), corner[i][1] = radius * std::sin(angle);
    }
  }
};

// Whether (x, y) lies in the shape, which fills about [-1, 1] x [-1, 1].
bool in_shape(int kind, double x, double y) {
  static constexpr double kTriangle[3][2] = {{0, -1}, {0.95, 0.8}, {-0.95, 0.8}};
  static constexpr double kHourglass[4][2] = {{-0.8, -1}, {0.8, -1}, {-0.8, 1}, {0.8, 1}};
  static constexpr double kArrow[7][2] = {
      {1, 0}, {0.1, -0.9}, {0.1, -0.35}, {-1, -0.35}, {-1, 0.35}, {0.1, 0.35}, {0.1, 0.9}};
  static const Star kStar;
  const double r2 = x * x + y * y;
  switch (kind) {
    case 0: return r2 <= 1;
    case 1: return std::abs(x) <= 0.88 && std::abs(y) <= 0.88;
    case 2: return in_polygon(kTriangle, 3, x, y);
    case 3: return in_polygon(kStar.corner, 10, x, y);
    case 4: return std::max(std::abs(x), std::abs(y)) <= 1 && std::min(std::abs(x), std::abs(y)) <= 0.33;
    case 5: return r2 <= 1 && r2 >= 0.3;
    case 6: return r2 <= 1 && y <= 0.1;
    case 7: return in_polygon(kHourglass, 4, x, y);
    case 8: return in_polygon(kArrow, 7, x, y);
    default: return r2 <= 1 && (x - 0.55) * (x - 0.55) + y * y >= 0.6;
  }
}

struct Shape {
  int kind = 0;
  double x = 0, y = 0, radius = 0, angle = 0;
  Colour colour{};
};

// How much of the pixel at (row, column) the shape covers, of 3 x 3 sample points; the middle one decides the mask.
struct Coverage {
  double share;
  bool middle;
};
Coverage coverage(const Shape& s, std::int32_t row, std::int32_t column, double cosine, double sine) {
  int hits = 0;
  bool middle = false;
  for (int i = 0; i < 9; ++i) {
    const double dx = (column + (i % 3 + 0.5) / 3 - s.x) / s.radius, dy = (row + (i / 3 + 0.5) / 3 - s.y) / s.radius;
    const bool hit = in_shape(s.kind, cosine * dx + sine * dy, cosine * dy - sine * dx);
    hits += hit;
    if (i == 4) middle = hit;
  }
  return {hits / 9.0, middle};
}

class Canvas {
 public:
  struct Extent {
    std::int32_t height = 0, width = 0;
  };
  Canvas(Extent extent, std::int32_t size)
      : extent_(extent), size_(size), colour_(static_cast<std::size_t>(extent.height) * extent.width * 3),
        owner_(static_cast<std::size_t>(extent.height) * extent.width, -1) {}
  Extent extent() const { return extent_; }

  // Two muted colours that flow into each other over patches of an eighth of the longer side, and grain on top.
  void ground(Stream& draw) {
    constexpr int kGrid = 8;
    double patch[kGrid + 1][kGrid + 1];
    for (auto& line : patch)
      for (double& p : line) p = draw.uniform();
    Colour low{}, high{};
    const double level = draw.uniform(70, 170);
    for (int c = 0; c < 3; ++c) low[c] = level + draw.uniform(-25, 25), high[c] = level + draw.uniform(-25, 25);
    for (int c = 0; c < 3; ++c) mean_[c] = (low[c] + high[c]) / 2;
    for (std::int32_t y = 0; y < extent_.height; ++y)
      for (std::int32_t x = 0; x < extent_.width; ++x) {
        const double u = static_cast<double>(x) * kGrid / size_, v = static_cast<double>(y) * kGrid / size_;
        const int i = static_cast<int>(v), j = static_cast<int>(u);
        const double t = (patch[i][j] * (j + 1 - u) + patch[i][j + 1] * (u - j)) * (i + 1 - v) +
                         (patch[i + 1][j] * (j + 1 - u) + patch[i + 1][j + 1] * (u - j)) * (v - i);
        for (int c = 0; c < 3; ++c) colour_[3 * at(y, x) + c] = low[c] + (high[c] - low[c]) * t;
      }
  }

  // Far from the ground: Euclidean distance of at least 100 in RGB, for any level of the ground reachable.
  Colour contrasting_colour(Stream& draw) const {
    for (;;) {
      Colour colour{};
      double distance = 0;
      for (int c = 0; c < 3; ++c)
        colour[c] = draw.uniform(10, 245), distance += (colour[c] - mean_[c]) * (colour[c] - mean_[c]);
      if (distance >= 100 * 100) return colour;
    }
  }

  // Pixels of the mask that `s` would have.
  std::vector<std::int32_t> pixels_of(const Shape& s) const {
    std::vector<std::int32_t> pixels;
    visit(s, [&](std::int32_t index, const Coverage& c) {
      if (c.middle) pixels.push_back(index);
    });
    return pixels;
  }

  void paint(const Shape& s, std::int32_t owner) {
    visit(s, [&](std::int32_t index, const Coverage& c) {
      for (int k = 0; k < 3; ++k) colour_[3 * index + k] += (s.colour[k] - colour_[3 * index + k]) * c.share;
      if (c.middle) owner_[index] = owner;
    });
  }

  std::int32_t owner(std::int32_t index) const { return owner_[index]; }

  Bitmap mask(std::int32_t owner) const {
    Bitmap out{extent_.height, extent_.width, std::vector<std::uint8_t>(owner_.size())};
    for (std::size_t i = 0; i < owner_.size(); ++i) out.bits[i] = owner_[i] == owner;
    return out;
  }

  RgbImage develop(Stream& draw) const {
    RgbImage out{extent_.height, extent_.width, std::vector<std::uint8_t>(colour_.size())};
    for (std::size_t i = 0; i < colour_.size(); ++i)
      out.pixels[i] = static_cast<std::uint8_t>(std::clamp(std::lround(colour_[i] + draw.uniform(-12, 12)), 0l, 255l));
    return out;
  }

 private:
  std::int32_t at(std::int32_t y, std::int32_t x) const { return y * extent_.width + x; }

  template <class F> void visit(const Shape& s, F&& f) const {
    const double cosine = std::cos(s.angle), sine = std::sin(s.angle), reach = s.radius * 1.45;
    const auto low = [](double v) { return std::max(0, static_cast<std::int32_t>(std::floor(v))); };
    const auto high = [](double v, std::int32_t end) {
      return std::min(end, static_cast<std::int32_t>(std::ceil(v)) + 1);
    };
    for (std::int32_t y = low(s.y - reach); y < high(s.y + reach, extent_.height); ++y)
      for (std::int32_t x = low(s.x - reach); x < high(s.x + reach, extent_.width); ++x) {
        const Coverage c = coverage(s, y, x, cosine, sine);
        if (c.share > 0) f(at(y, x), c);
      }
  }

  Extent extent_;
  std::int32_t size_;  // the longer side
  std::vector<double> colour_;
  std::vector<std::int32_t> owner_;  // annotation whose pixel it is; -1 ground
  Colour mean_{};
};

class Scene {
 public:
  Scene(const ShapesSettings& settings, int split, std::int64_t index)
      : settings_(settings), draw_(random_bits(settings.seed, Purpose::kShapes, static_cast<std::uint64_t>(split),
                                 static_cast<std::uint64_t>(index))),
        canvas_(extent(settings, draw_), static_cast<std::int32_t>(settings.size)),
        scale_(static_cast<double>(settings.size) / 128) {
    canvas_.ground(draw_);
    const bool crowded = draw_.uniform() < 0.02;
    if (crowded) crowd();
    // One image in eight has an object of COCO's size "large": more than 96 x 96 pixels of an image of 128 x 128.
    const bool large = draw_.uniform() < 0.125 && !crowded;  // there is no room for both
    const auto objects = static_cast<int>(1 + draw_.below(large ? 3 : 6));
    for (int i = 0; i < objects; ++i) place(large && i == 0);
  }

  std::size_t annotations() const { return kind_.size(); }
  int kind(std::size_t i) const { return kind_[i]; }
  bool is_crowd(std::size_t i) const { return crowd_[i]; }
  Bitmap mask(std::size_t i) const { return canvas_.mask(static_cast<std::int32_t>(i)); }
  Stream& draw() { return draw_; }
  RgbImage develop() { return canvas_.develop(draw_); }
  Canvas::Extent extent() const { return canvas_.extent(); }

 private:
  static Canvas::Extent extent(const ShapesSettings& settings, Stream& draw) {
    const auto side = static_cast<std::int32_t>(settings.size);
    if (settings.aspects == "square") return {side, side};
    return draw.uniform() < 0.5 ? Canvas::Extent{side * 3 / 4, side} : Canvas::Extent{side, side * 3 / 4};
  }
  void add(int kind, bool crowd, std::size_t pixels) {
    kind_.push_back(kind), crowd_.push_back(crowd), total_.push_back(pixels);
    hidden_.push_back(0);
  }

  Shape random_shape(bool large) {
    Shape s;
    // Only circles and squares can cover that much.
    s.kind = static_cast<int>(draw_.below(large ? 2 : static_cast<std::uint64_t>(settings_.classes)));
    // Half of the objects are of COCO's size "small" (under 32 x 32 pixels), half "medium".
    s.radius = scale_ * (large                      ? draw_.uniform(57, 62)
                            : draw_.uniform() < 0.5 ? draw_.uniform(8.5, 15)
                                                    : draw_.uniform(18, 34));
    // A square that may stand on its corner would be a diamond; turned by little it stays what it is.
    s.angle = s.kind == 1 ? draw_.uniform(-0.2, 0.2) : draw_.uniform(0, 2 * std::numbers::pi);
    if (large) s.angle = 0;
    const auto place = [&](std::int32_t side) {
      const double margin = std::min(s.radius * 0.95, side / 2.0);
      return draw_.uniform(margin, static_cast<double>(side) - margin);
    };
    s.x = place(canvas_.extent().width);
    s.y = place(canvas_.extent().height);
    return s;
  }

  // Tries until no earlier object loses more than 30 % of its pixels in all, and none that is a crowd any.
  void place(bool large) {
    for (int attempt = 0; attempt < 24; ++attempt) {
      Shape s = random_shape(large);
      s.colour = canvas_.contrasting_colour(draw_);
      const std::vector<std::int32_t> pixels = canvas_.pixels_of(s);
      std::vector<std::size_t> hidden = hidden_;
      for (const std::int32_t p : pixels)
        if (canvas_.owner(p) >= 0) ++hidden[canvas_.owner(p)];
      bool fits = !pixels.empty();
      for (std::size_t i = 0; i < hidden.size(); ++i)
        fits &= hidden[i] * 10 <= total_[i] * 3 && !(crowd_[i] && hidden[i] > 0);
      if (!fits) continue;
      hidden_ = hidden;
      canvas_.paint(s, static_cast<std::int32_t>(kind_.size()));
      add(s.kind, false, pixels.size());
      return;
    }
  }

  // Many small shapes of one kind close together, annotated as one region.
  void crowd() {
    const auto kind = static_cast<int>(draw_.below(static_cast<std::uint64_t>(settings_.classes)));
    const double x = draw_.uniform(0.25, 0.75) * canvas_.extent().width,
                 y = draw_.uniform(0.25, 0.75) * canvas_.extent().height;
    const Colour colour = canvas_.contrasting_colour(draw_);
    const int members = static_cast<int>(8 + draw_.below(7));
    for (int i = 0; i < members; ++i) {
      const double angle = draw_.uniform(0, 2 * std::numbers::pi), away = draw_.uniform(0, 20) * scale_;
      canvas_.paint(
          {kind, x + away * std::cos(angle), y + away * std::sin(angle), draw_.uniform(3.5, 5.5) * scale_, 0.0, colour},
          0);
    }
    add(kind, true, 0);
  }

  const ShapesSettings& settings_;
  Stream draw_;
  Canvas canvas_;
  double scale_;
  std::vector<int> kind_;
  std::vector<bool> crowd_;
  std::vector<std::size_t> total_, hidden_;  // pixels when painted, and since covered
};

coco::Annotation annotate(const Bitmap& mask, bool run_lengths) {
  coco::Annotation a;
  const coco::Rle rle = coco::encode_box(mask.bits.data(), 0, 0, mask.width, mask.height,
      static_cast<std::uint32_t>(mask.height), static_cast<std::uint32_t>(mask.width));
  // coco::bounding_box would give a mask that touches the lower border and, one column on, the upper one full height.
  std::int32_t x1 = mask.width, y1 = mask.height, x2 = 0, y2 = 0;
  for (std::int32_t y = 0; y < mask.height; ++y)
    for (std::int32_t x = 0; x < mask.width; ++x)
      if (mask.at(y, x)) x1 = std::min(x1, x), y1 = std::min(y1, y), x2 = std::max(x2, x + 1), y2 = std::max(y2, y + 1);
  a.bbox = {
      static_cast<double>(x1), static_cast<double>(y1), static_cast<double>(x2 - x1), static_cast<double>(y2 - y1)};
  a.area = static_cast<double>(coco::area(rle));
  const auto polygons = run_lengths ? std::nullopt : outline(mask);
  if (polygons) {
    a.segmentation = *polygons;
  } else {
    a.segmentation = rle;
  }
  return a;
}

}  // namespace

std::vector<coco::Category> shape_categories(std::int64_t classes) {
  std::vector<coco::Category> out;
  for (std::int64_t k = 0; k < classes; ++k) out.push_back({k + 1, kNames[k]});
  return out;
}

ShapesImage draw_shapes(const ShapesSettings& settings, int split, std::int64_t index) {
  if (settings.classes < 1 || settings.classes > kShapeKinds || settings.size < 64 || settings.size > 4096)
    throw UsageError("make_shapes draws 1 to " + std::to_string(kShapeKinds) +
                     " classes in images of 64 to 4096 pixels: change classes or size.");
  if (settings.aspects != "square" && settings.aspects != "mixed")
    throw UsageError(
        "make_shapes knows the aspects square and mixed, not '" + settings.aspects + "': choose one of them.");
  Scene scene(settings, split, index);
  ShapesImage out;
  // Ids of the two splits do not meet, as in COCO.
  out.info.id = index + 1 + (split == 0 ? 0 : 1'000'000);
  out.info.height = static_cast<std::uint32_t>(scene.extent().height),
  out.info.width = static_cast<std::uint32_t>(scene.extent().width);
  char name[32];
  std::snprintf(name, sizeof(name), "%012lld.jpg", static_cast<long long>(out.info.id));
  out.info.file_name = name;
  for (std::size_t i = 0; i < scene.annotations(); ++i) {
    const bool run_lengths = scene.is_crowd(i) || scene.draw().below(8) == 0;
    coco::Annotation a = annotate(scene.mask(i), run_lengths);
    a.id = out.info.id * 16 + static_cast<std::int64_t>(i) + 1;
    a.image_id = out.info.id, a.category_id = scene.kind(i) + 1, a.iscrowd = scene.is_crowd(i);
    out.annotations.push_back(std::move(a));
  }
  out.pixels = scene.develop();
  return out;
}

}  // namespace ttt::data
