#include "checks/series/run_copies.h"

#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "rules/log_formats.h"

namespace paritect {
namespace {

// "/a/./b/../c" -> "/a/c"; as text, links are not known here.
std::string Normal(absl::string_view path) {
  std::vector<absl::string_view> parts;
  for (absl::string_view part : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (part == ".") continue;
    if (part == ".." && !parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else {
      parts.push_back(part);
    }
  }
  return absl::StrCat(absl::StartsWith(path, "/") ? "/" : "", absl::StrJoin(parts, "/"));
}

// The file of a log as far as the plan tells it; "" where it cannot be told from another of that name.
std::string PathOf(const LogSource& source) {
  const std::string& path = source.evidence->source();
  if (absl::StartsWith(path, "/")) return Normal(path);
  const std::string& plan = source.bundle->plan().plan_file();
  if (!absl::StartsWith(plan, "/")) return "";
  return Normal(absl::StrCat(plan.substr(0, plan.rfind('/') + 1), path));
}

// What the collector noted of the bytes: "DIGEST TIME", the time of day empty where they hold none; "" not known.
absl::string_view BytesOf(const LogSource& source) {
  for (const v1::Note& note : source.evidence->notes()) {
    if (note.kind() == "log_bytes") return note.message();
  }
  return "";
}

bool IsDuration(absl::string_view name) {
  const std::string lower = absl::AsciiStrToLower(name);
  for (const absl::string_view word : {"time", "second", "throughput", "speed", "tps", "per_sec", "elapsed", "wall"}) {
    if (absl::StrContains(lower, word)) return true;
  }
  return false;
}

// Durations that were measured: they never come out alike at every step.
bool HasMeasuredTimes(const v1::RunLog& log) {
  std::set<double> values;
  for (const v1::StepRecord& record : log.records()) {
    for (const auto& [name, value] : record.metrics()) {
      if (IsDuration(name)) values.insert(value);
    }
    if (values.size() >= 5) return true;
  }
  return false;
}

}  // namespace

std::optional<Copy> CopyOf(const RunSeries& first, const RunSeries& run) {
  for (const LogSource& a : first.logs) {
    for (const LogSource& b : run.logs) {
      const std::string path = PathOf(a);
      const bool same_file = !path.empty() && path == PathOf(b) && a.bundle->plan().node() == b.bundle->plan().node();
      const absl::string_view bytes = BytesOf(a);
      const bool same_bytes = !bytes.empty() && bytes == BytesOf(b);
      const bool timed = !absl::EndsWith(bytes, " ") || FactsOfLogFormat(a.log().format()).records_have_times ||
                         HasMeasuredTimes(a.log());
      if (!same_file && !(same_bytes && timed)) continue;
      return Copy{Where(b, 0), Where(a, 0), same_file ? "the same file" : "the same bytes, times included"};
    }
  }
  return std::nullopt;
}

}  // namespace paritect
