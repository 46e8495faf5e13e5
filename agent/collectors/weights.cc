// Weights: checkpoints as fingerprints, rank by rank. Values never leave the node: of a change since the step before,
// signs at some places are kept, no more.
#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/collector.h"
#include "agent/weights/checkpoint_reader.h"
#include "common/glob.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr v1::EvidenceKind kKind = v1::EVIDENCE_KIND_WEIGHTS;

// As the plan writes it, so that a report reads the same wherever it was made.
std::string Label(const v1::Plan& plan, absl::string_view path) {
  const std::string base = absl::StrCat(plan.base(), "/");
  return std::string(absl::StartsWith(path, base) ? path.substr(base.size()) : path);
}

v1::Evidence Problem(const absl::Status& status, absl::string_view source) {
  if (absl::IsInvalidArgument(status)) {
    return ProblemEvidence(kKind, source, v1::OUTCOME_ABSENT, "source_unknown_format", status.message());
  }
  return ProblemEvidence(kKind, source, status);
}

class Collection {
 public:
  Collection(const CollectorEnv& env, const v1::Plan& plan, EvidenceSink sink)
      : env_(env), plan_(plan), sink_(sink), reader_(env) {}

  void Run() {
    std::vector<const v1::WeightsSource*> sources;
    for (const v1::WeightsSource& source : plan_.weights()) sources.push_back(&source);
    // By step, so that a state meets the one before it.
    std::stable_sort(sources.begin(), sources.end(),
                     [](const auto* a, const auto* b) { return a->step() < b->step(); });
    for (const v1::WeightsSource* source : sources) CollectSource(*source);
  }

 private:
  void CollectSource(const v1::WeightsSource& source) {
    auto matches = ExpandPathPattern(env_.fs, ResolvePath(plan_, source.file()));
    if (!matches.ok()) return sink_(ProblemEvidence(kKind, source.file(), matches.status()));
    if (matches->empty()) sink_(ProblemEvidence(kKind, source.file(), v1::OUTCOME_ABSENT, "pattern_matches_nothing"));
    for (const PathMatch& match : *matches) CollectFile(source, match);
  }

  void CollectFile(const v1::WeightsSource& source, const PathMatch& match) {
    const std::string label = Label(plan_, match.path);
    const std::int32_t rank = match.captures.rank.value_or(-1);
    const bool pretrained = source.stage() == "pretrained";
    auto read = reader_.Read(match.path, pretrained ? nullptr : &kept_[rank]);
    if (!read.ok()) {
      v1::Evidence problem = Problem(read.status(), label);
      if (match.captures.rank) problem.set_rank(rank);
      return sink_(std::move(problem));
    }
    // A file to start from tells of another training.
    if (!pretrained) EmitSettings(std::move(read->settings), match, label);
    v1::Weights& weights = read->weights;
    weights.set_step(source.step());
    weights.set_stage(source.stage());
    if (match.captures.rank) weights.set_rank(rank);
    v1::Evidence evidence = CollectedEvidence(kKind, label);
    if (weights.has_rank()) evidence.set_rank(weights.rank());
    *evidence.mutable_weights() = std::move(weights);
    sink_(std::move(evidence));
  }

  // Every checkpoint of a run repeats them: the first one of each rank speaks.
  void EmitSettings(v1::SettingsDocument settings, const PathMatch& match, const std::string& label) {
    if (settings.settings().empty() || !told_.insert(match.captures.rank.value_or(-1)).second) return;
    for (v1::Setting& setting : *settings.mutable_settings()) setting.set_origin(label);
    v1::Evidence evidence = CollectedEvidence(v1::EVIDENCE_KIND_SETTINGS, label);
    if (match.captures.rank) evidence.set_rank(*match.captures.rank);
    *evidence.mutable_settings() = std::move(settings);
    sink_(std::move(evidence));
  }

  const CollectorEnv& env_;
  const v1::Plan& plan_;
  EvidenceSink sink_;
  CheckpointReader reader_;
  std::map<std::int32_t, KeptValues> kept_;  // by rank
  std::set<std::int32_t> told_;              // ranks whose settings were given
};

void Collect(const CollectorEnv& env, const v1::Plan& plan, EvidenceSink sink) {
  Collection(env, plan, sink).Run();
}

}  // namespace

extern const Collector kWeightsCollector;
const Collector kWeightsCollector = {"weights", "checkpoints as fingerprints; values stay on the node", &Collect, true};

}  // namespace paritect
