#include "server/call_rate.h"

#include "gtest/gtest.h"

namespace paritect {
namespace {

int Taken(CallRate& rate, absl::string_view certificate, std::int64_t now_ms, int tries) {
  int taken = 0;
  for (int i = 0; i < tries; ++i) taken += rate.Take(certificate, now_ms) ? 1 : 0;
  return taken;
}

TEST(CallRate, ManyAtOnceThenSoManyASecondOfEachHolder) {
  CallRate rate;
  EXPECT_EQ(Taken(rate, "a", 1000, 100'000), CallRate::kCallsAtOnce);
  EXPECT_EQ(Taken(rate, "b", 1000, 10), 10) << "another's are not touched";
  EXPECT_EQ(Taken(rate, "a", 2000, 100'000), CallRate::kCallsASecond);
  EXPECT_EQ(Taken(rate, "a", 1'000'000, 100'000), CallRate::kCallsAtOnce);
}

TEST(CallRate, WhoNeverPausesGetsAsManyASecond) {
  CallRate rate;
  Taken(rate, "a", 1000, 100'000);
  int taken = 0;
  for (int ms = 1001; ms <= 2000; ++ms) taken += Taken(rate, "a", ms, 10);
  EXPECT_EQ(taken, CallRate::kCallsASecond);
}

}  // namespace
}  // namespace paritect
