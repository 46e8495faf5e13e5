#include "client/report/keep_audit.h"

#include "absl/strings/str_cat.h"
#include "common/digest.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "storage/fleet_keys.h"
#include "storage/fleet_store.h"

namespace paritect {
namespace {

constexpr absl::string_view kCollection = "kept_audit";
constexpr std::size_t kPartBytes = 256 << 10;

std::string FirstRun(const EvidenceSet& evidence, Side side) {
  const std::vector<v1::Bundle>& bundles = evidence.bundles(side);
  return bundles.empty() ? "-" : DisplayBytes(bundles[0].plan().run());
}

absl::StatusOr<std::unique_ptr<FleetStore>> Open(const std::string& file) {
  auto store = OpenFleetStore(absl::StrCat("sqlite:", file));
  if (!store.ok()) return Annotate(store.status(), DisplayBytes(file));
  return store;
}

// What is put into a store in one transaction.
class Keeping {
 public:
  v1::KeptMessage Message(const google::protobuf::MessageLite& message) {
    const std::string bytes = message.SerializeAsString();
    v1::KeptMessage kept;
    for (std::size_t at = 0; at < bytes.size(); at += kPartBytes) {
      std::string part = bytes.substr(at, kPartBytes);
      std::string digest = Sha256(part);
      kept.add_sha256(digest);
      references_.push_back(digest);
      set_.contents.push_back({std::move(digest), std::move(part)});
    }
    return kept;
  }

  v1::KeptBundle Bundle(const EvidenceSet& all, const v1::Bundle& bundle) {
    v1::KeptBundle kept;
    v1::Bundle head;
    if (bundle.has_plan()) *head.mutable_plan() = bundle.plan();
    head.set_collected_by(bundle.collected_by());
    head.set_collected_at_unix_ms(bundle.collected_at_unix_ms());
    *kept.mutable_head() = Message(head);
    for (const v1::Evidence& one : bundle.evidence()) {
      const bool elsewhere = one.has_files() && !all.HoldsItsFiles(one.files());
      v1::Evidence whole;
      if (elsewhere) {
        whole = one;
        *whole.mutable_files()->mutable_files() = all.FilesOf(one.files());
      }
      *kept.add_evidence() = Message(elsewhere ? whole : one);
    }
    return kept;
  }

  absl::Status Commit(FleetStore& store, const v1::KeptAudit& audit) {
    set_.documents.push_back({std::string(kCollection), NumberKeyPart(static_cast<std::uint64_t>(audit.number())),
                              audit.SerializeAsString(), std::move(references_)});
    const WriteSet* const sets[] = {&set_};
    return store.Commit(sets);
  }

