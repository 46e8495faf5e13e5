#include "client/render/table_causes.h"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/render/table_writer.h"
#include "common/utf8.h"
#include "report/brief.h"
#include "report/summary.h"
#include "report/terminal.h"
#include "report/view.h"

namespace paritect {
namespace {

// How much of each cause is shown.
struct Depth {
  std::size_t findings;
  std::size_t consequences;
  std::size_t message_lines;  // of one finding
};

constexpr std::size_t kAll = 1'000'000;
constexpr Depth kEverything = {kAll, kAll, kAll};
constexpr Depth kDepths[] = {{3, 4, 4}, {2, 3, 3}, {1, 2, 2}, {1, 1, 1}};
constexpr int kIndent = 3;

class CausesWriter {
 public:
  CausesWriter(const v1::Report& report, const RenderOptions& options, std::ostream& out)
      : report_(report), options_(options), w_(options, out) {}

  void Write(std::size_t number, const Cause& cause, const Depth& depth) {
    w_.Line();
    Heading(number, cause);
    v1::Text last_fix;
    std::size_t shown = 0;
    std::size_t told = 0;  // findings that the shown ones stand for
    for (const auto& [finding, times] : Distinct(cause.findings)) {
      if (shown == depth.findings) break;
      ++shown;
      told += times;
      // One remedy for a row of findings that share it.
      if (!last_fix.en().empty() && finding->remedy().en() != last_fix.en()) Fix(last_fix, depth);
      // The title is told once: the first message follows only where it tells more.
      const bool told_in_title = shown == 1 && depth.findings != kAll && options_.languages.size() == 1 && times == 1 &&
                                 BriefOf(options_.rules, options_.languages[0], report_, *cause.check, *finding).whole;
      Finding(*finding, times, told_in_title, depth);
      last_fix = finding->remedy();
    }
    More(cause, told);
    Fix(last_fix, depth);
    Consequences(cause, depth);
  }

  // "2  Settings: lr_decay_style cosine → linear                model.hyperparameters.learning-rate"
  void WriteLine(std::size_t number, const Cause& cause) {
    const std::string brief = BriefCause(options_.rules, options_.languages[0], report_, cause);
    WithIdAtTheEdge(absl::StrCat(number, "  ", brief), cause.check->id(), Style::kPlain);
  }

  void WriteMore(std::size_t count) {
    w_.Wrapped(kIndent, "", Say("screen_more_findings", {{"count", absl::StrCat(count)}}));
  }

 private:
  std::string Say(absl::string_view id, const MessageArgs& args = {}) const {
    return Word(options_.rules, options_.languages, id, args);
  }

  void Heading(std::size_t number, const Cause& cause) {
    const std::vector<CauseStage>& stages = BuiltInCauses().stages;
    std::string line = absl::StrCat(number, "  ");
    if (cause.stage < stages.size()) {
      absl::StrAppend(&line, In(options_.languages[0], stages[cause.stage].title), Colon(options_.languages[0]));
    }
    const Brief brief = BriefOf(options_.rules, options_.languages[0], report_, *cause.check, *cause.findings[0]);
    absl::StrAppend(&line, brief.text);
    const std::int64_t count = CountFindings(cause);
    if (count > 1) absl::StrAppend(&line, " (", Say("screen_findings", {{"count", absl::StrCat(count)}}), ")");
    WithIdAtTheEdge(line, cause.check->id(), Style::kRed);
  }

  // The id stands at the right edge where there is room, else on a line of its own.
  void WithIdAtTheEdge(const std::string& text, const std::string& id, Style style) {
    const std::string safe = w_.Plain(text);
    const std::size_t used = DisplayWidth(safe) + 2 + DisplayWidth(id);
    if (used <= w_.columns()) {
      w_.Line(
          absl::StrCat(w_.Paint(safe, style), std::string(w_.columns() - used + 2, ' '), w_.Paint(id, Style::kDim)));
      return;
    }
    for (const std::string& part : Wrap(safe, w_.columns())) w_.Line(w_.Paint(part, style));
    w_.Line(absl::StrCat(std::string(kIndent, ' '), w_.Paint(id, Style::kDim)));
  }

  // Findings that say the same in the same words (one a rank, one an epoch) are one, with how often it was found.
  static std::vector<std::pair<const v1::Finding*, std::size_t>> Distinct(
      const std::vector<const v1::Finding*>& findings) {
    std::vector<std::pair<const v1::Finding*, std::size_t>> distinct;
    std::map<std::array<absl::string_view, 4>, std::size_t> places;
    for (const v1::Finding* one : findings) {
      const auto [it, is_new] =
          places.try_emplace({one->subject(), one->message().en(), one->baseline(), one->migrated()}, distinct.size());
      if (is_new) {
        distinct.emplace_back(one, 1);
      } else {
        ++distinct[it->second].second;
      }
    }
    return distinct;
  }

