#include "data/manifest.h"

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "core/error.h"
#include "core/sha256.h"
#include "data/pack.h"
#include "data/shard_file.h"
#include "data/shard_set.h"
#include "data/shard_writer.h"

namespace ttt::data {
namespace fs = std::filesystem;
namespace {

// One shard per line, so that the lines of other splits can be kept as they are.
std::string line_of(const std::string& folder, const std::string& split, const std::string& name) {
  const std::string path = folder + "/" + name;
  std::ostringstream line;
  line << "    {\"split\": \"" << split << "\", \"file\": \"" << name
       << "\", \"images\": " << ShardFile(path).index().images() << ", \"size_bytes\": " << fs::file_size(path)
       << ", \"sha256\": \"" << sha256_of_file(path) << "\"}";
  return line.str();
}

const std::regex& line_form() {
  static const std::regex form(
      "    \\{\"split\": \"([A-Za-z0-9_.-]+)\", \"file\": \"([A-Za-z0-9_.-]+)\", \"images\": [0-9]+, \"size_bytes\": "
      "([0-9]+), \"sha256\": \"([0-9a-f]{64})\"\\},?");
  return form;
}

std::vector<std::string> kept_lines(const std::string& folder, const std::string& split) {
  std::vector<std::string> lines;
  std::ifstream in(folder + "/" + kManifestName);
  std::smatch match;
  for (std::string line; std::getline(in, line);) {
    if (!std::regex_match(line, match, line_form()) || match[1] == split || !fs::exists(folder + "/" + match[2].str()))
      continue;
    if (line.back() == ',') line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

}  // namespace

std::vector<ManifestEntry> read_manifest(const std::string& folder) {
  const std::string path = folder + "/" + kManifestName;
  std::ifstream in(path);
  if (!in)
    throw UsageError("The folder " + folder + " has no manifest " + kManifestName +
                     ": name a folder that pack_coco wrote, or copy the manifest beside its shards.");
  std::vector<ManifestEntry> entries;
  std::smatch match;
  std::size_t lines_of_shards = 0;
  std::string last;
  for (std::string line; std::getline(in, line);) {
    last = line;
    lines_of_shards += line.find("\"file\"") != std::string::npos;
    if (!std::regex_match(line, match, line_form())) continue;
    if (match[3].length() > 18) break;  // bytes that no file has
    entries.push_back({.split = match[1], .file = match[2], .bytes = std::stoll(match[3]), .sha256 = match[4]});
  }
  if (entries.empty() || entries.size() != lines_of_shards || last != "}")
    throw DataError("The manifest " + path + " is not as pack_coco wrote it: copy it again, or pack again.");
  return entries;
}

void write_manifest(const std::string& folder, const std::string& split) {
  std::vector<std::string> lines = kept_lines(folder, split);
  for (const std::string& name : find_shards(folder, split)) lines.push_back(line_of(folder, split, name));
  const std::string path = folder + "/" + kManifestName, temporary = path + ".tmp";
  {
    std::ofstream out(temporary);
    out << "{\n  \"format\": \"" << kShardFormat << "\",\n  \"format_version\": " << kShardVersion
        << ",\n  \"shards\": [\n";
    for (std::size_t i = 0; i < lines.size(); ++i) out << lines[i] << (i + 1 < lines.size() ? ",\n" : "\n");
    out << "  ]\n}\n";
    out.flush();
    if (!out) throw Error("The manifest " + path + " cannot be written: free space or choose another folder.");
  }
  sync_to_disk(temporary);
  fs::rename(temporary, path);
  sync_to_disk(folder);
}

}  // namespace ttt::data
