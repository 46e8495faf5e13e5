#include "client/remote/doctor_checks.h"

#include <cstdlib>
#include <optional>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/digest.h"
#include "common/duration.h"
#include "common/numbers.h"
#include "common/pki/certificate.h"
#include "common/version.h"
#include "storage/fleet_store.h"

namespace paritect {
namespace {

constexpr int kLogPage = 1000;
constexpr std::int64_t kClockWarningMs = 2'000;
constexpr std::int64_t kClockErrorMs = 300'000;

// "0.1" of "paritect-server 0.1.0"; empty where there is no version in it.
std::vector<std::int64_t> VersionOf(absl::string_view program) {
  std::vector<std::int64_t> numbers;
  const std::vector<absl::string_view> words = absl::StrSplit(program, ' ', absl::SkipEmpty());
  if (words.empty()) return numbers;
  for (absl::string_view part : absl::StrSplit(words.back(), '.')) {
    const auto number = ParseInt(part);
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

// What the log was when the server last wrote to it is kept beside it: entries that were cut off its end are missed.
DoctorLine CutLog(const v1::LogHead& head) {
  return {"log_chain", "error",
          absl::StrCat("the log of calls does not hold what stood at its end, entry ", head.number(), ":",
                       ToHex(head.hash())),
          "somebody cut or changed the database by hand: compare it with a backup (paritect-server verify)"};
}

}  // namespace

std::vector<DoctorLine> DiagnoseCredential(const Connection& connection, std::int64_t now_unix_ms) {
  std::vector<DoctorLine> lines;
  const LoadedCredential& loaded = connection.credential;
  lines.push_back({"credential", "ok",
                   absl::StrCat(connection.place.path, " (", connection.place.origin,
                                "): ", DescribeIdentity(loaded.credential.identity), " at ",
                                absl::StrJoin(loaded.credential.servers, ", ")),
                   ""});
  for (const std::string& warning : loaded.warnings) lines.push_back({"credential_warning", "warning", warning, ""});
  const std::int64_t left = loaded.not_after - now_unix_ms / 1000;
  const std::int64_t life = loaded.not_after - loaded.not_before;
  const bool soon = left < life / 10;
  lines.push_back({"certificate_validity", soon ? "warning" : "ok",
                   absl::StrCat("valid until ", FormatUtc(loaded.not_after), " (", FormatDuration(left), " left)"),
                   soon ? "ask an admin for a new credential before it ends" : ""});
  auto authorities = Certificate::ListFromPem(loaded.credential.authority_pem);
  if (!authorities.ok()) return lines;
  for (const Certificate& authority : *authorities) {
    const std::int64_t days = (authority.NotAfter() - now_unix_ms / 1000) / 86400;
    const std::string state = days < 0 ? "error" : days < 90 ? "warning" : "ok";
    lines.push_back({"authority_validity", state,
                     absl::StrCat("the server's authority is valid until ", FormatUtc(authority.NotAfter())),
                     state == "ok" ? "" : "make a new authority and give every node and person its certificate"});
  }
  return lines;
}

std::vector<DoctorLine> DiagnoseTls(const std::vector<TlsProbe>& probes, std::int64_t now_unix_ms) {
  std::vector<DoctorLine> lines;
  for (const TlsProbe& probe : probes) {
    if (!probe.status.ok()) {
      lines.push_back({"tls", "warning", absl::StrCat(probe.server, ": ", probe.status.message()), ""});
      continue;
    }
    const std::int64_t left = probe.server_not_after - now_unix_ms / 1000;
    const bool soon = left < 14 * 86400;
    lines.push_back(
        {"tls", soon ? "warning" : "ok",
         absl::StrCat(probe.server, ": ", probe.protocol, ", both certificates accepted; the server's ends ",
                      FormatUtc(probe.server_not_after)),
         soon ? "restart the server: it renews its own certificate; one of another authority must be replaced" : ""});
  }
  return lines;
}

std::vector<DoctorLine> DiagnoseClock(std::int64_t server_unix_ms, std::int64_t before_unix_ms,
                                      std::int64_t after_unix_ms) {
  const std::int64_t offset = before_unix_ms + (after_unix_ms - before_unix_ms) / 2 - server_unix_ms;
  const std::int64_t size = std::abs(offset);
  const std::string text = absl::StrCat("this machine's clock is ", size, " ms ", offset < 0 ? "behind" : "ahead of",
                                        " the server's (the call took ", after_unix_ms - before_unix_ms, " ms)");
  if (size <= kClockWarningMs + (after_unix_ms - before_unix_ms) / 2) return {{"clock", "ok", text, ""}};
  return {{"clock", size > kClockErrorMs ? "error" : "warning", text,
           "set both by NTP (chrony): certificates and times in reports depend on it"}};
}

std::vector<DoctorLine> DiagnoseVersions(absl::string_view program) {
  const std::string text = absl::StrCat("client ", kProgramVersion, ", server ", program);
  const std::vector<std::int64_t> mine = VersionOf(kProgramVersion);
  const std::vector<std::int64_t> theirs = VersionOf(program);
  if (mine.size() < 2 || theirs.size() < 2) {
    return {{"version_skew", "warning", absl::StrCat(text, ": not comparable"), ""}};
  }
  if (mine[0] == theirs[0] && mine[1] == theirs[1]) return {{"version_skew", "ok", text, ""}};
  return {
      {"version_skew", "warning", text, "use the same version on both ends: a neighbour works, but lacks what is new"}};
}

std::vector<DoctorLine> DiagnoseLog(RemoteServer& server, const v1::LogHead& head) {
  std::int64_t count = 0;
  std::optional<v1::AuditLogEntry> previous;
  for (;;) {
    v1::ReadLogRequest request;
    request.set_from(count + 1);
    request.set_limit(kLogPage);
    auto page = server.ReadLog(request);
    if (absl::IsPermissionDenied(page.status())) {
      return {{"log_chain", "warning", absl::StrCat("not verified: ", page.status().message()),
               "use a credential that may read the log"}};
    }
    if (!page.ok()) return {{"log_chain", "error", std::string(page.status().message()), ""}};
    for (const v1::AuditLogEntry& entry : page->entries()) {
      const std::string fault = CheckLogLink(previous ? &*previous : nullptr, entry);
      if (!fault.empty()) {
        return {{"log_chain", "error", absl::StrCat("the log of calls is broken after entry ", count, ": ", fault),
                 "somebody changed the database by hand, or it is damaged: compare it with a backup (paritect-server "
                 "verify)"}};
      }
      previous = entry;
      ++count;
      if (count == head.number() && entry.hash() != head.hash()) return {CutLog(head)};
    }
    // A short page is the last one: reading is itself a call that the log grows by.
    if (page->entries_size() < kLogPage) break;
  }
  if (count < head.number()) return {CutLog(head)};
  const std::string end = head.number() == 0 ? "" : absl::StrCat("; head ", head.number(), ":", ToHex(head.hash()));
  return {{"log_chain", "ok", absl::StrCat(count, " entries, every one follows from the one before", end), ""}};
}

}  // namespace paritect
