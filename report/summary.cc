#include "report/summary.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/node_names.h"
#include "common/utf8.h"
#include "report/report_words.h"
#include "report/terminal.h"
#include "report/view.h"
#include "rules/message_pattern.h"

namespace paritect {
namespace {

constexpr std::size_t kBriefColumns = 84;
constexpr std::size_t kClauseBytesMin = 16;  // a colon before that parts a name from what is said of it
constexpr std::size_t kBriefSubjectColumns = 44;
constexpr std::size_t kBriefValueColumns = 28;
constexpr std::size_t kCausesInSentence = 4;

// Full-width signs part a Chinese sentence.
absl::string_view Separator(Language language) {
  return language == Language::kChinese ? "；" : " · ";
}

std::string Say(const Rules& rules, Language language, absl::string_view id, const MessageArgs& args = {}) {
  return Word(rules, absl::MakeConstSpan(&language, 1), id, args);
}

// "1e-05 (gpu/model.txt:2)" without where it stands.
absl::string_view WithoutSource(absl::string_view value) {
  const auto open = value.rfind(" (");
  return open != absl::string_view::npos && absl::EndsWith(value, ")") ? value.substr(0, open) : value;
}

bool IsShort(absl::string_view value) {
  return !value.empty() && DisplayWidth(value) <= kBriefValueColumns;
}

// The sentence up to its first remark.
absl::string_view FirstClause(absl::string_view message) {
  std::size_t end = message.size();
  for (absl::string_view mark : {" (", "; ", "（", "；", ". "}) end = std::min(end, message.find(mark));
  for (absl::string_view mark : {": ", "："}) {
    const std::size_t at = message.find(mark, kClauseBytesMin);
    const absl::string_view head = message.substr(0, std::min(at, message.size()));
    // "npu against gpu: …" names two runs and says nothing yet.
    if (!absl::StrContains(head, " against ") && !absl::StrContains(head, " 与 ")) end = std::min(end, at);
  }
  return message.substr(0, end);
}

// The end of a path tells more than its beginning.
std::string ShortSubject(const std::string& subject) {
  const std::string safe = TerminalSafe(subject);
  if (DisplayWidth(safe) <= kBriefSubjectColumns) return safe;
  const auto slash = safe.rfind('/');
  const std::string name = slash == std::string::npos ? safe : absl::StrCat("…", safe.substr(slash));
  return Shorten(name, kBriefSubjectColumns, false);
}

// Runs, nodes and ranks are subjects that do not say what differs.
bool NamesARun(const v1::Report& report, const std::string& subject) {
  if (subject.empty() || absl::StartsWith(subject, "rank ")) return true;
  for (const v1::ReportSide* side : {&report.baseline(), &report.migrated()}) {
    for (const v1::ReportRun& run : side->runs()) {
      if (run.name() == subject || std::find(run.nodes().begin(), run.nodes().end(), subject) != run.nodes().end())
        return true;
    }
  }
  return false;
}

struct Silent {
  std::vector<std::string> nodes;
  std::set<const v1::CheckResult*> checks;
};

Silent SilentNodes(const Rules& rules, const v1::Report& report) {
  std::vector<MessagePattern> patterns;
  for (const char* id : {"node_silent", "node_silent/never", "node_silent_evidence"})
    patterns.emplace_back(rules.messages, id, MessageArgs{});
  Silent silent;
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& check : item.checks()) {
      for (const v1::Missing& missing : check.missing()) {
        const bool by_silence = std::any_of(patterns.begin(), patterns.end(), [&](const MessagePattern& pattern) {
          return pattern.Matches(missing.what().en(), missing.how().en());
        });
        if (!by_silence) continue;
        silent.nodes.push_back(missing.from());
        if (check.verdict() == v1::VERDICT_NOT_PERFORMED) silent.checks.insert(&check);
      }
    }
  }
  return silent;
}

std::string FailSentence(const Rules& rules, Language language, const v1::Report& report,
                         const std::vector<Cause>& causes) {
  std::vector<std::string> briefs;
  std::int64_t consequences = 0;
  for (const Cause& cause : causes) {
    consequences += static_cast<std::int64_t>(cause.consequences.size());
    if (briefs.size() < kCausesInSentence) briefs.push_back(BriefCause(rules, language, report, cause));
  }
  if (causes.size() > briefs.size()) {
    briefs.push_back(
        Say(rules, language, "screen_more_causes", {{"count", absl::StrCat(causes.size() - briefs.size())}}));
  }
  std::string text =
      Say(rules, language, "screen_fail",
          {{"count", absl::StrCat(causes.size())}, {"causes", absl::StrJoin(briefs, Separator(language))}});
  // A cause that was cut ends in an ellipsis, and no full stop behind it.
  text = absl::StrReplaceAll(text, {{"….", "…"}, {"…。", "…"}});
  if (consequences > 0) {
    absl::StrAppend(&text, language == Language::kChinese ? "" : " ",
                    Say(rules, language, "screen_follow",
                        {{"count", absl::StrCat(consequences)}, {"causes", absl::StrCat(causes.size())}}));
  }
  return text;
}

}  // namespace

absl::string_view Colon(Language language) {
  return language == Language::kChinese ? "：" : ": ";
}

absl::string_view LabelColon(Language language) {
  return absl::StripTrailingAsciiWhitespace(Colon(language));
}

