#include "result/result_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "core/error.h"
#include "core/text.h"

namespace ttt::result {
namespace {

namespace fs = std::filesystem;

const std::string kHashKey = "\"content_sha256\": \"";
constexpr std::size_t kHashDigits = 64;

fs::path with_suffix(const fs::path& path, const std::string& suffix) { return path.string() + suffix; }

std::string why(int error) { return std::strerror(error); }

// Writes a new file and flushes it to the disk. 0 or errno; a half-written file is removed.
int write_file(const fs::path& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
  if (fd < 0) return errno;
  int error = 0;
  for (std::size_t done = 0; done < text.size() && !error;) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n >= 0) done += static_cast<std::size_t>(n);
    if (n < 0 && errno != EINTR) error = errno;
  }
  if (!error && ::fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP) error = errno;
  if (::close(fd) != 0 && !error) error = errno;  // NFS reports a full disk here
  if (error) ::unlink(path.c_str());
  return error;
}

// The new name survives a power cut only once its folder is on the disk.
void sync_folder(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

// run_id of the result at `path`; "" where there is none that can be read.
std::string run_id_at(const fs::path& path) {
  try {
    return parse(read_text(path), "").value("run_id", "");
  } catch (const std::exception&) { return {}; }
}

// Whether the result at `path` is that of a run that failed or was interrupted.
bool is_unfinished(const fs::path& path) {
  try {
    return parse_result(read_text(path), quote(path)).verdict == Verdict::kFailed;
  } catch (const Error&) { return false; }
}

// Puts `temporary` in place. 0 or errno. Without `replace` a file that appeared meanwhile stays (EEXIST).
int publish(const fs::path& temporary, const fs::path& path, bool replace) {
  if (!replace) {
    if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;  // file systems without it: NFS
    struct stat unused;
    if (::lstat(path.c_str(), &unused) == 0) return EEXIST;
  }
  return ::rename(temporary.c_str(), path.c_str()) == 0 ? 0 : errno;
}

// The last resort, so that hours of a machine are not lost with a full disk.
[[noreturn]] void save_elsewhere(const fs::path& path, const std::string& text, int error) {
  const char* tmpdir = std::getenv("TMPDIR");
  const fs::path saved = fs::path(tmpdir && *tmpdir ? tmpdir : "/tmp") /
                         (path.stem().string() + "." + std::to_string(::getpid()) + ".json");
  const std::string problem = "The result could not be written to '" + path.string() + "' (" + why(error) + "). ";
  if (write_file(saved, text) == 0)
    throw Error(problem + "It was saved as '" + saved.string() + "': move it from there.");
  std::fprintf(stderr, "-----BEGIN TTT RESULT-----\n%s-----END TTT RESULT-----\n", text.c_str());
  std::fflush(stderr);
  throw Error(
      problem + "It was printed above, on stderr, between the lines BEGIN and END TTT RESULT: save it from there.");
}

}  // namespace

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  if (!in || fs::is_directory(path))
    throw UsageError("Cannot read '" + path.string() + "'. Name an existing result file.");
  return text.str();
}

fs::path journal_folder(const fs::path& path) { return with_suffix(path, ".journal"); }

