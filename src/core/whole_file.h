// Files that are read or written in one piece.
#pragma once

#include <string>
#include <string_view>

namespace ttt {

// Throws UsageError where it cannot be read or is no regular file.
std::string read_whole_file(const std::string& path);

// Whole or not at all: under another name first, then renamed; what stood there is replaced. A device or a pipe is
// written in place. Throws UsageError where it cannot be written.
void write_whole_file(const std::string& path, std::string_view bytes);

}  // namespace ttt