std::string BriefFinding(Language language, const v1::Report& report, const v1::CheckResult& check,
                         const v1::Finding& finding) {
  const std::string subject = ValueIn(language, DisplayBytes(finding.subject()));
  const std::string name = NamesARun(report, subject) ? In(language, check.title()) : ShortSubject(subject);
  const absl::string_view before = WithoutSource(finding.baseline());
  const absl::string_view after = WithoutSource(finding.migrated());
  // Digests are values that tell nothing; of a course ("2.3 -> 1.9") the sentence says what is wrong with it.
  const bool told_by_values = !absl::StartsWith(before, "md5 ") && !absl::StrContains(before, ": ") &&
                              !absl::StrContains(before, " -> ") && IsShort(before) && IsShort(after) &&
                              before != after;
  if (told_by_values) {
    return TerminalSafe(absl::StrCat(name, " ", ValueIn(language, before), " → ", ValueIn(language, after)));
  }
  const std::string& message = In(language, finding.message());
  const std::string clause = TerminalSafe(FirstClause(message));
  // "baseline: lr_base" and "lr_base: two sources disagree": the name is not told twice.
  const std::size_t part = subject.find(": ");
  if (part != std::string::npos && absl::StartsWith(clause, subject.substr(part + 2))) {
    return Shorten(absl::StrCat(TerminalSafe(subject.substr(0, part + 2)), clause), kBriefColumns, false);
  }
  const bool named = absl::StrContains(clause, subject) || NamesARun(report, subject);
  return Shorten(named ? clause : absl::StrCat(name, " ", clause), kBriefColumns, false);
}

std::int64_t CountFindings(const Cause& cause) {
  const auto shown = static_cast<std::int64_t>(cause.findings.size());
  const v1::CheckResult& check = *cause.check;
  if (check.findings_total() <= check.findings_size()) return shown;
  // The first finding of a check that was cut says how many of its severity there are; those of other kinds are none of
  // this cause.
  const auto& facts = check.findings(0).facts().fields();
  const auto total = facts.find("total");
  if (total == facts.end()) return shown;
  const auto others = std::count_if(check.findings().begin(), check.findings().end(), [&](const v1::Finding& finding) {
    return ClassOf(finding) == FindingClass::kError && finding.kind() != cause.findings[0]->kind();
  });
  return std::max(shown, static_cast<std::int64_t>(total->second.number_value()) - others);
}

std::string BriefCause(const Rules& rules, Language language, const v1::Report& report, const Cause& cause) {
  std::string brief = BriefFinding(language, report, *cause.check, *cause.findings[0]);
  const std::int64_t count = CountFindings(cause);
  if (count == 1) return brief;
  return Say(rules, language, "screen_brief_more", {{"brief", brief}, {"count", absl::StrCat(count - 1)}});
}

std::string VerdictSentence(const Rules& rules, Language language, const v1::Report& report,
                            const std::vector<Cause>& causes) {
  if (report.verdict() == v1::VERDICT_FAIL) return FailSentence(rules, language, report, causes);
  const StandingCounts items = CountItems(report);
  const MessageArgs counts = {{"pass", absl::StrCat(items.pass)},
                              {"open", absl::StrCat(items.not_performed)},
                              {"not_applicable", absl::StrCat(items.not_applicable)},
                              {"total", absl::StrCat(items.total())}};
  std::string text =
      Say(rules, language, items.not_performed > 0 ? "screen_nothing_failed" : "screen_all_pass", counts);
  const bool compared =
      CountChecks(report).pass > 0 && report.baseline().runs_size() > 0 && report.migrated().runs_size() > 0;
  absl::StrAppend(&text, language == Language::kChinese ? "" : " ",
                  Say(rules, language, compared ? "screen_agree" : "screen_nothing_compared"));
  return text;
}

std::string IncompleteSentence(const Rules& rules, Language language, const v1::Report& report) {
  const Silent silent = SilentNodes(rules, report);
  if (!silent.nodes.empty()) {
    return Say(rules, language, "screen_incomplete",
               {{"nodes", FoldNodeNames(silent.nodes)}, {"count", absl::StrCat(silent.checks.size())}});
  }
  const v1::Coverage& c = report.coverage();
  const bool nodes = c.nodes_reported() < c.nodes_expected();
  if (!nodes && c.ranks_reported() >= c.ranks_expected()) return "";
  return Say(rules, language, nodes ? "screen_incomplete_nodes" : "screen_incomplete_ranks",
             {{"reported", absl::StrCat(nodes ? c.nodes_reported() : c.ranks_reported())},
              {"expected", absl::StrCat(nodes ? c.nodes_expected() : c.ranks_expected())}});
}

std::vector<std::string> MetaParts(const Rules& rules, absl::Span<const Language> languages,
                                   const v1::ReportMeta* meta) {
  std::vector<std::string> parts;
  if (meta == nullptr) return parts;
  const std::string time = TimeText(meta->at_unix_ms());
  if (!time.empty()) parts.push_back(Word(rules, languages, "screen_report_of", {{"time", time}}));
  if (!meta->host().empty()) {
    parts.push_back(Word(rules, languages, "screen_host", {{"host", DisplayBytes(meta->host())}}));
  }
  if (meta->run() > 0) {
    parts.push_back(Word(rules, languages, "screen_run",
                         {{"run", absl::StrCat(meta->run())}, {"audit", DisplayBytes(meta->audit())}}));
  }
  return parts;
}

std::vector<Compared> WhatWasCompared(const v1::Report& report) {
  std::vector<Compared> compared;
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& check : item.checks()) {
      if (StandingOf(check) != Standing::kPass) continue;
      const auto note = std::find_if(check.findings().begin(), check.findings().end(),
                                     [](const v1::Finding& finding) { return finding.kind() == "measured"; });
      if (note != check.findings().end()) compared.push_back({&check, &*note});
    }
  }
  return compared;
}

}  // namespace paritect
