#include "checks/weights/model_state.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/training_counters.h"
#include "common/utf8.h"
#include "rules/tensor_kinds.h"

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

// A mask under the name attn.bias has four axes, a bias one (transformers, GPT-2).
bool IsDerived(const TensorNames& names, const v1::TensorFingerprint& tensor) {
  return names.IsDerived(tensor.name()) && !(tensor.shape_size() == 1 && absl::EndsWith(tensor.name(), ".bias"));
}

v1::TensorRole ModelRoleOf(const CheckContext& context, const v1::TensorFingerprint& tensor) {
  const TensorNames& names = context.rules.tensor_names;
  if (IsDerived(names, tensor)) return v1::TENSOR_ROLE_BUFFER;
  return names.IsDerived(tensor.name()) ? v1::TENSOR_ROLE_PARAMETER : RoleOf(context, tensor);
}

ModelTensor Described(const TensorNames& names, const std::string& name, v1::TensorRole role,
                      const std::string& format) {
  ModelTensor described;
  described.name = name;
  described.unwrapped = std::string(names.Unwrapped(name));
  described.canonical = names.Canonical(name);
  described.format = format;
  described.role = role;
  described.turned = names.IsTurned(name);
  // No other framework's spelling: two implementations keep it under one name in two ways.
  described.either = described.turned && described.canonical == described.unwrapped;
  const bool interleaved = names.IsInterleaved(name);
  described.ranked = interleaved && absl::StrContains(described.canonical, ".gate_up_proj.");
  described.grouped = interleaved && !described.ranked;
  const TensorKinds& kinds = BuiltInTensorKinds();
  described.copied = kinds.Is(TensorKind::kCopied, described.canonical);
  described.vocabulary = kinds.Is(TensorKind::kVocabulary, described.canonical);
  described.rotary = kinds.Is(TensorKind::kRotary, described.canonical);
  described.any_axes = kinds.Is(CheckpointKind::kAnyAxes, format);
  return described;
}

// Whether more than a name that a layer may have too says that a tensor is the optimizer's, or a counter: it is a
// number, stands at the top (of a counter that is not enough: it has no row over steps as a rate has), is of whole
// numbers or zeros, stands among states, or is named after a tensor of the model (moments.NAME, NAME/Adam).
bool IsSurelyLeftOut(const v1::TensorFingerprint& tensor, const std::set<std::string>& all) {
  const std::string& name = tensor.name();
  const bool whole_numbers = absl::StartsWith(tensor.dtype(), "I") || absl::StartsWith(tensor.dtype(), "U");
  const std::size_t first = name.find_first_of("./"), last = name.find_last_of("./");
  const bool fresh = tensor.statistics().has_zero() && tensor.statistics().zero() == ElementsOf(tensor);
  if (ElementsOf(tensor) <= 1 || whole_numbers || fresh) return true;
  if (first == std::string::npos) return !IsTrainingCounter(name);
  if (all.contains(name.substr(first + 1)) || all.contains(name.substr(0, last))) return true;
  constexpr absl::string_view kStates[] = {
      "state", "states",  "exp_avg", "exp_avg_sq", "momentum_buffer",  "base_state", "OPTIMIZER_SLOT", "mu",
      "nu",    "buckets", "vars",    "step",       "optimizer_weights"};
  for (const absl::string_view part : absl::StrSplit(name, absl::ByAnyChar("./"))) {
    if (std::find(std::begin(kStates), std::end(kStates), part) != std::end(kStates)) return true;
    if (absl::StrContains(part, "fp32") || absl::EndsWith(part, "_state") || absl::EndsWith(part, "_groups"))
      return true;
  }
  return false;
}

