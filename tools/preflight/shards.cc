#include <algorithm>
#include <filesystem>

#include "core/clock.h"
#include "core/error.h"
#include "core/sha256.h"
#include "data/manifest.h"
#include "data/shapes.h"
#include "tools/preflight/facts.h"

namespace ttt::preflight {
namespace fs = std::filesystem;
namespace {

using result::Json;

// "" where the shard is as the manifest says.
std::string problem_of(const std::string& folder, const data::ManifestEntry& entry, bool hash) {
  const std::string path = folder + "/" + entry.file;
  std::error_code error;
  const auto bytes = static_cast<std::int64_t>(fs::file_size(path, error));
  if (error) return path + " cannot be read (" + error.message() + ")";
  if (bytes != entry.bytes)
    return path + " has " + std::to_string(bytes) + " bytes, " + data::kManifestName + " says " +
           std::to_string(entry.bytes);
  if (hash && sha256_of_file(path) != entry.sha256)
    return path + " has another SHA-256 than " + data::kManifestName + " says";
  return {};
}

}  // namespace

Json shard_facts(const Place& place, const std::string& data, const Settings& settings) {
  Json facts = {{"folder", ""}, {"read_bytes", 0}, {"read_s", 0.0}, {"problems", Json::array()}};
  const std::string folder =
      data.empty() ? data::default_dataset_folder(data::cache_folder(), {.aspects = settings.generated}) : data;
  // Each node makes the generated data set for itself when a run first needs it.
  if (settings.shards == "none" || (data.empty() && !fs::is_directory(folder))) return facts;
  facts["folder"] = folder;
  try {
    const std::vector<data::ManifestEntry> entries = data::read_manifest(folder);
    facts["manifest_sha256"] = sha256_of_file(folder + "/" + data::kManifestName);
    std::int64_t all = 0, read = 0;
    const double begin = now_s();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      all += entries[i].bytes;
      if (static_cast<int>(i % static_cast<std::size_t>(place.local_size)) != place.local_rank) continue;
      if (const std::string problem = problem_of(folder, entries[i], settings.shards == "hash"); !problem.empty())
        facts["problems"].push_back(problem);
      read += settings.shards == "hash" ? entries[i].bytes : 0;
    }
    facts["bytes"] = all, facts["read_bytes"] = read, facts["read_s"] = now_s() - begin;
  } catch (const Error& e) {
    if (place.local_rank == 0) facts["problems"].push_back(e.what());
  }
  return facts;
}

}  // namespace ttt::preflight
