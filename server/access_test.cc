#include "server/access.h"

#include <gtest/gtest.h>

namespace paritect {
namespace {

TEST(CheckAccess, GivesEachRoleItsCallsAndSaysWhoMay) {
  EXPECT_TRUE(CheckAccess("/paritect.v1.Agents/Session", Role::kAgent).ok());
  EXPECT_TRUE(CheckAccess("/paritect.v1.Operators/ListNodes", Role::kViewer).ok());
  EXPECT_EQ(CheckAccess("/paritect.v1.Operators/CreateToken", Role::kViewer).message(),
            "role viewer may not call CreateToken; it needs: admin");
  EXPECT_TRUE(absl::IsUnauthenticated(CheckAccess("/paritect.v1.Operators/ListNodes", std::nullopt)));
  EXPECT_TRUE(absl::IsPermissionDenied(CheckAccess("/paritect.v1.Agents/Session", Role::kAdmin)));
  EXPECT_TRUE(absl::IsPermissionDenied(CheckAccess("/paritect.v1.Operators/Unheard", Role::kAdmin)));
}

TEST(CheckAccess, AnAgentReadsNothingOfOthers) {
  for (const AccessRule& rule : AccessRules()) {
    if (rule.method.find("/paritect.v1.Operators/") != 0) continue;
    EXPECT_TRUE(absl::IsPermissionDenied(CheckAccess(rule.method, Role::kAgent))) << rule.method;
  }
}

TEST(AccessTableFaults, NamesWhatIsMissingAndWhatIsLeftOver) {
  std::vector<std::string> methods;
  for (const AccessRule& rule : AccessRules()) {
    if (rule.method.find("/grpc.") != 0) methods.emplace_back(rule.method);
  }
  EXPECT_TRUE(AccessTableFaults(methods).empty());
  methods.back() = "/paritect.v1.Operators/New";
  EXPECT_EQ(AccessTableFaults(methods).size(), 2u);
}

}  // namespace
}  // namespace paritect