  std::string Times(const std::string& text, std::size_t times, Language language) const {
    if (times < 2) return text;
    return Word(options_.rules, absl::MakeConstSpan(&language, 1), "screen_times",
                {{"text", text}, {"count", absl::StrCat(times)}});
  }

  void Finding(const v1::Finding& finding, std::size_t times, bool told_in_title, const Depth& depth) {
    for (const Language language : options_.languages) {
      if (told_in_title) break;
      const std::string subject = ValueIn(language, DisplayBytes(finding.subject()));
      std::string text = In(language, finding.message());
      if (!subject.empty() && !absl::StrContains(text, subject)) text = absl::StrCat(subject, Colon(language), text);
      Cut(kIndent, "", Times(text, times, language), depth.message_lines);
    }
    Values(finding, depth);
  }

  // At most so many lines; the last one says that there is more.
  void Cut(int indent, const std::string& label, const std::string& text, std::size_t lines) {
    const std::size_t room = w_.columns() - static_cast<std::size_t>(indent) - DisplayWidth(label) - 1;
    std::string safe = w_.Plain(text);
    if (lines < kAll) {
      const std::vector<std::string> parts = Wrap(safe, room);
      if (parts.size() > lines) {
        std::vector<std::string> kept(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(lines));
        kept.back() = Shorten(absl::StrCat(kept.back(), " ", parts[lines]), room, options_.ascii);
        safe = absl::StrJoin(kept, " ");
      }
    }
    w_.Wrapped(indent, label, safe, Style::kBold);
  }

  void Values(const v1::Finding& finding, const Depth& depth) {
    const std::string baseline = DisplayBytes(finding.baseline());
    const std::string migrated = DisplayBytes(finding.migrated());
    std::vector<std::string> sources;
    for (const std::string& one : finding.evidence()) {
      const std::string source = DisplayBytes(one);
      const bool told = absl::StrContains(baseline, source) || absl::StrContains(migrated, source) ||
                        absl::StrContains(finding.message().en(), source);
      if (!told && std::find(sources.begin(), sources.end(), source) == sources.end()) sources.push_back(source);
    }
    // Two sources are one of each side, also where both sides name theirs alike.
    const bool two = !baseline.empty() && !migrated.empty() && finding.evidence_size() == 2 && !sources.empty();
    if (two) sources = {DisplayBytes(finding.evidence(0)), DisplayBytes(finding.evidence(1))};
    const bool pair = two || (!baseline.empty() && !migrated.empty() && sources.size() == 2);
    Value("ui_baseline", ValueIn(options_.languages[0], baseline), pair ? sources[0] : "", depth);
    Value("ui_migrated", ValueIn(options_.languages[0], migrated), pair ? sources[1] : "", depth);
    if (!pair && !sources.empty())
      Value("screen_at", absl::StrJoin(sources, ListSeparator(options_.languages[0])), "", depth);
  }

  void Value(absl::string_view label, const std::string& value, const std::string& source, const Depth& depth) {
    if (value.empty()) return;
    const std::string text = source.empty() ? value : absl::StrCat(value, "  [", source, "]");
    Cut(kIndent, Label(label), text, depth.message_lines == kAll ? kAll : 1);
  }

  void Fix(v1::Text& fix, const Depth& depth) {
    for (const Language language : options_.languages) {
      if (!In(language, fix).empty()) Cut(kIndent, Label("screen_fix"), In(language, fix), depth.message_lines);
    }
    fix.Clear();
  }

  void More(const Cause& cause, std::size_t shown) {
    const std::int64_t left = CountFindings(cause) - static_cast<std::int64_t>(shown);
    if (left <= 0) return;
    const bool in_json = shown == cause.findings.size();
    const int cap = std::max(200, cause.check->findings_size());
    w_.Wrapped(kIndent, "",
               Say(in_json ? "screen_more_in_json" : "screen_more_findings",
                   {{"count", absl::StrCat(left)}, {"cap", absl::StrCat(cap)}}));
  }

