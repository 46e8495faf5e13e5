#include "formats/logs/recognise.h"

#include <algorithm>

namespace paritect {
namespace {

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

LogClaim ClaimLog(const LogHead& head) {
  struct Candidate {
    const LogFormat* format;
    std::int64_t losses;
  };
  std::vector<Candidate> candidates;
  for (const LogFormat* format : AllLogFormats()) {
    if (!format->sniff(head)) continue;
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
