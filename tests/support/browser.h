// A browser without a window, in which pages and pictures are measured.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/python.h"

namespace ttt::test {

// The program, or "" where there is none.
inline std::string chromium() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"})
    if (const auto found = run_command(std::string("command -v ") + name); found.status == 0)
      return found.output.substr(0, found.output.find('\n'));
  return "";
}

#define TTT_NEED_CHROMIUM() \
  if (ttt::test::chromium().empty()) GTEST_SKIP() << "no Chromium: apt-get install chromium"

}  // namespace ttt::test
