#include "server/audits/definitions.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "formats/audit_file.h"
#include "server/recorded_runs.h"
#include "storage/fleet_keys.h"

namespace paritect {
namespace {

constexpr char kCollection[] = "audit";

}  // namespace

AuditDefinitions::AuditDefinitions(FleetStore& store, const Rules& rules, WallClock clock, DefinitionPorts ports)
    : store_(store), rules_(rules), clock_(std::move(clock)), ports_(std::move(ports)) {}

absl::Status AuditDefinitions::Load() {
  absl::Status damage;
  PARITECT_RETURN_IF_ERROR(store_.Scan(kCollection, "", "", [&](absl::string_view key, absl::string_view value) {
    v1::AuditDefinition definition;
    if (definition.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
      definitions_[std::string(key)] = std::move(definition);
    } else {
      damage = absl::DataLossError(absl::StrCat("stored audit ", key, " is damaged"));
    }
    return true;
  }));
  return damage;
}

absl::StatusOr<AuditDefinitions::Created> AuditDefinitions::Create(const std::string& text, const std::string& file,
                                                                   bool replace, const std::string& by) {
  auto parsed = ParseAuditFile(text);
  if (!parsed.ok()) return absl::InvalidArgumentError(absl::StrCat(file, ":", parsed.status().message()));
  auto profile = ReadAuditProfile(*parsed, rules_.profile);
  if (!profile.ok()) return absl::InvalidArgumentError(absl::StrCat(file, ":", profile.status().message()));
  v1::AuditDefinition& definition = *parsed;
  if (const absl::Status runs = CheckRecordedRuns(store_, definition); !runs.ok()) {
    return absl::Status(runs.code(), absl::StrCat(file, ": ", runs.message()));
  }
  const std::int64_t now_s = clock_() / 1000;
  const auto known = definitions_.find(definition.name());
  const bool replaced = known != definitions_.end() && known->second.source() != text;
  if (replaced && !replace) {
    return absl::AlreadyExistsError(
        absl::StrCat("there is another audit '", definition.name(), "' already; --replace takes its place"));
  }
  definition.set_created_by(by);
  definition.set_created_unix(now_s);
  definition.set_redaction_key(known != definitions_.end() ? known->second.redaction_key() : ports_.random_bytes(32));
  if (definition.schedule_seconds() > 0) definition.set_next_run_unix(now_s + definition.schedule_seconds());
  WriteSet set;
  AddDefinition(definition, set);
  PARITECT_RETURN_IF_ERROR(ports_.commit(std::move(set)));
  definitions_[definition.name()] = definition;
  return Created{definition.name(), replaced};
}

absl::Status AuditDefinitions::Remove(const std::string& name, WriteSet set) {
  if (!Has(name)) return NoSuchAudit(name);
  set.documents.push_back({kCollection, name, std::nullopt, {}});
  PARITECT_RETURN_IF_ERROR(ports_.commit(std::move(set)));
  definitions_.erase(name);
  return absl::OkStatus();
}

absl::StatusOr<bool> AuditDefinitions::StopSchedule(const std::string& name) {
  PARITECT_ASSIGN_OR_RETURN(v1::AuditDefinition definition, Find(name));
  if (definition.schedule_seconds() == 0) return false;
  definition.set_schedule_seconds(0);
  definition.set_next_run_unix(0);
  WriteSet set;
  AddDefinition(definition, set);
  PARITECT_RETURN_IF_ERROR(ports_.commit(std::move(set)));
  definitions_[name] = std::move(definition);
  return true;
}

absl::StatusOr<v1::AuditDefinition> AuditDefinitions::Find(const std::string& name) const {
  const auto found = definitions_.find(name);
  if (found == definitions_.end()) return NoSuchAudit(name);
  return found->second;
}

std::vector<v1::AuditDefinition> AuditDefinitions::All() const {
  std::vector<v1::AuditDefinition> out;
  for (const auto& [name, definition] : definitions_) out.push_back(definition);
  return out;
}

std::vector<v1::AuditDefinition> AuditDefinitions::TakeDue(std::int64_t now_unix_ms) {
  std::vector<v1::AuditDefinition> due;
  for (auto& [name, definition] : definitions_) {
    if (definition.schedule_seconds() <= 0 || now_unix_ms / 1000 < definition.next_run_unix()) continue;
    if (!definition.until().empty() && FormatDate(now_unix_ms) > definition.until()) continue;
    definition.set_next_run_unix(now_unix_ms / 1000 + definition.schedule_seconds());
    due.push_back(definition);
  }
  return due;
}

void AddDefinition(const v1::AuditDefinition& definition, WriteSet& set) {
  set.documents.push_back({kCollection, definition.name(), definition.SerializeAsString(), {}});
}

absl::Status NoSuchAudit(const std::string& name) {
  return absl::NotFoundError(absl::StrCat("there is no audit '", name, "' (`paritect audit ls` lists all)"));
}

}  // namespace paritect
