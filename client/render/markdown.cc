// -o markdown: the whole report to paste into an issue or a wiki: every item and check, then the details.
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "checks/explaining/openings.h"
#include "client/report/renderer.h"
#include "common/version.h"
#include "report/brief.h"
#include "report/summary.h"
#include "report/terminal.h"
#include "report/view.h"

namespace paritect {
namespace {

// Text inside a table cell or a sentence: nothing in it is read as markup. Backslash escapes are CommonMark's.
std::string Escape(absl::string_view text) {
  std::string out;
  for (char c : TerminalSafe(text)) {
    if (absl::StrContains("\\`*_{}[]<>#|~", absl::string_view(&c, 1))) out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

// A name shown letter by letter. A code span cannot hold a backtick or, in a table, a bar: then plain escaped text.
std::string Code(absl::string_view text) {
  const std::string safe = TerminalSafe(text);
  if (safe.empty()) return "";
  return safe.find_first_of("`|\\") == std::string::npos ? absl::StrCat("`", safe, "`") : Escape(text);
}

class Markdown {
 public:
  Markdown(const v1::Report& report, const RenderOptions& options, std::ostream& out)
      : report_(report), options_(options), out_(out), causes_(CausesOf(BuiltInCauses(), report)) {}

  void Write() {
    Head();
    Causes();
    Openings();
    Matrix();
    Findings(FindingClass::kError, "ui_failed");
    MissingEvidence();
    Findings(FindingClass::kWaived, "ui_waived");
    Attested();
    Findings(FindingClass::kWarning, "ui_warnings");
    Findings(FindingClass::kNote, "ui_notes");
    if (report_.warnings_size() > 0) Heading(Say("ui_about_answers"));
    for (const v1::Text& warning : report_.warnings()) out_ << "- " << Show(warning) << "\n";
  }

 private:
  std::string Say(absl::string_view id, const MessageArgs& args = {}) const {
    return Word(options_.rules, options_.languages, id, args);
  }
  std::string Show(const v1::Text& text) const { return Escape(InAll(options_.languages, text)); }
  std::string Name(Standing standing) const {
    const std::string name = StandingName(options_.rules, options_.languages, standing);
    return standing == Standing::kFail ? absl::StrCat("**", name, "**") : name;
  }
  void Heading(absl::string_view text) { out_ << "\n## " << text << "\n\n"; }

  void Head() {
    out_ << "# " << Say("ui_heading") << "\n\n";
    for (const Language language : options_.languages) {
      out_ << "**" << Escape(VerdictSentence(options_.rules, language, report_, causes_)) << "**\n\n";
      const std::string incomplete = IncompleteSentence(options_.rules, language, report_);
      if (!incomplete.empty()) out_ << Escape(incomplete) << "\n\n";
    }
    out_ << "- " << Escape(VerdictLine(options_.rules, options_.languages, report_)) << "\n";
    const std::vector<std::string> meta = MetaParts(options_.rules, options_.languages, options_.companion.meta);
    if (!meta.empty()) out_ << "- " << Escape(absl::StrJoin(meta, " · ")) << "\n";
    out_ << "- " << Escape(Say("ui_title", {{"version", kProgramVersion}, {"profile", report_.profile()}})) << "\n";
    if (report_.overridden_rules_size() > 0) {
      out_ << "- " << Escape(Say("ui_overridden_rules", {{"files", absl::StrJoin(report_.overridden_rules(), ", ")}}))
           << "\n";
    }
    Side("ui_baseline", report_.baseline());
    Side("ui_migrated", report_.migrated());
  }

  void Side(absl::string_view label, const v1::ReportSide& side) {
    const std::string runs = DescribeRuns(side);
    out_ << "- " << Say(label) << colon_ << (runs.empty() ? Say("ui_none_given") : Escape(runs)) << "\n";
  }

  // What to mend, in order of work; every finding stands below in full.
  void Causes() {
    if (causes_.empty()) return;
    Heading(Say("screen_causes"));
    const std::vector<CauseStage>& stages = BuiltInCauses().stages;
    for (std::size_t i = 0; i < causes_.size(); ++i) {
      const Cause& cause = causes_[i];
      out_ << i + 1 << ". **";
      if (cause.stage < stages.size()) out_ << Show(stages[cause.stage].title) << " · ";
      out_ << Escape(Joined([&](Language language) { return BriefCause(options_.rules, language, report_, cause); }))
           << "** `" << cause.check->id() << "`\n";
      const v1::Text& remedy = cause.findings[0]->remedy();
      if (!remedy.en().empty()) out_ << "   - " << Say("screen_fix") << colon_ << Show(remedy) << "\n";
      for (const Consequence& one : cause.consequences) {
        out_ << "   - " << Say("screen_so") << colon_ << Escape(Joined([&](Language language) {
          return BriefFinding(options_.rules, language, report_, *one.check, *one.findings[0]);
        })) << " `"
             << one.check->id() << "`\n";
      }
    }
  }

  template <typename Say>
  std::string Joined(Say say) const {
    std::vector<std::string> parts;
    for (const Language language : options_.languages) parts.push_back(say(language));
    return absl::StrJoin(parts, " / ");
  }

  void Openings() {
    const std::vector<OpenedChecks> openings = WhatOpensMost(options_.rules.messages, BuiltInOpenings(), report_);
    if (openings.empty()) return;
    Heading(Say("screen_opens"));
    for (const OpenedChecks& one : openings) {
      out_ << "- " << one.checks.size() << colon_ << Show(one.action) << "\n";
    }
  }

  void Matrix() {
    out_ << "\n| " << Say("ui_item") << " | " << Say("ui_check") << " | " << Say("ui_required") << " | "
         << Say("ui_verdict") << " |\n|---|---|---|---|\n";
    for (const v1::ItemResult& item : report_.items()) {
      out_ << "| **" << Show(item.title()) << "** `" << item.id() << "` | | | **"
           << StandingName(options_.rules, options_.languages, StandingOf(item)) << "** |\n";
      for (const v1::CheckResult& check : item.checks()) {
        out_ << "| | " << Show(check.title()) << " `" << check.id() << "` | " << (check.required() ? "R" : "") << " | "
             << Name(StandingOf(check)) << Answered(check) << " |\n";
      }
    }
  }

  std::string Answered(const v1::CheckResult& check) const {
    if (check.has_attested()) {
      return absl::StrCat(" (",
                          Escape(Say("ui_attested_by", {{"by", check.attested().by()},
                                                        {"until", check.attested().until()},
                                                        {"reason", check.attested().reason()}})),
                          ")");
    }
    return check.waived() > 0 ? absl::StrCat(" (W ", check.waived(), ")") : "";
  }

  // The cap of a report takes from the end, so what is missing belongs to the last class that is there.
  void More(const v1::CheckResult* check, FindingClass shown) {
    if (check == nullptr || check->findings_total() <= check->findings_size()) return;
    if (ClassOf(check->findings(check->findings_size() - 1)) != shown) return;
    const std::int64_t count = check->findings_total() - check->findings_size();
    out_ << "- " << Say("ui_more", {{"count", absl::StrCat(count)}}) << "\n";
  }

  void Findings(FindingClass wanted, absl::string_view heading_id) {
    const v1::CheckResult* last = nullptr;
    ForEachFinding(report_, wanted, [&](const v1::CheckResult& check, const v1::Finding& finding) {
      if (last == nullptr) Heading(Say(heading_id));
      if (&check != last) More(last, wanted);
      if (&check != last)
        out_ << (last == nullptr ? "" : "\n") << "### `" << check.id() << "` " << Show(check.title()) << "\n\n";
      last = &check;
      Finding(finding);
    });
    More(last, wanted);
  }

  void Finding(const v1::Finding& finding) {
    out_ << "- **" << Escape(finding.kind()) << "** " << Code(ValueIn(options_.languages[0], finding.subject()))
         << colon_ << Show(finding.message()) << "\n";
    if (!finding.baseline().empty() || !finding.migrated().empty()) {
      out_ << "  - " << Say("ui_baseline") << " " << Code(ValueIn(options_.languages[0], finding.baseline()))
           << (options_.languages[0] == Language::kChinese ? "，" : ", ") << Say("ui_migrated") << " "
           << Code(ValueIn(options_.languages[0], finding.migrated())) << "\n";
    }
    if (finding.evidence_size() > 0) {
      out_ << "  - " << Say("ui_evidence") << colon_ << Escape(absl::StrJoin(finding.evidence(), separator_)) << "\n";
    }
    if (finding.has_waived()) {
      const v1::Waiver& w = finding.waived();
      out_ << "  - " << Escape(Say("ui_waived_by", {{"by", w.by()}, {"until", w.until()}, {"reason", w.reason()}}))
           << "\n";
    }
    if (!finding.remedy().en().empty()) out_ << "  - " << Say("ui_fix") << colon_ << Show(finding.remedy()) << "\n";
  }

  void MissingEvidence() {
    const std::vector<MissingGroup> groups = GroupMissing(report_, options_.rules);
    if (!groups.empty()) Heading(Say("ui_missing"));
    for (const MissingGroup& group : groups) {
      out_ << "- " << absl::StrJoin(group.what, separator_, [this](std::string* out, const v1::Text& what) {
        out->append(Show(what));
      });
      if (!group.from.empty()) out_ << " (" << Escape(absl::StrJoin(group.from, ", ")) << ")";
      out_ << "\n";
      if (!group.how.en().empty()) out_ << "  - " << Say("ui_get") << colon_ << Show(group.how) << "\n";
      out_ << "  - " << Say("ui_needed_by") << colon_ << Escape(CompressIds(group.checks)) << "\n";
    }
  }

  void Attested() {
    for (const v1::ItemResult& item : report_.items()) {
      for (const v1::CheckResult& check : item.checks()) {
        if (check.has_attested()) out_ << "- `" << check.id() << "`" << Answered(check) << "\n";
      }
    }
  }

  const v1::Report& report_;
  const RenderOptions& options_;
  std::ostream& out_;
  const std::vector<Cause> causes_;
  const absl::string_view colon_ = Colon(options_.languages[0]);
  const absl::string_view separator_ = ListSeparator(options_.languages[0]);
};

void Render(const v1::Report& report, const RenderOptions& options, std::ostream& out) {
  Markdown(report, options, out).Write();
}

}  // namespace

extern const Renderer kMarkdownRenderer;
const Renderer kMarkdownRenderer = {"markdown", &Render};

}  // namespace paritect
