#include "checks/shards/name_order.h"

#include <gtest/gtest.h>

namespace paritect {
namespace {

NameOrders Orders(std::vector<absl::string_view> names) {
  return FollowedOrders(names);
}

TEST(NameOrder, Byte) {
  EXPECT_EQ(Orders({"A", "B", "a", "b"}), kOrderByte | kOrderNatural | kOrderFolder);
  EXPECT_EQ(Orders({"f1", "f10", "f2"}) & kOrderNatural, 0u);
  EXPECT_NE(Orders({"f1", "f10", "f2"}) & kOrderByte, 0u);
}

TEST(NameOrder, Natural) {
  EXPECT_EQ(Orders({"f1", "f2", "f10"}), kOrderNatural);
  EXPECT_NE(Orders({"f1", "f02", "f2x"}) & kOrderNatural, 0u);
  EXPECT_NE(Orders({"a999999999999999999999", "a1000000000000000000000"}) & kOrderNatural, 0u);
}

TEST(NameOrder, LocaleOfOldAndNewLibraries) {
  // As `ls` prints them under en_US.UTF-8: case breaks ties only, accents likewise.
  EXPECT_EQ(Orders({"a1", "A2", "b1", "B2"}), kOrderLocale);
  EXPECT_EQ(Orders({"e1", "\xc3\xa9_2", "F3"}), kOrderLocale);
  // Punctuation ignored at first (glibc before 2.28), and counted (from 2.28 on).
  EXPECT_NE(Orders({"rolebinding-", "role-t", "Z"}) & kOrderLocale, 0u);
  EXPECT_NE(Orders({"a_b", "aa", "B"}) & kOrderLocale, 0u);
}

TEST(NameOrder, FolderByFolder) {
  EXPECT_NE(Orders({"a/2", "a-b/1"}) & kOrderFolder, 0u);
  EXPECT_EQ(Orders({"a/2", "a-b/1"}) & kOrderByte, 0u);
  EXPECT_NE(Orders({"a-b/1", "a/2"}) & kOrderByte, 0u);
}

TEST(NameOrder, NoneAndTrivial) {
  EXPECT_EQ(Orders({"c", "a", "b"}), 0u);
  EXPECT_EQ(Orders({"a", "a"}), 0u);
  EXPECT_EQ(Orders({}), kOrderAll);
  EXPECT_EQ(Orders({"x"}), kOrderAll);
  EXPECT_EQ(Orders({"\xff", "\xc3", ""}), 0u);
}

}  // namespace
}  // namespace paritect