Reservation::Reservation(const fs::path& path, bool force, bool may_resume)
    : path_(path), lock_(with_suffix(path, ".lock")), earlier_(with_suffix(path, ".earlier")) {
  if (fs::is_directory(path))
    throw UsageError("The result path '" + path.string() + "' is a folder. Name a file with --out.");
  std::error_code ec;  // a failure shows at open()
  if (fs::create_directories(path.parent_path(), ec)) made_folder_ = path.parent_path();
  const std::string busy =
      "Another run is writing '" + path.string() + "'. Wait for it, or name another file with --out.";
  for (int attempt = 0; fd_ < 0; ++attempt) {
    const int fd = ::open(lock_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644);
    const bool created = fd >= 0;
    const int error = errno;
    fd_ = created ? fd : ::open(lock_.c_str(), O_RDWR | O_CLOEXEC);
    if (fd_ < 0) {
      if (error == EEXIST && errno == ENOENT && attempt < 100) continue;  // its owner just released it
      throw UsageError("Cannot write '" + path.string() + "' (" + why(error) +
                       "). Name a file in an existing, writable folder with --out.");
    }
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      const bool unknown = errno != EWOULDBLOCK;  // a file system without flock
      if (!unknown || !created) {
        ::close(fd_);
        throw UsageError(unknown ? "'" + lock_.string() + "' says that a run is writing '" + path.string() +
                                       "'. Where none is, delete it, or name another file with --out."
                                 : busy);
      }
    }
    // Between open and flock its owner may have released it: what was locked must still be the file of that name.
    struct stat mine, named;
    if (::fstat(fd_, &mine) == 0 && ::stat(lock_.c_str(), &named) == 0 && mine.st_ino == named.st_ino &&
        mine.st_dev == named.st_dev)
      break;
    ::close(fd_);
    fd_ = -1;
    if (attempt >= 100) throw UsageError(busy);
  }
  if (may_resume && is_unfinished(path)) {
    // Not left in place: a rank that finds a result of its run there takes it for another rank's last word.
    fs::rename(path, earlier_);
  } else if (!force && fs::exists(fs::symlink_status(path))) {
    ::unlink(lock_.c_str());
    ::close(fd_);
    throw UsageError(
        "The result '" + path.string() + "' exists already. Replace it with --force, or name another file with --out.");
  }
  ::unlink(with_suffix(path, ".tmp").c_str());  // of a run that was killed: the lock is ours, so nobody writes it
}

void Reservation::complete() {
  std::error_code ec;
  fs::remove(earlier_, ec);  // also that of a start that was killed before it could
}

void Reservation::withdraw() {
  std::error_code ec;
  if (!fs::exists(fs::symlink_status(path_, ec))) fs::rename(earlier_, path_, ec);
  ::unlink(lock_.c_str());
  if (!made_folder_.empty()) fs::remove(made_folder_, ec);  // only while it is empty
}

Reservation::~Reservation() {
  ::unlink(lock_.c_str());
  ::close(fd_);
}

std::string result_text(const RunRecord& record) {
  Json document = to_json(record);
  document["content_sha256"] = std::string(kHashDigits, '0');
  std::string text = dump(document) + "\n";
  const std::size_t at = text.rfind(kHashKey) + kHashKey.size();
  return text.replace(at, kHashDigits, sha256_hex(text));
}

bool write_result(const fs::path& path, const RunRecord& record, const WriteOptions& options) {
  const std::string text = result_text(record);
  const fs::path temporary = with_suffix(path, ".tmp");
  int error = write_file(temporary, text);
  if (error == EEXIST) return false;  // another rank of this run is at it
  if (error) save_elsewhere(path, text, error);
  const bool ours = !record.run_id.empty() && run_id_at(path) == record.run_id;
  error = publish(temporary, path, options.force || ours);
  if (error) {
    ::unlink(temporary.c_str());
    save_elsewhere(path, text, error);
  }
  sync_folder(path);
  return true;
}

RunRecord read_result(const fs::path& path) { return parse_result(read_text(path), quote(path)); }

RunRecord parse_result(std::string text, const std::string& name) {
  const Json document = parse(text, name);
  if (!document.is_object() || !document.contains("schema_version"))
    throw DataError(
        name + " is not a result of this suite (no schema_version). Name a file that a run wrote with --out.");
  RunRecord record;
  const std::size_t key = text.rfind(kHashKey);
  try {
    record = run_record_from_json(document);
  } catch (const DataError& e) { throw DataError(name + ": " + e.what()); }
  const std::size_t at = key + kHashKey.size();
  if (key == std::string::npos || at + kHashDigits > text.size())
    throw DataError(name + " has no content_sha256: it was edited after it was written. Take the original file.");
  const std::string stated = text.substr(at, kHashDigits);
  text.replace(at, kHashDigits, kHashDigits, '0');
  if (sha256_hex(text) != stated)
    throw DataError(
        name + " does not match its content_sha256: it was edited after it was written. Take the original file.");
  if (record.kind == "time_to_target" && record.verdict == Verdict::kPassed && record.target &&
      std::none_of(record.accuracy.begin(), record.accuracy.end(),
          [&](const Evaluation& e) { return reached(e.metrics, *record.target); }))
    throw DataError(name + " says passed, but none of its evaluations reaches its target. Take the original file.");
  return record;
}

}  // namespace ttt::result
