#include "formats/weights/megatron_rows.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "formats/weights/weights_folder.h"

namespace paritect {
namespace {

struct FusedLayer {
  absl::string_view name;
  absl::string_view second;  // the layer behind it
  bool gated;                // else query, key and value
  bool core;                 // else from before core
};
// Sources: Megatron-LM core/transformer/attention.py, SelfAttention (hidden to groups x (heads of a group + 2) x
// channels), mlp.py, MLP (gate, then up, where linear_fc1 gives twice what linear_fc2 takes); before core:
// megatron/model/transformer.py, ParallelAttention, ParallelMLP, group by group since checkpoint_version 2.0.
constexpr FusedLayer kLayers[] = {{"linear_qkv", "linear_proj", false, true},
                                  {"linear_fc1", "linear_fc2", true, true},
                                  {"query_key_value", "dense", false, false},
                                  {"dense_h_to_4h", "dense_4h_to_h", true, false}};

struct Heads {
  std::int64_t of_group = 0;  // heads that ask one key
  std::int64_t channels = 0;
};

std::optional<Heads> HeadsOf(const v1::Weights& about) {
  const auto argument = [&](absl::string_view name) { return IntegerFact(about, absl::StrCat("args.", name)); };
  const std::int64_t heads = argument("num_attention_heads").value_or(0);
  if (heads <= 0) return std::nullopt;
  const auto grouped = std::find_if(about.facts().begin(), about.facts().end(),
                                    [](const auto& one) { return one.name() == "args.group_query_attention"; });
  // Without the switch there is a group for each head.
  const bool is_grouped = grouped != about.facts().end() && grouped->value().boolean();
  const std::int64_t groups = is_grouped ? argument("num_query_groups").value_or(0) : heads;
  const std::int64_t channels = argument("kv_channels").value_or(argument("hidden_size").value_or(0) / heads);
  if (groups <= 0 || heads % groups != 0 || channels <= 0) return std::nullopt;
  return Heads{heads / groups, channels};
}

double VersionOf(const v1::Weights& about) {
  for (const v1::CheckpointFact& fact : about.facts()) {
    if (fact.name() != "checkpoint_version") continue;
    return fact.value().has_integer() ? static_cast<double>(fact.value().integer()) : fact.value().number();
  }
  return 0;
}

// query, key and value of `rows` rows; empty: they are no whole groups.
std::vector<RowPart> QueryKeyValue(const Heads& heads, std::int64_t rows) {
  constexpr std::int64_t kGroupsMax = 4096;
  if (heads.of_group > rows || heads.of_group + 2 > rows / heads.channels) return {};  // less than one group
  const std::int64_t group = (heads.of_group + 2) * heads.channels;
  if (rows % group != 0 || rows / group > kGroupsMax) return {};
  std::vector<RowPart> parts = {{"q", {}}, {"k", {}}, {"v", {}}};
  for (std::int64_t at = 0; at < rows; at += group) {
    const std::int64_t key = at + heads.of_group * heads.channels;
    parts[0].runs.emplace_back(at, key - at);
    parts[1].runs.emplace_back(key, heads.channels);
    parts[2].runs.emplace_back(key + heads.channels, heads.channels);
  }
  return parts;
}

// Experts of a layer that stand one behind the other in two tensors, whose stored shapes do not say so: the layer sees
// weight1 as (experts, taken, given) and weight2 as (experts, given, taken), each the transpose of a single expert's
// matrix. Source: Megatron-LM core/transformer/moe/experts.py, GroupedMLP; MindSpeed has the same.
constexpr absl::string_view kGroupedFirst = ".experts.weight1";
constexpr absl::string_view kGroupedSecond = ".experts.weight2";

// How many of them one rank holds; 0: not told.
std::int64_t LocalExperts(const v1::Weights& about) {
  const auto argument = [&](absl::string_view name) { return IntegerFact(about, absl::StrCat("args.", name)); };
  const std::int64_t experts = argument("num_experts").value_or(argument("num_moe_experts").value_or(0));
  std::int64_t ranks = std::max<std::int64_t>(argument("expert_model_parallel_size").value_or(1), 1);
  // MindSpeed: tensor-parallel ranks hold other experts, not parts of each.
  const auto extended = std::find_if(about.facts().begin(), about.facts().end(),
                                     [](const auto& one) { return one.name() == "args.moe_tp_extend_ep"; });
  if (extended != about.facts().end() && extended->value().boolean()) {
    const std::int64_t tensor = argument("tensor_model_parallel_size").value_or(0);
    if (tensor <= 0 || tensor > experts || ranks > experts / tensor) return 0;
    ranks *= tensor;
  }
  return experts > 0 && ranks <= experts && experts % ranks == 0 ? experts / ranks : 0;
}

// What one rank's file says of its layers.
class Layers {
 public:
  explicit Layers(const StoredTensors& rank)
      : heads_(HeadsOf(rank.about())), by_groups_(VersionOf(rank.about()) >= 2), experts_(LocalExperts(rank.about())) {
    for (const TensorInfo& info : rank.tensors()) shapes_.emplace(info.name, info.shape);
  }

