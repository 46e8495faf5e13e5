// Ranks that hold the same piece of a model: data-parallel replicas, and what of them differs.
#ifndef PARITECT_CHECKS_WEIGHTS_REPLICA_GROUPS_H_
#define PARITECT_CHECKS_WEIGHTS_REPLICA_GROUPS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checks/weights/checkpoints.h"

namespace paritect {

// One tensor whose replicas are not all alike.
struct SplitTensor {
  std::string name;
  v1::TensorRole role = v1::TENSOR_ROLE_PARAMETER;
  // Ranks by content, the largest group first; of equally large ones that with the lowest rank.
  std::vector<std::vector<std::int32_t>> clusters;
  // One rank of three or more stands against all others.
  bool odd_one_out() const { return clusters.size() == 2 && clusters[0].size() >= 2 && clusters[1].size() == 1; }
};

struct ReplicaGroup {
  std::vector<const Checkpoint*> ranks;  // two or more, by rank
  std::vector<SplitTensor> split;        // by name
  std::vector<std::string> lacking;      // names that not every rank holds
  std::vector<std::string> experts;      // that differ, and whether ranks hold the same experts is not known
  int tensors = 0;                       // that were compared: parameters and buffers
  int parameters = 0;

  int split_parameters() const;
  const v1::TensorFingerprint* Find(std::int32_t rank, const std::string& name) const;
};

struct ReplicaGroups {
  std::vector<ReplicaGroup> groups;
  bool layout_unknown = false;           // ranks hold pieces, and which are replicas is not told
  std::vector<std::int32_t> incomplete;  // ranks whose files lack something
  int ranks = 0;                         // that recorded the step
};

// What every tensor-parallel rank holds whole (norms, biases behind row-parallel layers), where the copies are not
// alike.
struct SplitCopies {
  std::string name;
  std::vector<std::vector<std::string>> holders;  // by content: ranks, or the folders of ranks; the largest first
  std::optional<double> distance;  // of the furthest from one of them, of its size; nullopt: not known
};

// Of ranks whose place is known, and of the ranks' folders in one checkpoint; by name.
std::vector<SplitCopies> FindSplitCopies(const CheckContext& context, const RunCheckpoints& run, std::int64_t step);

// Of the checkpoints of one step.
ReplicaGroups GroupReplicas(const CheckContext& context, const RunCheckpoints& run, std::int64_t step);

// "0, 1, 3"
std::string RanksText(const std::vector<std::int32_t>& ranks);

}  // namespace paritect

#endif  // PARITECT_CHECKS_WEIGHTS_REPLICA_GROUPS_H_
