#include "formats/logs/recognise.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/logs/machinery/line_letters.h"

namespace paritect {
namespace {

constexpr absl::string_view kLossLetters = "ossOSS损";

const LineLetters& LettersOfFormats() {
  static const LineLetters letters = [] {
    std::vector<absl::string_view> all;
    for (const LogFormat* format : AllLogFormats()) all.push_back(format->letters);
    all.push_back(kLossLetters);
    return LineLetters(all);
  }();
  return letters;
}

// Those of the lines that are of that reader, each with its LF.
std::string LinesOf(const std::vector<LineLetters::Line>& lines, std::size_t reader) {
  std::string text;
  for (const LineLetters::Line& line : lines) {
    if ((line.readers >> reader & 1) != 0) absl::StrAppend(&text, line.text, "\n");
  }
  return text;
}

// "loss" as a word, with a number on the same line.
bool SpeaksOfLoss(absl::string_view line) {
  const bool word =
      absl::StrContains(line, "oss") || absl::StrContains(line, "LOSS") || absl::StrContains(line, "损失");
  return word && line.find_first_of("0123456789") != absl::string_view::npos;
}

std::int64_t CountLosses(const LogFormat& format, absl::string_view text) {
  RunLogBuilder out;
  const std::unique_ptr<LogParser> parser = MakeTextLogParser(TextEncoding::kUtf8, format.dialect());
  if (!parser->Feed(text, out).ok()) return 0;
  std::int64_t losses = 0;
  for (const LogRecord& entry : out.entries()) losses += entry.values.has_loss() ? 1 : 0;
  return losses;
}

void AddHelper(const LogFormat* format, LogClaim& claim) {
  const bool known = std::find(claim.helpers.begin(), claim.helpers.end(), format) != claim.helpers.end();
  // The general form has no lines that only it can tell.
  if (!known && format != claim.format && format->name != "text") claim.helpers.push_back(format);
}

}  // namespace

bool LogClaim::is_general() const {
  return format != nullptr && format->name == "text";
}

void LogClaim::Add(const LogClaim& later) {
  if (later.format == nullptr) return;
  const LogFormat* before = format;
  const bool better = before == nullptr || (is_general() && !later.is_general()) || (losses == 0 && later.losses > 0);
  if (better) {
    format = later.format;
    losses = later.losses;
    std::erase(helpers, format);
    if (before != nullptr && before->dialect != nullptr) AddHelper(before, *this);
  } else if (later.format == format) {
    losses += later.losses;
  } else if (later.format->dialect != nullptr) {
    AddHelper(later.format, *this);
  }
  for (const LogFormat* helper : later.helpers) AddHelper(helper, *this);
}

std::unique_ptr<LogParser> LogClaim::MakeParser(TextEncoding encoding) const {
  if (format->dialect == nullptr || helpers.empty()) return format->create(encoding);
  std::vector<std::unique_ptr<LineDialect>> others;
  for (const LogFormat* helper : helpers) others.push_back(helper->dialect());
  return MakeTextLogParser(encoding, format->dialect(), std::move(others));
}

std::vector<const LogFormat*> FormatsThatClaim(const LogHead& head, bool* speaks_of_loss) {
  const std::vector<LineLetters::Line> lines = LettersOfFormats().Find(head.text);
  const absl::Span<const LogFormat* const> all = AllLogFormats();
  if (speaks_of_loss != nullptr) *speaks_of_loss = AnyLine(LinesOf(lines, all.size()), &SpeaksOfLoss);
  std::vector<const LogFormat*> claim;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool whole = all[i]->letters.empty();
    const std::string own = whole ? std::string() : LinesOf(lines, i);
    if (!whole && own.empty()) continue;
    if (all[i]->sniff({head.raw, whole ? head.text : absl::string_view(own), head.first})) claim.push_back(all[i]);
  }
  return claim;
}

LogClaim ClaimLog(const LogHead& head, bool* speaks_of_loss) {
  struct Candidate {
    const LogFormat* format;
    std::int64_t losses;
  };
  std::vector<Candidate> candidates;
  for (const LogFormat* format : FormatsThatClaim(head, speaks_of_loss)) {
    if (format->dialect == nullptr) {
      // A form of whole files: no other can stand in it.
      if (candidates.empty()) return {format, {}, 1};
      continue;
    }
    candidates.push_back({format, CountLosses(*format, head.text)});
  }
  LogClaim claim;
  for (const Candidate& one : candidates) claim.losses = std::max(claim.losses, one.losses);
  for (const Candidate& one : candidates) {
    if (claim.format == nullptr && 2 * one.losses >= claim.losses) {
      claim.format = one.format;
      claim.losses = one.losses;
    }
  }
  for (const Candidate& one : candidates) AddHelper(one.format, claim);
  return claim;
}

}  // namespace paritect
