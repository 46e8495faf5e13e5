// first-step.update.same-update: is the weights' change in the first step that of the baseline?
// Source: MindSpore precision checklist, check 3. Judged on the update, not on the weights: after one step those are
// alike whatever was trained. Limits and what they were measured on: docs/thresholds.md.
#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "checks/settings/derived.h"
#include "checks/settings/view.h"
#include "checks/weights/direction.h"
#include "checks/weights/matching.h"
#include "checks/weights/step_change.h"
#include "checks/weights/tensor_comparison.h"
#include "common/numbers.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_WEIGHTS}};

// What the update of one run is measured by: rules differ by optimizer and type (docs/thresholds.md).
struct Kind {
  bool adaptive = true;  // Adam and its kin: the first step has one size everywhere
  bool narrow = true;    // computed or stored in 16 bits
};

Kind KindOf(const CheckContext& context, const StepChange& change) {
  Kind kind;
  const SettingsView& view = SettingsView::Of(context, change.run->side, change.run->run);
  const std::string optimizer = view.Text("optimizer").value_or("");
  kind.adaptive = !absl::StrContains(optimizer, "sgd") && !absl::StrContains(optimizer, "momentum");
  const std::string dtype = ComputeTypeOf(view).dtype;
  const bool stored_wide =
      std::all_of(change.after.tensors.begin(), change.after.tensors.end(),
                  [](const ModelTensor& one) { return one.first().dtype() != "BF16" && one.first().dtype() != "F16"; });
  kind.narrow = !stored_wide || dtype != "float32";
  return kind;
}

class Judge {
 public:
  Judge(const CheckContext& context, v1::CheckResult& result, const StepChange& baseline, const StepChange& migrated)
      : context_(context), result_(result), a_(baseline), b_(migrated) {}

  void Run() {
    if (!Ready(a_) || !Ready(b_)) return;
    const ModelMatch match = MatchModels(context_, a_.after, b_.after);
    for (const TensorPair& pair : match.pairs) Pair(pair);
    if (other_start_ > 0) {
      AddMissing(context_, result_, "start_not_same", b_.run->run.name,
                 {{"count", absl::StrCat(other_start_)}, {"tensor", first_other_start_}});
      return;
    }
    if (all_.aa == 0 && all_.bb == 0) {
      AddMissing(context_, result_, "nothing_moved", b_.run->run.name,
                 {{"from", absl::StrCat(b_.from)}, {"to", absl::StrCat(b_.to)}});
      return;
    }
    Covered();
    Whole();
    Tensors();
  }

 private:
  bool Ready(const StepChange& change) {
    const MessageArgs args = {
        {"run", change.run->run.name}, {"step", absl::StrCat(change.to)}, {"where", change.gate_where}};
    if (change.gate == StepGate::kSkipped)
      AddMissing(context_, result_, "step_was_skipped", change.run->run.name, args);
    if (change.gate == StepGate::kZeroRate)
      AddMissing(context_, result_, "step_at_rate_zero", change.run->run.name, args);
    // After a second step small differences have grown; curves are compared then.
    if (change.from != 0 || !change.one_step())
      AddMissing(context_, result_, "first_step_needed", change.run->run.name, args);
    return change.gate == StepGate::kOpen && change.from == 0 && change.one_step();
  }

  void Pair(const TensorPair& pair) {
    if (pair.a[0]->role != v1::TENSOR_ROLE_PARAMETER) return;
    if (!SameStart(pair)) {
      if (other_start_++ == 0) first_other_start_ = pair.a[0]->name;
      return;
    }
    if (!pair.one_to_one()) return Uncomparable(pair);
    const ModelTensor& a = *pair.a[0];
    const ModelTensor& b = *pair.b[0];
    // What stands still is judged by first-step.update.updated.
    if (MovementOf(a_, a) != Movement::kMoved || MovementOf(b_, b) != Movement::kMoved) return;
    const std::vector<double> u = UpdateSketch(a_, a), v = UpdateSketch(b_, b);
    const std::optional<SketchProducts> products = ProductsOf(u, v);
    const bool same_shape = std::equal(a.first().shape().begin(), a.first().shape().end(), b.first().shape().begin(),
                                       b.first().shape().end());
    if (!products.has_value() || !same_shape) return Uncomparable(pair);
    VectorPair vectors = {a.name,           products->aa,
                          products->ab,     products->bb,
                          products->places, CountSigns(a.first().sampled_signs(), b.first().sampled_signs())};
    all_.Add(vectors);
    pairs_.push_back(std::move(vectors));
  }

  // Small tensors have no sketch; others may stand in another layout.
  void Uncomparable(const TensorPair& pair) {
    for (const ModelTensor* one : pair.a) {
      const std::optional<double> size = UpdateSize(a_, *one);
      uncovered_ += size.value_or(0) * size.value_or(0) * static_cast<double>(one->elements());
    }
  }

  bool SameStart(const TensorPair& pair) const {
    TensorPair before;
    for (const ModelTensor* one : pair.a) before.a.push_back(a_.before.Find(one->name));
    for (const ModelTensor* one : pair.b) before.b.push_back(b_.before.Find(one->name));
    const auto there = [](const std::vector<const ModelTensor*>& all) {
      return std::find(all.begin(), all.end(), nullptr) == all.end();
    };
    if (!there(before.a) || !there(before.b)) return false;
    const Sameness sameness = Compare(before, {.transposes = true});
    return IsSame(sameness) || sameness == Sameness::kTruncated;
  }

