#include "checkpoint/checkpoint_folder.h"

#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/text.h"
#include "data/shard_writer.h"
#include "settings/fields_json.h"

namespace ttt::train {
namespace {

namespace fs = std::filesystem;
using result::Json;
using result::quote;

constexpr const char* kMarker = "REQUEUE";

// Of "step-00000123.h5" the number; -1 for any other name.
std::int64_t step_of(const fs::path& path) {
  const std::string name = path.filename().string();
  long long step = 0;
  int end = 0;
  if (std::sscanf(name.c_str(), "step-%lld.h5%n", &step, &end) != 1 || static_cast<std::size_t>(end) != name.size())
    return -1;
  return step;
}

bool may_differ(const std::string& key) {
  // The run's length, the machine's share in it (batches and sums are the same for any of these), what watches over it,
  // and what is written where.
  static constexpr const char* kKeys[] = {"train.epochs", "train.max_steps", "train.images_per_rank", "train.threads",
      "train.keep_memory", "train.save_weights", "train.trace_steps", "train.trace_from", "train.watchdog_s",
      "train.check_replicas_every", "data.workers", "data.prefetch", "data.read"};
  for (const char* group : {"train.checkpoint.", "train.stragglers.", "train.telemetry."})
    if (key.starts_with(group)) return true;
  return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

void refuse_contradictions(const CheckpointConfig& c) {
  if (!c.from.empty() && c.resume == "never")
    throw UsageError("train.checkpoint.from = '" + c.from +
                     "' contradicts train.checkpoint.resume = \"never\". Leave one of them out.");
  if (c.resume == "required" && c.folder.empty() && c.from.empty())
    throw UsageError(
        "train.checkpoint.resume = \"required\" needs train.checkpoint.folder or train.checkpoint.from. Name one of "
        "them.");
}

// Newer checkpoints than the run's beginning would be taken for its own later on.
void refuse_newer(const CheckpointFolder& folder, std::int64_t step, const std::string& why) {
  const std::vector<fs::path> there = folder.list();
  if (there.empty() || step_of(there.back()) <= step) return;
  throw UsageError("The folder " + quote(folder.path()) + " holds " + quote(there.back().filename()) + ", and " + why +
                   ". Name another train.checkpoint.folder, or move its checkpoints away.");
}

}  // namespace

CheckpointFolder::CheckpointFolder(fs::path folder, double patience_s) : folder_(fs::absolute(std::move(folder))) {
  std::error_code ec;
  fs::create_directories(folder_, ec);
  lock_ = Descriptor((folder_ / "lock").string(), O_RDWR | O_CREAT);
  if (lock_.get() < 0)
    throw UsageError("Cannot write checkpoints into " + quote(folder_) + " (" + std::strerror(errno) +
                     "). Name a folder that can be written with train.checkpoint.folder.");
  // The processes of a run that was killed a moment ago may still be going.
  for (const double end = now_s() + patience_s; ::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0;) {
    if (errno != EWOULDBLOCK) {
      warning_ = "The checkpoint folder " + quote(folder_) + " cannot be locked (" + std::strerror(errno) +
                 "): let no other run write there.";
      break;
    }
    if (now_s() > end)
      throw UsageError("Another run is writing checkpoints into " + quote(folder_) +
                       ". Wait for it, or name another train.checkpoint.folder.");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  std::vector<fs::path> leftovers = {folder_ / kMarker};
  for (const auto& entry : fs::directory_iterator(folder_)) {
    fs::path name = entry.path().filename();
    if (name.extension() == kTemporarySuffix && step_of(name.stem()) >= 0) leftovers.push_back(entry.path());
  }
  for (const fs::path& path : leftovers) fs::remove(path, ec);
}

std::vector<fs::path> CheckpointFolder::list() const {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder_))
    if (step_of(entry.path()) >= 0) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end(), [](const fs::path& a, const fs::path& b) { return step_of(a) < step_of(b); });
  return paths;
}

fs::path CheckpointFolder::path_of(std::int64_t step) const {
  char name[40];
  std::snprintf(name, sizeof name, "step-%08lld.h5", static_cast<long long>(step));
  return folder_ / name;
}

void CheckpointFolder::prune(std::int64_t keep) const {
  const std::vector<fs::path> paths = list();
  std::error_code ec;  // one that stays costs space, and nothing else
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < paths.size(); ++i) fs::remove(paths[i], ec);
}

void CheckpointFolder::request_requeue(const std::string& text) const {
  const fs::path marker = folder_ / kMarker;
  std::ofstream(marker) << text << "\n";
  data::sync_to_disk(marker.string());
}

Earlier find_earlier(const CheckpointConfig& config) {
  refuse_contradictions(config);
  Earlier found;
  if (!config.folder.empty()) {
    found.folder = std::make_shared<CheckpointFolder>(config.folder);
    if (!found.folder->warning().empty()) found.warnings.push_back(found.folder->warning());
  }
  if (!config.from.empty()) {
    found.checkpoint = read_checkpoint(config.from);
    if (found.folder)
      refuse_newer(*found.folder, found.checkpoint->state.step, "the run is to resume from " + quote(config.from));
    return found;
  }
  if (!found.folder) return found;
  if (config.resume == "never") {
    refuse_newer(*found.folder, -1, "train.checkpoint.resume = \"never\" starts anew");
    return found;
  }
  for (std::vector<fs::path> paths = found.folder->list(); !paths.empty() && !found.checkpoint; paths.pop_back()) {
    try {
      found.checkpoint = read_checkpoint(paths.back().string());
    } catch (const DataError& e) {
      if (config.resume == "required") throw;
      // Aside, so that it is not counted among those that are kept, nor met again.
      fs::rename(paths.back(), paths.back().string() + ".damaged");
      found.warnings.push_back(
          std::string(e.what()) + " It was put aside as " + quote(paths.back().filename().string() + ".damaged") + ".");
    }
  }
  if (!found.checkpoint && config.resume == "required")
    throw UsageError("The folder " + quote(found.folder->path()) +
                     " holds no checkpoint, and train.checkpoint.resume = \"required\". Name the folder of the run, or "
                     "set it to \"auto\".");
  if (!found.checkpoint && !found.warnings.empty())
    found.warnings.push_back("No checkpoint in " + quote(found.folder->path()) + " is whole: the run starts anew.");
  return found;
}

Json changed_settings(const Json& before, const Json& now, const std::string& checkpoint) {
  const std::map<std::string, Json> old_values = result::flat_settings(before), new_values = result::flat_settings(now);
  std::map<std::string, Json> keys = old_values;
  keys.insert(new_values.begin(), new_values.end());
  Json changed = Json::array();
  for (const auto& [key, unused] : keys) {
    const auto a = old_values.find(key), b = new_values.find(key);
    const Json was = a == old_values.end() ? Json("(not there)") : a->second,
               is = b == new_values.end() ? Json("(not there)") : b->second;
    if (was == is) continue;
    if (!may_differ(key))
      throw UsageError("The checkpoint '" + checkpoint + "' was made with " + key + " = " + was.dump() +
                       ", and this run has " + is.dump() +
                       ". Give it the same value, or another train.checkpoint.folder for a run of its own.");
    changed.push_back({{"key", key}, {"before", was}, {"value", is}});
  }
  return changed;
}

}  // namespace ttt::train
