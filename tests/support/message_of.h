// The message of an expected error.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "core/error.h"

namespace ttt::test {

// The message of the E that `action` throws. The test fails where it throws nothing or an error of another kind.
template <class E = Error, class Action> std::string message_of(Action&& action) {
  try {
    std::forward<Action>(action)();
  } catch (const E& e) { return e.what(); } catch (const std::exception& e) {
    ADD_FAILURE() << "another error: " << e.what();
    return "";
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

}  // namespace ttt::test
