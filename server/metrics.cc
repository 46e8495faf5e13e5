#include "server/metrics.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "common/numbers.h"

namespace paritect {
namespace {

// Buckets of a histogram, as powers of two of a microsecond: 256 us to 67 s.
constexpr std::size_t kFirstBucket = 8;
constexpr std::size_t kLastBucket = 26;

constexpr std::array<std::pair<v1::Verdict, const char*>, 3> kVerdicts = {
    {{v1::VERDICT_PASS, "pass"}, {v1::VERDICT_FAIL, "fail"}, {v1::VERDICT_NOT_PERFORMED, "not_performed"}}};

void Head(std::string& out, absl::string_view name, absl::string_view type, absl::string_view help) {
  absl::StrAppend(&out, "# HELP paritect_", name, " ", help, "\n# TYPE paritect_", name, " ", type, "\n");
}

void AddCount(std::string& out, absl::string_view name, absl::string_view help, std::int64_t value) {
  Head(out, name, "counter", help);
  absl::StrAppend(&out, "paritect_", name, " ", value, "\n");
}

void AddGauge(std::string& out, absl::string_view name, absl::string_view help, std::int64_t value) {
  Head(out, name, "gauge", help);
  absl::StrAppend(&out, "paritect_", name, " ", value, "\n");
}

std::string Label(absl::string_view name, absl::string_view value) {
  return absl::StrCat(name, "=\"", absl::StrReplaceAll(value, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}), "\"");
}

// Cumulative, with sum and count: https://prometheus.io/docs/practices/histograms/
void AddHistogram(std::string& out, absl::string_view name, absl::string_view help, const LatencyHistogram& latency) {
  Head(out, name, "histogram", help);
  std::int64_t below = 0;
  for (std::size_t i = 0; i < kFirstBucket; ++i) below += latency.buckets[i];
  for (std::size_t i = kFirstBucket; i <= kLastBucket; ++i) {
    below += latency.buckets[i];
    const double le = static_cast<double>(std::int64_t{1} << i) / 1e6;
    absl::StrAppend(&out, "paritect_", name, "_bucket{", Label("le", FormatDouble(le)), "} ", below, "\n");
  }
  absl::StrAppend(&out, "paritect_", name, "_bucket{le=\"+Inf\"} ", latency.count(), "\n");
  absl::StrAppend(&out, "paritect_", name, "_sum ", FormatDouble(absl::ToDoubleSeconds(latency.sum)), "\n");
  absl::StrAppend(&out, "paritect_", name, "_count ", latency.count(), "\n");
}

void AddOfAudits(std::string& out, absl::string_view name, absl::string_view help, const ServerMetrics& m,
                 std::int64_t (*value)(const AuditFigure&)) {
  Head(out, name, "gauge", help);
  for (const AuditFigure& one : m.audits) {
    absl::StrAppend(&out, "paritect_", name, "{", Label("audit", one.audit), "} ", value(one), "\n");
  }
}

void AddAudits(std::string& out, const ServerMetrics& m) {
  Head(out, "audit_runs_total", "counter", "judged runs of audits since the start, by verdict");
  for (const auto& [verdict, word] : kVerdicts) {
    const auto runs = m.runs_by_verdict.find(verdict);
    absl::StrAppend(&out, "paritect_audit_runs_total{", Label("verdict", word), "} ",
                    runs == m.runs_by_verdict.end() ? 0 : runs->second, "\n");
  }
  Head(out, "audit_verdict", "gauge", "1 at the verdict of an audit's newest judged run");
  for (const AuditFigure& one : m.audits) {
    for (const auto& [verdict, word] : kVerdicts) {
      absl::StrAppend(&out, "paritect_audit_verdict{", Label("audit", one.audit), ",", Label("verdict", word), "} ",
                      one.verdict == verdict ? 1 : 0, "\n");
    }
  }
  AddOfAudits(out, "audit_last_run_timestamp_seconds", "when an audit's newest judged run ended", m,
              [](const AuditFigure& one) { return one.ended_unix_ms / 1000; });
  AddOfAudits(out, "audit_failed_checks", "checks that failed in it", m,
              [](const AuditFigure& one) { return one.failed_checks; });
  AddOfAudits(out, "audit_open_checks", "required checks that were not performed in it", m,
              [](const AuditFigure& one) { return one.open_checks; });
  AddOfAudits(out, "audit_silent_nodes", "nodes that gave nothing to it", m,
              [](const AuditFigure& one) { return one.silent_nodes; });
}

void AddFleet(std::string& out, const FleetCounters& fleet) {
  AddGauge(out, "nodes", "enrolled nodes", fleet.nodes);
  AddGauge(out, "nodes_silent", "enrolled nodes that were connected once and are not now", fleet.silent);
  AddGauge(out, "sessions", "connected agents", fleet.online);
  AddCount(out, "sessions_total", "sessions since the start", fleet.sessions);
  AddCount(out, "identity_contests_total", "times that two agents with one identity took each other's place",
           fleet.contests);
  AddCount(out, "records_total", "records taken", fleet.records);
  AddCount(out, "records_duplicate_total", "records that were there already", fleet.duplicates);
  AddCount(out, "records_refused_total", "records that could not be kept as what they say", fleet.refused);
  AddCount(out, "records_lost_total", "records that agents declared lost", fleet.lost);
  AddCount(out, "batches_total", "batches taken", fleet.batches);
  AddCount(out, "resends_total", "times that records were asked for again", fleet.resends);
  AddCount(out, "throttles_total", "times that an agent was asked to wait", fleet.throttles);
}

}  // namespace

