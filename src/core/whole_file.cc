#include "core/whole_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/error.h"

namespace ttt {

std::string read_whole_file(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  const bool regular = std::filesystem::is_regular_file(status);
  std::ifstream in;
  if (regular) in.open(path, std::ios::binary);  // opening a pipe would wait for its writer
  if (!in.is_open()) {
    const std::string why = error                                   ? error.message()
                            : regular                               ? std::strerror(errno)
                            : std::filesystem::is_directory(status) ? "it is a folder"
                                                                    : "it is no regular file";
    throw UsageError("Cannot read '" + path + "' (" + why + "). Name a file that exists.");
  }
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

namespace {

// True where `path` is neither a file nor a folder: renaming onto /dev/stdout would replace the device.
bool written_in_place(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
         !std::filesystem::is_directory(status);
}

}  // namespace

void write_whole_file(const std::string& path, std::string_view bytes) {
  const bool in_place = written_in_place(path);
  const std::string written = in_place ? path : path + ".tmp";
  std::ofstream out(written, std::ios::binary | std::ios::trunc);
  out << bytes;
  out.close();
  std::error_code error;
  if (out && !in_place) std::filesystem::rename(written, path, error);
  if (out && !error) return;
  const std::string why = error ? error.message() : std::strerror(errno);
  if (!in_place) std::filesystem::remove(written, error);
  throw UsageError("Cannot write '" + path + "' (" + why + "). Name a file in a folder that can be written.");
}

}  // namespace ttt
