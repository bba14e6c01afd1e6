// The data folder beside the checkout, which not everyone has.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace ttt::test {

inline std::filesystem::path shared_data() {
  const char* named = std::getenv("TTT_SHARED_DATA");
  return named ? std::filesystem::path(named) : std::filesystem::path(TTT_SOURCE_DIR).parent_path() / "shared" / "data";
}

}  // namespace ttt::test

// Ends a test with a printed reason where the file is not there.
#define TTT_NEED_DATA(name)                                             \
  if (!std::filesystem::exists(ttt::test::shared_data() / (name)))      \
  GTEST_SKIP() << "no " << (ttt::test::shared_data() / (name)).string() \
               << ": set TTT_SHARED_DATA to the folder of real COCO data"
