#include "checks/weights/model_state.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

namespace paritect {
namespace {

template <typename Get>
std::optional<ValueHashes> SumOf(const std::vector<const v1::TensorFingerprint*>& parts, Get get) {
  ValueHashes sum;
  for (const v1::TensorFingerprint* part : parts) {
    const v1::ValueHash* one = get(*part);
    if (one == nullptr) return std::nullopt;
    sum.low += one->low();
    sum.high += one->high();
  }
  return sum;
}

// One checkpoint of each place in the layout; where no place is known, one for all.
std::vector<const Checkpoint*> Representatives(const std::vector<const Checkpoint*>& checkpoints) {
  std::map<std::tuple<int, int, int>, const Checkpoint*> places;
  for (const Checkpoint* one : checkpoints) {
    const v1::ParallelPlace place = one->place.value_or(v1::ParallelPlace());
    places.emplace(std::make_tuple(place.pipeline_rank(), place.expert_rank(), place.tensor_rank()), one);
  }
  std::vector<const Checkpoint*> chosen;
  for (const auto& [place, one] : places) chosen.push_back(one);
  return chosen;
}

// Formats that hold models of frameworks with another order of axes, under names of any kind. Sources: TensorFlow 1,
// tf.get_variable and tf.matmul (input by output); Keras, Layer.add_weight; numpy.savez of models of JAX (y = x @ w);
// ONNX operators MatMul (input by output) and Gemm with transB; a table of tensors is written by hand from anything.
constexpr absl::string_view kAnyAxes[] = {"tf-bundle", "keras-h5", "npz", "npy", "onnx", "tensor-table"};

bool HoldsAnyAxes(absl::string_view format) {
  return std::find(std::begin(kAnyAxes), std::end(kAnyAxes), format) != std::end(kAnyAxes);
}

ModelTensor Described(const TensorNames& names, const v1::TensorFingerprint& tensor, v1::TensorRole role,
                      const std::string& format) {
  ModelTensor described;
  described.name = tensor.name();
  described.unwrapped = std::string(names.Unwrapped(tensor.name()));
  described.canonical = names.Canonical(tensor.name());
  described.format = format;
  described.role = role;
  described.derived = names.IsDerived(tensor.name());
  described.turned = names.IsTurned(tensor.name());
  // No other framework's spelling: two implementations keep it under one name in two ways.
  described.either = described.turned && described.canonical == described.unwrapped;
  described.interleaved = names.IsInterleaved(tensor.name());
  described.any_axes = HoldsAnyAxes(format);
  return described;
}

// What several ranks hold alike (of tensor- or expert-parallel ones) counts once.
void DropCopies(ModelTensor& tensor) {
  std::set<std::string> seen;
  std::erase_if(tensor.parts, [&](const v1::TensorFingerprint* part) {
    return !part->xxh3().empty() && !seen.insert(part->xxh3()).second;
  });
}

}  // namespace

std::uint64_t ModelTensor::elements() const {
  std::uint64_t sum = 0;
  for (const v1::TensorFingerprint* part : parts) sum += ElementsOf(*part);
  return sum;
}

std::optional<ValueHashes> ModelTensor::values() const {
  return SumOf(parts, [](const v1::TensorFingerprint& one) { return one.has_values() ? &one.values() : nullptr; });
}

std::optional<ValueHashes> ModelTensor::values_as(const std::string& dtype) const {
  return SumOf(parts, [&](const v1::TensorFingerprint& one) -> const v1::ValueHash* {
    if (dtype == "BF16") return one.has_values_as_bf16() ? &one.values_as_bf16() : nullptr;
    if (dtype == "F16") return one.has_values_as_fp16() ? &one.values_as_fp16() : nullptr;
    return nullptr;
  });
}

const ModelTensor* ModelState::Find(const std::string& name) const {
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : &tensors[found->second];
}

bool IsOfModel(v1::TensorRole role) {
  return role == v1::TENSOR_ROLE_PARAMETER || role == v1::TENSOR_ROLE_BUFFER;
}

ModelState StateOf(const CheckContext& context, const std::vector<const Checkpoint*>& checkpoints) {
  ModelState state;
  for (const Checkpoint* one : Representatives(checkpoints)) {
    if (state.where.empty()) state.where = one->where;
    state.sources.insert(state.sources.end(), one->sources.begin(), one->sources.end());
    state.incomplete = state.incomplete || one->incomplete;
    state.removed_redundancy = state.removed_redundancy || one->removed_redundancy;
    for (const v1::TensorFingerprint* tensor : one->tensors) {
      const TensorNames& names = context.rules.tensor_names;
      const bool derived = names.IsDerived(tensor->name());
      const v1::TensorRole role = derived ? v1::TENSOR_ROLE_BUFFER : RoleOf(context, *tensor);
      if (!IsOfModel(role)) {
        ++state.left_out;
        continue;
      }
      const auto [place, is_new] = state.by_name.emplace(tensor->name(), state.tensors.size());
      if (is_new) {
        state.tensors.push_back(Described(names, *tensor, role, one->pieces.front()->format()));
      }
      state.tensors[place->second].parts.push_back(tensor);
    }
  }
  for (ModelTensor& tensor : state.tensors) DropCopies(tensor);
  return state;
}

}  // namespace paritect
