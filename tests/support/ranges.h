// Every number among some settings has a finite range that holds its default.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "settings/field_table.h"

namespace ttt::test {

inline void expect_ranges(const result::FieldTable& table) {
  for (const result::Field& field : table.fields) {
    EXPECT_EQ(result::check_limits(field.value, field.limits), "") << field.key;
    const std::string type = result::type_name(field.value);
    if (type.find("number") == std::string::npos && type.find("integer") == std::string::npos) continue;
    EXPECT_TRUE(std::isfinite(field.limits.lo) && std::isfinite(field.limits.hi)) << field.key;
  }
}

}  // namespace ttt::test
