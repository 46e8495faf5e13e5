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
#include "report/brief.h"
#include "report/report_words.h"
#include "report/terminal.h"
#include "report/view.h"
#include "rules/message_pattern.h"

namespace paritect {
namespace {

constexpr std::size_t kCausesInSentence = 4;
constexpr std::size_t kApartInSentence = 2;
constexpr std::size_t kApartColumns = 160;

// Full-width signs part a Chinese sentence.
absl::string_view Separator(Language language) {
  return language == Language::kChinese ? "；" : " · ";
}

std::string Say(const Rules& rules, Language language, absl::string_view id, const MessageArgs& args = {}) {
  return Word(rules, absl::MakeConstSpan(&language, 1), id, args);
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

// Differences that no check judges: warnings with two values, and code that is apart. None is a fault for sure, but who
// reads that all agrees must not miss them.
std::vector<std::string> Apart(const Rules& rules, Language language, const v1::Report& report) {
  std::vector<std::string> apart;
  const auto add = [&apart](std::string text) {
    if (std::find(apart.begin(), apart.end(), text) == apart.end()) apart.push_back(std::move(text));
  };
  ForEachFinding(report, FindingClass::kWarning, [&](const v1::CheckResult& check, const v1::Finding& finding) {
    const bool differs = !finding.baseline().empty() && !finding.migrated().empty();
    if (differs && finding.baseline() != finding.migrated()) add(BriefFinding(rules, language, report, check, finding));
  });
  const MessagePattern code(rules.messages, "script_code_apart", MessageArgs{});
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& check : item.checks()) {
      if (check.verdict() != v1::VERDICT_NOT_PERFORMED || check.has_attested()) continue;
      for (const v1::Missing& missing : check.missing()) {
        if (!code.Matches(missing.what().en(), missing.how().en())) continue;
        const absl::string_view what = In(language, missing.what());
        const absl::string_view mark = language == Language::kChinese ? "：" : ": ";
        const std::size_t at = what.find(mark);
        add(Shorten(TerminalSafe(at == absl::string_view::npos ? what : what.substr(at + mark.size())), kApartColumns,
                    false));
      }
    }
  }
  return apart;
}

// The two runs agree, as far as they were compared; or in all but what stands beside it.
std::string AgreeSentence(const Rules& rules, Language language, const v1::Report& report) {
  std::vector<std::string> apart = Apart(rules, language, report);
  if (apart.empty()) return Say(rules, language, "screen_agree");
  if (apart.size() > kApartInSentence) {
    const std::size_t more = apart.size() - kApartInSentence;
    apart.resize(kApartInSentence);
    apart.push_back(Say(rules, language, "screen_more_causes", {{"count", absl::StrCat(more)}}));
  }
  const std::string text =
      Say(rules, language, "screen_agree/apart", {{"what", absl::StrJoin(apart, Separator(language))}});
  return absl::StrReplaceAll(text, {{"….", "…"}, {"…。", "…"}});
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
  std::string brief = BriefFinding(rules, language, report, *cause.check, *cause.findings[0]);
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
                  compared ? AgreeSentence(rules, language, report) : Say(rules, language, "screen_nothing_compared"));
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
