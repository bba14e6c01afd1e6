#include "core/text.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace ttt::result {
namespace {

TEST(Text, Fixed_WritesAnyLength) {
  EXPECT_EQ(fixed("%.2f %%, %s", 1.005, "a"), "1.00 %, a");
  EXPECT_EQ(fixed("%0*d", 5000, 7), std::string(4999, '0') + "7");
  EXPECT_EQ(fixed(""), "");
}

TEST(Text, Joined_KeepsEmptyTexts) {
  EXPECT_EQ(joined(std::vector<std::string>{}), "");
  EXPECT_EQ(joined(std::set<std::string>{"b", "a"}, "; "), "a; b");
  EXPECT_EQ(joined(std::vector<std::string>{"", "a", ""}), ", a, ");
}

TEST(Text, Counted_OneIsSingular) {
  EXPECT_EQ(counted(0, "rank"), "0 ranks");
  EXPECT_EQ(counted(1, "rank"), "1 rank");
  EXPECT_EQ(counted(std::size_t{2}, "rank"), "2 ranks");
}

}  // namespace
}  // namespace ttt::result
