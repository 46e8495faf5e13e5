// Settings: configuration files in their native form, recognised by content, and what the logs print of settings.
// A log that stands under `logs` and under `settings` is scanned once.
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/collector.h"
#include "agent/collectors/log_files.h"
#include "agent/collectors/printed_settings.h"
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

class Collection {
 public:
  Collection(const CollectorEnv& env, const v1::Plan& plan, EvidenceSink sink) : env_(env), plan_(plan), sink_(sink) {}

  void Collect() {
    std::vector<PathMatch> logs;
    for (const v1::LogSource& source : plan_.logs()) {
      auto matches = ExpandPathPattern(env_.fs, ResolvePath(plan_, source.file()));
      if (!matches.ok()) continue;  // the collector of logs says so
      for (PathMatch& match : *matches) {
        if (logs_.insert(match.path).second) logs.push_back(std::move(match));
      }
    }
    for (const v1::SettingsSource& source : plan_.settings()) CollectSource(source);
    // Whoever asks no logs asks nothing that they print.
    if (!env_.only.empty() && !env_.only.contains("logs")) return;
    for (const PathMatch& log : logs) CollectPrinted(log);
  }

 private:
  void CollectSource(const v1::SettingsSource& source) {
    auto matches = ExpandPathPattern(env_.fs, ResolvePath(plan_, source.file()));
    if (!matches.ok()) return sink_(ProblemEvidence(kKind, source.file(), matches.status()));
    if (matches->empty()) sink_(ProblemEvidence(kKind, source.file(), v1::OUTCOME_ABSENT, "pattern_matches_nothing"));
    for (const PathMatch& match : *matches) CollectFile(source, match);
  }

  void CollectFile(const v1::SettingsSource& source, const PathMatch& match) {
    const std::string label = Label(match.path, plan_.base());
    auto text = ReadWholeFile(env_.fs, match.path, kSettingsBytesMax);
    if (!text.ok()) return sink_(ProblemEvidence(kKind, label, text.status()));
    if (logs_.contains(match.path) && source.kind().empty()) {
      const SettingsFormat* format = SniffSettings(*text);
      if (format == nullptr || format->block) {
        asked_.insert(match.path);
        return;
      }
    }
    auto documents = ReadSettings(*text, label, source.kind());
    if (!documents.ok()) return sink_(Problem(documents.status(), label));
    Emit(*documents, match, label, "");
  }

  void CollectPrinted(const PathMatch& log) {
    const std::string label = Label(log.path, plan_.base());
    auto documents = ScanPrintedSettings(env_.fs, log.path, label);
    const bool asked = asked_.contains(log.path);  // else the collector of logs tells what is wrong with the file
    if (!documents.ok()) {
      if (asked) sink_(ProblemEvidence(kKind, label, documents.status()));
      return;
    }
    if (documents->empty() && asked) {
      auto head = ReadWholeFile(env_.fs, log.path, kSettingsBytesMax);
      const std::string stand_in = head.ok() ? StandInReason(*head) : "";
      sink_(Problem(stand_in.empty() ? absl::UnimplementedError("the log prints no settings")
                                     : absl::FailedPreconditionError(stand_in),
                    label));
    }
    Emit(*documents, log, label, "printed");
  }

  void Emit(std::vector<v1::SettingsDocument>& documents, const PathMatch& match, const std::string& label,
            absl::string_view kind) {
    for (v1::SettingsDocument& document : documents) {
      if (!kind.empty()) document.set_kind(std::string(kind));
      v1::Evidence evidence = CollectedEvidence(kKind, label);
      if (match.captures.rank) evidence.set_rank(*match.captures.rank);
      *evidence.mutable_settings() = std::move(document);
      sink_(std::move(evidence));
    }
  }

  const CollectorEnv& env_;
  const v1::Plan& plan_;
  EvidenceSink sink_;
  std::set<std::string> logs_;
  std::set<std::string> asked_;  // logs that also stand under `settings`
};

void Collect(const CollectorEnv& env, const v1::Plan& plan, EvidenceSink sink) {
  Collection(env, plan, sink).Collect();
}

}  // namespace

extern const Collector kSettingsCollector;
const Collector kSettingsCollector = {"settings", "configuration in its native form, also what logs print", &Collect};

}  // namespace paritect
