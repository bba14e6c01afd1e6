// shards.json of a folder of shards: what must lie there, so that a copy can be checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ttt::data {

inline constexpr const char* kManifestName = "shards.json";

struct ManifestEntry {
  std::string split, file;  // file without folder
  std::int64_t bytes = 0;
  std::string sha256;  // 64 lower-case digits
};

// From the shards in the folder: file, split, images, bytes and SHA-256 of each. Hashes of other splits' shards are
// taken over from the manifest that is there.
void write_manifest(const std::string& folder, const std::string& split);

// Throws UsageError where there is no manifest, DataError where it was cut off or edited.
std::vector<ManifestEntry> read_manifest(const std::string& folder);

}  // namespace ttt::data
