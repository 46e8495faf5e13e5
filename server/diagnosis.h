// What `paritect doctor` is told of a server: what stands well, and what does not with what to do about it. A warning
// is of what somebody can mend, and goes when it is mended.
#ifndef PARITECT_SERVER_DIAGNOSIS_H_
#define PARITECT_SERVER_DIAGNOSIS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "paritect/v1/operators.pb.h"
#include "server/known_node.h"
#include "storage/fleet_store.h"

namespace paritect {

// Below it the next backup or a large audit may fill the disk.
inline constexpr std::int64_t kFreeBytesWanted = std::int64_t{256} << 20;
// After a restart, or where a connection was lost, agents come back within this time.
inline constexpr std::int64_t kComesBackMs = 90'000;

struct DiagnosisInput {
  std::vector<KnownNode> nodes;                 // enrolled agents
  std::vector<v1::AuditDefinition> audits;      // all there are
  absl::Status writing;                         // what the newest commit ended with
  absl::StatusOr<std::int64_t> free_bytes = 0;  // on the disk of the server's folder
  std::int64_t now_unix_ms = 0;
  std::int64_t start_unix_ms = 0;             // of the server
  std::int64_t certificate_expires_unix = 0;  // the server's
  std::string program;
};

v1::DiagnosisResponse Diagnosis(FleetStore& store, DiagnosisInput input);

// Of reading everything.
void AddIntegrity(const absl::StatusOr<std::vector<std::string>>& faults, v1::DiagnosisResponse& response);

}  // namespace paritect

#endif  // PARITECT_SERVER_DIAGNOSIS_H_
