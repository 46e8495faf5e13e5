#include "server/call_slots.h"

#include <gtest/gtest.h>

#include <deque>
#include <optional>

namespace paritect {
namespace {

constexpr CallLimits kFew = {.of_one = 2, .of_all = 3, .of_admins = 1, .imports = 1};

TEST(CallSlots, OneHolderCannotTakeThemAllAndAdminsKeepTheirLane) {
  CallSlots slots(kFew);
  std::deque<CallSlots::Slot> taken;
  const auto take = [&](const char* actor, bool admin = false) {
    auto slot = slots.Take(actor, admin, false);
    if (slot.ok()) taken.push_back(*std::move(slot));
    return slot.ok();
  };
  EXPECT_TRUE(take("viewer/a"));
  EXPECT_TRUE(take("viewer/a"));
  EXPECT_FALSE(take("viewer/a"));
  EXPECT_TRUE(take("viewer/b"));
  EXPECT_FALSE(take("viewer/c")) << "three are the most";
  EXPECT_TRUE(take("admin/x", true));
  EXPECT_FALSE(take("admin/y", true));
  taken.pop_front();
  EXPECT_TRUE(take("viewer/c"));
}

TEST(CallSlots, ImportsAreFewer) {
  CallSlots slots(kFew);
  std::optional<CallSlots::Slot> one = *slots.Take("operator/a", false, true);
  EXPECT_EQ(slots.Take("operator/b", false, true).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(slots.Take("operator/b", false, false).ok());
  one.reset();
  EXPECT_TRUE(slots.Take("operator/b", false, true).ok());
}

}  // namespace
}  // namespace paritect
