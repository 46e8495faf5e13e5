#include "client/diagnose/view.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/causes.h"
#include "client/render/table_writer.h"
#include "common/utf8.h"
#include "report/summary.h"
#include "report/terminal.h"
#include "report/view.h"

namespace paritect {
namespace {

constexpr int kFindingsShown = 3;

// What failed of a step, errors first, then warnings where nothing failed.
std::vector<const v1::Finding*> FindingsOf(const StepAnswer& answer, v1::Severity severity) {
  std::vector<const v1::Finding*> findings;
  for (const v1::CheckResult* check : answer.checks) {
    for (const v1::Finding& finding : check->findings()) {
      if (finding.severity() == severity && !finding.has_waived()) findings.push_back(&finding);
    }
  }
  return findings;
}

// The tree of stages and steps on a terminal; continuation lines keep the branches.
class Tree {
 public:
  Tree(const Rules& rules, const RenderOptions& options, std::ostream& out)
      : rules_(rules), options_(options), w_(options, out) {}

  void Print(const Diagnosis& diagnosis, const v1::Report& report) {
    const std::vector<Cause> causes = CausesOf(BuiltInCauses(), report);
    w_.Wrapped(0, absl::StrCat(Say("diagnose_heading"), LabelColon(options_.languages[0])),
               Say(ScenarioMessage(diagnosis)), Style::kBold);
    if (diagnosis.decided_by != nullptr) Decision(*diagnosis.decided_by);
    Causes(causes, report);
    w_.Line();
    w_.Wrapped(0, "", Say(causes.empty() ? "diagnose_walk" : "diagnose_walk_then"), Style::kBold);
    for (std::size_t i = 0; i < diagnosis.stages.size(); ++i) Stage(diagnosis, i);
    w_.Line();
    Next(diagnosis, causes.empty() ? "diagnose_next" : "diagnose_next_after_causes");
  }

 private:
  std::string Say(absl::string_view id, const MessageArgs& args = {}) const {
    return Word(rules_, options_.languages, id, args);
  }
  std::string Both(const v1::Text& text) const { return InAll(options_.languages, text); }

  // Why this scenario: the finding that says so, or what would decide it.
  void Decision(const v1::CheckResult& check) {
    for (const v1::Finding& finding : check.findings()) {
      if (finding.severity() == v1::SEVERITY_ERROR) w_.WrappedText(2, "", finding.message());
    }
    if (check.verdict() != v1::VERDICT_NOT_PERFORMED) return;
    for (const v1::Missing& missing : check.missing()) {
      w_.WrappedText(2, "-", missing.what());
      w_.WrappedText(4, absl::StrCat(Say("ui_get"), LabelColon(options_.languages[0])), missing.how(), Style::kGreen);
    }
  }

  // What failed and follows from nothing else, in order of work: as long as one of them stands, the walk below it tells
  // nothing for sure.
  void Causes(const std::vector<Cause>& causes, const v1::Report& report) {
    if (causes.empty()) return;
    w_.Line();
    w_.Wrapped(0, "", Say("diagnose_causes"), Style::kBold);
    for (std::size_t i = 0; i < causes.size(); ++i) {
      for (std::size_t j = 0; j < options_.languages.size(); ++j) {
        const std::string brief = BriefCause(rules_, options_.languages[j], report, causes[i]);
        w_.Wrapped(2, j == 0 ? absl::StrCat(i + 1, ".") : " ", brief, Style::kRed);
      }
      w_.Wrapped(5, "", causes[i].check->id());
      const v1::Text& remedy = causes[i].findings[0]->remedy();
      if (!remedy.en().empty()) w_.WrappedText(5, Say("diagnose_do"), remedy, Style::kGreen);
      const CatalogueCheck* const known = rules_.catalogue.FindCheck(causes[i].check->id());
      if (known != nullptr) w_.WrappedText(5, Say("diagnose_done_when"), known->rule, Style::kDim);
      std::vector<std::string> follow;
      for (const Consequence& one : causes[i].consequences) {
        const std::string& id = one.check->id();
        if (std::find(follow.begin(), follow.end(), id) == follow.end()) follow.push_back(id);
      }
      if (!follow.empty()) w_.Wrapped(5, Say("diagnose_then_again"), absl::StrJoin(follow, ", "), Style::kDim);
    }
  }

