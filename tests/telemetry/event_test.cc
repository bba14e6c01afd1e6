// The writer of event files: nothing is lost, whoever is slower. tests/telemetry/events.py has TensorBoard read what it
// wrote.
#include <gtest/gtest.h>

#include <cstring>

#include "core/error.h"
#include "core/temp_folder.h"
#include "telemetry/event_file.h"
#include "tests/support/python.h"

namespace ttt::result {
namespace {

// Messages of the records, as far as they are whole; their checksums are not looked at here.
std::vector<std::string> records(const std::string& bytes) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at + 12 <= bytes.size();) {
    std::uint64_t size = 0;
    std::memcpy(&size, bytes.data() + at, 8);
    if (at + 16 + size > bytes.size()) break;
    out.push_back(bytes.substr(at + 12, size));
    at += 16 + size;
  }
  return out;
}

TEST(EventFile, ScalarOnTheWire) {
  const EventMessage event{.step = 300, .values = {{"a", 1.0f}}, .wall_time_s = 2};
  // Field 1, double; field 2, varint 300; field 5, a summary with one value: its tag and its simple_value.
  const std::string expected("\x09\0\0\0\0\0\0\0\x40\x10\xAC\x02\x2A\x0A\x0A\x08\x0A\x01\x61\x15\0\0\x80\x3F", 24);
  EXPECT_EQ(encode_event(event), expected);
  // CRC-32C of eight zero bytes is 0x8C28B28A; turned by 15 bits and shifted.
  const std::string empty = frame_record("");
  EXPECT_EQ(empty.size(), 16u);
  std::uint32_t crc = 0;
  std::memcpy(&crc, empty.data() + 8, 4);
  EXPECT_EQ(crc, ((0x8C28B28Au >> 15) | (0x8C28B28Au << 17)) + 0xA282EAD8u);
}

TEST(EventWriter, SmallQueue_KeepsAllInOrder) {
  TempFolder folder;
  std::filesystem::path path;
  {
    EventWriter writer(folder / "new/folder", "run", 2);
    path = writer.path();
    for (std::int64_t i = 0; i < 500; ++i) {
      if (i % 2) writer.add(EventMessage{.step = i, .values = {{"x", static_cast<float>(i)}}});
      else writer.add([i] { return EventMessage{.step = i, .values = {{"x", static_cast<float>(i)}}}; });
    }
    writer.close();
    EXPECT_EQ(writer.failure(), "");
  }
  EXPECT_EQ(path.filename().string().substr(0, 21), "events.out.tfevents.1");  // seconds since 1970 have ten digits
  const auto all = records(test::read_text(path));
  ASSERT_EQ(all.size(), 501u);
  EXPECT_NE(all[0].find("brain.Event:2"), std::string::npos);
  for (std::int64_t i = 1; i < 500; ++i) {
    const std::string expected = encode_event({.step = i, .values = {{"x", static_cast<float>(i)}}});
    EXPECT_EQ(all[static_cast<std::size_t>(i) + 1].substr(9), expected.substr(9)) << i;  // without the time
  }
}

TEST(EventWriter, TwoRuns_HaveTwoFiles) {
  TempFolder folder;
  EventWriter a(folder.path(), "run"), b(folder.path(), "run");
  EXPECT_NE(a.path(), b.path());
}

TEST(EventWriter, ImpossibleEvent_CostsOnlyItself) {
  TempFolder folder;
  EventWriter writer(folder.path(), "run");
  writer.add(EventMessage{.step = 1});
  writer.add([]() -> EventMessage { throw Error("no picture"); });
  writer.add(EventMessage{.step = 2});
  writer.close();
  EXPECT_EQ(writer.failure(), "no picture");
  EXPECT_EQ(records(test::read_text(writer.path())).size(), 3u);
}

TEST(EventWriter, UnmakeableFolder_IsRefused) {
  TempFolder folder;
  test::write_text(folder / "file", "");
  try {
    EventWriter writer(folder / "file/below", "run");
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("Cannot write event files into"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace ttt::result
