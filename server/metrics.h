// Counters in Prometheus text form (https://prometheus.io/docs/instrumenting/exposition_formats/, version 0.0.4).
#ifndef PARITECT_SERVER_METRICS_H_
#define PARITECT_SERVER_METRICS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/audit_figures.h"
#include "server/fleet.h"
#include "server/writer.h"
#include "storage/fleet_store.h"

namespace paritect {

struct ServerMetrics {
  std::string version;
  std::int64_t start_unix_ms = 0;
  std::int64_t certificate_expires_unix = 0;  // the server's
  std::vector<AuditFigure> audits;
  std::map<v1::Verdict, std::int64_t> runs_by_verdict;
  FleetCounters fleet;
  WriterStats writer;
  FleetStoreStats store;
  std::int64_t connections_accepted = 0;
  std::int64_t connections_open = 0;
  std::int64_t connections_refused = 0;
  std::int64_t connections_waiting = 0;
  std::int64_t connections_strange = 0;
  std::int64_t connections_cut = 0;
  std::int64_t descriptors_exhausted = 0;
  std::int64_t log_entries_lost = 0;
  std::optional<std::int64_t> disk_free_bytes;  // where the server's folder lies; nullopt: not known
};

std::string FormatMetrics(const ServerMetrics& metrics);

}  // namespace paritect

#endif  // PARITECT_SERVER_METRICS_H_
