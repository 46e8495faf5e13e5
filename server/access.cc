#include "server/access.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace paritect {

absl::Span<const AccessRule> AccessRules() {
  static const std::vector<Role> kReaders = {Role::kViewer, Role::kOperator, Role::kAdmin};
  static const std::vector<Role> kWriters = {Role::kOperator, Role::kAdmin};
  static const std::vector<Role> kAdmins = {Role::kAdmin};
  static const std::vector<AccessRule>& rules = *new std::vector<AccessRule>{
      {"/paritect.v1.Agents/Renew", {Role::kAgent, Role::kViewer, Role::kOperator, Role::kAdmin}},
      {"/paritect.v1.Agents/Session", {Role::kAgent}},
#define PARITECT_OPERATOR_CALL(Name, roles, subject) {"/paritect.v1.Operators/" #Name, roles},
#include "proto/paritect/v1/operator_calls.inc"
#undef PARITECT_OPERATOR_CALL
      {"/paritect.v1.Operators/WatchEvents", kReaders},
      {"/paritect.v1.Operators/WatchAudit", kReaders},
      {"/paritect.v1.Operators/Import", kWriters},
      {"/paritect.v1.Operators/GetEvidence", kReaders},
      {"/paritect.v1.Operators/Diagnose", kReaders},
      {"/paritect.v1.Operators/GetMetrics", kReaders},
      // Of gRPC itself.
      {"/grpc.health.v1.Health/Check", {Role::kAgent, Role::kViewer, Role::kOperator, Role::kAdmin}},
      {"/grpc.health.v1.Health/Watch", {Role::kAgent, Role::kViewer, Role::kOperator, Role::kAdmin}},
      {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", kAdmins},
  };
  return rules;
}

absl::Status CheckAccess(absl::string_view method, std::optional<Role> role) {
  for (const AccessRule& rule : AccessRules()) {
    if (rule.method != method) continue;
    if (!role) {
      return absl::UnauthenticatedError(
          "this call needs a client certificate; give one with --credential, or join with a token first");
    }
    if (std::find(rule.roles.begin(), rule.roles.end(), *role) != rule.roles.end()) return absl::OkStatus();
    const std::string may =
        absl::StrJoin(rule.roles, ", ", [](std::string* out, Role one) { absl::StrAppend(out, RoleName(one)); });
    return absl::PermissionDeniedError(absl::StrCat("role ", RoleName(*role), " may not call ",
                                                    method.substr(method.rfind('/') + 1), "; it needs: ", may));
  }
  return absl::PermissionDeniedError(absl::StrCat("no rule for ", method));
}

std::vector<std::string> AccessTableFaults(absl::Span<const std::string> methods) {
  std::vector<std::string> faults;
  for (const std::string& method : methods) {
    const auto rules = AccessRules();
    const bool known = std::any_of(rules.begin(), rules.end(), [&](const AccessRule& r) { return r.method == method; });
    if (!known) faults.push_back(absl::StrCat(method, " has no rule in server/access.cc"));
  }
  for (const AccessRule& rule : AccessRules()) {
    if (absl::StartsWith(rule.method, "/grpc.")) continue;
    if (std::find(methods.begin(), methods.end(), rule.method) == methods.end()) {
      faults.push_back(absl::StrCat("server/access.cc has a rule for ", rule.method, ", which is no RPC"));
    }
  }
  return faults;
}

}  // namespace paritect