// The first layer of a block holds two matrices where it is twice as large as the second; else its ranks' rows follow
// each other as those of any other. Sources: Megatron-LM core/transformer/mlp.py; before core: transformer.py.
void FindGates(ModelState& state) {
  constexpr std::pair<absl::string_view, absl::string_view> kLayers[] = {{"linear_fc1.", "linear_fc2."},
                                                                         {"dense_h_to_4h.", "dense_4h_to_h."}};
  for (ModelTensor& tensor : state.tensors) {
    for (const auto& [first, second] : kLayers) {
      const std::string weight = absl::StrReplaceAll(tensor.name, {{".bias", ".weight"}});
      const ModelTensor* one = state.Find(weight);
      const ModelTensor* other = state.Find(absl::StrReplaceAll(weight, {{first, second}}));
      if (!tensor.ranked || one == nullptr || other == nullptr || one == other) continue;
      if (one->elements() == other->elements()) tensor.ranked = false;
    }
  }
}

bool IsFlatMaster(const CheckContext& context, const v1::TensorFingerprint& tensor) {
  if (tensor.role() != v1::TENSOR_ROLE_MASTER && tensor.role() != v1::TENSOR_ROLE_OPTIMIZER_STATE) return false;
  return BuiltInTensorKinds().Is(TensorKind::kFlatMaster, context.rules.tensor_names.Canonical(tensor.name()));
}

const v1::ValueHash* ValuesOf(const v1::TensorFingerprint& tensor, const std::string& dtype) {
  if (dtype == "BF16") return tensor.has_values_as_bf16() ? &tensor.values_as_bf16() : nullptr;
  if (dtype == "F16") return tensor.has_values_as_fp16() ? &tensor.values_as_fp16() : nullptr;
  return tensor.has_values() ? &tensor.values() : nullptr;
}

// Ranks of one layout never hold the same slices of everything: of each folder of a rank, what it holds.
std::vector<std::string> RepeatedRanks(const Checkpoint& checkpoint) {
  std::map<std::string, std::set<std::string>> contents;  // of a folder: names with their contents
  std::set<std::string> cut;                              // ... that hold more than constants
  for (const v1::TensorFingerprint* tensor : checkpoint.tensors) {
    const std::size_t end = tensor->file().find('/');
    if (end == std::string::npos) continue;
    const std::string folder = DisplayBytes(tensor->file().substr(0, end));
    contents[folder].insert(absl::StrCat(tensor->name(), "\n", ContentOf(*tensor)));
    if (!ContentOf(*tensor).empty() && ElementsOf(*tensor) > 1 && !IsConstant(*tensor)) cut.insert(folder);
  }
  std::map<std::set<std::string>, std::vector<std::string>> folders;
  for (auto& [folder, all] : contents) {
    if (cut.contains(folder)) folders[std::move(all)].push_back(folder);
  }
  std::vector<std::string> repeated;
  for (const auto& [all, names] : folders) {
    if (names.size() > 1) repeated.push_back(absl::StrJoin(names, ", "));
  }
  std::sort(repeated.begin(), repeated.end());
  return repeated;
}