  // Ascii: "|- ", "`- "; else box characters.
  std::string Branch(bool last) const {
    if (options_.ascii) return last ? "`- " : "|- ";
    return last ? "└─ " : "├─ ";
  }
  std::string Trunk(bool last) const {
    if (last) return "   ";
    return options_.ascii ? "|  " : "│  ";
  }

  void Lines(const std::string& first, const std::string& rest, absl::string_view text, Style style) {
    const std::size_t used = DisplayWidth(rest);
    const std::vector<std::string> lines = Wrap(TerminalSafe(text), std::max<std::size_t>(30, w_.columns() - used));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      w_.Line(absl::StrCat(w_.Paint(i == 0 ? first : rest, Style::kDim), w_.Paint(lines[i], style)));
    }
  }

  void Stage(const Diagnosis& diagnosis, std::size_t i) {
    const StageAnswer& stage = diagnosis.stages[i];
    const bool last = i + 1 == diagnosis.stages.size();
    Lines(Branch(last), Trunk(last), absl::StrCat(Sign(stage.verdict), " ", Both(stage.stage->title)), Style::kBold);
    for (std::size_t j = 0; j < stage.steps.size(); ++j) {
      const bool here = diagnosis.next.has_value() && diagnosis.next->stage == i && diagnosis.next->step == j;
      Step(stage.steps[j], Trunk(last), j + 1 == stage.steps.size(), here);
    }
  }

  // In words: a cross or a question mark reads as a conclusion.
  std::string Sign(v1::Verdict verdict) const {
    switch (verdict) {
      case v1::VERDICT_PASS: return Say("diagnose_mark_done");
      case v1::VERDICT_FAIL: return Say("diagnose_mark_to_do");
      default: return Say("diagnose_mark_open");
    }
  }

  void Step(const StepAnswer& step, const std::string& trunk, bool last, bool here) {
    const Style style = here                               ? Style::kBold
                        : step.verdict == v1::VERDICT_FAIL ? Style::kRed
                        : step.verdict == v1::VERDICT_PASS ? Style::kGreen
                                                           : Style::kYellow;
    std::string title = absl::StrCat(Sign(step.verdict), " ", Both(step.step->title));
    const bool chinese = options_.languages[0] == Language::kChinese;
    if (step.waits) absl::StrAppend(&title, chinese ? "（" : "  (", Say("diagnose_waits"), chinese ? "）" : ")");
    if (here) absl::StrAppend(&title, options_.ascii ? "  <- " : "  ← ", Say("diagnose_here"));
    Lines(trunk + Branch(last), trunk + Trunk(last), title, style);
    const std::string inner = trunk + Trunk(last) + "  ";
    if (step.verdict == v1::VERDICT_FAIL) Failures(step, inner);
    if (step.verdict == v1::VERDICT_NOT_PERFORMED && here) MissingOf(step, inner);
    if (step.verdict == v1::VERDICT_NOT_PERFORMED && !here) {
      Lines(inner, inner, Say("diagnose_no_evidence"), Style::kDim);
    }
    if (step.verdict == v1::VERDICT_PASS) return;
    std::string checks;
    for (const v1::CheckResult* check : step.checks) {
      if (check->verdict() == v1::VERDICT_PASS) continue;
      absl::StrAppend(&checks, checks.empty() ? "" : ", ", check->id());
    }
    for (const std::string& id : step.absent) absl::StrAppend(&checks, checks.empty() ? "" : ", ", id);
    if (!checks.empty()) Lines(inner, inner, checks, Style::kDim);
  }

