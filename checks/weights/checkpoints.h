// The states of a run's model that its evidence holds: which step, which rank, from where.
#ifndef PARITECT_CHECKS_WEIGHTS_CHECKPOINTS_H_
#define PARITECT_CHECKS_WEIGHTS_CHECKPOINTS_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checks/check.h"

namespace paritect {

// One state as one rank wrote it, or one file for all. Files of one plan entry are put together.
struct Checkpoint {
  std::string where;  // "rank 3 of npu-01"
  std::string node;
  std::vector<std::string> sources;
  std::int64_t step = 0;  // optimizer updates before it
  std::string stage;      // "pretrained": the file that training starts from, not the model that it was loaded into
  std::optional<std::int32_t> rank;
  std::optional<v1::ParallelPlace> place;
  std::vector<const v1::TensorFingerprint*> tensors;  // in the order read; one name several times: parts of ranks
  std::set<std::string> twice;  // names that several of its files hold with other values: which one counts is not told
  std::vector<const v1::Weights*> pieces;
  bool removed_redundancy = false;
  bool incomplete = false;  // a piece lacks something, or a file could not be read

  bool pretrained() const { return stage == "pretrained"; }
};

struct RunCheckpoints {
  Side side = Side::kBaseline;
  RunView run;
  std::vector<Checkpoint> all;  // by step, then rank

  // Of that step; of files to start from only where asked for.
  std::vector<const Checkpoint*> At(std::int64_t step, bool pretrained = false) const;
  std::vector<std::int64_t> Steps() const;  // ascending, each once; of models alone
};

// The runs of a side that have weights, made once an audit.
const std::vector<RunCheckpoints>& CheckpointsOf(const CheckContext& context, Side side);

// The run that others are compared with: the baseline's first. nullptr: none.
const RunCheckpoints* ReferenceCheckpoints(const CheckContext& context);

// What a tensor is: as its file says, else by its name.
v1::TensorRole RoleOf(const CheckContext& context, const v1::TensorFingerprint& tensor);

// The best digest of its bytes that was recorded; empty: none.
const std::string& ContentOf(const v1::TensorFingerprint& tensor);

// All its elements are one value.
bool IsConstant(const v1::TensorFingerprint& tensor);

// Product of the shape.
std::uint64_t ElementsOf(const v1::TensorFingerprint& tensor);
// "[64, 3, 7, 7] F32"
std::string ShapeText(const v1::TensorFingerprint& tensor);

}  // namespace paritect

#endif  // PARITECT_CHECKS_WEIGHTS_CHECKPOINTS_H_
