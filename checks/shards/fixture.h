// What the tests of data.sharding share: bundles of shard lists, and what the checks say of them.
#ifndef PARITECT_CHECKS_SHARDS_FIXTURE_H_
#define PARITECT_CHECKS_SHARDS_FIXTURE_H_

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "checks/runner.h"
#include "rules/rules.h"

namespace paritect {

using Items = std::vector<std::string>;

inline v1::Bundle NodeOf(absl::string_view run, absl::string_view node, int world_size) {
  v1::Bundle bundle;
  bundle.mutable_plan()->set_run(std::string(run));
  bundle.mutable_plan()->set_node(std::string(node));
  bundle.mutable_plan()->set_role(v1::ROLE_RUN);
  if (world_size > 0) bundle.mutable_plan()->set_world_size(world_size);
  return bundle;
}

inline v1::ShardList& AddList(v1::Bundle& bundle, int rank, const Items& items, absl::string_view dataset = "train") {
  v1::Evidence& evidence = *bundle.add_evidence();
  evidence.set_kind(v1::EVIDENCE_KIND_SHARDS);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.set_subject(std::string(dataset));
  evidence.set_source(absl::StrCat("rank", rank, ".txt"));
  v1::ShardList& list = *evidence.mutable_shards();
  if (rank >= 0) {
    evidence.set_rank(rank);
    list.set_rank(rank);
  }
  list.set_format("shard-list");
  list.set_sample_numbers(!items.empty());
  for (const std::string& item : items) {
    list.add_items(item);
    if (item.find_first_not_of("0123456789") != std::string::npos) list.set_sample_numbers(false);
  }
  return list;
}

inline v1::Bundle RunOf(absl::string_view run, const std::vector<Items>& lists, int world_size = -1) {
  v1::Bundle bundle = NodeOf(run, "n0", world_size < 0 ? static_cast<int>(lists.size()) : world_size);
  for (std::size_t rank = 0; rank < lists.size(); ++rank) AddList(bundle, static_cast<int>(rank), lists[rank]);
  return bundle;
}

// files[rank::ranks], padded by wrap-around where asked for.
inline std::vector<Items> Stride(Items files, int ranks, bool pad = false) {
  const std::size_t count = files.size();
  while (pad && files.size() % static_cast<std::size_t>(ranks) != 0) files.push_back(files[files.size() - count]);
  std::vector<Items> lists(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < files.size(); ++i) lists[i % lists.size()].push_back(files[i]);
  return lists;
}

inline std::vector<Items> Block(const Items& files, int ranks) {
  std::vector<Items> lists(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < files.size(); ++i) lists[i * lists.size() / files.size()].push_back(files[i]);
  return lists;
}

inline Items Numbers(int count) {
  Items out;
  for (int i = 0; i < count; ++i) out.push_back(absl::StrCat(i));
  return out;
}

inline Items Files(int count, absl::string_view root = "/data/x/") {
  Items out;
  for (int i = 0; i < count; ++i) out.push_back(absl::StrCat(root, "part-", i / 10, i % 10, ".tar"));
  return out;
}

class Audit {
 public:
  Audit(std::vector<v1::Bundle> baseline, std::vector<v1::Bundle> migrated) {
    const EvidenceSet evidence(std::move(baseline), std::move(migrated));
    AuditOptions options;
    options.items = {"data.sharding"};
    options.today = "2026-06-01";
    report_ = RunAudit(evidence, BuiltInRules().profile, BuiltInRules(), options);
  }

  const v1::CheckResult& Check(absl::string_view name) const {
    for (const v1::CheckResult& check : report_.items(0).checks()) {
      if (check.id() == absl::StrCat("data.sharding.", name)) return check;
    }
    ADD_FAILURE() << "no check " << name;
    return report_.items(0).checks(0);
  }

  v1::Verdict Verdict(absl::string_view name) const { return Check(name).verdict(); }

  std::vector<std::string> Kinds(absl::string_view name) const {
    std::vector<std::string> kinds;
    for (const v1::Finding& finding : Check(name).findings()) kinds.push_back(finding.kind());
    return kinds;
  }

  std::vector<std::string> Subjects(absl::string_view name, absl::string_view kind) const {
    std::vector<std::string> subjects;
    for (const v1::Finding& finding : Check(name).findings()) {
      if (finding.kind() == kind) subjects.push_back(finding.subject());
    }
    return subjects;
  }

  // "pass KIND@SUBJECT ...", "fail ...", "none ..." (not performed): kinds sorted.
  std::string Says(absl::string_view name) const {
    const v1::CheckResult& check = Check(name);
    std::string out = check.verdict() == v1::VERDICT_PASS   ? "pass"
                      : check.verdict() == v1::VERDICT_FAIL ? "fail"
                                                            : "none";
    std::set<std::string> kinds;
    for (const v1::Finding& finding : check.findings()) {
      kinds.insert(absl::StrCat(finding.kind(), "@", finding.subject()));
    }
    for (const std::string& kind : kinds) absl::StrAppend(&out, " ", kind);
    return out;
  }

  // "PPPPP": ranks, complete, disjoint, same-assignment, rule.
  std::string Verdicts() const {
    std::string out;
    for (absl::string_view name : {"ranks", "complete", "disjoint", "same-assignment", "rule"}) {
      const v1::Verdict verdict = Verdict(name);
      out.push_back(verdict == v1::VERDICT_PASS ? 'P' : verdict == v1::VERDICT_FAIL ? 'F' : 'N');
    }
    return out;
  }

 private:
  v1::Report report_;
};

}  // namespace paritect

#endif  // PARITECT_CHECKS_SHARDS_FIXTURE_H_
