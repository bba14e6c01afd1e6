#include "data/pack.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <unordered_map>
#include <unordered_set>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/sha256.h"
#include "data/jpeg.h"
#include "data/manifest.h"
#include "data/shard_set.h"
#include "data/shard_writer.h"

namespace ttt::data {
namespace fs = std::filesystem;
namespace {

struct Record {
  const coco::Image* image = nullptr;
  std::string path;
  std::uint64_t length = 0;
  std::vector<coco::Annotation> annotations;
};

struct Source {
  coco::Dataset dataset;
  std::string sha256;
  std::vector<Record> records;
  std::vector<coco::Category> categories;  // ascending ids
};

std::string utc_now() {
  // SOURCE_DATE_EPOCH (reproducible-builds.org): lets two packings be compared byte by byte.
  const char* fixed = std::getenv("SOURCE_DATE_EPOCH");
  const std::time_t now = fixed ? static_cast<std::time_t>(std::atoll(fixed)) : std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

// `s` has no control characters (check_ids).
std::string json_text(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

void check(const PackSettings& s) {
  const auto allowed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
  };
  if (s.split.empty() || !std::all_of(s.split.begin(), s.split.end(), allowed))
    throw UsageError(
        "The split's name '" + s.split + "' is not made of letters, digits, '_', '-' and '.': choose such a name.");
  if (!fs::is_directory(s.images)) throw UsageError("There is no image folder " + s.images + ": check --images.");
  if (std::error_code error; fs::exists(s.annotations, error) && !fs::is_regular_file(s.annotations, error))
    throw UsageError(s.annotations + " is no regular file, and it is read twice: name a file with --annotations.");
  if (s.outside != "error" && s.outside != "clip" && s.outside != "skip")
    throw UsageError(
        "'" + s.outside + "' is no way to treat annotations outside their image: say error, clip or skip.");
}

bool trains(const std::vector<coco::Annotation>& annotations) {
  return std::any_of(
      annotations.begin(), annotations.end(), [](const coco::Annotation& a) { return a.bbox[2] > 1 && a.bbox[3] > 1; });
}

// An image, annotation or category: its id stands once, and its name is one that paths and HDF5's strings can hold.
template <class T> void check_ids(const std::vector<T>& items, const std::string& kind, const std::string& file) {
  std::unordered_set<std::int64_t> seen;
  for (const T& item : items) {
    const std::string what = kind + " " + std::to_string(item.id);
    if (!seen.insert(item.id).second) throw DataError(what + " stands twice in " + file + ": correct the file.");
    const std::string* name = nullptr;
    if constexpr (requires { item.name; }) name = &item.name;
    if constexpr (requires { item.file_name; }) name = &item.file_name;
    if (name && one_line(*name) != *name)
      throw DataError(
          what + " in " + file + " has the name '" + *name + "' with a control character: correct the file.");
  }
}

// Where an image lies. `root`: the image folder without symbolic links.
void find_file(const PackSettings& s, const fs::path& root, Record& record) {
  const std::string name = record.image->file_name, of_image = " of image " + std::to_string(record.image->id);
  record.path = (fs::path(s.images) / name).string();
  std::error_code error;
  const fs::path inside = fs::weakly_canonical(record.path, error).lexically_relative(root);
  if (!s.follow_outside && (inside.empty() || *inside.begin() == ".."))
    throw DataError("The file_name '" + name + "'" + of_image + " leads out of " + s.images + ": correct " +
                    s.annotations + ", or say --follow-outside.");
  struct stat info {};
  if (::stat(record.path.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
    throw UsageError("The file " + record.path + of_image + " is missing: check --images or get the file.");
  if (info.st_size == 0)
    throw DataError(record.path + of_image + " is not a whole JPEG: it is empty. Get the file again.");
  record.length = static_cast<std::uint64_t>(info.st_size);
}

// Annotations by image.
std::unordered_map<std::int64_t, std::vector<const coco::Annotation*>> group(
    const Source& source, const std::string& file) {
  check_ids(source.dataset.images, "Image", file);
  check_ids(source.categories, "Category", file);
  check_ids(source.dataset.annotations, "Annotation", file);
  std::unordered_map<std::int64_t, std::vector<const coco::Annotation*>> of_image;
  for (const coco::Image& image : source.dataset.images) {
    if (image.id < 0)
      throw DataError("Image " + std::to_string(image.id) + " in " + file +
                      " has a negative id, as only images that fill a batch up have: number it anew.");
    of_image[image.id];
  }
  for (const coco::Annotation& a : source.dataset.annotations) {
    const auto found = of_image.find(a.image_id);
    const bool known = std::any_of(
        source.categories.begin(), source.categories.end(), [&](const auto& c) { return c.id == a.category_id; });
    if (found == of_image.end() || !known)
      throw DataError("Annotation " + std::to_string(a.id) + " in " + file + " names " +
                      (known ? "image " + std::to_string(a.image_id) : "category " + std::to_string(a.category_id)) +
                      ", which is not there: correct the file.");
    found->second.push_back(&a);
  }
  return of_image;
}

// Reads the JSON, judges annotations and looks up every file: all that can fail before an hour's work.
Source plan(const PackSettings& s, PackResult& result) {
  Source source;
  source.dataset = coco::read_instances(s.annotations);
  source.sha256 = sha256_of_file(s.annotations);
  source.categories = source.dataset.categories;
  std::sort(
      source.categories.begin(), source.categories.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  if (source.categories.size() > 256)
    throw NotSupported(s.annotations + " has more than 256 categories, which a shard cannot hold: split the data set.");
  if (source.dataset.images.empty())
    throw DataError(s.annotations + " lists no images: nothing to pack. Check --annotations.");
  const auto of_image = group(source, s.annotations);
  const fs::path root = fs::canonical(s.images);
  for (const coco::Image& image : source.dataset.images) {
    if (image.width == 0 || image.height == 0 || image.width > 65535 || image.height > 65535)
      throw DataError("Image " + std::to_string(image.id) + " in " + s.annotations +
                      " has a side of 0 or more than 65535 pixels: correct the file.");
    JudgedAnnotations judged = judge_annotations(image, of_image.at(image.id), s.outside);
    result.annotations_clipped += judged.clipped, result.annotations_skipped += judged.skipped;
    if (s.filter_empty && !trains(judged.kept)) {
      ++result.images_left_out;
      continue;
    }
    Record record{.image = &image, .annotations = std::move(judged.kept)};
    find_file(s, root, record);
    source.records.push_back(std::move(record));
  }
  if (source.records.empty())
    throw DataError("No image of " + s.annotations + " is left to pack: check --annotations and --filter-empty.");
  return source;
}

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kRecordAlignment - 1) / kRecordAlignment * kRecordAlignment;
}

// Consecutive records, cut where a shard would exceed its size: [begin, end) of each shard.
std::vector<std::pair<std::size_t, std::size_t>> cut(const std::vector<Record>& records, std::uint64_t shard_bytes) {
  std::vector<std::pair<std::size_t, std::size_t>> shards;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (shards.empty() || bytes + aligned(records[i].length) > shard_bytes) shards.push_back({i, i}), bytes = 0;
    bytes += aligned(records[i].length);
    shards.back().second = i + 1;
  }
  return shards;
}

// The file's bytes, decoded once to see that they are a JPEG of the size that the JSON claims.
std::vector<std::uint8_t> read_image(const Record& record) {
  const std::string name = record.path + " of image " + std::to_string(record.image->id);
  std::ifstream in(record.path, std::ios::binary);
  std::vector<std::uint8_t> bytes(record.length);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!in || in.peek() != std::ifstream::traits_type::eof())
    throw DataError(name + " changed or could not be read while packing: pack again.");
  JpegDecoder decoder;
  RgbImage pixels;
  try {
    decoder.decode(bytes, pixels);
  } catch (const DataError& e) { throw DataError(name + " " + e.what()); }
  if (pixels.height != static_cast<std::int32_t>(record.image->height) ||
      pixels.width != static_cast<std::int32_t>(record.image->width))
    throw DataError(name + " has " + std::to_string(pixels.height) + " x " + std::to_string(pixels.width) +
                    " pixels where the annotations say " + std::to_string(record.image->height) + " x " +
                    std::to_string(record.image->width) + ": get the right file or correct the annotations.");
  return bytes;
}

class Packer {
 public:
  Packer(const PackSettings& settings, Source source)
      : settings_(settings), source_(std::move(source)), pool_(std::max(1, settings.threads)) {
    shards_ = cut(source_.records, settings.shard_bytes);
    Sha256 id;
    id.update(source_.sha256 + settings.split + settings.outside + (settings.filter_empty ? "f" : "a"));
    for (const Record& r : source_.records)
      id.update(std::to_string(r.image->id) + ":" + std::to_string(r.length) + ",");
    pack_id_ = id.hex().substr(0, 16);
    category_map_ = "[";
    for (std::size_t k = 0; k < source_.categories.size(); ++k)
      category_map_ += (k ? ", {\"id\": " : "{\"id\": ") + std::to_string(source_.categories[k].id) +
                       ", \"name\": " + json_text(source_.categories[k].name) + "}";
    category_map_ += "]";
  }

