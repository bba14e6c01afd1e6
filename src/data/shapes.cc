#include "data/shapes.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/error.h"
#include "core/make_once.h"
#include "core/parallel.h"
#include "data/pack.h"
#include "data/shard_writer.h"

namespace ttt::data {
namespace fs = std::filesystem;
namespace {

// Raise it whenever the same settings give other pixels or annotations: caches are keyed by it.
constexpr int kGeneratorVersion = 1;
constexpr int kQuality = 95;

int threads_of(const ShapesSettings& s) {
  return s.threads > 0 ? s.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

// Whole numbers are written as such, so that the file is short and does not depend on how doubles are printed.
void number(std::string& out, double v) { out += std::to_string(static_cast<std::int64_t>(v)); }

void segmentation(std::string& out, const coco::Annotation& a) {
  if (const auto* polygons = std::get_if<std::vector<coco::Polygon>>(&a.segmentation)) {
    out += "[";
    for (std::size_t p = 0; p < polygons->size(); ++p) {
      out += p ? ", [" : "[";
      for (std::size_t i = 0; i < (*polygons)[p].size(); ++i) {
        if (i) out += ", ";
        number(out, (*polygons)[p][i]);
      }
      out += "]";
    }
    out += "]";
    return;
  }
  const auto& rle = std::get<coco::Rle>(a.segmentation);
  out += "{\"size\": [" + std::to_string(rle.height) + ", " + std::to_string(rle.width) + "], \"counts\": ";
  if (!a.iscrowd && a.id % 2 == 0) {
    out += "\"";
    for (const char c : coco::to_string(rle)) out += c == '\\' ? std::string("\\\\") : std::string(1, c);
    out += "\"}";
    return;
  }
  out += "[";
  for (std::size_t i = 0; i < rle.counts.size(); ++i) out += (i ? ", " : "") + std::to_string(rle.counts[i]);
  out += "]}";
}

std::string annotation_json(const coco::Annotation& a) {
  std::string out = "{\"id\": " + std::to_string(a.id) + ", \"image_id\": " + std::to_string(a.image_id) +
                    ", \"category_id\": " + std::to_string(a.category_id) +
                    ", \"iscrowd\": " + (a.iscrowd ? "1" : "0") + ", \"bbox\": [";
  for (int i = 0; i < 4; ++i) {
    if (i) out += ", ";
    number(out, a.bbox[i]);
  }
  out += "], \"area\": ";
  number(out, a.area);
  out += ", \"segmentation\": ";
  segmentation(out, a);
  return out + "}";
}

void write_file(const std::string& path, const char* data, std::size_t size) {
  std::ofstream out(path, std::ios::binary);
  out.write(data, static_cast<std::streamsize>(size));
  out.flush();
  if (!out) throw Error(path + " cannot be written: free space or choose another folder.");
}

void make_split(const ShapesSettings& settings, int split, const std::string& out) {
  const std::string name = split == 0 ? "train" : "val";
  const std::int64_t count = split == 0 ? settings.train : settings.val;
  fs::create_directories(out + "/" + name);
  std::vector<std::string> images(static_cast<std::size_t>(count)), annotations(static_cast<std::size_t>(count));
  ThreadPool pool(threads_of(settings));
  parallel_for(&pool, count, [&](std::int64_t i) {
    const ShapesImage drawn = draw_shapes(settings, split, i);
    const std::vector<std::uint8_t> jpeg = encode_jpeg(drawn.pixels, kQuality);
    write_file(out + "/" + name + "/" + drawn.info.file_name, reinterpret_cast<const char*>(jpeg.data()), jpeg.size());
    images[i] = "{\"id\": " + std::to_string(drawn.info.id) + ", \"file_name\": \"" + drawn.info.file_name +
                "\", \"height\": " + std::to_string(drawn.info.height) +
                ", \"width\": " + std::to_string(drawn.info.width) + "}";
    for (const coco::Annotation& a : drawn.annotations)
      annotations[i] += (annotations[i].empty() ? "" : ",\n") + annotation_json(a);
  });
  std::string json = "{\"info\": {\"description\": \"Shapes, seed " + std::to_string(settings.seed) +
                     ", generator version " + std::to_string(kGeneratorVersion) + "\"},\n\"categories\": [";
  const std::vector<coco::Category> categories = shape_categories(settings.classes);
  for (std::size_t k = 0; k < categories.size(); ++k)
    json += (k ? ", {\"id\": " : "{\"id\": ") + std::to_string(categories[k].id) + ", \"name\": \"" +
            categories[k].name + "\"}";
  json += "],\n\"images\": [\n";
  for (std::int64_t i = 0; i < count; ++i) json += (i ? ",\n" : "") + images[i];
  json += "],\n\"annotations\": [\n";
  bool first = true;
  for (const std::string& a : annotations) {
    if (a.empty()) continue;
    json += (first ? "" : ",\n") + a;
    first = false;
  }
  json += "]}\n";
  write_file(out + "/instances_" + name + ".json", json.data(), json.size());
}

void make_and_pack(const ShapesSettings& settings, const std::string& folder, const std::string& packer) {
  make_shapes(settings, folder);
  for (const std::string split : {"train", "val"})
    pack({.images = folder + "/" + split,
        .annotations = folder + "/instances_" + split + ".json",
        .out = folder,
        .split = split,
        .threads = threads_of(settings),
        .packer = packer});
}

}  // namespace

void make_shapes(const ShapesSettings& settings, const std::string& out) {
  if (settings.train < 1 || settings.val < 1)
    throw UsageError("make_shapes needs at least one image in train and in val: raise --train or --val.");
  std::error_code error;
  fs::create_directories(out, error);
  if (!fs::is_directory(out))
    throw UsageError("The folder " + out + " cannot be made (" + error.message() + "): choose another.");
  for (const std::string split : {"train", "val"})
    if (const std::string json = out + "/instances_" + split + ".json"; !settings.overwrite && fs::exists(json))
      throw UsageError(
          "'" + json + "' exists already. Replace the data set with --overwrite, or name another folder with --out.");
  for (const int split : {0, 1}) make_split(settings, split, out);
}

std::string cache_folder() {
  const char* named = std::getenv("TTT_CACHE");
  if (named != nullptr && *named != '\0') return named;
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0')
    throw UsageError("There is no home folder for the cache: set TTT_CACHE to a folder.");
  return std::string(home) + "/.cache/ttt";
}

std::string default_dataset_folder(const std::string& cache, const ShapesSettings& s) {
  const std::string key = "shapes-v" + std::to_string(kGeneratorVersion) + "-" + std::to_string(kShardVersion) + "-n" +
                          std::to_string(s.train) + "-" + std::to_string(s.val) + "-s" + std::to_string(s.size) + "-c" +
                          std::to_string(s.classes) + "-seed" + std::to_string(s.seed) +
                          (s.aspects == "square" ? "" : "-" + s.aspects);
  return cache + "/" + key;
}

std::string default_dataset(const std::string& cache, const ShapesSettings& s, const std::string& packer) {
  const std::string folder = default_dataset_folder(cache, s);
  if (fs::is_directory(folder)) return folder;
  make_once(folder, [&](const fs::path& temporary) { make_and_pack(s, temporary.string(), packer); });
  sync_to_disk(cache);
  return folder;
}

}  // namespace ttt::data
