#include "checks/weights/replica_groups.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/settings/view.h"
#include "checks/weights/model_state.h"
#include "checks/weights/tensor_comparison.h"
#include "common/utf8.h"
#include "rules/tensor_kinds.h"
#include "rules/weights_formats.h"

namespace paritect {
namespace {

using Place = std::tuple<int, int, int>;  // pipeline, expert, tensor rank

std::int64_t SizeOf(const SettingsView& view, absl::string_view key) {
  const EffectiveValue* value = view.FindStated(key);
  if (value == nullptr || value->value.value.kind_case() != v1::Value::kInteger) return 0;
  return std::max<std::int64_t>(0, value->value.value.integer());
}

// By the files' own word; else by the sizes that the run states, ranks numbered with tensor-parallel ones next to each
// other and pipeline stages furthest apart (Megatron-LM core/parallel_state.py: order "tp-cp-ep-dp-pp"). nullopt: the
// sizes are not known.
class Layout {
 public:
  Layout(const CheckContext& context, const RunCheckpoints& run, std::size_t ranks) : ranks_(ranks) {
    const SettingsView& view = SettingsView::Of(context, run.side, run.run);
    tensor_ = SizeOf(view, "tensor_parallel_size");
    pipeline_ = SizeOf(view, "pipeline_parallel_size");
  }

  std::optional<Place> Of(const Checkpoint& one) const {
    if (one.place.has_value()) {
      return Place(one.place->pipeline_rank(), one.place->expert_rank(), one.place->tensor_rank());
    }
    if (tensor_ == 0 && pipeline_ == 0) return std::nullopt;
    const auto tensor = static_cast<std::int32_t>(std::max<std::int64_t>(1, tensor_));
    const auto pipeline = static_cast<std::int32_t>(std::max<std::int64_t>(1, pipeline_));
    const std::int32_t stage = std::max(1, static_cast<std::int32_t>(ranks_) / pipeline);
    return Place(*one.rank / stage, 0, *one.rank % tensor);
  }

