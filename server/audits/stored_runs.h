// Runs of audits and their reports as the store keeps them.
#ifndef PARITECT_SERVER_AUDITS_STORED_RUNS_H_
#define PARITECT_SERVER_AUDITS_STORED_RUNS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "paritect/v1/fleet.pb.h"
#include "paritect/v1/report.pb.h"
#include "storage/fleet_store.h"

namespace paritect {

// The last number that was given to a run of the audit; 0: none yet. Never one that comes again: runs go with
// retention and with their audit, their numbers do not.
absl::StatusOr<std::int64_t> LastRunNumber(FleetStore& store, const std::string& audit);

// Runs that were under way when the server ended. DataLoss: a stored run is damaged.
absl::StatusOr<std::vector<v1::AuditRun>> UnfinishedRuns(FleetStore& store);

// `number` 0: the last. NotFound; DataLoss.
absl::StatusOr<v1::AuditRun> ReadStoredRun(FleetStore& store, const std::string& audit, std::int64_t number);

// All runs of the audit, oldest first; a damaged one is left out (`verify` names it).
absl::StatusOr<std::vector<v1::AuditRun>> ReadStoredRuns(FleetStore& store, const std::string& audit);

// The report of a run. NotFound: it has none (yet); DataLoss.
absl::StatusOr<v1::Report> ReadStoredReport(FleetStore& store, const v1::AuditRun& run);

// A run that begins: with its number, so that no other one gets it.
void AddNewRun(const v1::AuditRun& run, WriteSet& set);
// Beside a run while it is judged: the judgements that have begun and not ended, this one among them. One that is found
// at a start names the run that the server ended with.
void AddJudgingMark(const v1::AuditRun& run, int unended, WriteSet& set);
void AddJudgingMarkRemoval(const v1::AuditRun& run, WriteSet& set);
// 0 without a mark.
absl::StatusOr<int> UnendedJudgements(FleetStore& store, const v1::AuditRun& run);
// Ends runs of an audit that are under way in the store of a server that does not run; gives their numbers.
absl::StatusOr<std::vector<std::int64_t>> AddCancellations(FleetStore& store, const std::string& audit,
                                                           std::int64_t now_unix_ms, WriteSet& set);

// A run that was judged, with references to the evidence that it holds on to.
void AddJudgedRun(const v1::AuditRun& run, WriteSet& set);
void AddReport(const v1::AuditRun& run, const v1::Report& report, WriteSet& set);

// Everything that was stored of the audit's runs: reports, what persons answered. Gives how many runs go.
absl::StatusOr<std::int64_t> AddRemovalOfRuns(FleetStore& store, const std::string& audit, WriteSet& set);

}  // namespace paritect

#endif  // PARITECT_SERVER_AUDITS_STORED_RUNS_H_
