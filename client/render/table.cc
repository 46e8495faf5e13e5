// -o table: for a terminal. Failures first, then what is missing and how to get it, grouped; passes are counted.
#include <ostream>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "client/render/table_writer.h"
#include "client/report/json.h"
#include "client/report/renderer.h"
#include "client/report/view.h"
#include "client/terminal.h"
#include "common/utf8.h"
#include "common/version.h"

namespace paritect {
namespace {

constexpr int kErrorsShown = 8;             // of one kind of one check
constexpr int kNotesShown = 3;              // of one check
constexpr int kWarningsShown = 5;           // of one check
constexpr std::size_t kValueColumns = 160;  // a longer value stands in full in -o json
constexpr std::size_t kWhatShown = 4;
constexpr std::size_t kFromShown = 8;

Style StyleOf(v1::Verdict verdict) {
  return verdict == v1::VERDICT_PASS ? Style::kGreen : verdict == v1::VERDICT_FAIL ? Style::kRed : Style::kYellow;
}

char LetterOf(const v1::CheckResult& check) {
  char letter = 'N';
  if (check.verdict() == v1::VERDICT_FAIL) letter = 'F';
  if (check.verdict() == v1::VERDICT_PASS) letter = check.has_attested() ? 'A' : check.waived() > 0 ? 'W' : 'P';
  return check.required() ? letter : static_cast<char>(letter - 'A' + 'a');
}

class Table {
 public:
  Table(const v1::Report& report, const RenderOptions& options, std::ostream& out)
      : report_(report), options_(options), w_(options, out) {}

  void Write() {
    Head();
    Matrix();
    Failures();
    MissingEvidence();
    Answers();
    Listed(FindingClass::kWarning, "ui_warnings", kWarningsShown);
    Listed(FindingClass::kNote, "ui_notes", kNotesShown);
    Foot();
  }

 private:
  std::string Say(absl::string_view id, const MessageArgs& args = {}) const {
    return Word(options_.rules, options_.languages, id, args);
  }

  void Head() {
    w_.Line(
        w_.Paint(w_.Safe(Say("ui_title", {{"version", kProgramVersion}, {"profile", report_.profile()}}), w_.columns()),
                 Style::kBold));
    if (report_.overridden_rules_size() > 0) {
      w_.Line(w_.Safe(Say("ui_overridden_rules", {{"files", absl::StrJoin(report_.overridden_rules(), ", ")}}),
                      w_.columns()));
    }
    Side("ui_baseline", report_.baseline());
    Side("ui_migrated", report_.migrated());
    const v1::Coverage& c = report_.coverage();
    w_.Wrapped(0, Say("ui_coverage"),
               Say("ui_coverage_figures", {{"nodes_reported", absl::StrCat(c.nodes_reported())},
                                           {"nodes_expected", absl::StrCat(c.nodes_expected())},
                                           {"ranks_reported", absl::StrCat(c.ranks_reported())},
                                           {"ranks_expected", absl::StrCat(c.ranks_expected())}}),
               Style::kDim);
    w_.Line();
    Verdict();
    w_.Line();
  }

  void Side(absl::string_view label, const v1::ReportSide& side) {
    const std::string runs = DescribeRuns(side);
    w_.Wrapped(0, Say(label), runs.empty() ? Say("ui_none_given") : runs, Style::kDim);
  }

  void Verdict() {
    const std::string line = VerdictLine(options_.rules, options_.languages, report_);
    for (const std::string& part : Wrap(line, w_.columns())) w_.Line(w_.Paint(part, StyleOf(report_.verdict())));
  }