 private:
  std::size_t ranks_;
  std::int64_t tensor_ = 0;
  std::int64_t pipeline_ = 0;
};

// Written by a framework that splits models, so that two ranks need not be replicas.
bool MayBeSplit(const Checkpoint& one) {
  return std::any_of(one.pieces.begin(), one.pieces.end(),
                     [](const v1::Weights* piece) { return FactsOfWeightsFormat(piece->format()).may_be_split; });
}

bool IsOfKind(const CheckContext& context, TensorKind kind, const std::string& name) {
  return BuiltInTensorKinds().Is(kind, context.rules.tensor_names.Canonical(name));
}

// `experts`: the size of the expert-parallel group; 0: not known.
void FindSplit(const CheckContext& context, std::int64_t experts, ReplicaGroup& group) {
  std::map<std::string, std::map<std::string, std::vector<std::int32_t>>> contents;  // name -> content -> ranks
  std::map<std::string, v1::TensorRole> roles;
  for (const Checkpoint* one : group.ranks) {
    for (const v1::TensorFingerprint* tensor : one->tensors) {
      const v1::TensorRole role = RoleOf(context, *tensor);
      const std::string content = ContentOf(*tensor);
      if (!IsOfModel(role) || content.empty()) continue;
      contents[tensor->name()][content].push_back(*one->rank);
      roles[tensor->name()] = role;
    }
  }
  const bool whole = std::none_of(group.ranks.begin(), group.ranks.end(),
                                  [](const Checkpoint* one) { return one->removed_redundancy; });
  for (const auto& [name, by_content] : contents) {
    std::set<std::int32_t> holders;
    for (const auto& [content, ranks] : by_content) holders.insert(ranks.begin(), ranks.end());
    if (whole && holders.size() < group.ranks.size()) group.lacking.push_back(name);
    ++group.tensors;
    group.parameters += roles[name] == v1::TENSOR_ROLE_PARAMETER ? 1 : 0;
    if (by_content.size() < 2) continue;
    // Ranks of an expert-parallel group hold other experts under one name.
    if (experts != 1 && IsOfKind(context, TensorKind::kExpert, name)) {
      if (experts == 0) group.experts.push_back(name);
      continue;
    }
    SplitTensor split = {name, roles[name], {}};
    for (const auto& [content, ranks] : by_content) split.clusters.push_back(ranks);
    std::stable_sort(split.clusters.begin(), split.clusters.end(), [](const auto& x, const auto& y) {
      return x.size() != y.size() ? x.size() > y.size() : x.front() < y.front();
    });
    group.split.push_back(std::move(split));
  }
}

struct Copy {
  const v1::TensorFingerprint* tensor = nullptr;
  std::set<std::string> holders;
};
using Copies = std::map<std::string, Copy>;  // of one name, by content

std::optional<double> SpreadOf(const Copies& copies) {
  const v1::TensorFingerprint& first = *copies.begin()->second.tensor;
  double spread = 0;
  for (const auto& [content, copy] : copies) {
    const std::optional<double> distance = FiguresOf(first, *copy.tensor).relative_l2;
    if (!distance.has_value()) return std::nullopt;
    spread = std::max(spread, *distance);
  }
  return spread;
}

// "mp_rank_01" of mp_rank_01/model_optim_rng.pt.
std::string FolderOfRank(const v1::TensorFingerprint& tensor) {
  return DisplayBytes(tensor.file().substr(0, tensor.file().find('/')));
}

}  // namespace

int ReplicaGroup::split_parameters() const {
  return static_cast<int>(std::count_if(split.begin(), split.end(),
                                        [](const SplitTensor& one) { return one.role == v1::TENSOR_ROLE_PARAMETER; }));
}

const v1::TensorFingerprint* ReplicaGroup::Find(std::int32_t rank, const std::string& name) const {
  for (const Checkpoint* one : ranks) {
    if (*one->rank != rank) continue;
    for (const v1::TensorFingerprint* tensor : one->tensors) {
      if (tensor->name() == name) return tensor;
    }
  }
  return nullptr;
}

ReplicaGroups GroupReplicas(const CheckContext& context, const RunCheckpoints& run, std::int64_t step) {
  ReplicaGroups result;
  std::vector<const Checkpoint*> ranked;
  for (const Checkpoint* one : run.At(step)) {
    if (!one->rank.has_value()) continue;
    ranked.push_back(one);
    if (one->incomplete) result.incomplete.push_back(*one->rank);
  }
  result.ranks = static_cast<int>(ranked.size());
  const Layout layout(context, run, ranked.size());
  const std::int64_t experts = SizeOf(SettingsView::Of(context, run.side, run.run), "expert_parallel_size");
  std::map<Place, ReplicaGroup> places;
  bool guessed = false;
  for (const Checkpoint* one : ranked) {
    const std::optional<Place> place = layout.Of(*one);
    guessed = guessed || (!place.has_value() && MayBeSplit(*one));
    places[place.value_or(Place())].ranks.push_back(one);
  }
  for (auto& [place, group] : places) {
    if (group.ranks.size() < 2) continue;
    FindSplit(context, experts, group);
    result.layout_unknown = result.layout_unknown || (guessed && !group.split.empty());
    result.groups.push_back(std::move(group));
  }
  return result;
}

std::vector<SplitCopies> FindSplitCopies(const CheckContext& context, const RunCheckpoints& run, std::int64_t step) {
  const std::vector<const Checkpoint*> all = run.At(step);
  const auto ranked = std::count_if(all.begin(), all.end(), [](const auto* one) { return one->rank.has_value(); });
  const Layout layout(context, run, static_cast<std::size_t>(ranked));
  std::map<std::pair<std::string, int>, Copies> found;  // name, pipeline rank
  std::set<Place> places;
  for (const Checkpoint* one : all) {
    const std::optional<Place> place = one->rank.has_value() ? layout.Of(*one) : std::nullopt;
    // Of data-parallel replicas the first stands for all.
    if (one->rank.has_value() ? !place.has_value() || !places.insert(*place).second : !MayBeSplit(*one)) continue;
    for (const v1::TensorFingerprint* tensor : one->tensors) {
      if (ContentOf(*tensor).empty() || RoleOf(context, *tensor) != v1::TENSOR_ROLE_PARAMETER) continue;
      if (!IsOfKind(context, TensorKind::kCopied, tensor->name())) continue;
      const int stage = place.has_value() ? std::get<0>(*place) : 0;
      Copy& copy = found[{tensor->name(), stage}][ContentOf(*tensor)];
      copy.tensor = tensor;
      copy.holders.insert(one->rank.has_value() ? absl::StrCat("rank ", *one->rank) : FolderOfRank(*tensor));
    }
  }
  std::vector<SplitCopies> split;
  for (const auto& [key, copies] : found) {
    if (copies.size() < 2) continue;
    SplitCopies one = {key.first, {}, SpreadOf(copies)};
    for (const auto& [content, copy] : copies) one.holders.emplace_back(copy.holders.begin(), copy.holders.end());
    std::stable_sort(one.holders.begin(), one.holders.end(), [](const auto& x, const auto& y) {
      return x.size() != y.size() ? x.size() > y.size() : x.front() < y.front();
    });
    split.push_back(std::move(one));
  }
  return split;
}

std::string RanksText(const std::vector<std::int32_t>& ranks) {
  return absl::StrJoin(ranks, ", ");
}

}  // namespace paritect
