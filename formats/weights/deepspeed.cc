// DeepSpeed: `latest` names TAG; in it mp_rank_MM_model_states.pt (or zero_pp_rank_D_mp_rank_MM_model_states.pt, stage
// 3) and [bf16_]zero_pp_rank_D_mp_rank_MM_optim_states.pt. The optimizer's fp32 master copy is one flat tensor a group,
// cut over the data-parallel ranks: it is put together again and cut into parameters by param_shapes, under the name
// "fp32.NAME". A rank that is missing makes the whole incomplete, and the master copy is not given.
// Source: deepspeedai/DeepSpeed, deepspeed/utils/zero_to_fp32.py.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/weights/weights_folder.h"
#include "formats/weights/weights_format.h"
#include "re2/re2.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr absl::string_view kOptimizer = "optimizer_state_dict.";
constexpr absl::string_view kModule = "module.";
constexpr std::size_t kFilesMax = 100'000;

struct FileName {
  std::string file;
  std::int64_t data_rank = 0;
  std::int64_t model_rank = 0;
  bool optimizer = false;
  std::optional<std::int64_t> layer;  // of a pipeline: its parameters are named within the layer
};

std::optional<FileName> ParseName(const std::string& name) {
  static const re2::RE2 kPattern(
      "(?:bf16_|fp16_)?(?:zero_pp_rank_(\\d{1,9})_)?mp_rank_(\\d{1,9})_(model|optim)_states\\.pt");
  static const re2::RE2 kLayer("layer_(\\d{1,9})-model_(\\d{1,9})-model_states\\.pt");
  std::string data, model, kind, layer;
  if (re2::RE2::FullMatch(name, kLayer, &layer, &model)) {
    return FileName{name, 0, ParseInt(model).value_or(0), false, ParseInt(layer)};
  }
  if (!re2::RE2::FullMatch(name, kPattern, &data, &model, &kind)) return std::nullopt;
  return FileName{name, ParseInt(data).value_or(0), ParseInt(model).value_or(0), kind == "optim", std::nullopt};
}

// A parameter of a group, in the order of the flat tensor.
struct Parameter {
  std::string name;
  std::vector<std::int64_t> shape;
};

// One model-parallel rank: what its files tell.
struct ModelRank {
  std::vector<std::vector<Parameter>> groups;
  std::map<std::int64_t, std::unique_ptr<StoredTensors>> optimizers;  // by data-parallel rank
  bool placeholders = false;                                          // the module's file holds no parameters
};

// The list of dimensions that a fact holds.
std::optional<std::vector<std::int64_t>> ShapeOf(const v1::Value& value) {
  if (!value.has_list()) return std::nullopt;
  std::vector<std::int64_t> shape;
  for (const v1::Value& item : value.list().items()) {
    if (!item.has_integer()) return std::nullopt;
    shape.push_back(item.integer());
  }
  return shape;
}

// Takes param_shapes.GROUP.NAME out of the facts.
std::vector<std::vector<Parameter>> TakeShapes(v1::Weights& about) {
  std::vector<std::vector<Parameter>> groups;
  v1::Weights rest;
  for (v1::CheckpointFact& fact : *about.mutable_facts()) {
    absl::string_view name = fact.name();
    const std::size_t dot = absl::ConsumePrefix(&name, "param_shapes.") ? name.find('.') : absl::string_view::npos;
    const auto group = dot == absl::string_view::npos ? std::nullopt : ParseInt(name.substr(0, dot));
    const auto shape = group && *group >= 0 && *group < 1000 ? ShapeOf(fact.value()) : std::nullopt;
    if (!shape) {
      *rest.add_facts() = std::move(fact);
      continue;
    }
    if (groups.size() <= static_cast<std::size_t>(*group)) groups.resize(static_cast<std::size_t>(*group) + 1);
    groups[static_cast<std::size_t>(*group)].push_back({std::string(name.substr(dot + 1)), *shape});
  }
  about.mutable_facts()->Swap(rest.mutable_facts());
  return groups;
}

bool IsFlatPartition(absl::string_view name) {
  return absl::StartsWith(name, StrCat(kOptimizer, "single_partition_of_fp32_groups.")) ||
         absl::StartsWith(name, StrCat(kOptimizer, "fp32_flat_groups."));
}

// The flat tensors of one rank's optimizer, in the order of groups; nullopt where one cannot be read by place.
std::optional<std::vector<BytePiece>> FlatPartitions(const StoredTensors& optimizer) {
  std::vector<BytePiece> pieces;
  for (std::size_t i = 0; i < optimizer.tensors().size(); ++i) {
    const TensorInfo& info = optimizer.tensors()[i];
    if (!IsFlatPartition(info.name)) continue;
    const auto piece = optimizer.PieceOf(i);
    if (!piece || info.dtype != DType::kF32) return std::nullopt;
    pieces.push_back(*piece);
  }
  return pieces;
}