  void Consequences(const Cause& cause, const Depth& depth) {
    std::size_t shown = 0;
    for (const Consequence& one : cause.consequences) {
      if (shown++ == depth.consequences) break;
      // In full, each finding; else the first stands for its kind.
      const auto distinct = Distinct(one.findings);
      const std::size_t findings = depth.findings == kAll ? distinct.size() : 1;
      for (std::size_t i = 0; i < findings; ++i) Follows(one, *distinct[i].first, distinct[i].second, depth);
    }
    const std::size_t left = cause.consequences.size() - std::min(cause.consequences.size(), depth.consequences);
    if (left > 0) w_.Wrapped(kIndent, Label("screen_so"), Say("screen_more_findings", {{"count", absl::StrCat(left)}}));
  }

  void Follows(const Consequence& consequence, const v1::Finding& finding, std::size_t times, const Depth& depth) {
    for (const Language language : options_.languages) {
      const std::string told =
          depth.message_lines == kAll
              ? absl::StrCat(consequence.check->id(), Colon(language), In(language, finding.message()))
              : BriefFinding(options_.rules, language, report_, *consequence.check, finding);
      const std::string counted = Times(told, depth.findings == kAll ? times : 1, language);
      const MessageArgs args = {{"finding", counted}, {"because", In(language, consequence.because)}};
      Cut(kIndent, Label("screen_so"),
          Word(options_.rules, absl::MakeConstSpan(&language, 1),
               consequence.because.en().empty() ? "screen_probably" : "screen_because", args),
          depth.message_lines == kAll ? kAll : std::min<std::size_t>(2, depth.message_lines));
    }
  }

  // Labels of one width, so that values stand below each other.
  std::string Label(absl::string_view id) const {
    std::size_t width = 0;
    for (const char* one : {"ui_baseline", "ui_migrated", "screen_fix", "screen_so", "screen_at"}) {
      width = std::max(width, DisplayWidth(Say(one)));
    }
    return Pad(Say(id), width);
  }

  const v1::Report& report_;
  const RenderOptions& options_;
  TableWriter w_;
};

std::string AtDepth(const v1::Report& report, const std::vector<Cause>& causes, const RenderOptions& options,
                    const Depth& depth) {
  std::ostringstream out;
  CausesWriter writer(report, options, out);
  for (std::size_t i = 0; i < causes.size(); ++i) writer.Write(i + 1, causes[i], depth);
  return out.str();
}

std::size_t LinesOf(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// The first causes as briefly as a cause can be told, the others on a line each, as many as there is room for.
std::string FirstInDetail(const v1::Report& report, const std::vector<Cause>& causes, const RenderOptions& options,
                          std::size_t lines) {
  std::vector<std::string> in_a_line;
  std::size_t needed = 2;  // for "and so many more"
  for (std::size_t i = 0; i < causes.size(); ++i) {
    std::ostringstream out;
    CausesWriter(report, options, out).WriteLine(i + 1, causes[i]);
    needed += LinesOf(in_a_line.emplace_back(out.str()));
  }
  std::string text;
  bool in_detail = true;
  bool was_in_detail = false;
  for (std::size_t i = 0; i < causes.size(); ++i) {
    std::ostringstream out;
    CausesWriter writer(report, options, out);
    writer.Write(i + 1, causes[i], kDepths[std::size(kDepths) - 1]);
    needed -= LinesOf(in_a_line[i]);
    in_detail = in_detail && LinesOf(text) + LinesOf(out.str()) + needed <= lines;
    // A blank line stands before each that is told in detail, and before the row of the others.
    const std::string one = in_detail ? out.str() : absl::StrCat(i == 0 || was_in_detail ? "\n" : "", in_a_line[i]);
    was_in_detail = in_detail;
    if (LinesOf(text) + LinesOf(one) + 1 > lines) {
      std::ostringstream more;
      CausesWriter(report, options, more).WriteMore(causes.size() - i);
      return text + more.str();
    }
    text += one;
  }
  return text;
}

}  // namespace

bool CausesFit(const v1::Report& report, const std::vector<Cause>& causes, const RenderOptions& options,
               std::size_t lines) {
  return causes.empty() || LinesOf(AtDepth(report, causes, options, kDepths[std::size(kDepths) - 1])) <= lines;
}

std::string CausesText(const v1::Report& report, const std::vector<Cause>& causes, const RenderOptions& options,
                       std::size_t lines) {
  if (causes.empty()) return "";
  if (lines == 0) return AtDepth(report, causes, options, kEverything);
  for (const Depth& depth : kDepths) {
    std::string text = AtDepth(report, causes, options, depth);
    if (LinesOf(text) <= lines) return text;
  }
  return FirstInDetail(report, causes, options, lines);
}

}  // namespace paritect
