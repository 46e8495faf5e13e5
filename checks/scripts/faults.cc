#include "checks/scripts/faults.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace paritect {
namespace {

// Each of the checks that take faults asks for all of them.
const std::vector<ScriptFault>& FaultsOf(const CheckContext& context, const RunView& run) {
  const Views::Key key(run.nodes.begin(), run.nodes.end());
  return context.views->Get<std::vector<ScriptFault>>(
      key, [&] { return FindScriptFaults(ScriptFlow::Of(context, run)); });
}

// Whether a run of the other side has the same fault, wherever it stands there.
bool SharedWith(const CheckContext& context, Side other, const ScriptFault& fault) {
  for (const RunView& run : context.evidence.Runs(other)) {
    const std::vector<ScriptFault>& faults = FaultsOf(context, run);
    if (std::any_of(faults.begin(), faults.end(),
                    [&](const ScriptFault& one) { return one.check == fault.check && one.message == fault.message; }))
      return true;
  }
  return false;
}

void AddFaultsOfRun(const CheckContext& context, v1::CheckResult& result, absl::string_view check, Side side,
                    const RunView& run) {
  for (const ScriptFault& fault : FaultsOf(context, run)) {
    // Faults of both sides' items ("loss-scale.enabled") go by the end of their name.
    if (fault.check != check && !absl::EndsWith(check, absl::StrCat(".", fault.check))) continue;
    v1::Severity severity = fault.severity;
    const Side other = side == Side::kBaseline ? Side::kMigrated : Side::kBaseline;
    if (severity == v1::SEVERITY_ERROR && fault.shared_is_warning && SharedWith(context, other, fault))
      severity = v1::SEVERITY_WARNING;
    v1::Finding& finding = AddFinding(context, result, severity, fault.message, ScriptPlace(*fault.fact), fault.args);
    finding.add_evidence(absl::StrCat(ScriptPlace(*fault.fact), ": ", ScriptDetail(*fault.fact)));
    for (const v1::ScriptFact* place : fault.evidence) {
      finding.add_evidence(absl::StrCat(ScriptPlace(*place), ": ", ScriptDetail(*place)));
    }
  }
}

}  // namespace

ScriptFault& FaultList::Add(absl::string_view check, absl::string_view message, const v1::ScriptFact& fact,
                            MessageArgs args) {
  ScriptFault fault;
  fault.check = check;
  fault.message = message;
  fault.fact = &fact;
  fault.args = std::move(args);
  fault.args.emplace_back("place", ScriptPlace(fact));
  fault.args.emplace_back("call", ScriptDetail(fact));
  // What nothing calls endangers nothing yet.
  if (!fact.called()) fault.severity = v1::SEVERITY_WARNING;
  faults_.push_back(std::move(fault));
  return faults_.back();
}

std::vector<ScriptFault> FindScriptFaults(const ScriptFlow& flow) {
  if (!flow.read()) return {};
  FaultList list(flow);
  FindOrderFaults(list);
  FindUpdateFaults(list);
  FindModeFaults(list);
  FindPrecisionFaults(list);
  FindParallelFaults(list);
  return list.Take();
}

void AddScriptFaults(const CheckContext& context, v1::CheckResult& result, absl::string_view check, Side side) {
  for (const RunView& run : context.evidence.Runs(side)) {
    AddFaultsOfRun(context, result, check, side, run);
  }
}

}  // namespace paritect
