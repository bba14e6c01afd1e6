#include "core/whole_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/error.h"

namespace ttt {

std::string read_whole_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string why = in ? "it is a folder" : std::strerror(errno);
  if (!in || std::filesystem::is_directory(path)) throw UsageError("Cannot read '" + path + "' (" + why + "). Name a file that exists.");
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_whole_file(const std::string& path, std::string_view bytes) {
  const std::string temporary = path + ".tmp";
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  out << bytes;
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(temporary, path, error);
  if (out && !error) return;
  const std::string why = error ? error.message() : std::strerror(errno);
  std::filesystem::remove(temporary, error);
  throw UsageError("Cannot write '" + path + "' (" + why + "). Name a file in a folder that can be written.");
}

}  // namespace ttt
