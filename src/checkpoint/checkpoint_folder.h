// The folder of one run's checkpoints: "step-00000123.h5", whole or not there.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_file.h"
#include "checkpoint/config.h"
#include "core/descriptor.h"

namespace ttt::train {

class CheckpointFolder {
 public:
  // Makes the folder where it is missing, and holds it against other runs for its own life (flock of its file `lock`,
  // which a killed process gives back). Removes what killed writers left, and the marker. Throws UsageError where it
  // cannot be made or another run holds it.
  explicit CheckpointFolder(std::filesystem::path folder, double patience_s = 10);

  std::vector<std::filesystem::path> list() const;  // by step, the newest last
  std::filesystem::path path_of(std::int64_t step) const;
  void prune(std::int64_t keep) const;  // leaves the newest
  // the marker, "REQUEUE": the run is to be started again. Throws Error
  void request_requeue(const std::string& text) const;
  const std::filesystem::path& path() const { return folder_; }
  const std::string& warning() const { return warning_; }

 private:
  std::filesystem::path folder_;
  Descriptor lock_;
  std::string warning_;
};

// What a run finds before it begins, on rank 0; empty on the others and where recipe and folder give nothing.
struct Earlier {
  std::shared_ptr<CheckpointFolder> folder;  // null where no checkpoints are to be written
  std::optional<Checkpoint> checkpoint;      // from which the run continues
  std::vector<std::string> warnings;         // damaged checkpoints that were left out, and why
};

// As the recipe's resume and from say. A damaged checkpoint is put aside under its name and ".damaged", and the one
// before it is taken (auto). Throws UsageError: keys that contradict each other, nothing to resume from (required), a
// folder with checkpoints that this run would mix with its own (never, from). DataError: the file that was named, or
// the newest of those required, is damaged.
Earlier find_earlier(const CheckpointConfig& config);

// Settings that differ, as a list of {"key", "before", "value"}. Those that may, because they do not define the run
// (its length, the threads and ranks that it has, what is written where). Throws UsageError naming the first that may
// not, with both values.
result::Json changed_settings(const result::Json& before, const result::Json& now, const std::string& checkpoint);

}  // namespace ttt::train
