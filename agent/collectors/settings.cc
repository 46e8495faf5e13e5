// Settings: configuration files in their native form, recognised by content. Secrets stay on the node.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/collector.h"
#include "agent/redaction.h"
#include "common/glob.h"
#include "common/utf8.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

constexpr v1::EvidenceKind kKind = v1::EVIDENCE_KIND_SETTINGS;

v1::Evidence Problem(const absl::Status& status, absl::string_view source) {
  if (absl::IsFailedPrecondition(status)) {
    return ProblemEvidence(kKind, source, v1::OUTCOME_FAILED, "source_stand_in", status.message());
  }
  return ProblemEvidence(kKind, source, status);
}

// The name for origins: as the plan writes it, so that a report reads the same wherever it was made.
std::string Label(absl::string_view path, absl::string_view base) {
  if (base != "." && !base.empty() && absl::StartsWith(path, base)) {
    path.remove_prefix(base.size());
    absl::ConsumePrefix(&path, "/");
  }
  return DisplayBytes(path);
}

void CollectFile(const CollectorEnv& env, const v1::Plan& plan, const v1::SettingsSource& source,
                 const PathMatch& match, EvidenceSink sink) {
  const std::string label = Label(match.path, plan.base());
  auto text = ReadWholeFile(env.fs, match.path, kSettingsBytesMax);
  if (!text.ok()) return sink(ProblemEvidence(kKind, label, text.status()));
  auto documents = ReadSettings(*text, label, source.kind());
  if (!documents.ok()) return sink(Problem(documents.status(), label));
  for (v1::SettingsDocument& document : *documents) {
    WithholdSecrets(env.rules.settings, document, env.redaction_key);
    v1::Evidence evidence;
    evidence.set_kind(kKind);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_source(label);
    if (match.captures.rank) evidence.set_rank(*match.captures.rank);
    *evidence.mutable_settings() = std::move(document);
    sink(std::move(evidence));
  }
}

void Collect(const CollectorEnv& env, const v1::Plan& plan, EvidenceSink sink) {
  for (const v1::SettingsSource& source : plan.settings()) {
    auto matches = ExpandPathPattern(env.fs, ResolvePath(plan, source.file()));
    if (!matches.ok()) {
      sink(ProblemEvidence(kKind, source.file(), matches.status()));
      continue;
    }
    if (matches->empty()) sink(ProblemEvidence(kKind, source.file(), v1::OUTCOME_ABSENT, "pattern_matches_nothing"));
    for (const PathMatch& match : *matches) CollectFile(env, plan, source, match, sink);
  }
}

}  // namespace

extern const Collector kSettingsCollector;
const Collector kSettingsCollector = {"settings", "configuration in its native form", &Collect};

}  // namespace paritect
