// The contract of a check: a pure function from evidence and profile to findings.
//
// A check says what it found and what it lacked; it never states its verdict. The runner derives it:
//   an error that no waiver takes away        -> fail
//   else anything missing                     -> not_performed
//   else                                      -> pass
// so a check can fail on partial evidence and can never pass on it (pre-tuning checklist: what was not
// looked at is 未进行, never 通过). Evidence kinds that a check cannot pass without are listed in
// `needs`: the runner reports what of them is absent or failed, so that no check has to remember it.
//
// No I/O, clock, locale or randomness in checks/ (tests/purity_test.cmake proves it).
#ifndef PARITECT_CHECKS_CHECK_H_
#define PARITECT_CHECKS_CHECK_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "checks/evidence_set.h"
#include "checks/views.h"
#include "paritect/v1/report.pb.h"
#include "rules/rules.h"

namespace paritect {

struct CheckContext {
  const EvidenceSet& evidence;
  const Profile& profile;
  const Rules& rules;
  // What checks of this audit have derived so far. Copies of a context share it.
  std::shared_ptr<Views> views = std::make_shared<Views>();
};

// Evidence without which a check cannot pass, and of which side.
struct EvidenceNeed {
  v1::EvidenceKind kind;
  enum class Of { kBaseline, kMigrated, kBoth } of = Of::kBoth;
};

struct Check {
  absl::string_view id;  // ITEM.NAME as in rules/data/catalogue.yaml
  absl::Span<const EvidenceNeed> needs;
  // Adds findings and missing entries to `result`; leaves id, title and verdict alone.
  void (*evaluate)(const CheckContext& context, v1::CheckResult& result);
};

// All checks of this version; an id of the catalogue that has none here is "not supported by this version".
absl::Span<const Check* const> AllChecks();

// --- what a check's body uses ---------------------------------------------------------------------

// Adds a finding. `message_id` is an id of the catalogue (rules/data/messages); its part before '/' is
// the finding's kind. The remedy is the message's `fix`. `subject` is raw bytes where it is a path.
v1::Finding& AddFinding(const CheckContext& context, v1::CheckResult& result, v1::Severity severity,
                        absl::string_view message_id, absl::string_view subject, const MessageArgs& args = {});

inline v1::Finding& AddError(const CheckContext& context, v1::CheckResult& result, absl::string_view message_id,
                             absl::string_view subject, const MessageArgs& args = {}) {
  return AddFinding(context, result, v1::SEVERITY_ERROR, message_id, subject, args);
}
inline v1::Finding& AddWarning(const CheckContext& context, v1::CheckResult& result, absl::string_view message_id,
                               absl::string_view subject, const MessageArgs& args = {}) {
  return AddFinding(context, result, v1::SEVERITY_WARNING, message_id, subject, args);
}
inline v1::Finding& AddNote(const CheckContext& context, v1::CheckResult& result, absl::string_view message_id,
                            absl::string_view subject, const MessageArgs& args = {}) {
  return AddFinding(context, result, v1::SEVERITY_NOTE, message_id, subject, args);
}

// Says that something the check needs is not there; `from` is a node, rank, run or side.
void AddMissing(const CheckContext& context, v1::CheckResult& result, absl::string_view message_id,
                absl::string_view from, const MessageArgs& args = {});

// The same for a collector's own problem. `from`: see WhereFrom.
void AddMissing(const CheckContext& context, v1::CheckResult& result, const v1::Problem& problem,
                absl::string_view from);

// Reports everything of `kind` on `side` that is absent or failed, and says so if there is none at all.
// True when at least one piece was collected.
bool RequireEvidence(const CheckContext& context, v1::CheckResult& result, Side side, v1::EvidenceKind kind);

void SetFact(v1::Finding& finding, absl::string_view name, double value);  // NaN, inf: as text
void SetFact(v1::Finding& finding, absl::string_view name, absl::string_view value);
void SetFact(v1::Finding& finding, absl::string_view name, bool value);
void SetFact(v1::Finding& finding, absl::string_view name, absl::Span<const double> values);
void SetFact(v1::Finding& finding, absl::string_view name, absl::Span<const std::string> values);
inline void SetFact(v1::Finding& finding, absl::string_view name, const char* value) {
  SetFact(finding, name, absl::string_view(value));
}
inline void SetFact(v1::Finding& finding, absl::string_view name, int value) {
  SetFact(finding, name, static_cast<double>(value));
}
inline void SetFact(v1::Finding& finding, absl::string_view name, std::int64_t value) {
  SetFact(finding, name, static_cast<double>(value));
}
inline void SetFact(v1::Finding& finding, absl::string_view name, std::uint64_t value) {
  SetFact(finding, name, static_cast<double>(value));
}

}  // namespace paritect

#endif  // PARITECT_CHECKS_CHECK_H_
