#include "report/brief.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/utf8.h"
#include "re2/re2.h"
#include "report/terminal.h"

namespace paritect {
namespace {

constexpr std::size_t kBriefColumns = 84;
constexpr std::size_t kClauseBytesMin = 16;     // a colon before that parts a name from what is said of it
constexpr std::size_t kClauseColumnsMin = 24;   // of an overlong sentence at least so much is kept
constexpr std::size_t kMessageBytesMax = 2000;  // of an endless one the beginning is looked at
constexpr std::size_t kSubjectColumns = 44;
constexpr std::size_t kValueColumns = 28;

// "1e-05 (gpu/model.txt:2)" without where it stands.
absl::string_view WithoutSource(absl::string_view value) {
  const auto open = value.rfind(" (");
  return open != absl::string_view::npos && absl::EndsWith(value, ")") ? value.substr(0, open) : value;
}

// The value itself: of "32 x 1 x 1 = 32" the product, of "'linear'" the word.
std::string PlainValue(absl::string_view value) {
  static const RE2& product = *new RE2(R"([0-9]+(?: x [0-9]+)+ = ([0-9]+))");
  value = WithoutSource(value);
  std::string result;
  if (RE2::FullMatch(re2::StringPiece(value.data(), value.size()), product, &result)) return result;
  if (value.size() > 2 && value.front() == '\'' && value.find('\'', 1) == value.size() - 1) {
    return std::string(value.substr(1, value.size() - 2));
  }
  return std::string(value);
}

bool IsShort(absl::string_view value) {
  return !value.empty() && DisplayWidth(value) <= kValueColumns;
}

// Digests are values that tell nothing; of a course ("2.3 -> 1.9") the sentence says what is wrong with it, and of a
// name that became another one too: two that look alike may be other bytes.
bool TellsByValues(const v1::Finding& finding, absl::string_view before, absl::string_view after) {
  return !before.empty() && !after.empty() && before != after && before != finding.subject() &&
         !absl::StartsWith(before, "md5 ") && !absl::StrContains(before, ": ") && !absl::StrContains(before, " -> ");
}

// Two long values from where they part on.
void DropCommonBeginning(std::string& a, std::string& b) {
  std::size_t same = 0;
  std::size_t parts = 0;  // behind the last separator of what both begin with
  while (same < std::min(a.size(), b.size()) && a[same] == b[same]) {
    ++same;
    if (absl::EndsWith(absl::string_view(a).substr(0, same), ", ")) parts = same;
  }
  if (parts == 0) return;
  a = absl::StrCat("…", a.substr(parts));
  b = absl::StrCat("…", b.substr(parts));
}

// Without remarks in parentheses, but for those of the subject's own name.
std::string WithoutRemarks(absl::string_view message, absl::string_view subject) {
  struct Pair {
    absl::string_view open;
    absl::string_view close;
  };
  std::string out;
  std::size_t i = 0;
  while (i < message.size()) {
    if (!subject.empty() && absl::StartsWith(message.substr(i), subject)) {
      absl::StrAppend(&out, subject);
      i += subject.size();
      continue;
    }
    bool dropped = false;
    for (const Pair& pair : {Pair{" (", ")"}, Pair{"（", "）"}}) {
      if (!absl::StartsWith(message.substr(i), pair.open)) continue;
      int depth = 0;
      std::size_t end = i;
      const absl::string_view opens = absl::StripLeadingAsciiWhitespace(pair.open);
      while (end < message.size()) {
        const absl::string_view rest = message.substr(end);
        if (absl::StartsWith(rest, opens)) ++depth;
        const bool closes = absl::StartsWith(rest, pair.close);
        end += closes ? pair.close.size() : 1;
        if (closes && --depth == 0) break;
      }
      i = end;
      dropped = true;
      break;
    }
    if (!dropped) out.push_back(message[i++]);
  }
  return out;
}

// Whether what stands before a colon is a statement, and no name: "npu against gpu" names two runs, "conversion,
// transform_steps" a setting. Behind a colon of its own it is the rest that counts.
bool IsStatement(absl::string_view head, absl::string_view subject) {
  for (absl::string_view mark : {": ", "："}) {
    const std::size_t at = head.rfind(mark);
    if (at != absl::string_view::npos) head.remove_prefix(at + mark.size());
  }
  const bool ascii = std::all_of(head.begin(), head.end(), [](char c) { return static_cast<signed char>(c) >= 0; });
  if (head.size() < kClauseBytesMin || (ascii && !absl::StrContains(head, ' '))) return false;
  if (!subject.empty() && absl::EndsWith(head, subject)) return false;
  return !(absl::StrContains(head, " against ") || absl::StrContains(head, " 与 "));
}

// The sentence up to its first remark.
absl::string_view FirstClause(absl::string_view message, absl::string_view subject) {
  std::size_t end = message.size();
  for (absl::string_view mark : {"; ", "；", ". "}) end = std::min(end, message.find(mark));
  for (absl::string_view mark : {": ", "："}) {
    for (std::size_t at = message.find(mark); at < end; at = message.find(mark, at + 1)) {
      if (IsStatement(message.substr(0, at), subject)) end = at;
    }
  }
  return message.substr(0, end);
}

bool IsBalanced(absl::string_view text) {
  const auto count = [text](char c) { return std::count(text.begin(), text.end(), c); };
  return count('(') == count(')') && count('[') == count(']');
}

// What is too long ends at a comma, where that leaves a statement, else in an ellipsis.
std::string Fit(absl::string_view text, absl::string_view subject) {
  if (DisplayWidth(text) <= kBriefColumns) return std::string(text);
  std::size_t best = 0;
  for (absl::string_view mark : {", ", "，", ": ", "："}) {
    for (std::size_t at = text.find(mark); at != absl::string_view::npos; at = text.find(mark, at + 1)) {
      const absl::string_view head = text.substr(0, at);
      const std::size_t width = DisplayWidth(head);
      if (width > kBriefColumns) break;
      if (width >= kClauseColumnsMin && IsBalanced(head) && IsStatement(head, subject)) best = std::max(best, at);
    }
  }
  return best > 0 ? std::string(text.substr(0, best)) : Shorten(text, kBriefColumns, false);
}

// The end of a path tells more than its beginning.
std::string ShortSubject(const std::string& subject) {
  const std::string safe = TerminalSafe(subject);
  if (DisplayWidth(safe) <= kSubjectColumns) return safe;
  const auto slash = safe.rfind('/');
  const std::string name = slash == std::string::npos ? safe : absl::StrCat("…", safe.substr(slash));
  return Shorten(name, kSubjectColumns, false);
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

// What readers call a setting; its key where it has no such name.
std::string SettingName(const Rules& rules, Language language, absl::string_view key) {
  const std::string id = absl::StrCat("setting_name/", key);
  return rules.messages.Has(id) ? In(language, rules.messages.Say(id)) : std::string(key);
}

// "baseline: lr_base" with the side and the setting in words.
std::string SubjectInWords(const Rules& rules, Language language, const std::string& subject) {
  for (const char* side : {"baseline", "migrated"}) {
    absl::string_view key = subject;
    if (!absl::ConsumePrefix(&key, absl::StrCat(side, ": "))) continue;
    return absl::StrCat(In(language, rules.messages.Say(absl::StrCat("ui_", side))), Colon(language),
                        SettingName(rules, language, key));
  }
  return SettingName(rules, language, subject);
}

class Teller {
 public:
  Teller(const Rules& rules, Language language, const v1::Report& report, const v1::CheckResult& check,
         const v1::Finding& finding)
      : rules_(rules),
        language_(language),
        check_(check),
        finding_(finding),
        raw_subject_(DisplayBytes(finding.subject())),
        names_a_run_(NamesARun(report, raw_subject_)),
        subject_(SubjectInWords(rules, language, ValueIn(language, raw_subject_))) {}

  Brief Tell() const {
    const std::string& all = In(language_, finding_.message());
    const std::string message = all.size() > kMessageBytesMax ? DisplayBytes(all.substr(0, kMessageBytesMax)) : all;
    const std::string plain = WithoutRemarks(message, raw_subject_);
    const std::string clause(FirstClause(plain, raw_subject_));
    std::string before = PlainValue(finding_.baseline());
    std::string after = PlainValue(finding_.migrated());
    const bool by_values = TellsByValues(finding_, before, after);
    if (by_values && IsShort(before) && IsShort(after)) return {Values(before, after), clause == plain};
    const std::string text = Sentence(clause);
    const std::string fit = Fit(TerminalSafe(text), raw_subject_);
    // A sentence that lists two long values: where these part.
    if (by_values && absl::EndsWith(fit, "…") && absl::StrContains(clause, before)) {
      DropCommonBeginning(before, after);
      return {Values(Shorten(before, kValueColumns, false), Shorten(after, kValueColumns, false)), true};
    }
    return {fit, clause == all && fit == TerminalSafe(text)};
  }

 private:
  std::string Values(absl::string_view before, absl::string_view after) const {
    const std::string name = names_a_run_ ? In(language_, check_.title()) : ShortSubject(subject_);
    return TerminalSafe(absl::StrCat(name, " ", ValueIn(language_, before), " → ", ValueIn(language_, after)));
  }

  // The clause with its subject before it, once.
  std::string Sentence(const std::string& clause) const {
    // "baseline: lr_base" and "lr_base: two sources disagree": the name is not told twice.
    const std::size_t part = raw_subject_.find(": ");
    const std::string key = part == std::string::npos ? raw_subject_ : raw_subject_.substr(part + 2);
    absl::string_view rest = clause;
    if (!key.empty() && absl::ConsumePrefix(&rest, key) &&
        (absl::StartsWith(rest, ": ") || absl::StartsWith(rest, "："))) {
      return absl::StrCat(subject_, rest);
    }
    if (absl::StrContains(clause, raw_subject_)) return clause;  // "" too
    return absl::StrCat(ShortSubject(subject_), Colon(language_), clause);
  }

  const Rules& rules_;
  const Language language_;
  const v1::CheckResult& check_;
  const v1::Finding& finding_;
  const std::string raw_subject_;
  const bool names_a_run_;
  const std::string subject_;
};

}  // namespace

Brief BriefOf(const Rules& rules, Language language, const v1::Report& report, const v1::CheckResult& check,
              const v1::Finding& finding) {
  return Teller(rules, language, report, check, finding).Tell();
}

std::string BriefFinding(const Rules& rules, Language language, const v1::Report& report, const v1::CheckResult& check,
                         const v1::Finding& finding) {
  return BriefOf(rules, language, report, check, finding).text;
}

}  // namespace paritect