 private:
  WriteSet set_;
  std::vector<std::string> references_;
};

absl::StatusOr<std::vector<v1::KeptAudit>> AuditsOf(FleetStore& store) {
  std::vector<v1::KeptAudit> audits;
  bool damaged = false;
  PARITECT_RETURN_IF_ERROR(store.Scan(kCollection, "", "", [&](absl::string_view, absl::string_view value) {
    damaged = damaged || !audits.emplace_back().ParseFromArray(value.data(), static_cast<int>(value.size()));
    return !damaged;
  }));
  if (damaged) return absl::DataLossError("a kept audit cannot be read: the file is damaged");
  return audits;
}

absl::Status LoadMessage(FleetStore& store, const v1::KeptMessage& kept, google::protobuf::MessageLite& out) {
  std::string bytes;
  for (const std::string& digest : kept.sha256()) {
    auto part = store.Content(digest);
    if (absl::IsNotFound(part.status())) return absl::DataLossError("a part of a kept audit is gone");
    PARITECT_RETURN_IF_ERROR(part.status());
    bytes += *part;
  }
  return out.ParseFromString(bytes) ? absl::OkStatus() : absl::DataLossError("a part of a kept audit cannot be read");
}

absl::StatusOr<v1::Bundle> LoadBundle(FleetStore& store, const v1::KeptBundle& kept) {
  v1::Bundle bundle;
  PARITECT_RETURN_IF_ERROR(LoadMessage(store, kept.head(), bundle));
  for (const v1::KeptMessage& one : kept.evidence()) {
    PARITECT_RETURN_IF_ERROR(LoadMessage(store, one, *bundle.add_evidence()));
  }
  return bundle;
}

absl::StatusOr<KeptContents> LoadContents(FleetStore& store, std::int64_t number) {
  PARITECT_ASSIGN_OR_RETURN(std::vector<v1::KeptAudit> audits, AuditsOf(store));
  KeptContents contents;
  for (v1::KeptAudit& audit : audits) {
    if (number == 0 || audit.number() == number) contents.audit = std::move(audit);
  }
  if (contents.audit.number() == 0) {
    return absl::NotFoundError(audits.empty() ? "no audit is kept in it (`paritect check --db FILE` keeps one)"
                                              : absl::StrCat("no audit ", number, " is kept in it (--list shows all)"));
  }
  for (const v1::KeptBundle& one : contents.audit.baseline()) {
    PARITECT_ASSIGN_OR_RETURN(contents.baseline.emplace_back(), LoadBundle(store, one));
  }
  for (const v1::KeptBundle& one : contents.audit.migrated()) {
    PARITECT_ASSIGN_OR_RETURN(contents.migrated.emplace_back(), LoadBundle(store, one));
  }
  PARITECT_RETURN_IF_ERROR(LoadMessage(store, contents.audit.report(), contents.report));
  return contents;
}

absl::StatusOr<std::unique_ptr<FleetStore>> OpenToRead(const CommandEnv& env, const std::string& file) {
  PARITECT_RETURN_IF_ERROR(env.fs.Stat(file).status());
  return Open(file);
}

}  // namespace

absl::StatusOr<std::int64_t> KeepAudit(const CommandEnv& env, const std::string& file, const EvidenceSet& evidence,
                                       const v1::Report& report) {
  PARITECT_ASSIGN_OR_RETURN(const std::unique_ptr<FleetStore> store, Open(file));
  auto before = AuditsOf(*store);
  if (!before.ok()) return Annotate(before.status(), DisplayBytes(file));
  Keeping keeping;
  v1::KeptAudit audit;
  audit.set_number(before->empty() ? 1 : before->back().number() + 1);
  audit.set_name(absl::StrCat(FirstRun(evidence, Side::kBaseline), " / ", FirstRun(evidence, Side::kMigrated)));
  audit.set_created_on(env.today);
  for (const v1::Bundle& one : evidence.bundles(Side::kBaseline)) *audit.add_baseline() = keeping.Bundle(evidence, one);
  for (const v1::Bundle& one : evidence.bundles(Side::kMigrated)) *audit.add_migrated() = keeping.Bundle(evidence, one);
  *audit.mutable_report() = keeping.Message(report);
  const absl::Status status = keeping.Commit(*store, audit);
  if (!status.ok()) return Annotate(status, DisplayBytes(file));
  return audit.number();
}

absl::StatusOr<std::vector<v1::KeptAudit>> KeptAudits(const CommandEnv& env, const std::string& file) {
  PARITECT_ASSIGN_OR_RETURN(const std::unique_ptr<FleetStore> store, OpenToRead(env, file));
  auto audits = AuditsOf(*store);
  if (audits.ok() && audits->empty()) {
    audits = absl::NotFoundError("no audit is kept in it (`paritect check --db FILE` keeps one)");
  }
  if (!audits.ok()) return Annotate(audits.status(), DisplayBytes(file));
  return audits;
}

absl::StatusOr<KeptContents> LoadKeptAudit(const CommandEnv& env, const std::string& file, std::int64_t number) {
  PARITECT_ASSIGN_OR_RETURN(const std::unique_ptr<FleetStore> store, OpenToRead(env, file));
  auto contents = LoadContents(*store, number);
  if (!contents.ok()) return Annotate(contents.status(), DisplayBytes(file));
  return contents;
}

}  // namespace paritect
