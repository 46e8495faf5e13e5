// -o table: for a terminal. The first screen says the answer, its causes, the items in counts and what would open most,
// in about sixty lines; `--failed` and `--full` say the rest.
#include <algorithm>
#include <ostream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/explaining/openings.h"
#include "client/render/table_causes.h"
#include "client/render/table_full.h"
#include "client/render/table_writer.h"
#include "client/report/json.h"
#include "client/report/renderer.h"
#include "common/utf8.h"
#include "common/version.h"
#include "report/summary.h"
#include "report/terminal.h"
#include "report/view.h"

namespace paritect {
namespace {

constexpr std::size_t kScreenLines = 60;
constexpr std::size_t kCausesLinesMin = 12;
constexpr std::size_t kComparedShown = 8;
constexpr std::size_t kOpeningsShown = 5;
constexpr int kItemsInDetail = 2;  // a report of so few items shows their checks
constexpr std::size_t kTitleColumnsMin = 16;

Style StyleOf(v1::Verdict verdict) {
  return verdict == v1::VERDICT_PASS ? Style::kGreen : verdict == v1::VERDICT_FAIL ? Style::kRed : Style::kYellow;
}

class Table {
 public:
  Table(const v1::Report& report, const RenderOptions& options)
      : report_(report), options_(options), causes_(CausesOf(BuiltInCauses(), report)) {}

  void Write(std::ostream& out) {
    const bool screen = options_.detail == Detail::kFirstScreen;
    const std::string head = Section([&](TableWriter& w) { Head(w); });
    std::string rest = Rest(false);
    // Causes come before a table of what is open.
    if (screen && !CausesFit(report_, causes_, options_, Room(head, rest))) rest = Rest(true);
    out << head << CausesText(report_, causes_, options_, screen ? Room(head, rest) : 0) << rest;
  }

 private:
  // Lines that are left for the causes.
  static std::size_t Room(const std::string& head, const std::string& rest) {
    const auto used = static_cast<std::size_t>(std::count(head.begin(), head.end(), '\n') +
                                               std::count(rest.begin(), rest.end(), '\n'));
    return used + kCausesLinesMin < kScreenLines ? kScreenLines - used : kCausesLinesMin;
  }

  std::string Rest(bool in_brief) const {
    std::string rest;
    if (options_.detail != Detail::kFailed) {
      rest = Section([&](TableWriter& w) { in_brief ? ItemsInBrief(w) : Items(w); });
    }
    if (options_.detail == Detail::kFirstScreen) rest += Section([&](TableWriter& w) { Openings(w); });
    if (options_.detail == Detail::kFull)
      rest += Section([&](TableWriter& w) { WriteFullParts(report_, options_, w); });
    return rest + Section([&](TableWriter& w) { Foot(w); });
  }

  template <typename Body>
  std::string Section(Body body) const {
    std::ostringstream out;
    TableWriter writer(options_, out);
    body(writer);
    return out.str();
  }

  std::string Say(absl::string_view id, const MessageArgs& args = {}) const {
    return Word(options_.rules, options_.languages, id, args);
  }

  std::string ShowPlain(const v1::Text& text) const { return InAll(options_.languages, text); }

  void Sentence(TableWriter& w) const {
    for (const Language language : options_.languages) {
      const std::string text = w.Plain(VerdictSentence(options_.rules, language, report_, causes_));
      for (const std::string& part : Wrap(text, w.columns())) w.Line(w.Paint(part, StyleOf(Shown())));
    }
    for (const Language language : options_.languages) {
      const std::string text = IncompleteSentence(options_.rules, language, report_);
      if (text.empty()) continue;
      for (const std::string& part : Wrap(w.Plain(text), w.columns())) w.Line(w.Paint(part, Style::kYellow));
    }
  }

  // Where nothing failed, what is open is no alarm.
  v1::Verdict Shown() const { return report_.verdict() == v1::VERDICT_FAIL ? v1::VERDICT_FAIL : v1::VERDICT_PASS; }

  void Head(TableWriter& w) const {
    Sentence(w);
    if (report_.overridden_rules_size() > 0) {
      w.Wrapped(0, "", Say("ui_overridden_rules", {{"files", absl::StrJoin(report_.overridden_rules(), ", ")}}));
    }
    if (report_.verdict() == v1::VERDICT_FAIL) return;
    const std::vector<Compared> compared = SidesFirst(WhatWasCompared(report_));
    if (compared.empty()) return;
    w.Line();
    w.Line(w.Paint(Say("screen_compared"), Style::kBold));
    const std::size_t limit = options_.detail == Detail::kFull ? compared.size() : kComparedShown;
    for (std::size_t i = 0; i < compared.size() && i < limit; ++i) {
      const std::string line = absl::StrCat(ShowPlain(compared[i].check->title()), Colon(options_.languages[0]),
                                            ShowPlain(compared[i].note->message()));
      w.Line(absl::StrCat("  ", w.Safe(line, w.columns() - 2)));
    }
    if (compared.size() > limit) {
      w.Wrapped(2, "", Say("screen_compared_more", {{"count", absl::StrCat(compared.size() - limit)}}));
    }
  }

