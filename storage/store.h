// The contract of a storage backend: where audits, their evidence and their reports are kept.
//
// Evidence is generic here: one row an observation, its content the serialized message, kept once
// however many nodes hold the same (docs/schema.md). A new collector does not touch storage/.
//
// What is put comes back equal and in the order put. Every Put is all or nothing and durable when it
// returns. Errors: NotFound (no such audit), ResourceExhausted (a message above the backend's limit),
// DataLoss (what is stored is damaged), FailedPrecondition (not a store, or of a later version),
// Unavailable (in use by another process), Internal. Not thread-safe: one owner.
#ifndef PARITECT_STORAGE_STORE_H_
#define PARITECT_STORAGE_STORE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "paritect/v1/evidence.pb.h"
#include "paritect/v1/report.pb.h"

namespace paritect {

using AuditId = std::int64_t;

enum class StoredSide { kBaseline = 0, kMigrated = 1 };

struct StoredAudit {
  AuditId id = 0;
  std::string name;
  std::string created_on;  // YYYY-MM-DD, as its maker says: a store has no clock
  bool has_report = false;
};

// What is known of one piece of evidence without reading it.
struct StoredEvidence {
  StoredSide side = StoredSide::kBaseline;
  std::string run;
  std::string node;
  v1::EvidenceKind kind = v1::EVIDENCE_KIND_UNSPECIFIED;
  v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;
  std::optional<std::int32_t> rank;
  std::string subject;
  std::string source;  // bytes: a path
  std::string digest;  // SHA-256 of the content, raw
};

class Store {
 public:
  virtual ~Store() = default;

  // Names need not be unique.
  virtual absl::StatusOr<AuditId> CreateAudit(absl::string_view name, absl::string_view created_on) = 0;
  virtual absl::StatusOr<std::vector<StoredAudit>> ListAudits() = 0;  // by id
  // With its evidence and reports; content that another audit holds stays.
  virtual absl::Status DeleteAudit(AuditId audit) = 0;

  virtual absl::Status PutBundle(AuditId audit, StoredSide side, const v1::Bundle& bundle) = 0;
  virtual absl::StatusOr<std::vector<v1::Bundle>> LoadBundles(AuditId audit, StoredSide side) = 0;
  virtual absl::StatusOr<std::vector<StoredEvidence>> ListEvidence(AuditId audit) = 0;  // baseline first

  virtual absl::Status PutReport(AuditId audit, const v1::Report& report) = 0;
  virtual absl::StatusOr<v1::Report> LoadReport(AuditId audit) = 0;  // the last one; NotFound: none yet

  // Digests (raw) of content that no longer fits its digest or is gone; empty: all is whole.
  virtual absl::StatusOr<std::vector<std::string>> FindDamage() = 0;
};

struct StoreBackend {
  absl::string_view scheme;  // "sqlite", "memory"
  absl::StatusOr<std::unique_ptr<Store>> (*open)(absl::string_view place);
};

absl::Span<const StoreBackend* const> AllStoreBackends();

// "sqlite:/path/to/file", "memory:". InvalidArgument: no such scheme.
absl::StatusOr<std::unique_ptr<Store>> OpenStore(absl::string_view uri);

}  // namespace paritect

#endif  // PARITECT_STORAGE_STORE_H_