// What several ranks hold alike (of tensor- or expert-parallel ones) counts once.
void DropCopies(ModelTensor& tensor) {
  std::set<std::string> seen;
  tensor.alike = std::erase_if(tensor.parts, [&](const v1::TensorFingerprint* part) {
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
  return SumOf(parts, [&](const v1::TensorFingerprint& one) { return ValuesOf(one, dtype); });
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
    if (BuiltInTensorKinds().Is(CheckpointKind::kSplit, one->pieces.front()->format())) {
      const std::vector<std::string> repeated = RepeatedRanks(*one);
      state.repeated.insert(state.repeated.end(), repeated.begin(), repeated.end());
    }
    std::set<std::string> all;
    for (const v1::TensorFingerprint* tensor : one->tensors) all.insert(tensor->name());
    for (const v1::TensorFingerprint* tensor : one->tensors) {
      const TensorNames& names = context.rules.tensor_names;
      const v1::TensorRole role = ModelRoleOf(context, *tensor);
      if (!IsOfModel(role)) {
        ++state.left_out;
        if (role != v1::TENSOR_ROLE_MASTER && !IsSurelyLeftOut(*tensor, all)) state.doubtful.push_back(tensor);
        continue;
      }
      const auto [place, is_new] = state.by_name.emplace(tensor->name(), state.tensors.size());
      if (is_new) {
        state.tensors.push_back(Described(names, tensor->name(), role, one->pieces.front()->format()));
        state.tensors.back().derived = IsDerived(names, *tensor);
      }
      state.tensors[place->second].parts.push_back(tensor);
      state.tensors[place->second].twice |= one->twice.contains(tensor->name());
    }
  }
  for (ModelTensor& tensor : state.tensors) {
    if (state.repeated.empty() || tensor.copied) DropCopies(tensor);
  }
  FindGates(state);
  return state;
}

ModelState MastersOf(const CheckContext& context, const std::vector<const Checkpoint*>& checkpoints) {
  ModelState state;
  for (const Checkpoint* one : Representatives(checkpoints)) {
    if (state.where.empty()) state.where = one->where;
    state.sources.insert(state.sources.end(), one->sources.begin(), one->sources.end());
    for (const v1::TensorFingerprint* tensor : one->tensors) {
      if (tensor->role() != v1::TENSOR_ROLE_MASTER || IsFlatMaster(context, *tensor)) continue;
      absl::string_view parameter = tensor->name();
      for (const absl::string_view prefix : {"fp32.", "optimizer.state.fp32_param."}) {
        if (absl::ConsumePrefix(&parameter, prefix)) break;
      }
      const std::string name(parameter);
      const auto [place, is_new] = state.by_name.emplace(name, state.tensors.size());
      if (is_new) {
        state.tensors.push_back(
            Described(context.rules.tensor_names, name, v1::TENSOR_ROLE_PARAMETER, one->pieces.front()->format()));
      }
      state.tensors[place->second].parts.push_back(tensor);
    }
  }
  for (ModelTensor& tensor : state.tensors) DropCopies(tensor);
  return state;
}

FlatMasters FlatMastersOf(const CheckContext& context, const std::vector<const Checkpoint*>& checkpoints) {
  std::vector<const v1::TensorFingerprint*> masters, parameters;
  std::set<std::string> types;
  for (const Checkpoint* one : Representatives(checkpoints)) {
    for (const v1::TensorFingerprint* tensor : one->tensors) {
      if (IsFlatMaster(context, *tensor)) {
        masters.push_back(tensor);
      } else if (tensor->role() == v1::TENSOR_ROLE_MASTER) {
        return {};  // the reader cut them into parameters
      }
      // What shares its storage lies in a buffer once; the copies of ranks lie in the buffers of each.
      if (ModelRoleOf(context, *tensor) != v1::TENSOR_ROLE_PARAMETER || !tensor->alias_of().empty()) continue;
      parameters.push_back(tensor);
      types.insert(tensor->dtype());
    }
  }
  if (masters.empty()) return {};
  // Some optimizers keep no copy of what is in fp32 already.
  if (types.size() == 2 && types.erase("F32") == 1) {
    std::erase_if(parameters, [](const v1::TensorFingerprint* one) { return one->dtype() == "F32"; });
  }
  FlatMasters flat;
  flat.kind = FlatMasters::Kind::kUnknown;
  flat.buffers = masters.size();
  if (types.size() != 1) return flat;
  const std::string& type = *types.begin();
  const auto of_model = SumOf(parameters, [](const auto& one) { return ValuesOf(one, ""); });
  const auto rounded = SumOf(masters, [&](const auto& one) { return ValuesOf(one, type); });
  const auto values = SumOf(masters, [](const auto& one) { return ValuesOf(one, ""); });
  // Zeros that fill buffers up count nothing.
  if (!of_model.has_value() || of_model != rounded || !values.has_value()) return flat;
  flat.kind = FlatMasters::Kind::kAsModel;
  flat.values = *values;
  flat.parameters = *of_model;
  flat.beyond = *values != *of_model;
  return flat;
}

}  // namespace paritect
