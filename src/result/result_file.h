// A result on disk: reserved before the run, written once, whole or not at all, and checked when read.
//
// Reserving takes `<path>.lock` (created exclusively and locked with flock, so that a lock whose process died does not
// count) and refuses a path that has a result. Writing goes to `<path>.tmp`, is flushed to the disk and renamed. Where
// that fails (disk full), the text is saved under TMPDIR, else printed on stderr between two marker lines.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "result/run_record.h"
#include "settings/json.h"

namespace ttt::result {

// Reservation of a result path by one process (rank 0). Released on destruction.
class Reservation {
 public:
  // Makes the folder of `path` where it is missing. Throws UsageError where `path` exists and `force` is false, where
  // another run holds it (force or not), or where the folder cannot be made or written. `may_resume`: a result with
  // verdict failed is what an earlier start of this run left. It is kept as `<path>.earlier` until complete().
  Reservation(const std::filesystem::path& path, bool force, bool may_resume = false);
  ~Reservation();
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  void complete();  // the run's new result is written: the earlier one goes
  void withdraw();  // nothing was run: the earlier result and the folders are as they were before

 private:
  std::filesystem::path path_, lock_, earlier_, made_folder_;
  int fd_ = -1;
};

struct WriteOptions {
  bool force = false;  // replace a result of another run; one of the same run_id is always replaced
};

// Writes to_json(record) with its content hash. Any rank may call it; where two ranks of one run do at once, one wins
// and the other returns false. Throws Error (naming where the text was saved) where the path cannot be written.
bool write_result(const std::filesystem::path& path, const RunRecord& record, const WriteOptions& options = {});

// The text of a result file: pretty JSON whose last member, content_sha256, is the SHA-256 of the text with these 64
// digits replaced by zeros. So `sed` and `sha256sum` can check it too.
std::string result_text(const RunRecord& record);

// Throws UsageError (no such file), DataError (truncated, edited, not a result, another schema version).
RunRecord read_result(const std::filesystem::path& path);
// The same of a text that was read already; `name` is what an error calls it.
RunRecord parse_result(std::string text, const std::string& name);

// The whole file. Throws UsageError where it cannot be read.
std::string read_text(const std::filesystem::path& path);

// `<path>.journal`
std::filesystem::path journal_folder(const std::filesystem::path& path);

}  // namespace ttt::result
