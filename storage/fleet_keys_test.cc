#include "storage/fleet_keys.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"

namespace paritect {
namespace {

TEST(FleetKeys, APrefixIsOfOneNameAlone) {
  for (const std::string& other : {BundleKey("exp1/lr3", "n", "d"), AuditRunKey("exp1/lr3", 1),
                                   AttestationKey("exp1/", "c"), LiveEventKey("exp1/0", 1), HolderKey("exp1/x", "n")}) {
    EXPECT_FALSE(absl::StartsWith(other, GroupPrefix("exp1"))) << other;
  }
  EXPECT_TRUE(absl::StartsWith(AuditRunKey("exp1", 12), GroupPrefix("exp1")));
}

// Stores of earlier versions hold them.
TEST(FleetKeys, PlainNamesStandAsTheyAre) {
  EXPECT_EQ(AuditRunKey("resnet50", 12), "resnet50/0000000012");
  EXPECT_EQ(AttestationKey("a", "data.dataset.records"), "a/data.dataset.records");
  EXPECT_EQ(HolderKey("agent", "gpu-01"), "agent/gpu-01");
  EXPECT_EQ(BundleKey("r", "n", "\x01"), "r/n/01");
}

}  // namespace
}  // namespace paritect