  void Matrix() {
    std::size_t verdict_width = 0;
    std::size_t id_width = 0;
    std::size_t letters_width = 0;
    for (const v1::ItemResult& item : report_.items()) {
      for (Language language : options_.languages) {
        verdict_width = std::max(verdict_width, DisplayWidth(VerdictName(options_.rules, {language}, item.verdict())));
      }
      id_width = std::max(id_width, DisplayWidth(item.id()));
      letters_width = std::max(letters_width, static_cast<std::size_t>(item.checks_size()));
    }
    const std::size_t used = verdict_width + id_width + letters_width + 6;
    const std::size_t title_width = w_.columns() > used + 24 ? w_.columns() - used : 24;
    for (const v1::ItemResult& item : report_.items()) {
      MatrixRow(item, verdict_width, id_width, letters_width, title_width);
    }
    w_.Wrapped(0, "", Say("ui_legend"));
  }

  void MatrixRow(const v1::ItemResult& item, std::size_t verdict_width, std::size_t id_width, std::size_t letters_width,
                 std::size_t title_width) {
    std::string letters;
    for (const v1::CheckResult& check : item.checks()) letters.push_back(LetterOf(check));
    bool first = true;
    for (Language language : options_.languages) {
      const std::string verdict = Pad(VerdictName(options_.rules, {language}, item.verdict()), verdict_width);
      std::string line = absl::StrCat(
          w_.Paint(verdict, StyleOf(item.verdict())), "  ", Pad(first ? item.id() : "", id_width), "  ",
          Pad(first ? letters : "", letters_width), "  ", w_.Safe(In(language, item.title()), title_width));
      w_.Line(line);
      first = false;
    }
  }

  void Failures() {
    if (report_.verdict() != v1::VERDICT_FAIL) return;
    w_.Heading(Say("ui_failed"));
    for (const v1::ItemResult& item : report_.items()) {
      for (const v1::CheckResult& check : item.checks()) {
        if (check.verdict() == v1::VERDICT_FAIL) FailedCheck(check);
      }
    }
  }

  void FailedCheck(const v1::CheckResult& check) {
    std::map<std::string, std::int64_t> shown;
    std::map<std::string, std::int64_t> hidden;
    std::string last_fix;
    CheckTitle(check, Style::kRed, CountErrors(check));
    for (const v1::Finding& finding : check.findings()) {
      if (ClassOf(finding) != FindingClass::kError) continue;
      if (++shown[finding.kind()] > kErrorsShown) {
        ++hidden[finding.kind()];
        continue;
      }
      // One remedy for a row of findings that share it.
      if (!last_fix.empty() && finding.remedy().en() != last_fix) FlushFix();
      ShowFinding(finding, Style::kRed);
      pending_fix_ = finding.remedy();
      last_fix = finding.remedy().en();
    }
    FlushFix();
    Hidden(check, hidden);
  }

  void FlushFix() {
    if (!pending_fix_.en().empty()) w_.WrappedText(4, absl::StrCat(Say("ui_fix"), ":"), pending_fix_, Style::kGreen);
    pending_fix_.Clear();
  }

  void Hidden(const v1::CheckResult& check, const std::map<std::string, std::int64_t>& hidden) {
    std::int64_t count = std::max<std::int64_t>(0, check.findings_total() - check.findings_size());
    std::vector<std::string> kinds;
    for (const auto& [kind, n] : hidden) {
      count += n;
      kinds.push_back(absl::StrCat(kind, " ", n));
    }
    if (count == 0) return;
    const std::string named = kinds.empty() ? "" : absl::StrCat(" (", absl::StrJoin(kinds, ", "), ")");
    w_.Wrapped(4, "",
               Say("ui_more_in_json", {{"count", absl::StrCat(count)},
                                       {"kinds", named},
                                       {"cap", absl::StrCat(std::max(200, check.findings_size()))}}));
  }

