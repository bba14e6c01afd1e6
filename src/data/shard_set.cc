#include "data/shard_set.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <regex>

#include "core/error.h"

namespace ttt::data {
namespace fs = std::filesystem;

std::string shard_name(const std::string& split, std::int64_t i, std::int64_t n) {
  char tail[64];
  std::snprintf(tail, sizeof(tail), "-%05lld-of-%05lld.h5", static_cast<long long>(i), static_cast<long long>(n));
  return split + tail;
}

std::vector<std::string> find_shards(const std::string& folder, const std::string& split) {
  static const std::regex tail("-[0-9]{5}-of-[0-9]{5}\\.h5");
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(split) && std::regex_match(name.substr(split.size()), tail)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

ShardSet::ShardSet(const std::string& folder, const std::string& split, ShardFile::Path preferred)
    : folder_(folder), split_(split) {
  if (!fs::is_directory(folder))
    throw UsageError("There is no data folder " + folder + ": name a folder that pack_coco wrote.");
  const std::vector<std::string> names = find_shards(folder, split);
  if (names.empty())
    throw UsageError(
        "The folder " + folder + " has no shards of split '" + split + "': check the split's name or run pack_coco.");
  const auto count = static_cast<std::int64_t>(names.size());
  for (std::int64_t s = 0; s < count; ++s) {
    if (names[s] != shard_name(split, s, std::stoll(names[s].substr(names[s].size() - 8, 5))) ||
        !names[s].ends_with(shard_name("", s, count).substr(6)))
      throw DataError("The shards of split '" + split + "' in " + folder + " are not complete (found " + names[s] +
                      " among " + std::to_string(count) + "): copy the missing ones or pack again.");
    shards_.push_back(std::make_unique<ShardFile>(folder + "/" + names[s], preferred));
    const ShardFile& shard = *shards_.back();
    if (shard.string_attribute("pack_id") != shards_[0]->string_attribute("pack_id") ||
        shard.index().category_id != shards_[0]->index().category_id)
      throw DataError(shard.path() + " belongs to another packing than " + shards_[0]->path() +
                      ": pack the split again into an empty folder.");
  }
  const ShardIndex& first = shards_[0]->index();
  for (std::size_t k = 0; k < first.category_id.size(); ++k)
    categories_.push_back({first.category_id[k], first.category_name[k]});
  for (std::uint32_t s = 0; s < shards_.size(); ++s)
    for (std::uint32_t r = 0; r < shards_[s]->index().images(); ++r) place_.push_back({s, r});
  for (std::int64_t i = 0; i < size(); ++i) max_objects_ = std::max(max_objects_, objects(i));
}

ImageInfo ShardSet::image(std::int64_t i) const {
  const ShardIndex& index = shard_of(i).index();
  const std::int64_t r = record_of(i);
  return {index.image_id[r], index.height[r], index.width[r]};
}

std::int64_t ShardSet::objects(std::int64_t i) const {
  const ShardIndex& index = shard_of(i).index();
  const std::int64_t r = record_of(i);
  std::int64_t count = 0;
  for (std::uint32_t a = index.ann_start[r]; a < index.ann_start[r + 1]; ++a)
    count += !index.iscrowd[a] && index.bbox[4 * a + 2] > 0 && index.bbox[4 * a + 3] > 0;
  return count;
}

std::string ShardSet::source_file() const { return shards_[0]->string_attribute("source_file"); }
std::string ShardSet::source_sha256() const { return shards_[0]->string_attribute("source_sha256"); }

std::int64_t ShardSet::read(std::int64_t i, std::vector<std::uint8_t>& out) const {
  shard_of(i).read(record_of(i), out);
  return shard_of(i).index().length[record_of(i)];
}
void ShardSet::will_need(std::int64_t i) const { shard_of(i).will_need(record_of(i)); }
std::string ShardSet::describe(std::int64_t i) const { return shard_of(i).describe(record_of(i)); }

coco::Dataset ShardSet::ground_truth() const {
  coco::Dataset out;
  out.categories = categories_;
  for (std::int64_t i = 0; i < size(); ++i) {
    const ShardIndex& index = shard_of(i).index();
    const std::int64_t r = record_of(i);
    char name[32];
    std::snprintf(name, sizeof(name), "%012lld.jpg", static_cast<long long>(index.image_id[r]));
    out.images.push_back(
        {.id = index.image_id[r], .height = index.height[r], .width = index.width[r], .file_name = name});
    for (std::uint32_t a = index.ann_start[r]; a < index.ann_start[r + 1]; ++a)
      out.annotations.push_back(annotation_at(index, a, index.image_id[r]));
  }
  return out;
}

}  // namespace ttt::data
