#include "checks/weights/checkpoints.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/utf8.h"

namespace paritect {
namespace {

using Key = std::tuple<std::int64_t, std::int32_t, std::string, std::string>;  // step, rank, stage, node

void AddPiece(const v1::Bundle& bundle, const v1::Evidence& evidence, Checkpoint& checkpoint) {
  const v1::Weights& weights = evidence.weights();
  checkpoint.where = WhereFrom(bundle, evidence);
  checkpoint.node = bundle.plan().node();
  checkpoint.sources.push_back(DisplayBytes(evidence.source()));
  checkpoint.step = weights.step();
  checkpoint.stage = weights.stage();
  if (weights.has_rank()) checkpoint.rank = weights.rank();
  if (weights.has_place()) checkpoint.place = weights.place();
  checkpoint.pieces.push_back(&weights);
  checkpoint.removed_redundancy = checkpoint.removed_redundancy || weights.removed_redundancy();
  checkpoint.incomplete = checkpoint.incomplete || weights.incomplete_size() > 0;
}

// An index and its parts may both be named: what a file before holds counts once. A folder of several ranks holds parts
// of tensors under one name.
void JoinPieces(Checkpoint& checkpoint) {
  std::map<std::pair<std::string, int>, std::set<std::string>> seen;  // name, role -> contents
  for (const v1::Weights* piece : checkpoint.pieces) {
    std::map<std::pair<std::string, int>, std::set<std::string>> own;
    for (const v1::TensorFingerprint& tensor : piece->tensors()) {
      const std::pair<std::string, int> key = {tensor.name(), tensor.role()};
      own[key].insert(ContentOf(tensor));
      const auto before = seen.find(key);
      if (before == seen.end()) {
        checkpoint.tensors.push_back(&tensor);
      } else if (!before->second.contains(ContentOf(tensor))) {
        checkpoint.twice.insert(tensor.name());
      }
    }
    for (auto& [key, contents] : own) seen[key].merge(contents);
  }
}

std::vector<Checkpoint> CheckpointsOfRun(const RunView& run) {
  std::map<Key, Checkpoint> found;
  for (const v1::Bundle* bundle : run.nodes) {
    for (const v1::Evidence& evidence : bundle->evidence()) {
      if (evidence.outcome() != v1::OUTCOME_COLLECTED || !evidence.has_weights()) continue;
      const v1::Weights& weights = evidence.weights();
      const std::int32_t rank = weights.has_rank() ? weights.rank() : -1;
      // A rank's files are its own wherever they were read; files without a rank belong to the node that holds them.
      AddPiece(*bundle, evidence,
               found[{weights.step(), rank, weights.stage(), rank < 0 ? bundle->plan().node() : ""}]);
    }
  }
  std::vector<Checkpoint> checkpoints;
  for (auto& [key, checkpoint] : found) {
    JoinPieces(checkpoint);
    checkpoints.push_back(std::move(checkpoint));
  }
  return checkpoints;
}

}  // namespace

std::vector<const Checkpoint*> RunCheckpoints::At(std::int64_t step, bool pretrained) const {
  std::vector<const Checkpoint*> found;
  for (const Checkpoint& one : all) {
    if (one.step == step && one.pretrained() == pretrained) found.push_back(&one);
  }
  // Where a model was recorded before and after it was wrapped, the later one is what trains.
  const bool after =
      std::any_of(found.begin(), found.end(), [](const auto* one) { return one->stage != "before-wrap"; });
  if (after) std::erase_if(found, [](const Checkpoint* one) { return one->stage == "before-wrap"; });
  return found;
}

std::vector<std::int64_t> RunCheckpoints::Steps() const {
  std::set<std::int64_t> steps;
  for (const Checkpoint& one : all) {
    if (!one.pretrained()) steps.insert(one.step);
  }
  return {steps.begin(), steps.end()};
}

const std::vector<RunCheckpoints>& CheckpointsOf(const CheckContext& context, Side side) {
  return context.views->Get<std::vector<RunCheckpoints>>({&context.evidence.bundles(side)}, [&] {
    std::vector<RunCheckpoints> runs;
    for (const RunView& run : context.evidence.Runs(side)) {
      RunCheckpoints one = {side, run, CheckpointsOfRun(run)};
      if (!one.all.empty()) runs.push_back(std::move(one));
    }
    return runs;
  });
}

const RunCheckpoints* ReferenceCheckpoints(const CheckContext& context) {
  const std::vector<RunCheckpoints>& runs = CheckpointsOf(context, Side::kBaseline);
  return runs.empty() ? nullptr : &runs.front();
}

v1::TensorRole RoleOf(const CheckContext& context, const v1::TensorFingerprint& tensor) {
  v1::TensorRole by_name = context.rules.tensor_names.RoleOf(tensor.name());
  // Counters, settings and random state are numbers, rows over steps, or bytes: a matrix is none of them, whatever the
  // layer is called.
  const auto axes = std::count_if(tensor.shape().begin(), tensor.shape().end(), [](auto size) { return size > 1; });
  const bool floats = tensor.dtype().starts_with("F") || tensor.dtype() == "BF16";
  if (by_name == v1::TENSOR_ROLE_OTHER && axes > 1 && floats && !context.rules.tensor_names.IsDerived(tensor.name())) {
    by_name = v1::TENSOR_ROLE_PARAMETER;
  }
  // A file tells parameters from gradients; counters and running statistics are known by name alone.
  if (tensor.role() == v1::TENSOR_ROLE_UNSPECIFIED) return by_name;
  if (tensor.role() == v1::TENSOR_ROLE_PARAMETER || tensor.role() == v1::TENSOR_ROLE_BUFFER) {
    return by_name == v1::TENSOR_ROLE_PARAMETER ? tensor.role() : by_name;
  }
  return tensor.role();
}

const std::string& ContentOf(const v1::TensorFingerprint& tensor) {
  if (!tensor.xxh3().empty()) return tensor.xxh3();
  return tensor.sha256().empty() ? tensor.md5() : tensor.sha256();
}

bool IsConstant(const v1::TensorFingerprint& tensor) {
  return tensor.statistics().min() == tensor.statistics().max() && tensor.statistics().nan() == 0;
}

std::uint64_t ElementsOf(const v1::TensorFingerprint& tensor) {
  std::uint64_t elements = 1;
  for (const std::int64_t size : tensor.shape()) elements *= static_cast<std::uint64_t>(size);
  return elements;
}

std::string ShapeText(const v1::TensorFingerprint& tensor) {
  return absl::StrCat("[", absl::StrJoin(tensor.shape(), ", "), "] ", tensor.dtype());
}

}  // namespace paritect