  void Failures(const StepAnswer& step, const std::string& inner) {
    const std::vector<const v1::Finding*> findings = FindingsOf(step, v1::SEVERITY_ERROR);
    for (std::size_t i = 0; i < findings.size() && i < kFindingsShown; ++i) {
      const v1::Finding& finding = *findings[i];
      Lines(inner + "- ", inner + "  ", Both(finding.message()), Style::kPlain);
      std::string values;
      if (!finding.baseline().empty())
        absl::StrAppend(&values, Say("ui_baseline"), Colon(options_.languages[0]),
                        ValueIn(options_.languages[0], finding.baseline()));
      if (!finding.migrated().empty()) {
        absl::StrAppend(&values, values.empty() ? "" : w_.dot(), Say("ui_migrated"), Colon(options_.languages[0]),
                        ValueIn(options_.languages[0], finding.migrated()));
      }
      if (!values.empty()) Lines(inner + "  ", inner + "  ", values, Style::kDim);
    }
    if (findings.size() > kFindingsShown) {
      Lines(inner, inner, Say("ui_more", {{"count", absl::StrCat(findings.size() - kFindingsShown)}}), Style::kDim);
    }
  }

  void MissingOf(const StepAnswer& step, const std::string& inner) {
    std::vector<std::string> said;
    for (const v1::CheckResult* check : step.checks) {
      for (const v1::Missing& missing : check->missing()) {
        const std::string what = Both(missing.what());
        if (std::find(said.begin(), said.end(), what) != said.end()) continue;
        if (said.size() >= kFindingsShown) return;
        said.push_back(what);
        Lines(inner + "- ", inner + "  ", what, Style::kPlain);
      }
    }
  }

  // `label`: what the walk's place is, with causes to remove before it or without.
  void Next(const Diagnosis& diagnosis, absl::string_view label) {
    if (diagnosis.exhausted) {
      w_.Wrapped(0, absl::StrCat(Say(label), LabelColon(options_.languages[0])), Say("diagnose_exhausted"),
                 Style::kBold);
    }
    if (!diagnosis.next.has_value()) {
      if (!diagnosis.exhausted) {
        w_.Wrapped(0, absl::StrCat(Say(label), LabelColon(options_.languages[0])), Say("diagnose_nothing_left"),
                   Style::kBold);
      }
      return;
    }
    const StageAnswer& stage = diagnosis.stages[diagnosis.next->stage];
    const StepAnswer& step = stage.steps[diagnosis.next->step];
    w_.Wrapped(0, absl::StrCat(Say(label), LabelColon(options_.languages[0])),
               absl::StrCat(Both(stage.stage->title), w_.dot(), Both(step.step->title)), Style::kBold);
    int number = 0;
    if (step.verdict == v1::VERDICT_FAIL) {
      std::vector<std::string> said;
      for (const v1::Finding* finding : FindingsOf(step, v1::SEVERITY_ERROR)) {
        const std::string remedy = Both(finding->remedy());
        if (remedy.empty() || std::find(said.begin(), said.end(), remedy) != said.end()) continue;
        if (said.size() >= kFindingsShown) break;
        said.push_back(remedy);
        Number(++number, finding->remedy());
      }
      for (const v1::Text& next : step.step->next) Number(++number, next);
      return;
    }
    std::vector<std::string> said;
    for (const v1::CheckResult* check : step.checks) {
      for (const v1::Missing& missing : check->missing()) {
        const std::string how = Both(missing.how());
        if (how.empty() || std::find(said.begin(), said.end(), how) != said.end()) continue;
        said.push_back(how);
        Number(++number, missing.how());
      }
    }
    if (!step.step->stage.empty()) {
      for (const v1::Text& next : step.step->next) Number(++number, next);
    }
  }

  void Number(int number, const v1::Text& text) { w_.WrappedText(2, absl::StrCat(number, "."), text, Style::kDim); }

  const Rules& rules_;
  const RenderOptions& options_;
  TableWriter w_;
};

}  // namespace

void PrintDiagnosis(const Diagnosis& diagnosis, const v1::Report& report, const Rules& rules,
                    const RenderOptions& options, std::ostream& out) {
  Tree(rules, options, out).Print(diagnosis, report);
}

}  // namespace paritect
