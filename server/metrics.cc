#include "server/metrics.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace paritect {
namespace {

void Add(std::string& out, absl::string_view name, absl::string_view type, absl::string_view help, double value) {
  absl::StrAppend(&out, "# HELP paritect_", name, " ", help, "\n# TYPE paritect_", name, " ", type, "\nparitect_", name,
                  " ", value, "\n");
}

void AddCount(std::string& out, absl::string_view name, absl::string_view help, std::int64_t value) {
  Add(out, name, "counter", help, static_cast<double>(value));
}

void AddGauge(std::string& out, absl::string_view name, absl::string_view help, std::int64_t value) {
  Add(out, name, "gauge", help, static_cast<double>(value));
}

}  // namespace

std::string FormatMetrics(const ServerMetrics& m) {
  std::string out;
  AddGauge(out, "nodes", "enrolled nodes", m.fleet.nodes);
  AddGauge(out, "sessions", "connected agents", m.fleet.online);
  AddCount(out, "sessions_total", "sessions since the start", m.fleet.sessions);
  AddCount(out, "records_total", "records taken", m.fleet.records);
  AddCount(out, "records_duplicate_total", "records that were there already", m.fleet.duplicates);
  AddCount(out, "records_refused_total", "records that could not be kept as what they say", m.fleet.refused);
  AddCount(out, "records_lost_total", "records that agents declared lost", m.fleet.lost);
  AddCount(out, "batches_total", "batches taken", m.fleet.batches);
  AddCount(out, "resends_total", "times that records were asked for again", m.fleet.resends);
  AddCount(out, "throttles_total", "times that an agent was asked to wait", m.fleet.throttles);
  AddCount(out, "commits_total", "transactions", m.writer.commits);
  AddCount(out, "commits_failed_total", "transactions that failed", m.writer.failed_commits);
  AddCount(out, "commit_bytes_total", "bytes in transactions", m.writer.bytes);
  AddGauge(out, "write_queue_bytes", "bytes on their way to the disk", m.writer.queued_bytes);
  Add(out, "commit_seconds_p50", "gauge", "median duration of a transaction",
      absl::ToDoubleSeconds(m.writer.commit_latency.Quantile(0.5)));
  Add(out, "commit_seconds_p99", "gauge", "99th percentile of it",
      absl::ToDoubleSeconds(m.writer.commit_latency.Quantile(0.99)));
  Add(out, "acknowledge_seconds_p50", "gauge", "median time from a batch to its durability",
      absl::ToDoubleSeconds(m.writer.answer_latency.Quantile(0.5)));
  Add(out, "acknowledge_seconds_p99", "gauge", "99th percentile of it",
      absl::ToDoubleSeconds(m.writer.answer_latency.Quantile(0.99)));
  AddGauge(out, "database_bytes", "size of the database file", m.store.file_bytes);
  AddGauge(out, "database_wal_bytes", "size of its write-ahead log", m.store.wal_bytes);
  AddGauge(out, "documents", "stored documents", m.store.documents);
  AddGauge(out, "contents", "stored pieces of content", m.store.contents);
  AddGauge(out, "log_entries", "entries of the log of calls", m.store.log_entries);
  AddCount(out, "log_entries_lost_total", "entries that could not be written", m.log_entries_lost);
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