  static std::int64_t CountErrors(const v1::CheckResult& check) {
    std::int64_t errors = 0;
    for (const v1::Finding& finding : check.findings()) errors += ClassOf(finding) == FindingClass::kError ? 1 : 0;
    // Where the cap took some away, the first one says how many there are.
    if (errors == 0 || check.findings_total() <= check.findings_size()) return errors;
    const auto& facts = check.findings(0).facts().fields();
    const auto total = facts.find("total");
    if (ClassOf(check.findings(0)) != FindingClass::kError || total == facts.end()) return errors;
    return std::max(errors, static_cast<std::int64_t>(total->second.number_value()));
  }

  void CheckTitle(const v1::CheckResult& check, Style style, std::int64_t errors = 0) {
    std::string title = InAll(options_.languages, check.title());
    if (errors > 1) absl::StrAppend(&title, " (", Say("ui_errors", {{"count", absl::StrCat(errors)}}), ")");
    w_.Wrapped(0, check.id(), title, style);
  }

  void ShowFinding(const v1::Finding& finding, Style style) {
    w_.Line(
        absl::StrCat("  ", w_.Paint(finding.kind(), style), finding.subject().empty() ? "" : "  ",
                     w_.Safe(finding.subject(), std::max<std::size_t>(20, w_.columns() - 4 - finding.kind().size()))));
    w_.WrappedText(4, "", finding.message());
    const std::string values = Values(finding);
    if (!values.empty()) w_.Wrapped(4, "", values);
  }

  // "baseline A ≠ migrated B  [source; source]"
  std::string Values(const v1::Finding& finding) {
    std::vector<std::string> parts;
    if (!finding.baseline().empty()) {
      parts.push_back(absl::StrCat(Say("ui_baseline"), " ", w_.Safe(finding.baseline(), kValueColumns)));
    }
    if (!finding.migrated().empty()) {
      parts.push_back(absl::StrCat(Say("ui_migrated"), " ", w_.Safe(finding.migrated(), kValueColumns)));
    }
    // A note may set values side by side that a rule takes as equal.
    const bool differ =
        parts.size() == 2 && finding.baseline() != finding.migrated() && finding.severity() != v1::SEVERITY_NOTE;
    std::string line = absl::StrJoin(parts, differ ? absl::StrCat(" ", w_.against(), " ") : std::string(w_.dot()));
    if (finding.evidence_size() > 0) {
      std::vector<std::string> sources;
      for (const std::string& evidence : finding.evidence()) {
        const std::string source = w_.Safe(evidence, kValueColumns);
        if (std::find(sources.begin(), sources.end(), source) == sources.end()) sources.push_back(source);
      }
      absl::StrAppend(&line, line.empty() ? "[" : "  [", absl::StrJoin(sources, "; "), "]");
    }
    return line;
  }

  void MissingEvidence() {
    const std::vector<MissingGroup> groups = GroupMissing(report_, options_.rules);
    if (groups.empty()) return;
    w_.Heading(Say("ui_missing"));
    for (const MissingGroup& group : groups) {
      for (std::size_t i = 0; i < group.what.size() && i < kWhatShown; ++i) {
        w_.WrappedText(0, w_.dot().substr(1, w_.dot().size() - 2), group.what[i], Style::kYellow);
      }
      if (group.what.size() > kWhatShown) {
        w_.Wrapped(2, "", Say("ui_more", {{"count", absl::StrCat(group.what.size() - kWhatShown)}}));
      }
      From(group);
      if (!group.how.en().empty()) w_.WrappedText(4, absl::StrCat(Say("ui_get"), ":"), group.how, Style::kGreen);
      w_.Wrapped(4, absl::StrCat(Say("ui_needed_by"), ":"), CompressIds(group.checks), Style::kDim);
    }
  }

  void From(const MissingGroup& group) {
    std::vector<std::string> named;
    for (const std::string& from : group.from) {
      // A side is named in the sentence itself.
      if (from != "baseline" && from != "migrated") named.push_back(from);
    }
    if (named.empty()) return;
    const std::size_t more = named.size() > kFromShown ? named.size() - kFromShown : 0;
    named.resize(named.size() - more);
    std::string text = absl::StrJoin(named, ", ");
    if (more > 0) absl::StrAppend(&text, ", ", Say("ui_more", {{"count", absl::StrCat(more)}}));
    w_.Wrapped(4, absl::StrCat(Say("ui_from"), ":"), text, Style::kDim);
  }

