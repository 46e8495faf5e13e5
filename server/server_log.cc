#include "server/server_log.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/utf8.h"
#include "nlohmann/json.hpp"

namespace paritect {
namespace {

constexpr std::size_t kValueBytesMax = 2000;  // strangers write some of them

constexpr absl::string_view kReadings[] = {"ListNodes", "ListAudits", "GetReport",   "ListAuditRuns",
                                           "ListRuns",  "ListTokens", "ListWaivers", "ReadLog",
                                           "Diagnose",  "WatchAudit", "WatchEvents", "GetEvidence"};

absl::string_view LevelWord(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo: return "info";
    case LogLevel::kWarning: return "warning";
    case LogLevel::kError: return "error";
  }
  return "";
}

// "2026-12-01T12:00:00Z".
std::string TimeOf(const WallClock& clock) {
  std::string time = FormatTime(clock());
  std::replace(time.begin(), time.end(), ' ', 'T');
  return time;
}

// As it is, or in quotes where a reader could not tell where it ends.
std::string Quoted(const std::string& value) {
  const bool plain = std::all_of(value.begin(), value.end(), [](char c) { return c > ' ' && c != '"' && c != '='; });
  return plain ? value : nlohmann::json(value).dump();
}

// One line, whatever a stranger put into it.
std::string Safe(absl::string_view value) {
  return DisplayBytes(value.substr(0, kValueBytesMax));
}

absl::string_view VerdictWord(v1::Verdict verdict) {
  switch (verdict) {
    case v1::VERDICT_PASS: return "pass";
    case v1::VERDICT_FAIL: return "fail";
    default: return "not_performed";
  }
}

}  // namespace

void ServerLog::Write(LogLevel level, absl::string_view message, const Fields& fields) {
  std::string line;
  const std::string time = TimeOf(clock_);
  if (form_ == Form::kJson) {
    nlohmann::ordered_json json = {
        {"time", time}, {"level", std::string(LevelWord(level))}, {"message", Safe(message)}};
    for (const auto& [name, value] : fields) {
      if (!value.empty()) json[std::string(name)] = Safe(value);
    }
    line = json.dump();
  } else {
    line = absl::StrCat(time, " ", LevelWord(level), " ", Safe(message));
    for (const auto& [name, value] : fields) {
      if (!value.empty()) absl::StrAppend(&line, " ", name, "=", Quoted(Safe(value)));
    }
  }
  absl::MutexLock lock(&mutex_);
  out_ << line << "\n";
  out_.flush();
}

void TellCall(ServerLog& log, const v1::AuditLogEntry& entry) {
  const bool ok = entry.outcome() == "ok";
  const bool reading = std::find(std::begin(kReadings), std::end(kReadings), entry.action()) != std::end(kReadings);
  if (ok && reading) return;
  std::string address = entry.address();
  if (address.empty() && absl::StartsWith(entry.actor(), "-/")) address = entry.actor().substr(2);
  const std::string actor = absl::StartsWith(entry.actor(), "-/") ? "" : entry.actor();
  std::string why = ok ? "" : entry.outcome();
  if (absl::StartsWith(why, "refused: ")) why.erase(0, sizeof("refused: ") - 1);
  log.Write(ok ? LogLevel::kInfo : LogLevel::kWarning, ok ? entry.action() : absl::StrCat(entry.action(), " refused"),
            {{"peer", address}, {"by", actor}, {"subject", entry.subject()}, {"why", why}, {"detail", entry.detail()}});
}

void TellRun(ServerLog& log, const v1::AuditRun& run) {
  const std::string name = absl::StrCat(run.audit(), " #", run.number());
  if (run.state() == v1::AUDIT_RUN_STATE_FAILED) {
    return log.Write(LogLevel::kError, "audit could not be run", {{"audit", name}, {"why", run.problem()}});
  }
  if (run.state() == v1::AUDIT_RUN_STATE_CANCELLED) {
    return log.Write(LogLevel::kInfo, "audit cancelled", {{"audit", name}});
  }
  const bool pass = run.verdict() == v1::VERDICT_PASS;
  log.Write(pass ? LogLevel::kInfo : LogLevel::kWarning, "audit judged",
            {{"audit", name},
             {"verdict", std::string(VerdictWord(run.verdict()))},
             {"silent", absl::StrJoin(run.silent_nodes(), ",")}});
}

}  // namespace paritect
