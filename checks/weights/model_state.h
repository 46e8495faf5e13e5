// A model's parameters and buffers at one step, whole: what ranks hold in parts is put together.
#ifndef PARITECT_CHECKS_WEIGHTS_MODEL_STATE_H_
#define PARITECT_CHECKS_WEIGHTS_MODEL_STATE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checks/weights/checkpoints.h"

namespace paritect {

struct ValueHashes {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const ValueHashes&) const = default;
  auto operator<=>(const ValueHashes&) const = default;
};

struct ModelTensor {
  std::string name;       // as the file has it
  std::string unwrapped;  // without what the model is wrapped in; rules/tensor_names.h
  std::string canonical;  // in the common form
  std::string format;     // of the checkpoint
  v1::TensorRole role = v1::TENSOR_ROLE_PARAMETER;
  std::vector<const v1::TensorFingerprint*> parts;  // of tensor-parallel ranks; one: whole
  bool derived = false;                             // by settings: it may lack on a side
  bool turned = false;                              // input by output
  bool either = false;                              // ... or output by input, as who wrote it likes
  bool grouped = false;                             // rows of several matrices in turn, group by group
  bool ranked = false;                              // ... rank by rank
  bool copied = false;                              // every tensor-parallel rank holds the whole
  bool vocabulary = false;                          // rows of no word may stand at its end
  bool rotary = false;                              // rows of a head in one of two orders
  bool twice = false;                               // several files hold it, with other values
  bool any_axes = false;                            // the format keeps models of frameworks that order axes otherwise
  std::size_t alike = 0;                            // ranks whose slice is one of `parts` again

  const v1::TensorFingerprint& first() const { return *parts.front(); }
  bool whole() const { return parts.size() == 1; }
  // Copies that are not alike: which of them counts is not told.
  bool copies_differ() const { return copied && parts.size() > 1; }
  std::uint64_t elements() const;
  // Of all parts together; nullopt: not computed.
  std::optional<ValueHashes> values() const;
  std::optional<ValueHashes> values_as(const std::string& dtype) const;  // "BF16", "F16"
};

struct ModelState {
  std::vector<ModelTensor> tensors;
  std::string where;
  std::vector<std::string> sources;
  bool incomplete = false;
  bool removed_redundancy = false;
  int left_out = 0;  // tensors that are no part of a model: of the optimizer, counters, random state
  // ... by their names, and nothing else says so.
  std::vector<const v1::TensorFingerprint*> doubtful;
  // Tensor-parallel ranks that hold the same in everything ("mp_rank_00, mp_rank_01"): one's file in another's place.
  std::vector<std::string> repeated;
  std::map<std::string, std::size_t> by_name;

  const ModelTensor* Find(const std::string& name) const;
};

// Whether tensors of that role are part of a model.
bool IsOfModel(v1::TensorRole role);

// Of checkpoints of one step. Of data-parallel replicas the first stands for all.
ModelState StateOf(const CheckContext& context, const std::vector<const Checkpoint*>& checkpoints);

// The fp32 copies that the optimizer updates, under the names of their parameters. Empty where none were recorded.
ModelState MastersOf(const CheckContext& context, const std::vector<const Checkpoint*>& checkpoints);

// Such copies in flat buffers, of which nothing says what lies where.
struct FlatMasters {
  enum class Kind {
    kNone,
    kAsModel,  // all values together are those of the parameters, but for rounding to their type
    kUnknown,  // they are not, or that was not computed
  };
  Kind kind = Kind::kNone;
  bool beyond = false;  // they hold more than the parameters do
  ValueHashes values;   // of all together
  ValueHashes parameters;
  std::size_t buffers = 0;  // of all ranks
};
FlatMasters FlatMastersOf(const CheckContext& context, const std::vector<const Checkpoint*>& checkpoints);

}  // namespace paritect

#endif  // PARITECT_CHECKS_WEIGHTS_MODEL_STATE_H_
