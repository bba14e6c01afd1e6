// A rank's journal: JSON lines, each handed to the kernel in one write() as it happens, so nothing of it is lost with
// the process. Lines: {"type": "start", "record": {...}}, "update" (the same), "step", "evaluation", "checkpoint",
// "event", "telemetry", "pictures", "clocks", "warning", "non_finite", "end".
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "result/run_record.h"
#include "settings/json.h"

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

// Reads a journal while it is written.
class JournalReader {
 public:
  // Of a journal folder (its lowest rank) or one rank's file. Throws UsageError where there is none.
  explicit JournalReader(const std::filesystem::path& journal);

  // Takes in the lines that came since the last call; a last line whose end is not there yet waits for the next one.
  // Returns whether any came. Throws DataError where the journal is damaged.
  bool poll();
  const RunRecord& record() const { return record_; }  // verdict not_run until the run has ended
  bool started() const { return started_; }            // there is a first line
  bool ended() const { return ended_; }                // there is a last one
  const std::filesystem::path& file() const { return file_; }

 private:
  void take(const std::string& text);

  std::filesystem::path file_;
  std::ifstream in_;
  std::streamoff offset_ = 0;
  std::size_t line_ = 0;
  bool started_ = false, ended_ = false;
  RunRecord record_;
};

// The record that a journal folder (or one rank's file) tells of; a last line that was cut off is dropped. The verdict
// is the one that was reached, or `failed` ("ended without a verdict after step N"). Step times are those of the lowest
// rank whose journal is there. Throws UsageError where there is none, DataError where it is damaged.
RunRecord recover_run(const std::filesystem::path& journal);

}  // namespace ttt::result
