// What parity.py asks the input path: prints arrays as lines "name type dims..." followed by their bytes.
//   data_probe batch FOLDER SPLIT BATCHES PER_RANK SEED [key=value...]   training batches 0, 1, ...
//   data_probe size HEIGHT WIDTH [key=value...]
//   data_probe decode FILE SHRINK
//   data_probe truth FOLDER SPLIT                                        the rebuilt data set as JSON
//   data_probe order FOLDER SPLIT RANK RANKS GLOBAL_BATCH FIRST BATCHES [key=value...]    image ids and flips
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "data/loader.h"

namespace {

using namespace ttt;
using namespace ttt::data;

struct Assign {
  std::string key, value;
  bool done = false;
  template <class T> void operator()(const char* name, T& field, const char*, const Limits& = {}) {
    if (key != name) return;
    done = true;
    if constexpr (std::is_same_v<T, bool>) field = value == "true";
    if constexpr (std::is_same_v<T, std::string>) field = value;
    if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::int64_t>)
      field = static_cast<T>(std::stod(value));
    if constexpr (std::is_same_v<T, std::vector<double>>) {
      field.clear();
      std::istringstream list(value);
      for (std::string item; std::getline(list, item, ',');) field.push_back(std::stod(item));
    }
  }
};

DataSettings settings_of(int argc, char** argv, int from) {
  DataSettings s;
  for (int i = from; i < argc; ++i) {
    const std::string text = argv[i];
    Assign assign{text.substr(0, text.find('=')), text.substr(text.find('=') + 1)};
    DataSettings::fields(s, assign);
    if (!assign.done) throw UsageError("no setting " + assign.key);
  }
  return s;
}

template <class T, class Memory>
void put(const std::string& name, const std::vector<T, Memory>& values, std::initializer_list<std::int64_t> dims) {
  const char type = std::is_same_v<T, float>          ? 'f'
                    : std::is_same_v<T, std::int32_t> ? 'i'
                    : std::is_same_v<T, std::int64_t> ? 'l'
                                                      : 'b';
  std::cout << name << ' ' << type;
  for (const std::int64_t d : dims) std::cout << ' ' << d;
  std::cout << '\n';
  std::cout.write(
      reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
}

std::int64_t number(const char* text) { return std::stoll(text); }
std::int64_t length(const auto& v) { return static_cast<std::int64_t>(v.size()); }

void batch(int argc, char** argv) {
  const DataSettings settings = settings_of(argc, argv, 7);
  const ShardSet set(argv[2], argv[3]);
  auto order = std::make_shared<TrainOrder>(set, settings,
      OrderSettings{.seed = static_cast<std::uint64_t>(number(argv[6])), .global_batch = number(argv[5])});
  Loader loader(set, settings, order);
  for (std::int64_t b = 0; b < number(argv[4]); ++b) {
    const HostBatch& h = *loader.next();
    const std::string p = std::to_string(b) + ".";
    put(p + "images", h.images, {h.images_n, h.height, h.width, 3});
    put(p + "image_size", h.image_size, {h.images_n, 2});
    put(p + "original_size", h.original_size, {h.images_n, 2});
    put(p + "image_id", h.image_id, {h.images_n});
    put(p + "flipped", h.flipped, {h.images_n});
    put(p + "gt_box", h.gt_box, {h.images_n, h.gt_capacity, 4});
    put(p + "gt_label", h.gt_label, {h.images_n, h.gt_capacity});
    put(p + "gt_count", h.gt_count, {h.images_n});
    put(p + "object_polygon", h.masks.object_polygon, {length(h.masks.object_polygon)});
    put(p + "polygon_vertex", h.masks.polygon_vertex, {length(h.masks.polygon_vertex)});
    put(p + "vertices", h.masks.vertices, {length(h.masks.vertices) / 2, 2});
    put(p + "bitmap_box", h.masks.bitmap_box, {h.images_n, h.gt_capacity, 4});
    put(p + "bitmap_offset", h.masks.bitmap_offset, {h.images_n, h.gt_capacity});
    put(p + "bitmap_bytes", h.masks.bitmap_bytes, {length(h.masks.bitmap_bytes)});
  }
}

void order(int argc, char** argv) {
  const ShardSet set(argv[2], argv[3]);
  const TrainOrder order(set, settings_of(argc, argv, 9),
      {.seed = 1,
          .global_batch = number(argv[6]),
          .rank = static_cast<int>(number(argv[4])),
          .ranks = static_cast<int>(number(argv[5]))});
  for (std::int64_t b = number(argv[7]); b < number(argv[7]) + number(argv[8]); ++b)
    for (const Sample& s : order.at(b).samples) std::cout << set.image(s.image).id << ' ' << s.flip << '\n';
}

void decode(char** argv) {
  std::ifstream in(argv[2], std::ios::binary);
  const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  RgbImage image;
  JpegDecoder().decode(bytes, image, static_cast<int>(number(argv[3])));
  image.pixels.resize(static_cast<std::size_t>(image.height) * image.width * 3);
  put("pixels", image.pixels, {image.height, image.width, 3});
}

void truth(char** argv) {
  const coco::Dataset set = ShardSet(argv[2], argv[3]).ground_truth();
  nlohmann::json out = {{"images", nlohmann::json::array()}, {"annotations", nlohmann::json::array()},
      {"categories", nlohmann::json::array()}};
  for (const auto& i : set.images)
    out["images"].push_back({{"id", i.id}, {"height", i.height}, {"width", i.width}, {"file_name", i.file_name}});
  for (const auto& c : set.categories) out["categories"].push_back({{"id", c.id}, {"name", c.name}});
  for (const auto& a : set.annotations) {
    nlohmann::json j = {{"id", a.id}, {"image_id", a.image_id}, {"category_id", a.category_id}, {"bbox", a.bbox},
        {"area", a.area}, {"iscrowd", a.iscrowd ? 1 : 0}};
    if (const auto* p = std::get_if<std::vector<coco::Polygon>>(&a.segmentation)) j["segmentation"] = *p;
    if (const auto* r = std::get_if<coco::Rle>(&a.segmentation))
      j["segmentation"] = {{"size", {r->height, r->width}}, {"counts", r->counts}};
    out["annotations"].push_back(std::move(j));
  }
  std::cout << out << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "batch") batch(argc, argv);
    if (what == "order") order(argc, argv);
    if (what == "decode") decode(argv);
    if (what == "truth") truth(argv);
    if (what == "size") {
      const Size s = resized_size(settings_of(argc, argv, 4),
          {static_cast<std::int32_t>(number(argv[2])), static_cast<std::int32_t>(number(argv[3]))});
      std::cout << s.height << ' ' << s.width << '\n';
    }
    return std::cout.flush() ? 0 : 1;
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return e.exit_code();
  }
}
