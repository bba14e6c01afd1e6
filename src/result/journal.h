// A rank's journal: JSON lines, each handed to the kernel in one write() as it happens, so nothing of it is lost with
// the process. Lines: {"type": "start", "record": {...}}, "update" (the same), "step", "evaluation", "checkpoint",
// "event", "clocks", "warning", "non_finite", "end".
#pragma once

#include <filesystem>
#include <string>

#include "result/json.h"
#include "result/run_record.h"

namespace ttt::result {

class Journal {
 public:
  // Creates the folder and `rank00000.jsonl` in it. Throws Error.
  Journal(const std::filesystem::path& folder, int rank);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Returns false once the file can no longer be written (disk full); later lines are dropped, so that what is there
  // stays whole.
  bool write(const Json& line);
  // Deletes the file, and the folder with the last file.
  void discard();
  std::filesystem::path path() const { return path_; }

 private:
  std::filesystem::path path_;
  int fd_ = -1;
  bool broken_ = false;
};

// The record that a journal folder (or one rank's file) tells of; a last line that was cut off is dropped. The verdict
// is the one that was reached, or `failed` ("ended without a verdict after step N"). Step times are those of the lowest
// rank whose journal is there. Throws UsageError where there is none, DataError where it is damaged.
RunRecord recover_run(const std::filesystem::path& journal);

}  // namespace ttt::result