  // Empty: it stays whole.
  std::vector<RowPart> PartsOf(const TensorInfo& info) const {
    absl::string_view front = info.name;
    if (absl::ConsumeSuffix(&front, kGroupedFirst)) return ExpertsOf(front, info, true);
    if (absl::ConsumeSuffix(&front, kGroupedSecond)) return ExpertsOf(front, info, false);
    const bool weight = absl::ConsumeSuffix(&front, ".weight");
    if (!weight && !absl::ConsumeSuffix(&front, ".bias")) return {};
    const auto* const layer = std::find_if(std::begin(kLayers), std::end(kLayers), [&](const FusedLayer& one) {
      return absl::EndsWith(front, absl::StrCat(".", one.name));
    });
    if (layer == std::end(kLayers)) return {};
    absl::ConsumeSuffix(&front, layer->name);
    const std::int64_t rows = info.shape[0];
    const std::int64_t taken = SizeOf(absl::StrCat(front, layer->second, ".weight"), 1);
    if (SizeOf(absl::StrCat(front, layer->name, ".weight"), 0) != rows || taken <= 0) return {};
    std::vector<RowPart> parts;
    if (layer->gated && rows == 2 * taken) {
      parts = {{"gate", {{0, taken}}}, {"up", {{taken, taken}}}};
    } else if (!layer->gated && heads_.has_value() && (layer->core || by_groups_)) {
      parts = QueryKeyValue(*heads_, rows);
    }
    std::int64_t first_rows = 0;
    if (!parts.empty()) {
      for (const auto& [first, count] : parts[0].runs) first_rows += count;
    }
    if (first_rows != taken) return {};  // a gate beside the query, or other heads than stated
    for (RowPart& part : parts) {
      part.name = absl::StrCat(front, layer->name, ".", part.name, weight ? ".weight" : ".bias");
    }
    return parts;
  }

 private:
  // Empty: the two tensors do not fit each other as so many experts.
  std::vector<RowPart> ExpertsOf(absl::string_view front, const TensorInfo& info, bool first) const {
    constexpr std::int64_t kExpertsMax = 4096;
    const std::string one = absl::StrCat(front, kGroupedFirst), two = absl::StrCat(front, kGroupedSecond);
    const std::int64_t taken = SizeOf(one, 0), wide = SizeOf(one, 1), given = SizeOf(two, 0);
    const bool gated = wide % 2 == 0 && wide / 2 == given;
    if (experts_ <= 0 || experts_ > kExpertsMax || given <= 0 || given % experts_ != 0 || !(gated || wide == given) ||
        SizeOf(two, 1) != taken || info.shape != shapes_.at(first ? one : two)) {
      return {};
    }
    const std::int64_t rows = first ? taken : given / experts_;
    const std::int64_t columns = first ? wide / experts_ : taken;
    std::vector<RowPart> parts;
    for (std::int64_t expert = 0; expert < experts_; ++expert) {
      parts.push_back(
          {absl::StrCat(front, ".experts.local_experts.", expert, first ? ".linear_fc1" : ".linear_fc2", ".weight"),
           {{expert * rows, rows}},
           {experts_ * rows, columns}});
    }
    return parts;
  }

  // Of a matrix; 0: not there.
  std::int64_t SizeOf(const std::string& name, std::size_t axis) const {
    const auto found = shapes_.find(name);
    return found == shapes_.end() || found->second.size() != 2 ? 0 : found->second[axis];
  }

  const std::optional<Heads> heads_;
  const bool by_groups_;
  const std::int64_t experts_;
  std::map<std::string, std::vector<std::int64_t>> shapes_;
};

}  // namespace

absl::Status SplitMegatronRows(StoredTensors& rank, std::size_t& runs_left) {
  const Layers layers(rank);
  return rank.SplitRows([&](const TensorInfo& info) {
    std::vector<RowPart> parts = layers.PartsOf(info);
    std::size_t runs = 0;
    for (const RowPart& part : parts) runs += part.runs.size();
    if (runs > runs_left) return std::vector<RowPart>();
    runs_left -= runs;
    return parts;
  });
}

}  // namespace paritect
