#include "core/whole_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "core/temp_folder.h"
#include "tests/support/message_of.h"
#include "tests/support/python.h"

namespace ttt {
namespace {

TEST(WholeFile, IsWrittenWholeAndReadBack) {
  TempFolder folder;
  const std::string path = (folder / "a").string(), bytes("with\0a zero\n", 12);
  write_whole_file(path, "before");
  write_whole_file(path, bytes);
  EXPECT_EQ(read_whole_file(path), bytes);
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST(WholeFile, UnreadableOrUnwritable_IsNamed) {
  TempFolder folder;
  const std::string base = folder.path().string();
  EXPECT_EQ(test::message_of<UsageError>([&] { read_whole_file(base + "/none"); }),
      "Cannot read '" + base + "/none' (No such file or directory). Name a file that exists.");
  ASSERT_EQ(::mkfifo((base + "/pipe").c_str(), 0600), 0);  // opening it would wait for ever
  EXPECT_EQ(test::message_of<UsageError>([&] { read_whole_file(base + "/pipe"); }),
      "Cannot read '" + base + "/pipe' (it is no regular file). Name a file that exists.");
  EXPECT_EQ(test::message_of<UsageError>([&] { read_whole_file(base); }),
      "Cannot read '" + base + "' (it is a folder). Name a file that exists.");
  EXPECT_NE(test::message_of<UsageError>([&] {
    write_whole_file(base + "/none/a", "x");
  }).find("Cannot write '" + base + "/none/a' (No such file"),
      std::string::npos);
  EXPECT_NE(test::message_of<UsageError>([&] { write_whole_file(base, "x"); }).find("Cannot write '" + base + "'"),
      std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(base + ".tmp"));
}

TEST(WholeFile, DeviceOrPipe_WrittenInPlace) {
  TempFolder folder;
  const std::string pipe = (folder / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);  // so that the writer does not wait for one
  ASSERT_GE(reader, 0);
  write_whole_file(pipe, "through");
  std::array<char, 16> got{};
  EXPECT_EQ(::read(reader, got.data(), got.size()), 7);
  EXPECT_EQ(std::string(got.data()), "through");
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));

  EXPECT_NE(test::message_of<UsageError>([] { write_whole_file("/dev/full", "x"); }).find("No space left on device"),
      std::string::npos);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

}  // namespace
}  // namespace ttt