// [offset, offset + length) of pieces that follow each other.
absl::StatusOr<std::vector<BytePiece>> Cut(const std::vector<BytePiece>& whole, std::uint64_t offset,
                                           std::uint64_t length) {
  std::vector<BytePiece> parts;
  for (const BytePiece& piece : whole) {
    if (length == 0) break;
    if (offset >= piece.length) {
      offset -= piece.length;
      continue;
    }
    const std::uint64_t take = std::min(length, piece.length - offset);
    parts.push_back({piece.bytes, piece.offset + offset, take});
    length -= take;
    offset = 0;
  }
  if (length == 0) return parts;
  return absl::DataLossError(StrCat("the flat master copy ends ", length, " bytes before its last parameter"));
}

// `alone`: there is no other copy (stage 3), and it is the parameter itself.
absl::StatusOr<TensorInfo> MasterInfo(const Parameter& parameter, std::int64_t model_rank, bool alone = false) {
  TensorInfo info;
  info.name = StrCat(alone ? kModule : "fp32.", parameter.name);
  info.role = alone ? v1::TENSOR_ROLE_PARAMETER : v1::TENSOR_ROLE_MASTER;
  info.dtype = DType::kF32;
  info.shape = parameter.shape;
  info.file = StrCat("mp_rank_", model_rank < 10 ? "0" : "", model_rank);
  if (const absl::Status sized = SizeTensor(info); !sized.ok()) return absl::DataLossError(sized.message());
  return info;
}

// Stages 1 and 2: the parts of a group follow each other over the ranks, parameters lie one after the other.
absl::Status AddMasterOfGroups(const ModelRank& rank, std::int64_t model_rank,
                               const std::vector<std::vector<BytePiece>>& partitions, StoredTensors& out) {
  for (std::size_t group = 0; group < rank.groups.size(); ++group) {
    std::vector<BytePiece> flat;
    for (const std::vector<BytePiece>& one : partitions) {
      if (group >= one.size()) return absl::DataLossError("a rank has fewer groups than parameters have");
      flat.push_back(one[group]);
    }
    std::uint64_t at = 0;
    for (const Parameter& parameter : rank.groups[group]) {
      PARITECT_ASSIGN_OR_RETURN(TensorInfo info, MasterInfo(parameter, model_rank));
      PARITECT_ASSIGN_OR_RETURN(std::vector<BytePiece> pieces, Cut(flat, at, info.bytes));
      at += info.bytes;
      PARITECT_RETURN_IF_ERROR(out.AddPieces(std::move(info), std::move(pieces)));
    }
  }
  return absl::OkStatus();
}

// Stage 3: every parameter is cut over the ranks, the last part filled up.
absl::Status AddMasterOfParts(const ModelRank& rank, std::int64_t model_rank,
                              const std::vector<std::vector<BytePiece>>& partitions, StoredTensors& out) {
  const std::uint64_t ranks = partitions.size();
  std::uint64_t at = 0;
  for (const std::vector<Parameter>& group : rank.groups) {
    for (const Parameter& parameter : group) {
      PARITECT_ASSIGN_OR_RETURN(TensorInfo info, MasterInfo(parameter, model_rank, rank.placeholders));
      const std::uint64_t part = (info.elements + ranks - 1) / ranks * 4;
      std::vector<BytePiece> pieces;
      std::uint64_t left = info.bytes;
      for (const std::vector<BytePiece>& one : partitions) {
        PARITECT_ASSIGN_OR_RETURN(const std::vector<BytePiece> cut, Cut(one, at, std::min(part, left)));
        pieces.insert(pieces.end(), cut.begin(), cut.end());
        left -= std::min(part, left);
      }
      at += part;
      PARITECT_RETURN_IF_ERROR(out.AddPieces(std::move(info), std::move(pieces)));
    }
  }
  return absl::OkStatus();
}

// partition_count is one number or one a group.
std::optional<std::int64_t> PartitionCount(const v1::Weights& about) {
  const v1::Value* value = FindFact(about, StrCat(kOptimizer, "partition_count"));
  if (value == nullptr) return std::nullopt;
  if (value->has_list() && value->list().items_size() > 0) return value->list().items(0).integer();
  return value->has_integer() ? std::optional<std::int64_t>(value->integer()) : std::nullopt;
}

