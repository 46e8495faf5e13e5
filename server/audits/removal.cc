// Taking audits and schedules away.
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "server/audits/audits.h"
#include "storage/fleet_keys.h"

namespace paritect {
namespace {

absl::Status NoAudit(const std::string& name) {
  return absl::NotFoundError(absl::StrCat("there is no audit '", name, "' (`paritect audit ls` lists all)"));
}

}  // namespace

absl::StatusOr<std::int64_t> Audits::Remove(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (definitions_.count(name) == 0) return NoAudit(name);
  for (const auto& [key, active] : active_) {
    if (active.run.audit() != name) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("audit '", name, "' is running (run ", active.run.number(), "); cancel it first"));
  }
  WriteSet set;
  std::int64_t runs = 0;
  for (const char* collection : {"audit_run", "report", "attestation"}) {
    PARITECT_RETURN_IF_ERROR(
        store_.Scan(collection, GroupPrefix(name), "", [&](absl::string_view key, absl::string_view) {
          set.documents.push_back({collection, std::string(key), std::nullopt, {}});
          runs += absl::string_view(collection) == "audit_run" ? 1 : 0;
          return true;
        }));
  }
  PARITECT_RETURN_IF_ERROR(store_.Scan("waiver", "", "", [&](absl::string_view key, absl::string_view value) {
    v1::StoredWaiver waiver;
    if (waiver.ParseFromArray(value.data(), static_cast<int>(value.size())) && waiver.audit() == name) {
      set.documents.push_back({"waiver", std::string(key), std::nullopt, {}});
    }
    return true;
  }));
  set.documents.push_back({"audit", name, std::nullopt, {}});
  if (ports_.remove_live) ports_.remove_live(name, set);
  PARITECT_RETURN_IF_ERROR(ports_.commit(std::move(set)));
  definitions_.erase(name);
  changed_.notify_all();
  return runs;
}

absl::StatusOr<bool> Audits::StopSchedule(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = definitions_.find(name);
  if (found == definitions_.end()) return NoAudit(name);
  if (found->second.schedule_seconds() == 0) return false;
  v1::AuditDefinition definition = found->second;
  definition.set_schedule_seconds(0);
  definition.set_next_run_unix(0);
  WriteSet set;
  set.documents.push_back({"audit", name, definition.SerializeAsString(), {}});
  PARITECT_RETURN_IF_ERROR(ports_.commit(std::move(set)));
  found->second = std::move(definition);
  return true;
}

}  // namespace paritect
