// MLPerf's log lines: `:::MLLOG {"namespace": "", "time_ms": ..., "event_type": ..., "key": ..., "value": ...,
// "metadata": {...}}`. Source of the format: mlcommons/logging, mlperf_logging/mllog/mllog.py (written) and
// compliance_checker/mlp_parser/ruleset_310.py (read).
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "settings/json.h"

namespace ttt::result {

inline constexpr const char* kMllogToken = ":::MLLOG ";

enum class MllogType { kPoint, kStart, kEnd };

struct MllogLine {
  std::int64_t time_ms = 0;  // since the Unix epoch
  MllogType type = MllogType::kPoint;
  std::string key;
  Json value;                      // null where the key says all
  Json metadata = Json::object();  // beside "file" and "lineno", which mllog_text adds
  std::source_location where = std::source_location::current();
};

// The line without its end, spaced as Python's json.dumps does: other people's tools search it for `"key": "run_stop"`.
std::string mllog_text(const MllogLine& line);

// Appends lines to a file, each handed to the kernel at once, so that nothing of it is lost with the process.
class MllogFile {
 public:
  // Throws UsageError where `path` exists and `force` is false, or where it cannot be written.
  MllogFile(const std::filesystem::path& path, bool force);
  // False once a line could not be written (disk full); later ones are dropped, so that what is there stays whole.
  bool write(const MllogLine& line);
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

// `run.mllog.txt` beside the result `run.json`.
std::filesystem::path mllog_path(const std::filesystem::path& result);

struct MllogRecord {
  double time_ms = 0;
  std::string key;
  Json value, metadata;
  std::size_t line = 0;  // of the file, from 1
};
// A line with the token that holds no record, and why.
struct MllogFault {
  std::size_t line = 0;
  std::string reason;
};
struct MllogText {
  std::vector<MllogRecord> records;
  std::vector<MllogFault> faults;
};
// As the reader above takes it: what stands before the token is dropped, and lines without it are ignored. Bytes that
// are not UTF-8 count as Latin-1. NaN and infinities, which Python writes, become null.
MllogText parse_mllog(const std::string& text);

}  // namespace ttt::result