std::string FormatMetrics(const ServerMetrics& m) {
  std::string out;
  Head(out, "build_info", "gauge", "always 1; the version is its label");
  absl::StrAppend(&out, "paritect_build_info{", Label("version", m.version), "} 1\n");
  AddGauge(out, "start_timestamp_seconds", "when the server started", m.start_unix_ms / 1000);
  AddFleet(out, m.fleet);
  AddAudits(out, m);
  AddCount(out, "commits_total", "transactions", m.writer.commits);
  AddCount(out, "commits_failed_total", "transactions that failed", m.writer.failed_commits);
  AddCount(out, "commit_bytes_total", "bytes in transactions", m.writer.bytes);
  AddGauge(out, "write_queue_bytes", "bytes on their way to the disk", m.writer.queued_bytes);
  AddHistogram(out, "commit_seconds", "duration of a transaction", m.writer.commit_latency);
  AddHistogram(out, "acknowledge_seconds", "time from a batch to its durability", m.writer.answer_latency);
  AddGauge(out, "database_bytes", "size of the database file", m.store.file_bytes);
  AddGauge(out, "database_wal_bytes", "size of its write-ahead log", m.store.wal_bytes);
  AddGauge(out, "database_problems", "contradictions between the database and the mark beside it, at the start",
           static_cast<std::int64_t>(m.store.problems.size()));
  if (m.disk_free_bytes) {
    AddGauge(out, "disk_free_bytes", "space left on the disk of the server's folder", *m.disk_free_bytes);
  }
  AddGauge(out, "documents", "stored documents", m.store.documents);
  AddGauge(out, "contents", "stored pieces of content", m.store.contents);
  AddGauge(out, "log_entries", "entries of the log of calls", m.store.log_entries);
  AddCount(out, "log_entries_lost_total", "entries that could not be written", m.log_entries_lost);
  AddGauge(out, "server_certificate_expires_timestamp_seconds", "when the server's certificate ends",
           m.certificate_expires_unix);
  AddCount(out, "connections_accepted_total", "connections accepted", m.connections_accepted);
  AddGauge(out, "connections_open", "connections open", m.connections_open);
  AddCount(out, "connections_refused_total", "connections refused for a limit", m.connections_refused);
  AddGauge(out, "connections_waiting", "connections that have not said what they want", m.connections_waiting);
  AddGauge(out, "connections_strange", "connections before their first admitted call", m.connections_strange);
  AddCount(out, "connections_cut_total", "connections hung up on: no TLS, too slow, bytes without a message",
           m.connections_cut);
  AddCount(out, "descriptors_exhausted_total", "times that descriptors ran out", m.descriptors_exhausted);
  return out;
}

}  // namespace paritect
