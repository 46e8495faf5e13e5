// first-step.update.same-update: is the weights' change in the first step that of the baseline?
// Source: MindSpore precision checklist, check 3. Judged on the update, not on the weights: after one step those are
// alike whatever was trained. Limits and what they were measured on: docs/thresholds.md.
#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "checks/finding_budget.h"
#include "checks/settings/derived.h"
#include "checks/settings/view.h"
#include "checks/weights/direction.h"
#include "checks/weights/gradient_noise.h"
#include "checks/weights/matching.h"
#include "checks/weights/step_change.h"
#include "checks/weights/tensor_comparison.h"
#include "common/numbers.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_WEIGHTS}};

// What the update of one run is measured by: rules differ by optimizer and type (docs/thresholds.md). nullopt: not
// known.
struct Kind {
  std::optional<bool> adaptive;  // Adam and its kin: the first step has one size everywhere
  std::optional<bool> narrow;    // computed or stored in 16 bits
};

// Of both runs together: the wider limits where either side has a claim to them.
std::optional<bool> Either(std::optional<bool> a, std::optional<bool> b) {
  if (a.value_or(false) || b.value_or(false)) return true;
  if (a.has_value() && b.has_value()) return false;
  return std::nullopt;
}

Kind KindOf(const CheckContext& context, const StepChange& change) {
  Kind kind;
  const SettingsView& view = SettingsView::Of(context, change.run->side, change.run->run);
  const std::string optimizer = absl::AsciiStrToLower(view.Text("optimizer").value_or(""));
  if (!optimizer.empty()) {
    kind.adaptive = !absl::StrContains(optimizer, "sgd") && !absl::StrContains(optimizer, "momentum");
  }
  const std::string dtype = ComputeTypeOf(view).dtype;
  const bool stored_wide =
      std::all_of(change.after.tensors.begin(), change.after.tensors.end(),
                  [](const ModelTensor& one) { return one.first().dtype() != "BF16" && one.first().dtype() != "F16"; });
  if (!stored_wide || !dtype.empty()) kind.narrow = !stored_wide || dtype != "float32";
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
    // What began as the same can still show a difference; it cannot show that there is none.
    if (other_start_ > 0) {
      AddMissing(context_, result_, "start_not_same", b_.run->run.name,
                 {{"count", absl::StrCat(other_start_)}, {"tensor", first_other_start_}});
      if (pairs_.empty()) return;
    }
    if (all_.aa == 0 && all_.bb == 0) return Unmeasured();
    Covered();
    if (Whole()) Tensors();
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
    const Sameness start = StartOf(pair);
    if (!IsSame(start) && start != Sameness::kTruncated) {
      if (other_start_++ == 0) first_other_start_ = pair.a[0]->name;
      return;
    }
    // Sketches and signs are place by place.
    if (!pair.one_to_one() || start == Sameness::kTransposed) return Uncomparable(pair, elsewhere_);
    const ModelTensor& a = *pair.a[0];
    const ModelTensor& b = *pair.b[0];
    // What stands still on one side is named by first-step.update.updated; here its update is 0.
    const Movement moves_a = MovementOf(a_, a), moves_b = MovementOf(b_, b);
    if (moves_a == Movement::kStill && moves_b == Movement::kStill) return;
    if (moves_a == Movement::kUnknown || moves_b == Movement::kUnknown) return Uncomparable(pair, unsketched_);
    const std::vector<double> u = UpdateSketch(a_, a), v = UpdateSketch(b_, b);
    const std::optional<SketchProducts> products = ProductsOf(u, v);
    const bool same_shape = std::equal(a.first().shape().begin(), a.first().shape().end(), b.first().shape().begin(),
                                       b.first().shape().end());
    const SignCount signs = CountSigns(a.first().sampled_signs(), b.first().sampled_signs());
    if (!same_shape) return Uncomparable(pair, elsewhere_);
    // The smallest have no sketch, and all their signs; or bytes that are the same before and after.
    if (!products.has_value() && start == Sameness::kSameBytes && Compare(pair) == Sameness::kSameBytes) {
      ++same_bytes_;
    } else if (!products.has_value() && signs.places == 0) {
      return Uncomparable(pair, unsketched_);
    }
    const SketchProducts known = products.value_or(SketchProducts());
    VectorPair vectors = {a.name, known.aa, known.ab, known.bb, known.places, signs, a.elements(), 1};
    const std::uint64_t with_signs = 4 * a.first().sampled_signs().size();
    const auto sampled = static_cast<double>(std::min<std::uint64_t>(a.elements(), with_signs));
    if (signs.places > 0) vectors.moved = std::min(1.0, static_cast<double>(signs.places) / sampled);
    all_.Add(vectors);
    ++compared_;
    if (moves_a == moves_b) pairs_.push_back(std::move(vectors));
  }

  struct Uncompared {
    int count = 0;
    std::string first;
  };

  void Uncomparable(const TensorPair& pair, Uncompared& of_its_kind) {
    if (of_its_kind.count++ == 0) of_its_kind.first = pair.a[0]->name;
    for (const ModelTensor* one : pair.a) {
      const std::optional<double> size = UpdateSize(a_, *one);
      uncovered_ += size.value_or(0) * size.value_or(0) * static_cast<double>(one->elements());
    }
  }

  Sameness StartOf(const TensorPair& pair) const {
    TensorPair before;
    for (const ModelTensor* one : pair.a) before.a.push_back(a_.before.Find(one->name));
    for (const ModelTensor* one : pair.b) before.b.push_back(b_.before.Find(one->name));
    const auto there = [](const std::vector<const ModelTensor*>& all) {
      return std::find(all.begin(), all.end(), nullptr) == all.end();
    };
    return there(before.a) && there(before.b) ? Compare(before) : Sameness::kUnknown;
  }

  // No tensor that moved has a sketch: how large its update was, and how alike the whole is, is not known.
  void Unmeasured() {
    const int others = elsewhere_.count + unsketched_.count;
    if (same_bytes_ > 0 && others == 0 && all_.signs.differ == 0 && same_bytes_ == compared_) {
      v1::Finding& finding = AddFinding(context_, result_, v1::SEVERITY_NOTE, "measured/same_update/bytes",
                                        b_.run->run.name, {{"count", absl::StrCat(same_bytes_)}});
      SetFact(finding, "tensors", static_cast<std::uint64_t>(same_bytes_));
    } else if (compared_ + others == 0) {
      AddMissing(context_, result_, "nothing_moved", b_.run->run.name,
                 {{"from", absl::StrCat(b_.from)}, {"to", absl::StrCat(b_.to)}});
    } else {
      AddMissing(context_, result_, "update_not_covered", b_.run->run.name, {{"share", "0"}});
    }
  }

  void Covered() {
    if (elsewhere_.count + unsketched_.count == 0) return;
    const double covered = all_.aa / std::max(all_.aa + uncovered_, 1e-300);
    if (covered < Limit("gradient_covered")) {
      AddMissing(context_, result_, "update_not_covered", b_.run->run.name, {{"share", FormatShort(100 * covered, 3)}});
      return;
    }
    Uncovered("update_not_covered/tensors", elsewhere_);
    Uncovered("update_not_covered/unsketched", unsketched_);
  }

  void Uncovered(absl::string_view id, const Uncompared& tensors) {
    if (tensors.count == 0) return;
    AddMissing(context_, result_, id, b_.run->run.name,
               {{"count", absl::StrCat(tensors.count)}, {"tensor", tensors.first}});
  }

  double Limit(absl::string_view name) const { return context_.profile.threshold(std::string(name)); }

  // NOTE, WARNING or ERROR by the rule of an optimizer and a type.
  v1::Severity SeverityOf(bool adaptive, bool narrow) const {
    const std::string suffix = narrow ? "_narrow" : "";
    if (!adaptive) {
      const double relative = all_.relative();
      return relative <= Limit("update_relative_error_pass" + suffix) ? v1::SEVERITY_NOTE
             : relative <= Limit("update_relative_error" + suffix)    ? v1::SEVERITY_WARNING
                                                                      : v1::SEVERITY_ERROR;
    }
    const double cosine = all_.cosine(), signs = all_.signs.share();
    const bool has_signs = all_.signs.places > 0;
    const auto within = [&](const std::string& level) {
      return 1 - cosine <= Limit("update_cosine_distance" + level + suffix) &&
             (!has_signs || signs <= Limit("update_signs" + level + suffix));
    };
    return within("_pass") ? v1::SEVERITY_NOTE : within("") ? v1::SEVERITY_WARNING : v1::SEVERITY_ERROR;
  }

  // Where the optimizer or the type is not known, what every rule says; nullopt: they disagree.
  std::optional<v1::Severity> Agreed(const Kind& kind) const {
    std::set<v1::Severity> verdicts;
    for (const bool adaptive : {false, true}) {
      for (const bool narrow : {false, true}) {
        if (kind.adaptive.value_or(adaptive) == adaptive && kind.narrow.value_or(narrow) == narrow) {
          verdicts.insert(SeverityOf(adaptive, narrow));
        }
      }
    }
    return verdicts.size() == 1 ? std::optional<v1::Severity>(*verdicts.begin()) : std::nullopt;
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

  // True: no error, so that single tensors are worth a look.
  bool Whole() {
    const Kind a = KindOf(context_, a_), b = KindOf(context_, b_);
    const Kind kind = {Either(a.adaptive, b.adaptive), Either(a.narrow, b.narrow)};
    const double off = std::fabs(all_.ratio() - 1);
    // A vector that is longer by a factor alone points the same way.
    const bool other_size =
        off > Limit("update_size_ratio") && 1 - all_.cosine() <= Limit("update_cosine_distance_narrow");
    const std::optional<v1::Severity> agreed = other_size ? v1::SEVERITY_ERROR : Agreed(kind);
    if (!agreed.has_value()) {
      AddMissing(context_, result_, "update_kind_unknown", b_.run->run.name, Args());
      return true;
    }
    const absl::string_view id = other_size                     ? "update_size_differs"
                                 : *agreed == v1::SEVERITY_NOTE ? "measured/same_update"
                                 : kind.adaptive.value_or(true) ? "update_direction_differs"
                                                                : "update_direction_differs/relative";
    v1::Finding& finding = AddFinding(context_, result_, *agreed, id, b_.run->run.name, Args());
    Fill(finding);
    return *agreed != v1::SEVERITY_ERROR;
  }

  enum class Turn { kNone, kDoubtful, kTurned };

  // By the sketch where it has many places, by the signs of all elements where they are few.
  Turn TurnOf(const VectorPair& pair) const {
    constexpr std::size_t kPlacesMin = 64;
    constexpr std::uint64_t kSignsMin = 8;
    Turn turn = Turn::kNone;
    if (pair.places >= kPlacesMin && 1 - pair.cosine() > Limit("update_cosine_distance_narrow")) {
      turn = 1 - pair.cosine() > Limit("update_cosine_distance_tensor") ? Turn::kTurned : Turn::kDoubtful;
    } else if (pair.signs.places >= kSignsMin && pair.signs.share() > Limit("tensor_signs_pass")) {
      turn = pair.signs.share() > Limit("tensor_signs") ? Turn::kTurned : Turn::kDoubtful;
    }
    return turn;
  }

  // Elements that one side updates and the other leaves. In fp32 under Adam every element with a gradient moves.
  void Part(const VectorPair& pair, bool may_be_noise, FindingBudget& budget) {
    constexpr std::uint64_t kAloneMin = 8;
    const std::uint64_t all = pair.signs.places + pair.signs.alone;
    const double share = static_cast<double>(pair.signs.alone) / static_cast<double>(std::max<std::uint64_t>(all, 1));
    if (pair.signs.alone < kAloneMin || share <= Limit("update_alone")) return;
    v1::Finding* finding =
        budget.Add(may_be_noise ? v1::SEVERITY_WARNING : v1::SEVERITY_ERROR, "update_direction_differs/part", pair.name,
                   {{"alone", absl::StrCat(pair.signs.alone)}, {"all", absl::StrCat(all)}});
    if (finding != nullptr) SetFact(*finding, "updated_on_one_side", share);
  }

  // Single tensors that turn or have another size, though the whole does not.
  void Tensors() {
    const Kind a = KindOf(context_, a_), b = KindOf(context_, b_);
    const Kind kind = {Either(a.adaptive, b.adaptive), Either(a.narrow, b.narrow)};
    const GradientNoise noise(context_, b_.run->run.name, pairs_);
    const GradientNoise::Optimizer optimizer = {kind.adaptive.value_or(true), kind.narrow.value_or(true)};
    FindingBudget budget(context_, result_, kTensorsShown);
    for (const VectorPair& pair : pairs_) {
      if (kind.adaptive == true && kind.narrow == false) Part(pair, noise.MayBeNoise(pair, optimizer), budget);
      const Turn turn = TurnOf(pair);
      const double off = std::fabs(pair.ratio() - 1);
      const bool other_size = turn == Turn::kNone && pair.places >= kPlacesOfSize && off > Limit("update_size_ratio") &&
                              1 - pair.cosine() <= Limit("update_cosine_distance_pass_narrow");
      if (turn == Turn::kNone && !other_size) continue;
      const bool sure = (turn == Turn::kTurned || other_size) && !noise.MayBeNoise(pair, optimizer);
      const MessageArgs args = {{"tensor", pair.name},
                                {"cosine", pair.places == 0 ? "not known" : FormatShort(pair.cosine(), 3)},
                                {"ratio", FormatShort(pair.ratio(), 4)},
                                {"differ", absl::StrCat(pair.signs.differ)},
                                {"signs", absl::StrCat(pair.signs.places)}};
      v1::Finding* finding =
          budget.Add(sure ? v1::SEVERITY_ERROR : v1::SEVERITY_WARNING,
                     other_size ? "update_size_differs/tensor" : "update_direction_differs/tensor", pair.name, args);
      if (finding == nullptr) continue;
      SetFact(*finding, "cosine", pair.cosine());
      SetFact(*finding, "ratio", pair.ratio());
      SetFact(*finding, "signs_differ", pair.signs.share());
      SetFact(*finding, "share_of_update", pair.aa / all_.aa);
    }
    budget.Finish();
  }

  static constexpr int kTensorsShown = 20;
  static constexpr std::size_t kPlacesOfSize = 8;  // one draw of signs on both sides: the ratio is known sooner

  const CheckContext& context_;
  v1::CheckResult& result_;
  const StepChange& a_;
  const StepChange& b_;
  Direction all_;
  std::vector<VectorPair> pairs_;
  double uncovered_ = 0;
  int compared_ = 0;
  int same_bytes_ = 0;    // of these: without a sketch, and the same before and after
  Uncompared elsewhere_;  // in another layout or in other parts
  Uncompared unsketched_;
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
