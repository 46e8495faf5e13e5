// What an audit knows: for each side the bundles (one plan on one node each) in the order given.
#ifndef PARITECT_CHECKS_EVIDENCE_SET_H_
#define PARITECT_CHECKS_EVIDENCE_SET_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "checks/shared_lists.h"
#include "paritect/v1/evidence.pb.h"

namespace paritect {

enum class Side { kBaseline, kMigrated };
inline constexpr Side kBothSides[] = {Side::kBaseline, Side::kMigrated};

// "baseline" / "migrated"; also the option's name and the prefix of message ids.
absl::string_view SideName(Side side);

// What the plan says the bundle is evidence of; a run where it says nothing.
v1::Role RoleOf(const v1::Bundle& bundle);

// One run of a side: all bundles that share its name, in the order given.
struct RunView {
  std::string name;
  v1::Role role = v1::ROLE_RUN;
  std::vector<const v1::Bundle*> nodes;  // in the order given; two plans of one node are two

  // Names of the nodes that gave evidence: not those that a server only waited for.
  std::set<std::string> Reporting() const;
};

// What a server knows beyond the bundles; an audit straight from plans or bundles has none.
struct FleetFacts {
  struct Node {
    Side side = Side::kBaseline;
    std::string name;
    bool reported = false;                        // all that was asked of it
    std::string last_seen;                        // in words or as a time; empty: never
    std::optional<std::int64_t> clock_offset_ms;  // node minus server
    std::int64_t lost_records = 0;                // that the node itself declared lost, or the server could not keep
    bool unfinished = false;                      // it was at work when the time was over
    bool revoked = false;                         // its certificate is refused
    bool contested = false;                       // two agents with its identity took each other's place meanwhile
  };
  // A run of the side that was recorded before: what its name stands for.
  struct Recorded {
    Side side = Side::kBaseline;
    std::string run;
    int replaced = 0;                // bundles that were collected again since
    std::set<std::string> left_out;  // nodes that recorded under its name and are none of the run's
    bool nodes_named = false;        // by the audit
  };
  std::vector<Node> nodes;
  std::vector<Recorded> recorded;
  std::vector<std::string> damaged_records;  // stored evidence that no longer has its digest, in words
  std::int64_t records_checked = 0;
  std::int64_t log_entries = 0;  // of the log of calls; its chain was followed through all of them
  std::string log_fault;         // where it breaks; empty: whole
};

// Immutable once made; views point into it and must not outlive it.
class EvidenceSet {
 public:
  EvidenceSet(std::vector<v1::Bundle> baseline, std::vector<v1::Bundle> migrated);
  EvidenceSet(std::vector<v1::Bundle> baseline, std::vector<v1::Bundle> migrated, FleetFacts fleet);
  // With bundles whose equal file lists are kept once.
  EvidenceSet(std::vector<v1::Bundle> baseline, std::vector<v1::Bundle> migrated,
              std::shared_ptr<const SharedLists> lists, std::optional<FleetFacts> fleet = std::nullopt);
  EvidenceSet(const EvidenceSet&) = delete;
  EvidenceSet& operator=(const EvidenceSet&) = delete;

  const std::vector<v1::Bundle>& bundles(Side side) const;

  // Gives a side's bundles away again, for whoever asked something of the set and makes another one of it.
  std::vector<v1::Bundle> Release(Side side) &&;

  // The files of one of the bundles' lists, which itself may hold none (checks/shared_lists.h).
  const google::protobuf::RepeatedPtrField<v1::FileEntry>& FilesOf(const v1::FileList& list) const {
    return lists_ == nullptr ? list.files() : lists_->FilesOf(list);
  }

  // Whether `list` holds its files itself: else its message is not what was collected.
  bool HoldsItsFiles(const v1::FileList& list) const { return &FilesOf(list) == &list.files(); }

  // Of a server's audit; else nullptr.
  const FleetFacts* fleet() const { return fleet_ ? &*fleet_ : nullptr; }

  // Runs of that role in the order in which they first appear.
  std::vector<RunView> Runs(Side side, v1::Role role = v1::ROLE_RUN) const;

  // Every piece of evidence of one kind (bundles of role `run` only), also what is absent or failed.
  void ForEach(Side side, v1::EvidenceKind kind,
               absl::FunctionRef<void(const v1::Bundle&, const v1::Evidence&)> visit) const;

  // Whether anything of that kind was collected.
  bool Has(Side side, v1::EvidenceKind kind) const;

 private:
  std::vector<v1::Bundle> baseline_;
  std::vector<v1::Bundle> migrated_;
  std::optional<FleetFacts> fleet_;
  std::shared_ptr<const SharedLists> lists_;
};

// "rank 3 of npu-01", "npu-01", or the run's name where the node is not known: for `missing[].from`.
std::string WhereFrom(const v1::Bundle& bundle, const v1::Evidence& evidence);

}  // namespace paritect

#endif  // PARITECT_CHECKS_EVIDENCE_SET_H_