  // What was held against the other side says more of agreement than what each side was looked at for by itself.
  static std::vector<Compared> SidesFirst(std::vector<Compared> compared) {
    std::stable_partition(compared.begin(), compared.end(), [](const Compared& one) {
      const std::vector<CauseStage>& stages = BuiltInCauses().stages;
      const std::size_t stage = BuiltInCauses().StageOf(one.check->id());
      return stage < stages.size() && OfBothSides(stages[stage].id);
    });
    return compared;
  }

  static bool OfBothSides(absl::string_view stage) {
    return stage == "data" || stage == "settings" || stage == "flow" || stage == "first-step" || stage == "curve";
  }

  // One row of the item table: verdict, id, four counts, title.
  struct Columns {
    std::size_t verdict = 0;
    std::size_t id = 0;
    std::size_t counts[4] = {};
  };

  static constexpr const char* kCountWords[] = {"screen_column_pass", "screen_column_fail", "screen_column_open",
                                                "screen_column_not_applicable"};

  static constexpr Standing kStandings[] = {Standing::kFail, Standing::kNotPerformed, Standing::kPass,
                                            Standing::kNotApplicable};

  std::string VerdictWordOf(Standing standing) const {
    return Say(standing == Standing::kPass            ? "screen_column_pass"
               : standing == Standing::kFail          ? "screen_column_fail"
               : standing == Standing::kNotApplicable ? "screen_column_not_applicable"
                                                      : "screen_column_open");
  }

  static Style StyleOfStanding(Standing standing) {
    return standing == Standing::kNotApplicable ? Style::kDim
                                                : StyleOf(standing == Standing::kPass   ? v1::VERDICT_PASS
                                                          : standing == Standing::kFail ? v1::VERDICT_FAIL
                                                                                        : v1::VERDICT_NOT_PERFORMED);
  }

  Columns Widths() const {
    Columns columns;
    for (const v1::ItemResult& item : report_.items()) {
      columns.id = std::max(columns.id, DisplayWidth(item.id()));
      columns.verdict = std::max(columns.verdict, DisplayWidth(VerdictWordOf(StandingOf(item))));
    }
    for (std::size_t i = 0; i < 4; ++i) columns.counts[i] = std::max<std::size_t>(2, DisplayWidth(Say(kCountWords[i])));
    return columns;
  }

  void ItemsHeading(TableWriter& w) const {
    const StandingCounts counts = CountItems(report_);
    w.Line();
    w.Wrapped(0, Say("screen_items"),
              Say(counts.not_applicable > 0 ? "screen_items_counts/not_applicable" : "screen_items_counts",
                  {{"pass", absl::StrCat(counts.pass)},
                   {"fail", absl::StrCat(counts.fail)},
                   {"open", absl::StrCat(counts.not_performed)},
                   {"not_applicable", absl::StrCat(counts.not_applicable)},
                   {"total", absl::StrCat(counts.total())}}),
              Style::kBold);
  }

  // A line a verdict, with the items' ids.
  void ItemsInBrief(TableWriter& w) const {
    ItemsHeading(w);
    for (const Standing standing : kStandings) {
      std::vector<std::string> ids;
      for (const v1::ItemResult& item : report_.items()) {
        if (StandingOf(item) == standing) ids.push_back(item.id());
      }
      if (!ids.empty()) {
        w.Wrapped(2, Pad(VerdictWordOf(standing), Widths().verdict), absl::StrJoin(ids, w.dot()),
                  StyleOfStanding(standing));
      }
    }
  }

  void Items(TableWriter& w) const {
    ItemsHeading(w);
    if (report_.items_size() == 0) return;
    const Columns columns = Widths();
    std::string heading(2 + columns.verdict + 2 + columns.id, ' ');
    for (std::size_t i = 0; i < 4; ++i) absl::StrAppend(&heading, "  ", Pad(Say(kCountWords[i]), columns.counts[i]));
    w.Line(w.Paint(absl::StripTrailingAsciiWhitespace(heading), Style::kDim));
    for (const Standing standing : kStandings) {
      for (const v1::ItemResult& item : report_.items()) {
        if (StandingOf(item) == standing) ItemRow(item, columns, w);
      }
    }
    w.Wrapped(2, "", Say("screen_words"), Style::kDim);
  }

