// A folder for what nobody wants to keep.
#pragma once

#include <filesystem>
#include <string>

namespace ttt {

// Made empty under $TMPDIR (/tmp without one), with a name of its own, and removed with all that is in it when the
// object goes.
class TempFolder {
 public:
  // Throws UsageError where no folder can be made there.
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace ttt
