#include "core/temp_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace ttt {

TempFolder::TempFolder() {
  std::error_code none;
  const std::filesystem::path base = std::filesystem::temp_directory_path(none);
  if (none)
    throw UsageError(
        "No folder for temporary files (" + none.message() + "). Set TMPDIR to a folder that can be written.");
  std::string pattern = (base / "ttt-XXXXXX").string();
  if (!::mkdtemp(pattern.data()))
    throw UsageError("Cannot make a temporary folder '" + pattern + "' (" + std::strerror(errno) +
                     "). Set TMPDIR to a folder that can be written.");
  path_ = pattern;
}

TempFolder::~TempFolder() {
  std::error_code ec;
  std::filesystem::remove_all(path_, ec);
}

}  // namespace ttt
