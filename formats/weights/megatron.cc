// Megatron-LM and MindSpeed: latest_checkpointed_iteration.txt names iter_0000001 (or release); in it mp_rank_TT,
// mp_rank_TT_PPP or mp_rank_TT_PPP_EEE with model_optim_rng.pt each. Ranks hold parts of tensors under the same names:
// each is listed with its file. distrib_optim.pt beside it holds the state of a distributed optimizer, as "fp32_flat.".
// Layers of later pipeline stages are numbered on. A distributed checkpoint in the
// iteration's folder is read as such. Source: NVIDIA/Megatron-LM, megatron/training/checkpointing.py.
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/weights/megatron_rows.h"
#include "formats/weights/stage_names.h"
#include "formats/weights/weights_folder.h"
#include "formats/weights/weights_format.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr absl::string_view kTracker = "latest_checkpointed_iteration.txt";
constexpr absl::string_view kRankPrefix = "mp_rank_";
constexpr absl::string_view kModelFiles[] = {"model_optim_rng.pt", "model_rng.pt"};
constexpr absl::string_view kOptimizerFile = "distrib_optim.pt";
constexpr absl::string_view kFlatMaster = "fp32_flat.";
constexpr std::size_t kRanksMax = 10'000;

// mp_rank_01_003: tensor rank 1, pipeline rank 3; a third number, or the second without pipelines, counts experts.
struct Rank {
  std::string folder;
  std::int64_t tensor = 0;
  std::int64_t pipeline = 0;
  std::int64_t expert = 0;
  std::size_t begin = 0;  // of its tensors
  std::size_t end = 0;
};

std::optional<Rank> RankOf(const std::string& name) {
  absl::string_view rest = name;
  if (!absl::ConsumePrefix(&rest, kRankPrefix)) return std::nullopt;
  Rank rank;
  rank.folder = name;
  const std::vector<absl::string_view> parts = absl::StrSplit(rest, '_');
  if (parts.size() > 3) return std::nullopt;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto number = ParseInt(parts[i]);
    if (!number || *number < 0 || parts[i].size() < 2) return std::nullopt;
    if (i == 0) rank.tensor = *number;
    if (i == 1) rank.pipeline = *number;
    if (i == 2) rank.expert = *number;
  }
  return rank;
}

absl::StatusOr<std::string> FolderOfIteration(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const std::string text, ReadNameFile(fs, JoinPath(path, kTracker)));
  if (text == "release") return JoinPath(path, text);
  const auto iteration = ParseInt(text);
  if (!iteration || *iteration < 0)
    return absl::DataLossError(StrCat(kTracker, " holds \"", DisplayBytes(text), "\", no iteration"));
  return JoinPath(path, absl::StrFormat("iter_%07d", *iteration));
}

// The distributed optimizer keeps its state in flat buffers of all parameters of a type, and no list of what lies
// where: "param" is the fp32 copy (core/optimizer/distrib_optimizer.py, get_parameter_state_dp_zero).
absl::Status AddDistributedOptimizer(FileSystem& fs, const std::string& folder, const Rank& rank, StoredTensors& out) {
  const std::string file = JoinPath(rank.folder, kOptimizerFile);
  auto source = ReadTorchFile(fs, JoinPath(folder, file));
  if (absl::IsNotFound(source.status())) return absl::OkStatus();
  if (!source.ok()) return source.status();
  for (TensorInfo& info : (*source)->mutable_tensors()) {
    const bool master = absl::EndsWith(info.name, ".param");
    info.role = master ? v1::TENSOR_ROLE_MASTER : v1::TENSOR_ROLE_OPTIMIZER_STATE;
  }
  return out.Absorb(std::move(**source), file, kFlatMaster);
}

absl::Status AddRank(FileSystem& fs, const std::string& folder, Rank& rank, std::size_t& runs_left,
                     StoredTensors& out) {
  rank.begin = rank.end = out.tensors().size();
  for (absl::string_view name : kModelFiles) {
    const std::string file = JoinPath(rank.folder, name);
    auto source = ReadTorchFile(fs, JoinPath(folder, file));
    if (absl::IsNotFound(source.status())) continue;
    if (!source.ok()) return source.status();
    PARITECT_RETURN_IF_ERROR(SplitMegatronRows(**source, runs_left));
    PARITECT_RETURN_IF_ERROR(out.Absorb(std::move(**source), file));
    rank.end = out.tensors().size();
    return AddDistributedOptimizer(fs, folder, rank, out);
  }
  out.AddIncomplete("weights_file_missing", {{"file", StrCat(rank.folder, "/", kModelFiles[0])}, {"count", "?"}});
  return absl::OkStatus();
}

