// memory: everything in this process, gone with it. For one audit without a server, and for tests.
#include <map>

#include "absl/strings/str_cat.h"
#include "common/digest.h"
#include "common/status_macros.h"
#include "storage/store.h"
#include "storage/stored_parts.h"

namespace paritect {
namespace {

class MemoryStore : public Store {
 public:
  absl::StatusOr<AuditId> CreateAudit(absl::string_view name, absl::string_view created_on) override {
    const AuditId id = next_id_++;
    audits_[id].info = {id, std::string(name), std::string(created_on), false};
    return id;
  }

  absl::StatusOr<std::vector<StoredAudit>> ListAudits() override {
    std::vector<StoredAudit> out;
    for (const auto& [id, audit] : audits_) {
      out.push_back(audit.info);
      out.back().has_report = !audit.report.empty();
    }
    return out;
  }

  absl::Status DeleteAudit(AuditId audit) override {
    PARITECT_RETURN_IF_ERROR(Find(audit).status());
    audits_.erase(audit);
    std::map<std::string, std::string> kept;
    for (const auto& [id, one] : audits_) {
      for (const BundleRows& bundle : one.bundles) {
        kept[bundle.head] = content_[bundle.head];
        for (const StoredEvidence& row : bundle.evidence) kept[row.digest] = content_[row.digest];
      }
      if (!one.report.empty()) kept[one.report] = content_[one.report];
    }
    content_.swap(kept);
    return absl::OkStatus();
  }

  absl::Status PutBundle(AuditId audit, StoredSide side, const v1::Bundle& bundle) override {
    PARITECT_ASSIGN_OR_RETURN(Audit * found, Find(audit));
    BundleRows rows;
    rows.side = side;
    v1::Bundle head = BundleHead(bundle);
    rows.head = Keep(head);
    for (v1::Evidence evidence : bundle.evidence()) {
      const std::string digest = Keep(evidence);
      rows.evidence.push_back(DescribeEvidence(side, head, evidence));
      rows.evidence.back().digest = digest;
    }
    found->bundles.push_back(std::move(rows));
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<v1::Bundle>> LoadBundles(AuditId audit, StoredSide side) override {
    PARITECT_ASSIGN_OR_RETURN(Audit * found, Find(audit));
    std::vector<v1::Bundle> out;
    for (const BundleRows& rows : found->bundles) {
      if (rows.side != side) continue;
      v1::Bundle bundle;
      PARITECT_RETURN_IF_ERROR(ReadContent(rows.head, content_[rows.head], bundle));
      for (const StoredEvidence& row : rows.evidence) {
        PARITECT_RETURN_IF_ERROR(ReadContent(row.digest, content_[row.digest], *bundle.add_evidence()));
      }
      out.push_back(std::move(bundle));
    }
    return out;
  }

  absl::StatusOr<std::vector<StoredEvidence>> ListEvidence(AuditId audit) override {
    PARITECT_ASSIGN_OR_RETURN(Audit * found, Find(audit));
    std::vector<StoredEvidence> out;
    for (StoredSide side : {StoredSide::kBaseline, StoredSide::kMigrated}) {
      for (const BundleRows& rows : found->bundles) {
        if (rows.side == side) out.insert(out.end(), rows.evidence.begin(), rows.evidence.end());
      }
    }
    return out;
  }

  absl::Status PutReport(AuditId audit, const v1::Report& report) override {
    PARITECT_ASSIGN_OR_RETURN(Audit * found, Find(audit));
    v1::Report copy = report;
    found->report = Keep(copy);
    return absl::OkStatus();
  }

  absl::StatusOr<v1::Report> LoadReport(AuditId audit) override {
    PARITECT_ASSIGN_OR_RETURN(Audit * found, Find(audit));
    if (found->report.empty()) return absl::NotFoundError(absl::StrCat("audit ", audit, " has no report yet"));
    v1::Report report;
    PARITECT_RETURN_IF_ERROR(ReadContent(found->report, content_[found->report], report));
    return report;
  }

  absl::StatusOr<std::vector<std::string>> FindDamage() override {
    std::vector<std::string> out;
    for (const auto& [digest, payload] : content_) {
      if (Sha256(payload) != digest) out.push_back(digest);
    }
    return out;
  }

 private:
  struct BundleRows {
    StoredSide side = StoredSide::kBaseline;
    std::string head;  // digest
    std::vector<StoredEvidence> evidence;
  };
  struct Audit {
    StoredAudit info;
    std::vector<BundleRows> bundles;
    std::string report;  // digest; empty: none
  };

  absl::StatusOr<Audit*> Find(AuditId audit) {
    auto it = audits_.find(audit);
    if (it == audits_.end()) return absl::NotFoundError(absl::StrCat("no audit ", audit));
    return &it->second;
  }

  std::string Keep(google::protobuf::Message& message) {
    StoredContent content = MakeContent(message);
    content_.emplace(content.digest, std::move(content.payload));
    return content.digest;
  }

  std::map<AuditId, Audit> audits_;
  std::map<std::string, std::string> content_;  // by digest
  AuditId next_id_ = 1;
};

absl::StatusOr<std::unique_ptr<Store>> Open(absl::string_view) {
  return std::make_unique<MemoryStore>();
}

}  // namespace

extern const StoreBackend kMemoryStoreBackend;
const StoreBackend kMemoryStoreBackend = {"memory", &Open};

}  // namespace paritect