  void Answers() {
    bool any = false;
    const auto heading = [&] {
      if (!any) w_.Heading(Say("ui_waived"));
      any = true;
    };
    ForEachFinding(report_, FindingClass::kWaived, [&](const v1::CheckResult& check, const v1::Finding& finding) {
      heading();
      CheckTitle(check, Style::kBold);
      ShowFinding(finding, Style::kBold);
      const v1::Waiver& waiver = finding.waived();
      w_.Wrapped(4, "",
                 Say("ui_waived_by", {{"by", waiver.by()}, {"until", waiver.until()}, {"reason", waiver.reason()}}));
    });
    for (const v1::ItemResult& item : report_.items()) {
      for (const v1::CheckResult& check : item.checks()) {
        if (!check.has_attested()) continue;
        heading();
        CheckTitle(check, Style::kBold);
        const v1::Attestation& a = check.attested();
        w_.Wrapped(4, "", Say("ui_attested_by", {{"by", a.by()}, {"until", a.until()}, {"reason", a.reason()}}));
      }
    }
  }

  // Warnings and notes, briefly: the check once, then so many of them.
  void Listed(FindingClass wanted, absl::string_view heading_id, int limit) {
    const v1::CheckResult* last = nullptr;
    int n = 0;
    const auto finish = [&] {
      if (n > limit) w_.Wrapped(2, "", Say("ui_more", {{"count", absl::StrCat(n - limit)}}));
      n = 0;
    };
    ForEachFinding(report_, wanted, [&](const v1::CheckResult& check, const v1::Finding& finding) {
      if (last == nullptr) w_.Heading(Say(heading_id));
      if (&check != last) {
        finish();
        CheckTitle(check, Style::kBold);
      }
      last = &check;
      if (++n <= limit) Brief(finding);
    });
    finish();
  }

  void Brief(const v1::Finding& finding) {
    std::string text = InAll(options_.languages, finding.message());
    // Many messages begin with their subject already.
    const bool named = absl::StartsWith(finding.message().en(), finding.subject());
    if (!named) text = absl::StrCat(w_.Safe(finding.subject(), 80), ": ", text);
    const std::string values = Values(finding);
    if (!values.empty()) absl::StrAppend(&text, w_.dot(), values);
    w_.Wrapped(2, finding.kind(), text, Style::kDim);
  }

  // Checks that passed and of which nothing stands above, not even a note.
  int PassedInSilence() const {
    int passed = 0;
    for (const v1::ItemResult& item : report_.items()) {
      for (const v1::CheckResult& check : item.checks()) {
        const bool silent = check.findings_size() == 0 && !check.has_attested();
        passed += check.verdict() == v1::VERDICT_PASS && silent ? 1 : 0;
      }
    }
    return passed;
  }

  void Foot() {
    if (report_.warnings_size() > 0) w_.Heading(Say("ui_about_answers"));
    for (const v1::Text& warning : report_.warnings()) w_.WrappedText(0, "", warning);
    w_.Line();
    const int passed = PassedInSilence();
    if (passed > 0) w_.Wrapped(0, "", Say("ui_passed_hidden", {{"count", absl::StrCat(passed)}}));
    Verdict();
  }

  const v1::Report& report_;
  const RenderOptions& options_;
  TableWriter w_;
  v1::Text pending_fix_;
};

void Render(const v1::Report& report, const RenderOptions& options, std::ostream& out) {
  Table(report, options, out).Write();
}

}  // namespace

extern const Renderer kTableRenderer;
const Renderer kTableRenderer = {"table", &Render};

}  // namespace paritect
