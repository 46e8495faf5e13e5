// paritect log: the server's log of calls: who did what, when, from where, and how it ended.
#include <algorithm>
#include <deque>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "client/localise.h"
#include "client/remote/connection.h"
#include "client/remote/words.h"
#include "client/report/audit_options.h"
#include "client/verbs.h"
#include "common/date.h"
#include "common/digest.h"
#include "common/duration.h"
#include "common/glob.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect log";
constexpr absl::string_view kSummary = "read the server's log of calls: who, what, when, from where";
constexpr std::int64_t kPage = 1000;

struct LogOptions {
  RemoteArguments remote;
  std::string output = "table";
  std::string who;
  std::string what;
  std::string subject;
  std::string from;
  std::string since;
  std::string until;
  std::int64_t since_unix_ms = 0;
  std::int64_t until_unix_ms = std::numeric_limits<std::int64_t>::max();
  bool refused = false;
  int lines = 50;
};

// Strangers are told by their address alone.
std::string AddressOf(const v1::AuditLogEntry& entry) {
  if (!entry.address().empty()) return entry.address();
  return absl::StartsWith(entry.actor(), "-/") ? entry.actor().substr(2) : "";
}

bool Fits(const std::string& pattern, absl::string_view text) {
  return pattern.empty() || GlobMatch(pattern, text);
}

// A subject is a name, or words with a name among them, alone or behind a role: `gpu-01` is also found as
// `agent/gpu-01` and in `gpu-01: key was stolen`.
bool FitsSubject(const std::string& pattern, absl::string_view subject) {
  if (Fits(pattern, subject)) return true;
  for (absl::string_view word : absl::StrSplit(subject, absl::ByAnyChar(" :"), absl::SkipEmpty())) {
    if (Fits(pattern, word) || Fits(pattern, word.substr(word.find('/') + 1))) return true;
  }
  return false;
}

bool Wanted(const LogOptions& o, const v1::AuditLogEntry& entry) {
  return Fits(o.who, entry.actor()) && Fits(o.what, entry.action()) && FitsSubject(o.subject, entry.subject()) &&
         Fits(o.from, AddressOf(entry)) && entry.at_unix_ms() >= o.since_unix_ms &&
         entry.at_unix_ms() < o.until_unix_ms && (!o.refused || entry.outcome() != "ok");
}

// A time as the log and the journal print it, a day (its beginning, UTC), or how long ago.
absl::StatusOr<std::int64_t> Moment(const std::string& text, std::int64_t now_unix_ms) {
  absl::Time time;
  const std::string whole = IsDate(text) ? absl::StrCat(text, "T00:00:00Z") : text;
  if (absl::ParseTime(absl::RFC3339_full, whole, &time, nullptr)) return absl::ToUnixMillis(time);
  const auto seconds = ParseDuration(text);
  if (seconds.ok()) return now_unix_ms - *seconds * 1000;
  return absl::InvalidArgumentError(
      absl::StrCat("'", DisplayBytes(text),
                   "' is neither how long ago (90s, 2h, 7d) nor a time (2026-12-31, 2026-12-31T12:00:00Z)"));
}

// The newest that are wanted, the oldest of them first. Pages are read backwards from the end.
absl::StatusOr<std::deque<v1::AuditLogEntry>> ReadWanted(RemoteServer& server, const LogOptions& o) {
  v1::ReadLogRequest request;
  request.set_limit(1);
  PARITECT_ASSIGN_OR_RETURN(const v1::ReadLogResponse first, server.ReadLog(request));
  std::deque<v1::AuditLogEntry> wanted;
  for (std::int64_t end = first.last_number(); end > 0; end -= kPage) {
    request.set_from(std::max<std::int64_t>(1, end - kPage + 1));
    request.set_limit(static_cast<int>(end - request.from() + 1));
    PARITECT_ASSIGN_OR_RETURN(const v1::ReadLogResponse page, server.ReadLog(request));
    for (int i = page.entries_size() - 1; i >= 0; --i) {
      const v1::AuditLogEntry& entry = page.entries(i);
      if (Wanted(o, entry)) wanted.push_front(entry);
      if (static_cast<int>(wanted.size()) >= o.lines) return wanted;
    }
    const bool older = page.entries_size() > 0 && page.entries(0).at_unix_ms() < o.since_unix_ms;
    if (older) break;
  }
  return wanted;
}

