#include "checks/contradictions.h"

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/recorded_formats.h"
#include "rules/contradictions.h"

namespace paritect {
namespace {

constexpr absl::string_view kPrefix = "observed.contradiction.";

void Collect(const v1::Bundle& bundle, const v1::Evidence& evidence, std::vector<Told>& all) {
  std::map<std::string, Told> by_scope;
  std::vector<std::string> order;
  for (const v1::Setting& setting : evidence.settings().settings()) {
    absl::string_view key = setting.raw_key();
    if (!absl::ConsumePrefix(&key, kPrefix)) continue;
    const auto [one, first] = by_scope.try_emplace(setting.scope());
    if (first) order.push_back(setting.scope());
    one->second.origin = setting.origin();
    for (const auto& [name, slot] : {std::pair("kind", &one->second.kind), std::pair("part", &one->second.part),
                                     std::pair("told", &one->second.told), std::pair("other", &one->second.other)}) {
      if (key == name) *slot = setting.raw_value();
    }
  }
  for (const std::string& scope : order) {
    Told& one = by_scope[scope];
    one.where = WhereFrom(bundle, evidence);
    all.push_back(std::move(one));
  }
}

}  // namespace

const std::vector<Told>& ContradictionsOf(const CheckContext& context, Side side) {
  struct OfSides {
    std::map<Side, std::vector<Told>> sides;
  };
  const OfSides& all = context.views->Get<OfSides>({}, [&] {
    OfSides made;
    for (const Side one : kBothSides) {
      std::vector<Told>& found = made.sides[one];
      context.evidence.ForEach(one, v1::EVIDENCE_KIND_SETTINGS,
                               [&](const v1::Bundle& bundle, const v1::Evidence& evidence) {
                                 if (evidence.settings().format() == kObservedFormat) Collect(bundle, evidence, found);
                               });
    }
    return made;
  });
  return all.sides.at(side);
}

bool AnyObserved(const CheckContext& context) {
  bool any = false;
  for (const Side side : kBothSides) {
    context.evidence.ForEach(side, v1::EVIDENCE_KIND_SETTINGS, [&](const v1::Bundle&, const v1::Evidence& evidence) {
      any = any || evidence.settings().format() == kObservedFormat;
    });
  }
  return any;
}

void RequireAgreement(const CheckContext& context, absl::string_view check, v1::CheckResult& result) {
  if (absl::StartsWith(check, "evidence.")) return;  // that is where it is told
  const ContradictionRules& rules = BuiltInContradictions();
  for (const Side side : kBothSides) {
    // What is asked of the baseline alone does not rest on the other side.
    if (side == Side::kMigrated && absl::StartsWith(check, "baseline.")) continue;
    for (const Told& one : ContradictionsOf(context, side)) {
      if (!rules.Rests(check, one.part)) continue;
      AddMissing(context, result, "record_contradicts_itself", one.where, {{"origin", one.origin}});
    }
  }
}

}  // namespace paritect
