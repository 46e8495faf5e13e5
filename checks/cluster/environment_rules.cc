// Sources: HCCL, user_guide/hccl_env (HCCL_INTRA_PCIE_ENABLE, HCCL_DETERMINISTIC, HCCL_OP_EXPANSION_MODE); NCCL
// env.rst.
#include "checks/cluster/environment_rules.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "checks/settings/compare.h"

namespace paritect {
namespace {

struct Effective {
  std::optional<bool> on;
  std::string evidence;
};

bool HasEnvironment(const SettingsView& view) {
  return view.HasFormat("environment");
}

// Atlas A3 expands collectives on the AI CPU unless told otherwise, and Ascend 950 always reduces in order.
Effective Collectives(const SettingsView& view) {
  if (!HasEnvironment(view)) return {};
  if (view.product() == "nvidia") {
    const std::string algorithm = absl::AsciiStrToLower(view.Variable("NCCL_ALGO").value_or(""));
    return {algorithm == "ring", absl::StrCat("NCCL_ALGO=", algorithm.empty() ? "unset" : algorithm)};
  }
  const std::string stated = absl::AsciiStrToLower(view.Variable("HCCL_DETERMINISTIC").value_or(""));
  const std::string told = absl::StrCat("HCCL_DETERMINISTIC=", stated.empty() ? "unset" : stated);
  if (stated == "true" || stated == "strict" || stated == "1") return {true, told};
  if (view.product() == "ascend-950") return {true, "Ascend 950"};
  const std::string mode = absl::AsciiStrToUpper(view.Variable("HCCL_OP_EXPANSION_MODE").value_or("AI_CPU"));
  if (view.product() == "atlas-a3") return {mode != "AIV", absl::StrCat(told, ", HCCL_OP_EXPANSION_MODE=", mode)};
  if (view.product() == "atlas-a2" || view.product() == "atlas-training") return {false, told};
  return {};
}

Effective OperatorFlags(const SettingsView& view) {
  const EffectiveValue* found = view.Find("deterministic");
  const std::optional<bool> on = view.Boolean("deterministic");
  if (found == nullptr || !on) return {};
  return {on, absl::StrCat(found->value.raw_key, "=", ShowValue(found->value))};
}

void CompareOne(const CheckContext& context, v1::CheckResult& result, absl::string_view what, const Effective& a,
                const Effective& b) {
  if (!a.on || !b.on || *a.on == *b.on || HasFinding(result, "determinism_differs", what, a.evidence, b.evidence))
    return;
  v1::Finding& finding =
      AddWarning(context, result, "determinism_differs", what,
                 {{"what", std::string(what)}, {"baseline", *a.on ? "on" : "off"}, {"migrated", *b.on ? "on" : "off"}});
  finding.set_baseline(a.evidence);
  finding.set_migrated(b.evidence);
}

}  // namespace

void JudgeLinks(const CheckContext& context, v1::CheckResult& result) {
  for (Side side : kBothSides) {
    for (const SettingsView& view : ViewsOf(context, side)) {
      const std::string pcie = view.Variable("HCCL_INTRA_PCIE_ENABLE").value_or("");
      const std::string roce = view.Variable("HCCL_INTRA_ROCE_ENABLE").value_or("");
      // Both on, both off, and one off without the other are refused.
      const bool illegal = (pcie == "1" && roce == "1") || (pcie == "0" && roce.empty()) ||
                           (pcie.empty() && roce == "0") || (pcie == "0" && roce == "0");
      if (!illegal) continue;
      AddError(context, result, "links_illegal", absl::StrCat(SideName(side), ": ", view.run_name()),
               {{"pcie", pcie.empty() ? "unset" : pcie}, {"roce", roce.empty() ? "unset" : roce}});
    }
  }
}

void CompareDeterminism(const CheckContext& context, v1::CheckResult& result) {
  const auto baseline = ViewsOf(context, Side::kBaseline);
  if (baseline.empty()) return;
  std::vector<std::string> names;
  for (const SettingsView& view : baseline) names.push_back(view.run_name());
  const ComparedRuns runs = RunsToCompare(context, names);
  for (const SettingsView& reference : baseline) {
    if (reference.run_name() != runs.reference) continue;
    for (const SettingsView& view : ViewsOf(context, Side::kMigrated)) {
      if (runs.left_out.contains(view.run_name())) continue;
      CompareOne(context, result, "operators", OperatorFlags(reference), OperatorFlags(view));
      CompareOne(context, result, "collectives", Collectives(reference), Collectives(view));
    }
  }
}

}  // namespace paritect