  void Covered() {
    constexpr double kCovered = 0.9;
    const double covered = all_.aa / std::max(all_.aa + uncovered_, 1e-300);
    if (covered >= kCovered) return;
    AddMissing(context_, result_, "update_not_covered", b_.run->run.name, {{"share", FormatShort(100 * covered, 3)}});
  }

  double Limit(absl::string_view name) const { return context_.profile.threshold(std::string(name)); }

  // kPass, kWarn or kFail by the rule of the optimizer and type.
  v1::Severity SeverityOf(const Kind& kind) const {
    const double cosine = all_.cosine(), signs = all_.signs.share();
    const bool has_signs = all_.signs.places > 0;
    if (!kind.adaptive) {
      const double relative = all_.relative();
      const std::string suffix = kind.narrow ? "_narrow" : "";
      return relative <= Limit("update_relative_error_pass" + suffix) ? v1::SEVERITY_NOTE
             : relative <= Limit("update_relative_error" + suffix)    ? v1::SEVERITY_WARNING
                                                                      : v1::SEVERITY_ERROR;
    }
    const std::string suffix = kind.narrow ? "_narrow" : "";
    const auto within = [&](const std::string& level) {
      return 1 - cosine <= Limit("update_cosine_distance" + level + suffix) &&
             (!has_signs || signs <= Limit("update_signs" + level + suffix));
    };
    return within("_pass") ? v1::SEVERITY_NOTE : within("") ? v1::SEVERITY_WARNING : v1::SEVERITY_ERROR;
  }

  MessageArgs Args() const {
    return {
        {"run", b_.run->run.name},
        {"baseline", a_.run->run.name},
        {"cosine", FormatShort(all_.cosine(), 5)},
        {"relative", FormatShort(100 * all_.relative(), 3)},
        {"ratio", FormatShort(all_.ratio(), 4)},
        {"signs", all_.signs.places == 0 ? "not known" : absl::StrCat(FormatShort(100 * all_.signs.share(), 3), " %")}};
  }

  void Fill(v1::Finding& finding) const {
    SetFact(finding, "cosine", all_.cosine());
    SetFact(finding, "relative_l2", all_.relative());
    SetFact(finding, "ratio", all_.ratio());
    if (all_.signs.places > 0) SetFact(finding, "signs_differ", all_.signs.share());
    SetFact(finding, "tensors", static_cast<std::uint64_t>(pairs_.size()));
    for (const std::string& source : a_.after.sources) finding.add_evidence(source);
    for (const std::string& source : b_.after.sources) finding.add_evidence(source);
  }

  void Whole() {
    const Kind a = KindOf(context_, a_), b = KindOf(context_, b_);
    const Kind kind = {a.adaptive || b.adaptive, a.narrow || b.narrow};
    const double off = std::fabs(all_.ratio() - 1);
    // A vector that is longer by a factor alone points the same way.
    const bool other_size =
        off > Limit("update_size_ratio") && 1 - all_.cosine() <= Limit("update_cosine_distance_narrow");
    const v1::Severity severity = other_size ? v1::SEVERITY_ERROR : SeverityOf(kind);
    const absl::string_view id = other_size                      ? "update_size_differs"
                                 : severity == v1::SEVERITY_NOTE ? "measured/same_update"
                                 : kind.adaptive                 ? "update_direction_differs"
                                                                 : "update_direction_differs/relative";
    Fill(AddFinding(context_, result_, severity, id, b_.run->run.name, Args()));
  }

  // Single tensors that turn, though the whole does not: only those that matter and are known well enough.
  void Tensors() {
    constexpr double kShareOfUpdate = 0.01;
    constexpr std::size_t kPlaces = 64;
    for (const VectorPair& pair : pairs_) {
      if (pair.places < kPlaces || pair.aa < kShareOfUpdate * all_.aa) continue;
      if (1 - pair.cosine() <= Limit("update_cosine_distance_narrow")) continue;
      const bool turned = 1 - pair.cosine() > Limit("update_cosine_distance_tensor");
      v1::Finding& finding = AddFinding(context_, result_, turned ? v1::SEVERITY_ERROR : v1::SEVERITY_WARNING,
                                        "update_direction_differs/tensor", pair.name,
                                        {{"tensor", pair.name}, {"cosine", FormatShort(pair.cosine(), 3)}});
      SetFact(finding, "cosine", pair.cosine());
      SetFact(finding, "share_of_update", pair.aa / all_.aa);
    }
  }

  const CheckContext& context_;
  v1::CheckResult& result_;
  const StepChange& a_;
  const StepChange& b_;
  Direction all_;
  std::vector<VectorPair> pairs_;
  double uncovered_ = 0;
  int other_start_ = 0;
  std::string first_other_start_;
};

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const RunCheckpoints* reference = ReferenceCheckpoints(context);
  if (reference == nullptr) return;
  const std::optional<StepChange> baseline = FirstChange(context, result, *reference);
  for (const RunCheckpoints& run : CheckpointsOf(context, Side::kMigrated)) {
    const std::optional<StepChange> migrated = FirstChange(context, result, run);
    if (baseline.has_value() && migrated.has_value()) Judge(context, result, *baseline, *migrated).Run();
  }
}

}  // namespace

extern const Check kUpdateSame;
const Check kUpdateSame = {"first-step.update.same-update", kNeeds, &Evaluate};

}  // namespace paritect