  void ItemRow(const v1::ItemResult& item, const Columns& columns, TableWriter& w) const {
    const StandingCounts counts = CountChecks(item);
    std::string line = absl::StrCat(
        "  ", w.Paint(Pad(VerdictWordOf(StandingOf(item)), columns.verdict), StyleOfStanding(StandingOf(item))), "  ",
        Pad(item.id(), columns.id));
    std::size_t used = 2 + columns.verdict + 2 + columns.id;
    const int numbers[] = {counts.pass, counts.fail, counts.not_performed, counts.not_applicable};
    for (std::size_t i = 0; i < 4; ++i) {
      const std::string number = numbers[i] == 0 ? "-" : absl::StrCat(numbers[i]);
      absl::StrAppend(&line, "  ", std::string(columns.counts[i] - std::min(columns.counts[i], number.size()), ' '),
                      number);
      used += 2 + columns.counts[i];
    }
    if (used + 2 + kTitleColumnsMin <= w.columns()) {
      absl::StrAppend(&line, "  ", w.Safe(ShowPlain(item.title()), w.columns() - used - 2));
    }
    w.Line(line);
    if (report_.items_size() > kItemsInDetail) return;
    for (const v1::CheckResult& check : item.checks()) {
      w.Wrapped(4, absl::StrCat(Pad(VerdictWordOf(StandingOf(check)), columns.verdict), "  ", check.id()),
                ShowPlain(check.title()), StyleOfStanding(StandingOf(check)));
    }
  }

  void Openings(TableWriter& w) const {
    const std::vector<OpenedChecks> openings = WhatOpensMost(options_.rules.messages, BuiltInOpenings(), report_);
    if (openings.empty()) return;
    w.Line();
    w.Line(w.Paint(Say("screen_opens"), Style::kBold));
    for (std::size_t i = 0; i < openings.size() && i < kOpeningsShown; ++i) {
      const std::size_t count = openings[i].checks.size();
      const std::string checks = Say("screen_opens_checks", {{"count", absl::StrCat(count)}});
      w.Wrapped(2, absl::StrCat(Pad(checks, 9), " "), ShowPlain(openings[i].action), Style::kGreen);
    }
  }

  void Side(absl::string_view label, const v1::ReportSide& side, TableWriter& w) const {
    const std::string runs = DescribeRuns(side);
    w.Wrapped(0, Say(label), runs.empty() ? Say("ui_none_given") : runs, Style::kDim);
  }

  void Foot(TableWriter& w) const {
    w.Line();
    Side("ui_baseline", report_.baseline(), w);
    Side("ui_migrated", report_.migrated(), w);
    const bool chinese = options_.languages[0] == Language::kChinese;
    w.Wrapped(0, "", absl::StrJoin(Circumstances(), chinese ? "；" : w.dot()));
    Remarks(w);
    if (options_.detail != Detail::kFull) w.Wrapped(0, "", Say("screen_rest"));
    Sentence(w);
  }

  std::vector<std::string> Circumstances() const {
    const StandingCounts checks = CountChecks(report_);
    const v1::Coverage& c = report_.coverage();
    std::vector<std::string> parts = {
        Say("screen_figures", {{"applies", absl::StrCat(checks.total() - checks.not_applicable)},
                               {"total", absl::StrCat(checks.total())},
                               {"decided", absl::StrCat(checks.pass + checks.fail)}}),
        // Of ranks nothing is said where nothing tells how many there are.
        Say(c.ranks_expected() == 0 && c.ranks_reported() == 0 ? "ui_coverage_figures/nodes" : "ui_coverage_figures",
            {{"nodes_reported", absl::StrCat(c.nodes_reported())},
             {"nodes_expected", absl::StrCat(c.nodes_expected())},
             {"ranks_reported", absl::StrCat(c.ranks_reported())},
             {"ranks_expected", absl::StrCat(c.ranks_expected())}})};
    for (std::string& one : MetaParts(options_.rules, options_.languages, options_.companion.meta))
      parts.push_back(std::move(one));
    parts.push_back(Say("ui_title", {{"version", kProgramVersion}, {"profile", report_.profile()}}));
    return parts;
  }

  // Warnings, and what persons said: never hidden without a word.
  void Remarks(TableWriter& w) const {
    int warnings = report_.warnings_size();
    int waived = 0;
    int attested = 0;
    ForEachFinding(report_, FindingClass::kWarning, [&](const auto&, const auto&) { ++warnings; });
    ForEachFinding(report_, FindingClass::kWaived, [&](const auto&, const auto&) { ++waived; });
    for (const v1::ItemResult& item : report_.items()) {
      for (const v1::CheckResult& check : item.checks()) attested += check.has_attested() ? 1 : 0;
    }
    std::vector<std::string> parts;
    const auto add = [&](absl::string_view id, int count) {
      if (count > 0) parts.push_back(Say(id, {{"count", absl::StrCat(count)}}));
    };
    add("screen_warnings", warnings);
    add("screen_waived", waived);
    add("screen_attested", attested);
    const bool chinese = options_.languages[0] == Language::kChinese;
    if (!parts.empty() && options_.detail != Detail::kFull) {
      w.Wrapped(0, "", Say("screen_remarks", {{"remarks", absl::StrJoin(parts, chinese ? "，" : ", ")}}));
    }
  }

  const v1::Report& report_;
  const RenderOptions& options_;
  const std::vector<Cause> causes_;
};

void Render(const v1::Report& report, const RenderOptions& options, std::ostream& out) {
  Table(report, options).Write(out);
}

}  // namespace

extern const Renderer kTableRenderer;
const Renderer kTableRenderer = {"table", &Render};

}  // namespace paritect
