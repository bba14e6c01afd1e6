#include "core/make_once.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "core/error.h"

namespace ttt {
namespace fs = std::filesystem;
namespace {

// Held until destroyed, or until the process dies.
class Lock {
 public:
  explicit Lock(const std::string& path) : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    int status = -1;
    if (descriptor_ >= 0) do
        status = ::flock(descriptor_, LOCK_EX);
      while (status != 0 && errno == EINTR);
    if (status == 0) return;
    const std::string reason = std::strerror(errno);
    if (descriptor_ >= 0) ::close(descriptor_);
    throw Error("The cache's lock " + path + " cannot be taken (" + reason +
                "): name a cache folder on a file system with locks.");
  }
  ~Lock() { ::close(descriptor_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int descriptor_;
};

}  // namespace

void make_once(const fs::path& path, const std::function<void(const fs::path&)>& make) {
  if (fs::exists(path)) return;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (!fs::is_directory(path.parent_path()))
    throw UsageError(
        "The cache folder " + path.parent_path().string() + " cannot be made (" + error.message() + "): name another.");
  const Lock lock(path.string() + ".lock");
  if (fs::exists(path)) return;  // another process made it while this one waited
  // Only the holder of the lock has a temporary: any that stands there was left by a killed process.
  const fs::path temporary = path.string() + ".tmp";
  fs::remove_all(temporary);
  try {
    make(temporary);
    fs::rename(temporary, path);
  } catch (...) {
    fs::remove_all(temporary, error);
    throw;
  }
}

}  // namespace ttt
