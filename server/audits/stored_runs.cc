#include "server/audits/stored_runs.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "formats/evidence_parts.h"
#include "server/recorded_runs.h"
#include "storage/fleet_keys.h"

namespace paritect {
namespace {

constexpr char kRuns[] = "audit_run";
constexpr char kNumbers[] = "audit_number";  // key: the audit; the last number that was given
constexpr char kReports[] = "report";
constexpr char kJudging[] = "judging";  // key as the run's; the judgements begun and not ended

bool Parse(absl::string_view value, google::protobuf::Message& message) {
  return message.ParseFromArray(value.data(), static_cast<int>(value.size()));
}

}  // namespace

absl::StatusOr<std::int64_t> LastRunNumber(FleetStore& store, const std::string& audit) {
  // A number that comes again would bring old evidence with it.
  PARITECT_ASSIGN_OR_RETURN(const std::optional<std::string> used, store.Get(kNumbers, audit));
  std::int64_t last = 0;
  if (used && absl::SimpleAtoi(*used, &last)) return last;
  // Versions before kept no number. All runs are read for it: of many kept runs that is slow.
  PARITECT_ASSIGN_OR_RETURN(const std::vector<v1::AuditRun> runs, ReadStoredRuns(store, audit));
  for (const v1::AuditRun& run : runs) last = std::max(last, run.number());
  return last;
}

absl::StatusOr<std::vector<v1::AuditRun>> UnfinishedRuns(FleetStore& store) {
  std::vector<v1::AuditRun> unfinished;
  absl::Status damage;
  PARITECT_RETURN_IF_ERROR(store.Scan(kRuns, "", "", [&](absl::string_view key, absl::string_view value) {
    v1::AuditRun run;
    if (!Parse(value, run)) {
      damage = absl::DataLossError(absl::StrCat("stored audit run ", key, " is damaged"));
    } else if (run.state() == v1::AUDIT_RUN_STATE_COLLECTING || run.state() == v1::AUDIT_RUN_STATE_CHECKING) {
      unfinished.push_back(std::move(run));
    }
    return true;
  }));
  PARITECT_RETURN_IF_ERROR(damage);
  return unfinished;
}

absl::StatusOr<v1::AuditRun> ReadStoredRun(FleetStore& store, const std::string& audit, std::int64_t number) {
  if (number == 0) {
    PARITECT_ASSIGN_OR_RETURN(number, LastRunNumber(store, audit));
  }
  PARITECT_ASSIGN_OR_RETURN(const auto value, store.Get(kRuns, AuditRunKey(audit, number)));
  v1::AuditRun run;
  if (value && Parse(*value, run)) return run;
  if (value) return absl::DataLossError("stored audit run is damaged");
  if (number == 0) {
    return absl::NotFoundError(
        absl::StrCat("audit '", audit, "' has not been run yet (`paritect audit run ", audit, "`)"));
  }
  return absl::NotFoundError(absl::StrCat("audit '", audit, "' has no run ", number));
}

absl::StatusOr<std::vector<v1::AuditRun>> ReadStoredRuns(FleetStore& store, const std::string& audit) {
  std::vector<v1::AuditRun> runs;
  PARITECT_RETURN_IF_ERROR(store.Scan(kRuns, GroupPrefix(audit), "", [&](absl::string_view, absl::string_view value) {
    v1::AuditRun run;
    if (Parse(value, run)) runs.push_back(std::move(run));
    return true;
  }));
  return runs;
}

absl::StatusOr<v1::Report> ReadStoredReport(FleetStore& store, const v1::AuditRun& run) {
  PARITECT_ASSIGN_OR_RETURN(const auto value, store.Get(kReports, AuditRunKey(run.audit(), run.number())));
  v1::Report report;
  if (value && Parse(*value, report)) return report;
  if (value) return absl::DataLossError("stored report is damaged");
  return absl::NotFoundError(absl::StrCat("run ", run.number(), " of audit '", run.audit(), "' has no report",
                                          run.problem().empty() ? " yet" : absl::StrCat(": ", run.problem())));
}

void AddNewRun(const v1::AuditRun& run, WriteSet& set) {
  set.documents.push_back({kRuns, AuditRunKey(run.audit(), run.number()), run.SerializeAsString(), {}});
  set.documents.push_back({kNumbers, run.audit(), absl::StrCat(run.number()), {}});
}

void AddJudgingMark(const v1::AuditRun& run, int unended, WriteSet& set) {
  set.documents.push_back({kJudging, AuditRunKey(run.audit(), run.number()), absl::StrCat(unended), {}});
}

void AddJudgingMarkRemoval(const v1::AuditRun& run, WriteSet& set) {
  set.documents.push_back({kJudging, AuditRunKey(run.audit(), run.number()), std::nullopt, {}});
}

absl::StatusOr<int> UnendedJudgements(FleetStore& store, const v1::AuditRun& run) {
  PARITECT_ASSIGN_OR_RETURN(const auto mark, store.Get(kJudging, AuditRunKey(run.audit(), run.number())));
  if (!mark) return 0;
  // Servers before this one wrote the time of one judgement, which is no small number.
  int unended = 0;
  return absl::SimpleAtoi(*mark, &unended) && unended > 0 ? unended : 1;
}

absl::StatusOr<std::vector<std::int64_t>> AddCancellations(FleetStore& store, const std::string& audit,
                                                           std::int64_t now_unix_ms, WriteSet& set) {
  PARITECT_ASSIGN_OR_RETURN(std::vector<v1::AuditRun> unfinished, UnfinishedRuns(store));
  std::vector<std::int64_t> numbers;
  for (v1::AuditRun& run : unfinished) {
    if (run.audit() != audit) continue;
    run.set_state(v1::AUDIT_RUN_STATE_CANCELLED);
    run.set_problem("cancelled while the server was stopped");
    run.set_ended_unix_ms(now_unix_ms);
    AddJudgedRun(run, set);
    AddJudgingMarkRemoval(run, set);
    numbers.push_back(run.number());
  }
  return numbers;
}

void AddJudgedRun(const v1::AuditRun& run, WriteSet& set) {
  DocumentWrite document = {kRuns, AuditRunKey(run.audit(), run.number()), run.SerializeAsString(), {}};
  for (const auto* bundles : {&run.baseline_bundles(), &run.migrated_bundles()}) {
    for (const v1::StoredBundle& stored : *bundles) {
      for (std::string& part : PartsOf(stored)) document.references.push_back(std::move(part));
    }
  }
  set.documents.push_back(std::move(document));
}

void AddReport(const v1::AuditRun& run, const v1::Report& report, WriteSet& set) {
  set.documents.push_back({kReports, AuditRunKey(run.audit(), run.number()), report.SerializeAsString(), {}});
}

absl::StatusOr<std::int64_t> AddRemovalOfRuns(FleetStore& store, const std::string& audit, WriteSet& set) {
  std::int64_t runs = 0;
  for (const char* collection : {kRuns, kReports, "attestation"}) {
    PARITECT_RETURN_IF_ERROR(
        store.Scan(collection, GroupPrefix(audit), "", [&](absl::string_view key, absl::string_view) {
          set.documents.push_back({collection, std::string(key), std::nullopt, {}});
          runs += absl::string_view(collection) == kRuns ? 1 : 0;
          return true;
        }));
  }
  PARITECT_RETURN_IF_ERROR(store.Scan("waiver", "", "", [&](absl::string_view key, absl::string_view value) {
    v1::StoredWaiver waiver;
    if (Parse(value, waiver) && waiver.audit() == audit) {
      set.documents.push_back({"waiver", std::string(key), std::nullopt, {}});
    }
    return true;
  }));
  return runs;
}

}  // namespace paritect
