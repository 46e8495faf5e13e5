#include "checks/waivers.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/glob.h"
#include "common/nearest.h"
#include "common/utf8.h"

namespace paritect {
namespace {

bool SubjectFits(const std::string& pattern, const std::string& subject) {
  // A report shows bytes that are not UTF-8 as \xHH; what was copied from a report must fit too.
  const std::string shown = DisplayBytes(subject);
  return pattern == subject || pattern == shown || GlobMatch(pattern, subject) || GlobMatch(pattern, shown);
}

bool FindingFits(const ProfileWaiver& waiver, const v1::CheckResult& result, const v1::Finding& finding) {
  if (waiver.check != result.id()) return false;
  if (waiver.kind.empty() && waiver.subject.empty()) return false;
  if (!waiver.kind.empty() && waiver.kind != finding.kind()) return false;
  return waiver.subject.empty() || SubjectFits(waiver.subject, finding.subject());
}

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

// Whether `name` stands in `text` as a word of its own ("npu-1" is not in "npu-11").
bool MentionsWord(absl::string_view text, absl::string_view name) {
  for (std::size_t at = text.find(name); at != absl::string_view::npos; at = text.find(name, at + 1)) {
    const bool free_before = at == 0 || !IsNameByte(text[at - 1]);
    const std::size_t end = at + name.size();
    if (free_before && (end == text.size() || !IsNameByte(text[end]))) return true;
  }
  return false;
}

bool Mentions(const v1::Finding& finding, const std::string& node) {
  if (MentionsWord(finding.subject(), node) || MentionsWord(finding.baseline(), node) ||
      MentionsWord(finding.migrated(), node) || MentionsWord(finding.message().en(), node)) {
    return true;
  }
  for (const std::string& evidence : finding.evidence()) {
    if (MentionsWord(evidence, node)) return true;
  }
  return false;
}

std::set<std::string> NodesOf(const EvidenceSet& evidence, Side side) {
  std::set<std::string> nodes;
  for (const v1::Bundle& bundle : evidence.bundles(side)) {
    if (!bundle.plan().node().empty()) nodes.insert(bundle.plan().node());
  }
  return nodes;
}

std::set<std::string> Mentioned(const std::set<std::string>& nodes, const v1::Finding& finding) {
  std::set<std::string> found;
  for (const std::string& node : nodes) {
    if (Mentions(finding, node)) found.insert(node);
  }
  return found;
}

bool AnyFits(const std::vector<std::string>& globs, const std::string& node) {
  for (const std::string& glob : globs) {
    if (glob == node || GlobMatch(glob, node)) return true;
  }
  return false;
}

// " (truncated, a.bin)": what tells one waiver of a check from another.
std::string Which(const ProfileWaiver& waiver) {
  std::vector<std::string> parts;
  if (!waiver.kind.empty()) parts.push_back(waiver.kind);
  if (!waiver.subject.empty()) parts.push_back(DisplayBytes(waiver.subject));
  return parts.empty() ? "" : absl::StrCat(" (", absl::StrJoin(parts, ", "), ")");
}

}  // namespace

std::vector<std::string> KindsOf(const Messages& messages) {
  std::set<std::string> kinds;
  for (const auto& [id, message] : messages.all()) {
    if (!absl::StartsWith(id, "ui_")) kinds.insert(id.substr(0, id.find('/')));
  }
  return {kinds.begin(), kinds.end()};
}

bool IsKind(const Messages& messages, const std::string& kind) {
  const std::vector<std::string> kinds = KindsOf(messages);
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

PersonsAnswers::PersonsAnswers(const EvidenceSet& evidence, const Profile& profile, std::string today)
    : evidence_(evidence), profile_(profile), today_(std::move(today)), waiver_used_(profile.waivers.size(), false) {}

bool PersonsAnswers::NodesFit(const ProfileWaiver& waiver, const v1::CheckResult& result,
                              const v1::Finding& finding) const {
  if (waiver.nodes.empty()) return true;
  std::set<std::string> concerned(finding.nodes().begin(), finding.nodes().end());
  const Side side = absl::StartsWith(result.id(), "baseline.") ? Side::kBaseline : Side::kMigrated;
  const Side other = side == Side::kBaseline ? Side::kMigrated : Side::kBaseline;
  if (concerned.empty()) concerned = Mentioned(NodesOf(evidence_, side), finding);
  if (concerned.empty()) concerned = Mentioned(NodesOf(evidence_, other), finding);
  // A finding that names no node is about the whole side.
  if (concerned.empty()) concerned = NodesOf(evidence_, side);
  for (const std::string& node : concerned) {
    if (!AnyFits(waiver.nodes, node)) return false;
  }
  return !concerned.empty();
}

void PersonsAnswers::Waive(v1::CheckResult& result) {
  checks_run_.insert(result.id());
  for (v1::Finding& finding : *result.mutable_findings()) {
    if (finding.severity() != v1::SEVERITY_ERROR) continue;
    for (std::size_t i = 0; i < profile_.waivers.size(); ++i) {
      const ProfileWaiver& waiver = profile_.waivers[i];
      if (!FindingFits(waiver, result, finding) || !NodesFit(waiver, result, finding)) continue;
      waiver_used_[i] = true;
      if (waiver.until < today_ || finding.has_waived()) continue;
      v1::Waiver& mark = *finding.mutable_waived();
      mark.set_by(waiver.by);
      mark.set_reason(waiver.reason);
      mark.set_until(waiver.until);
      mark.set_ref(waiver.ref);
      result.set_waived(result.waived() + 1);
    }
  }
}

void PersonsAnswers::Attest(v1::CheckResult& result) {
  if (result.verdict() != v1::VERDICT_NOT_PERFORMED) return;
  for (const ProfileAttestation& attestation : profile_.attestations) {
    if (attestation.check != result.id() || attestation.until < today_) continue;
    v1::Attestation& mark = *result.mutable_attested();
    mark.set_by(attestation.by);
    mark.set_reason(attestation.reason);
    mark.set_until(attestation.until);
    result.set_verdict(v1::VERDICT_PASS);
    return;
  }
}

void PersonsAnswers::Warn(const Rules& rules, v1::Report& report) const {
  const auto say = [&](absl::string_view id, const std::string& check, const std::string& by,
                       const std::string& until, const std::string& which = "") {
    *report.add_warnings() =
        rules.messages.Say(id, {{"check", check}, {"until", until}, {"by", by}, {"which", which}});
  };
  for (std::size_t i = 0; i < profile_.waivers.size(); ++i) {
    const ProfileWaiver& waiver = profile_.waivers[i];
    if (rules.catalogue.FindCheck(waiver.check) == nullptr) {
      say("answer_for_no_check", waiver.check, waiver.by, waiver.until, Which(waiver));
    } else if (waiver.kind.empty() && waiver.subject.empty()) {
      say("waiver_names_nothing", waiver.check, waiver.by, waiver.until, Which(waiver));
    } else if (!checks_run_.contains(waiver.check)) {
      continue;
    } else if (!waiver_used_[i] && !waiver.kind.empty() && !IsKind(rules.messages, waiver.kind)) {
      const std::vector<std::string> known = KindsOf(rules.messages);
      const std::string nearest = NearestWord(waiver.kind, known);
      *report.add_warnings() =
          rules.messages.Say(nearest.empty() ? "waiver_kind_unknown" : "waiver_kind_unknown/nearest",
                             {{"check", waiver.check}, {"by", waiver.by}, {"kind", waiver.kind}, {"nearest", nearest},
                              {"which", Which(waiver)}});
    } else if (!waiver_used_[i]) {
      say("waiver_unused", waiver.check, waiver.by, waiver.until, Which(waiver));
    } else if (waiver.until < today_) {
      say("waiver_expired", waiver.check, waiver.by, waiver.until, Which(waiver));
    }
  }
  for (const ProfileAttestation& attestation : profile_.attestations) {
    if (rules.catalogue.FindCheck(attestation.check) == nullptr) {
      say("answer_for_no_check", attestation.check, attestation.by, attestation.until);
    } else if (attestation.until < today_ && checks_run_.contains(attestation.check)) {
      say("attestation_expired", attestation.check, attestation.by, attestation.until);
    }
  }
}

}  // namespace paritect
