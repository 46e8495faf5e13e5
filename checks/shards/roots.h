// The data roots of one side's shard lists: what is taken off each name before two sides are compared.
//
// Usually the deepest common folder of all names. Where nodes hold the data under other roots, or some lists are
// relative and others absolute, that folder fits none of them: then each group of names (one node, one spelling) has
// its own.
#ifndef PARITECT_CHECKS_SHARDS_ROOTS_H_
#define PARITECT_CHECKS_SHARDS_ROOTS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "checks/shards/lists.h"
#include "checks/shards/names.h"

namespace paritect {

using NameSet = absl::flat_hash_set<absl::string_view>;

// The names of one side; views into the evidence.
class SideNames {
 public:
  explicit SideNames(std::vector<const ShardRun*> runs);

  // One root for all; or one a group.
  void UseCommonRoot();
  void UseGroupRoots();
  bool has_groups() const { return group_count_ > 1; }

  absl::string_view Relative(const ShardReader& reader, absl::string_view name) const;
  NameSet RelativeNames() const;

  // Gives folders back to the roots so that some of the names, evenly taken, meet `others` best. How many do.
  std::size_t AlignTo(const NameSet& others);
  std::size_t CountIn(const NameSet& others) const;
  std::size_t sample_size() const { return sample_.size(); }

 private:
  using Group = std::pair<std::string, bool>;  // node; absolute
  static Group GroupOf(const ShardReader& reader, absl::string_view name);

  std::vector<const ShardRun*> runs_;
  std::vector<std::pair<const ShardReader*, absl::string_view>> sample_;
  std::size_t group_count_ = 0;
  DataRoot common_;
  std::map<Group, DataRoot> groups_;  // empty: the common root counts
};

// Both sides, so that as many names as possible meet.
void AlignSides(SideNames& baseline, SideNames& migrated);

// False where most of a side's names are not in the list.
bool AlignToList(SideNames& side, const NameSet& list);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SHARDS_ROOTS_H_