// As many ranks as the arguments state.
void CheckRanks(const std::set<std::int64_t>& tensor, const std::set<std::int64_t>& pipeline, StoredTensors& out) {
  const auto check = [&](absl::string_view what, std::size_t found) {
    const auto stated = IntegerFact(out.about(), StrCat("args.", what));
    if (!stated || *stated <= static_cast<std::int64_t>(found)) return;
    out.AddIncomplete("weights_ranks_missing",
                      {{"what", std::string(what)}, {"stated", StrCat(*stated)}, {"found", StrCat(found)}});
  };
  check("tensor_model_parallel_size", tensor.size());
  check("pipeline_model_parallel_size", pipeline.size());
}

// Each stage counts its layers and experts from 0.
void NumberThrough(std::vector<Rank>& ranks, StoredTensors& out) {
  const bool by_experts = IntegerFact(out.about(), "args.pipeline_model_parallel_size").value_or(0) == 1 &&
                          IntegerFact(out.about(), "args.expert_model_parallel_size").value_or(1) > 1;
  StageNames names;
  for (const bool rename : {false, true}) {
    for (const Rank& rank : ranks) {
      const StagePlace place = {by_experts ? 0 : rank.pipeline, by_experts ? rank.pipeline : rank.expert};
      for (std::size_t i = rank.begin; i < rank.end; ++i) {
        TensorInfo& info = out.mutable_tensors()[i];
        if (!rename) {
          names.Add(place, info.name);
          continue;
        }
        info.name = names.Whole(place, info.name);
        if (!info.alias_of.empty()) info.alias_of = names.Whole(place, info.alias_of);
      }
    }
  }
}

absl::StatusOr<std::unique_ptr<StoredTensors>> ReadIteration(FileSystem& fs, const std::string& folder) {
  PARITECT_ASSIGN_OR_RETURN(const WeightsSample sample, SampleWeights(fs, folder));
  if (sample.Holds(".metadata")) return OpenWeights(fs, folder);
  auto out = std::make_unique<StoredTensors>("megatron");
  std::set<std::int64_t> tensor, pipeline;
  std::vector<Rank> ranks;
  std::size_t runs_left = kRowRunsMax;
  for (const std::string& name : sample.names) {
    auto rank = RankOf(name);
    if (!rank) continue;
    if (ranks.size() >= kRanksMax) return absl::ResourceExhaustedError(StrCat("more than ", kRanksMax, " ranks"));
    tensor.insert(rank->tensor);
    pipeline.insert(rank->pipeline);
    PARITECT_RETURN_IF_ERROR(AddRank(fs, folder, *rank, runs_left, *out));
    ranks.push_back(*std::move(rank));
  }
  NumberThrough(ranks, *out);
  if (ranks.empty()) return absl::DataLossError(StrCat(DisplayBytes(folder), " holds no folder mp_rank_..."));
  CheckRanks(tensor, pipeline, *out);
  if (const auto iteration = IntegerFact(out->about(), "iteration")) out->mutable_about().set_step(*iteration);
  return out;
}

bool Sniff(const WeightsSample& sample) {
  if (!sample.is_folder) return false;
  return sample.Holds(kTracker) || std::any_of(sample.names.begin(), sample.names.end(),
                                               [](const std::string& name) { return RankOf(name).has_value(); });
}

absl::StatusOr<std::unique_ptr<StoredTensors>> Open(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const WeightsSample sample, SampleWeights(fs, path));
  std::string folder = path;
  if (sample.Holds(kTracker)) {
    PARITECT_ASSIGN_OR_RETURN(folder, FolderOfIteration(fs, path));
  }
  return ReadIteration(fs, folder);
}

}  // namespace

extern const WeightsFormat kMegatronWeights;
const WeightsFormat kMegatronWeights = {"megatron", &Sniff, &Open};

}  // namespace paritect