absl::Status AddMaster(const ModelRank& rank, std::int64_t model_rank, StoredTensors& out) {
  if (rank.placeholders && rank.optimizers.empty()) {
    out.AddIncomplete("weights_file_missing", {{"file", "..._optim_states.pt"}, {"count", "?"}});
  }
  if (rank.optimizers.empty() || rank.groups.empty()) return absl::OkStatus();
  const v1::Weights& about = rank.optimizers.begin()->second->about();
  const auto count = PartitionCount(about);
  const std::size_t found = rank.optimizers.size();
  if (count && *count != static_cast<std::int64_t>(found)) {
    out.AddIncomplete("weights_ranks_missing",
                      {{"what", "partition_count"}, {"stated", StrCat(*count)}, {"found", StrCat(found)}});
    return absl::OkStatus();
  }
  std::vector<std::vector<BytePiece>> partitions;
  for (const auto& [data_rank, optimizer] : rank.optimizers) {
    auto pieces = FlatPartitions(*optimizer);
    if (!pieces || pieces->empty()) {
      if (rank.placeholders) out.AddIncomplete("weights_file_missing", {{"file", "fp32_flat_groups"}, {"count", "?"}});
      return absl::OkStatus();
    }
    partitions.push_back(*std::move(pieces));
  }
  const bool parts = IntegerFact(about, StrCat(kOptimizer, "zero_stage")).value_or(2) == 3;
  const absl::Status added = parts ? AddMasterOfParts(rank, model_rank, partitions, out)
                                   : AddMasterOfGroups(rank, model_rank, partitions, out);
  return Annotate(added, "the fp32 master copy");
}

// In stage 3 the module's file holds an empty tensor in place of each parameter: no part of the model.
void MarkPlaceholders(ModelRank& rank, StoredTensors& module) {
  std::set<std::string> cut;
  for (const std::vector<Parameter>& group : rank.groups) {
    for (const Parameter& parameter : group) {
      const bool empty = std::find(parameter.shape.begin(), parameter.shape.end(), 0) != parameter.shape.end();
      if (!empty) cut.insert(StrCat(kModule, parameter.name));
    }
  }
  for (TensorInfo& info : module.mutable_tensors()) {
    if (info.elements > 0 || !cut.contains(info.name)) continue;
    info.name = StrCat("placeholder.", info.name);
    info.role = v1::TENSOR_ROLE_OTHER;
    rank.placeholders = true;
  }
}

absl::StatusOr<std::unique_ptr<StoredTensors>> ReadTag(FileSystem& fs, const std::string& folder) {
  PARITECT_ASSIGN_OR_RETURN(const WeightsSample sample, SampleWeights(fs, folder));
  auto out = std::make_unique<StoredTensors>("deepspeed-zero");
  std::map<std::int64_t, ModelRank> ranks;
  std::vector<FileName> files;
  for (const std::string& name : sample.names) {
    if (auto file = ParseName(name)) files.push_back(*std::move(file));
  }
  if (files.empty()) return absl::DataLossError(StrCat(DisplayBytes(folder), " holds no file ..._states.pt"));
  if (files.size() > kFilesMax) return absl::ResourceExhaustedError(StrCat("more than ", kFilesMax, " files"));
  for (const FileName& file : files) {
    PARITECT_ASSIGN_OR_RETURN(auto source, ReadTorchFile(fs, JoinPath(folder, file.file)));
    ModelRank& rank = ranks[file.model_rank];
    if (file.optimizer) {
      rank.optimizers[file.data_rank] = std::move(source);
      continue;
    }
    auto groups = TakeShapes(source->mutable_about());
    if (rank.groups.empty()) rank.groups = std::move(groups);
    MarkPlaceholders(rank, *source);
    const std::string prefix = file.layer ? StrCat(*file.layer, ".") : "";
    PARITECT_RETURN_IF_ERROR(out->Absorb(std::move(*source), file.file, prefix));
  }
  for (auto& [model_rank, rank] : ranks) PARITECT_RETURN_IF_ERROR(AddMaster(rank, model_rank, *out));
  for (const FileName& file : files) {
    if (!file.optimizer) continue;
    PARITECT_RETURN_IF_ERROR(out->Absorb(std::move(*ranks[file.model_rank].optimizers[file.data_rank]), file.file));
  }
  if (const auto steps = IntegerFact(out->about(), "global_steps")) {
    const std::int64_t skipped = IntegerFact(out->about(), "skipped_steps").value_or(0);
    out->mutable_about().set_step(*steps - skipped);  // updates that were done
  }
  return out;
}

bool Sniff(const WeightsSample& sample) {
  if (!sample.is_folder) return false;
  return std::any_of(sample.names.begin(), sample.names.end(),
                     [](const std::string& name) { return ParseName(name).has_value(); }) ||
         (sample.Holds("latest") && sample.Holds("zero_to_fp32.py"));
}

absl::StatusOr<std::unique_ptr<StoredTensors>> Open(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const WeightsSample sample, SampleWeights(fs, path));
  std::string folder = path;
  const bool here = std::any_of(sample.names.begin(), sample.names.end(),
                                [](const std::string& name) { return ParseName(name).has_value(); });
  if (!here) {
    PARITECT_ASSIGN_OR_RETURN(const std::string tag, ReadNameFile(fs, JoinPath(path, "latest")));
    folder = JoinPath(path, tag);
  }
  return ReadTag(fs, folder);
}

}  // namespace

extern const WeightsFormat kDeepspeedWeights;
const WeightsFormat kDeepspeedWeights = {"deepspeed-zero", &Sniff, &Open};

}  // namespace paritect
