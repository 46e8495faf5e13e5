// What audits there are: their definitions as people wrote them, in memory and in the store.
//
// A change is durable before it can be seen. Not thread-safe: its owner guards it.
#ifndef PARITECT_SERVER_AUDITS_DEFINITIONS_H_
#define PARITECT_SERVER_AUDITS_DEFINITIONS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "paritect/v1/fleet.pb.h"
#include "rules/rules.h"
#include "server/wall_clock.h"
#include "storage/fleet_store.h"

namespace paritect {

struct DefinitionPorts {
  std::function<absl::Status(WriteSet)> commit;  // durable when it returns
  std::function<std::string(std::size_t)> random_bytes;
};

class AuditDefinitions {
 public:
  AuditDefinitions(FleetStore& store, const Rules& rules, WallClock clock, DefinitionPorts ports);

  absl::Status Load();  // DataLoss: a stored definition is damaged; the others are there

  struct Created {
    std::string name;
    bool replaced = false;  // there was another one of that name
  };
  // InvalidArgument "FILE:LINE:COLUMN: ..."; NotFound: a run that is not recorded; AlreadyExists without `replace`.
  absl::StatusOr<Created> Create(const std::string& text, const std::string& file, bool replace, const std::string& by);
  // Commits `set` with it: what else goes with the audit. NotFound.
  absl::Status Remove(const std::string& name, WriteSet set);
  // False: it had no schedule. NotFound.
  absl::StatusOr<bool> StopSchedule(const std::string& name);

  bool Has(const std::string& name) const { return definitions_.count(name) > 0; }
  absl::StatusOr<v1::AuditDefinition> Find(const std::string& name) const;  // NotFound
  std::vector<v1::AuditDefinition> All() const;                             // by name

  // Those whose time has come, each with the time after it, which holds from now on in memory; storing it
  // (AddDefinition) is the caller's.
  std::vector<v1::AuditDefinition> TakeDue(std::int64_t now_unix_ms);

 private:
  FleetStore& store_;
  const Rules& rules_;
  const WallClock clock_;
  const DefinitionPorts ports_;
  std::map<std::string, v1::AuditDefinition> definitions_;
};

void AddDefinition(const v1::AuditDefinition& definition, WriteSet& set);

// NotFound in words.
absl::Status NoSuchAudit(const std::string& name);

}  // namespace paritect

#endif  // PARITECT_SERVER_AUDITS_DEFINITIONS_H_
