// Keys of the fleet's documents: parts joined by '/', so that a prefix names a group, and numbers padded, so that the
// order of bytes is theirs. A part may hold any bytes: '/', '%' and control bytes are written %XX.
#ifndef PARITECT_STORAGE_FLEET_KEYS_H_
#define PARITECT_STORAGE_FLEET_KEYS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace paritect {

std::string KeyPart(absl::string_view part);
// "PART/": what begins with it belongs to that part and to no other. All keys and prefixes are made here: a name that
// is put into one as it is would read as two where it holds a '/'.
std::string GroupPrefix(absl::string_view part);
// nullopt: an escape that KeyPart does not write.
std::optional<std::vector<std::string>> SplitKey(absl::string_view key);

std::string EpochKeyPart(std::uint64_t epoch);              // 16 hexadecimal digits
std::string NumberKeyPart(std::uint64_t number);            // 20 decimal digits
std::string RankKeyPart(std::optional<std::int32_t> rank);  // 10 decimal digits; "-": none

std::string WatermarkKey(absl::string_view node, std::uint64_t epoch);
std::string SequenceKey(absl::string_view node, std::uint64_t epoch, std::uint64_t sequence);  // gap, event
std::string SeriesKey(absl::string_view run, std::optional<std::int32_t> rank, absl::string_view node);
std::string TaskEndKey(absl::string_view task, absl::string_view node);
std::string LeasePrefix(absl::string_view node, absl::string_view task);  // ends with '/'
std::string LeaseKey(absl::string_view node, absl::string_view task, std::uint64_t id);
std::string AuditRunKey(absl::string_view audit, std::int64_t number);  // audit_run, report: "AUDIT/0000000012"
std::string LiveEventKey(absl::string_view audit, std::int64_t number);
std::string AttestationKey(absl::string_view audit, absl::string_view check);
std::string HolderKey(absl::string_view role, absl::string_view name);  // node
std::string BundleKey(absl::string_view run, absl::string_view node, absl::string_view raw_digest);

// One attempt of a node at a task: what its pieces have in common.
struct TaskAttempt {
  std::string task;
  std::string node;
  std::uint64_t epoch = 0;
  std::uint64_t attempt = 0;
};
std::string PiecePrefix(const TaskAttempt& attempt);  // ends with '/'
std::string PieceKey(const TaskAttempt& attempt, std::int32_t index);

}  // namespace paritect

#endif  // PARITECT_STORAGE_FLEET_KEYS_H_