OrderedJson EntryJson(const v1::AuditLogEntry& entry) {
  OrderedJson json;
  json["number"] = entry.number();
  json["time"] = TimeJson(entry.at_unix_ms());
  json["who"] = entry.actor();
  json["from"] = AddressOf(entry).empty() ? OrderedJson(nullptr) : OrderedJson(AddressOf(entry));
  json["what"] = entry.action();
  json["subject"] = entry.subject();
  json["outcome"] = entry.outcome();
  json["detail"] = entry.detail();
  json["hash"] = ToHex(entry.hash());
  return json;
}

void Print(CommandEnv& env, const LogOptions& o, const std::deque<v1::AuditLogEntry>& entries) {
  if (o.output == "json") {
    OrderedJson json = OrderedJson::array();
    for (const v1::AuditLogEntry& entry : entries) json.push_back(EntryJson(entry));
    env.out << DumpJson(json) << "\n";
    return;
  }
  if (entries.empty()) {
    env.err << "nothing in the log fits\n";
    return;
  }
  TextTable table;
  table.Row({"NUMBER", "TIME", "WHO", "FROM", "WHAT", "SUBJECT", "OUTCOME"});
  for (const v1::AuditLogEntry& entry : entries) {
    std::string outcome = Localised(env.language, entry.outcome());
    if (!entry.detail().empty()) absl::StrAppend(&outcome, " (", entry.detail(), ")");
    table.Row({absl::StrCat(entry.number()), TimeWord(entry.at_unix_ms()), entry.actor(),
               AddressOf(entry).empty() ? "-" : AddressOf(entry), entry.action(),
               entry.subject().empty() ? "-" : entry.subject(), outcome});
  }
  table.Print(env.out, env.language);
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  LogOptions o;
  Arguments arguments(kName, kSummary);
  arguments.Int("-n,--lines", o.lines, "how many of the newest (default: 50)");
  arguments.Text("--who", o.who, "only of ROLE/NAME; a pattern: admin/*, -/10.0.0.7 of strangers");
  arguments.Text("--what", o.what, "only this call or event: Join, RevokeNode, Session, ...; a pattern");
  arguments.Text("--subject", o.subject, "only about this name or subject; a pattern");
  arguments.Text("--from", o.from, "only from this address; a pattern");
  arguments.Text("--since", o.since, "only of the last 2h, 7d, ..., or since a time: 2026-12-31, 2026-12-31T12:00:00Z");
  arguments.Text("--until", o.until, "only of before that time, or of longer ago than 2h, 7d, ...");
  arguments.Flag("--refused", o.refused, "only what was refused");
  arguments.Text("-o,--output", o.output, "table or json");
  DeclareRemoteArguments(arguments, o.remote);
  if (auto code = ParseOrAnswer(env, kName, arguments, args)) return *code;
  if (auto code = RefuseListFormat(env, kName, o.output)) return *code;
  if (o.lines < 1) return UsageError(env, kName, "--lines must be 1 or more");
  for (const auto& [option, text, moment] :
       {std::tuple("--since", &o.since, &o.since_unix_ms), std::tuple("--until", &o.until, &o.until_unix_ms)}) {
    if (text->empty()) continue;
    const auto parsed = Moment(*text, env.now_unix_ms());
    if (!parsed.ok()) return UsageError(env, kName, absl::StrCat(option, ": ", parsed.status().message()));
    *moment = *parsed;
  }
  return WithServer(env, kName, o.remote, [&](Connection& connection) {
    const auto entries = ReadWanted(*connection.server, o);
    if (!entries.ok()) return ServerError(env, kName, entries.status());
    Print(env, o, *entries);
    return kExitOk;
  });
}

}  // namespace

extern const Command kLogCommand;
const Command kLogCommand = {"log", kSummary, &Run};

}  // namespace paritect
