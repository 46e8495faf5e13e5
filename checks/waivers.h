// What persons say about a report: waivers of findings and attestations of checks, each with a name, a
// reason and an end date (a profile, and an answers file, hold them).
#ifndef PARITECT_CHECKS_WAIVERS_H_
#define PARITECT_CHECKS_WAIVERS_H_

#include <set>
#include <string>
#include <vector>

#include "checks/evidence_set.h"
#include "paritect/v1/report.pb.h"
#include "rules/rules.h"

namespace paritect {

// Applies them check by check and remembers which were of use. `evidence` and `profile` must outlive it.
class PersonsAnswers {
 public:
  // `today`: YYYY-MM-DD; an entry counts up to and with its last day.
  PersonsAnswers(const EvidenceSet& evidence, const Profile& profile, std::string today);

  // Marks waived errors. A waiver must name a kind or a subject, else it waives nothing; all that it names must
  // fit. With `nodes`, every node that the finding is about must be named: a waiver for one node never hides another's
  // fault.
  void Waive(v1::CheckResult& result);

  // Turns not_performed into an attested pass. A failure that was found is never answered away.
  void Attest(v1::CheckResult& result);

  // What the profile's owner should know: waivers that waive nothing, match nothing any more or have ended,
  // answers that have ended, check ids that do not exist. Checks that were not run are passed over.
  void Warn(const Rules& rules, v1::Report& report) const;

 private:
  bool NodesFit(const ProfileWaiver& waiver, const v1::CheckResult& result, const v1::Finding& finding) const;

  const EvidenceSet& evidence_;
  const Profile& profile_;
  const std::string today_;
  std::vector<bool> waiver_used_;
  std::set<std::string> checks_run_;
};

// Every word that may stand as a finding's kind: the part of a message id before '/'.
std::vector<std::string> KindsOf(const Messages& messages);
bool IsKind(const Messages& messages, const std::string& kind);

}  // namespace paritect

#endif  // PARITECT_CHECKS_WAIVERS_H_