  // Appends to `written` the path of each shard when it is complete.
  void run(PackResult& result, std::vector<std::string>& written) {
    result.shards = static_cast<std::int64_t>(shards_.size());
    for (std::size_t s = 0; s < shards_.size(); ++s) {
      const std::string path =
          settings_.out + "/" + shard_name(settings_.split, static_cast<std::int64_t>(s), result.shards);
      write_shard(s, path, result);
      written.push_back(path);
    }
  }

 private:
  void write_shard(std::size_t s, const std::string& path, PackResult& result) {
    const auto [begin, end] = shards_[s];
    ShardIndex index;
    for (const coco::Category& c : source_.categories)
      index.category_id.push_back(c.id), index.category_name.push_back(c.name);
    std::uint64_t total = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const Record& r = source_.records[i];
      std::vector<const coco::Annotation*> annotations;
      for (const coco::Annotation& a : r.annotations) annotations.push_back(&a);
      append_image(index, *r.image, annotations);
      index.offset.push_back(total), index.length.push_back(static_cast<std::uint32_t>(r.length));
      total += aligned(r.length);
      result.annotations += static_cast<std::int64_t>(annotations.size());
    }
    index.crc32c.resize(end - begin);
    ShardWriter writer(path, total);
    for (std::size_t from = begin; from < end; from += kChunk) {
      const std::size_t count = std::min(kChunk, end - from);
      parallel_for(&pool_, static_cast<std::int64_t>(count), [&](std::int64_t k) {
        const std::size_t i = from + static_cast<std::size_t>(k);
        const std::vector<std::uint8_t> bytes = read_image(source_.records[i]);
        index.crc32c[i - begin] = crc32c(bytes.data(), bytes.size());
        writer.put(index.offset[i - begin], bytes);
      });
      result.images += static_cast<std::int64_t>(count);
      if (settings_.progress) settings_.progress(result.images, static_cast<std::int64_t>(source_.records.size()));
    }
    check_index(index, total, path);
    result.bytes += total;
    writer.finish(index,
        {{"split", settings_.split}, {"pack_id", pack_id_},
            {"source_file", fs::path(settings_.annotations).filename().string()}, {"source_sha256", source_.sha256},
            {"packer", settings_.packer}, {"created_utc", utc_now()}, {"jpeg_policy", "verbatim"},
            {"category_map", category_map_},
            {"license", "Images and annotations keep the licences of their source; packing changes neither."}},
        {{"shard_index", static_cast<std::int64_t>(s)}, {"shard_count", result.shards},
            {"n_source_images", static_cast<std::int64_t>(source_.dataset.images.size())}});
  }

  static constexpr std::size_t kChunk = 64;  // images between two progress reports
  const PackSettings& settings_;
  Source source_;
  ThreadPool pool_;
  std::vector<std::pair<std::size_t, std::size_t>> shards_;
  std::string pack_id_, category_map_;
};

}  // namespace

PackResult pack(const PackSettings& settings) {
  check(settings);
  PackResult result;
  Source source = plan(settings, result);
  std::error_code error;
  fs::create_directories(settings.out, error);
  if (!fs::is_directory(settings.out))
    throw UsageError("The folder " + settings.out + " cannot be made (" + error.message() + "): choose another --out.");
  std::vector<std::string> old = find_shards(settings.out, settings.split);
  if (!old.empty() && !settings.overwrite)
    throw UsageError("The folder " + settings.out + " already has shards of split '" + settings.split +
                     "': choose another --out or say --overwrite.");
  for (const std::string& name : old) fs::remove(settings.out + "/" + name);
  std::vector<std::string> written;
  try {
    Packer(settings, std::move(source)).run(result, written);
    write_manifest(settings.out, settings.split);
  } catch (...) {
    for (const std::string& path : written) ::unlink(path.c_str());
    throw;
  }
  return result;
}

}  // namespace ttt::data
