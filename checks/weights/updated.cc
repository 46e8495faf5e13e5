// first-step.update.updated: did every trainable parameter change between the checkpoints before and after a step?
// Source: MindSpore precision checklist, check 3. A tensor may stand still for reasons that are no fault: a rate of 0,
// a skipped step, frozen on both sides, an update below the type's resolution (docs/thresholds.md).
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "checks/finding_budget.h"
#include "checks/weights/finite.h"
#include "checks/weights/matching.h"
#include "checks/weights/step_change.h"
#include "common/numbers.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_WEIGHTS}};

class Judge {
 public:
  Judge(const CheckContext& context, v1::CheckResult& result)
      : context_(context), result_(result), budget_(context, result) {}
  ~Judge() { budget_.Finish(); }

  void Run(const std::optional<StepChange>& baseline, const StepChange& migrated) {
    migrated_ = &migrated;
    if (Gated(migrated)) return;
    const bool comparable = baseline.has_value() && !Gated(*baseline);
    if (comparable) baseline_ = &*baseline;
    if (comparable) match_ = MatchModels(context_, baseline->after, migrated.after);
    int still = 0, moved = 0;
    for (const ModelTensor& tensor : migrated.after.tensors) {
      if (tensor.role != v1::TENSOR_ROLE_PARAMETER) continue;
      const Movement movement = MovementOf(migrated, tensor);
      moved += movement == Movement::kMoved ? 1 : 0;
      still += movement == Movement::kStill ? 1 : 0;
      if (movement == Movement::kStill) Still(tensor);
      if (movement == Movement::kMoved) Moved(tensor);
      if (movement == Movement::kUnknown) AddMissing(context_, result_, "tensor_not_compared", tensor.name);
    }
    v1::Finding& note =
        AddNote(context_, result_, "measured/updated", migrated.run->run.name,
                {{"moved", absl::StrCat(moved)}, {"still", absl::StrCat(still)}, {"frozen", absl::StrCat(frozen_)}});
    SetFact(note, "moved", moved);
    SetFact(note, "still", still);
    SetFact(note, "frozen_on_both_sides", frozen_);
    // Everything stands still on both sides: nothing was trained in this step, whatever the reason.
    if (moved == 0 && frozen_ == still) {
      AddMissing(context_, result_, "nothing_moved", migrated.run->run.name,
                 {{"from", absl::StrCat(migrated.from)}, {"to", absl::StrCat(migrated.to)}});
    }
  }

 private:
  // A step that had to change nothing proves nothing.
  bool Gated(const StepChange& change) {
    if (change.gate == StepGate::kOpen) return false;
    AddMissing(context_, result_, change.gate == StepGate::kSkipped ? "step_was_skipped" : "step_at_rate_zero",
               change.run->run.name,
               {{"run", change.run->run.name}, {"step", absl::StrCat(change.to)}, {"where", change.gate_where}});
    return true;
  }

  const ModelTensor* PartnerOf(const ModelTensor& tensor) const {
    for (const TensorPair& pair : match_.pairs) {
      if (std::find(pair.b.begin(), pair.b.end(), &tensor) != pair.b.end()) return pair.a.front();
    }
    return nullptr;
  }

  void Still(const ModelTensor& tensor) {
    const ModelTensor* partner = baseline_ == nullptr ? nullptr : PartnerOf(tensor);
    const Movement other = partner == nullptr ? Movement::kUnknown : MovementOf(*baseline_, *partner);
    MessageArgs args = {{"tensor", tensor.name},
                        {"from", absl::StrCat(migrated_->from)},
                        {"to", absl::StrCat(migrated_->to)},
                        {"dtype", tensor.first().dtype()}};
    if (other == Movement::kStill) {
      ++frozen_;
      return;
    }
    if (LostInRounding(tensor, partner, args)) return;
    if (other == Movement::kUnknown) {
      AddMissing(context_, result_, "still_without_partner", tensor.name, args);
      return;
    }
    v1::Finding* finding = budget_.Add(v1::SEVERITY_ERROR, "not_updated", tensor.name, args);
    if (finding == nullptr) return;
    SetFact(*finding, "baseline_name", partner->name);
    if (const std::optional<double> size = UpdateSize(*baseline_, *partner))
      SetFact(*finding, "baseline_update", *size);
    for (const std::string& source : migrated_->after.sources) finding->add_evidence(source);
  }

  // Frozen in the baseline and trained here: another training.
  void Moved(const ModelTensor& tensor) {
    const ModelTensor* partner = baseline_ == nullptr ? nullptr : PartnerOf(tensor);
    if (partner == nullptr || MovementOf(*baseline_, *partner) != Movement::kStill) return;
    const std::optional<double> size = UpdateSize(*migrated_, tensor);
    const double limit = RoundingLimit(partner->first());
    if (limit > 0 && (!size.has_value() || *size <= limit)) return;  // the baseline's may be lost in rounding
    v1::Finding* finding = budget_.Add(v1::SEVERITY_ERROR, "updated_alone", tensor.name,
                                       {{"tensor", tensor.name},
                                        {"from", absl::StrCat(migrated_->from)},
                                        {"to", absl::StrCat(migrated_->to)}});
    if (finding == nullptr) return;
    SetFact(*finding, "baseline_name", partner->name);
    for (const std::string& source : migrated_->after.sources) finding->add_evidence(source);
  }

  // The update is no larger than half a step of the stored type: it is computed, and rounds to the old value.
  bool LostInRounding(const ModelTensor& tensor, const ModelTensor* partner, MessageArgs args) {
    const double limit = RoundingLimit(tensor.first());
    if (limit == 0) return false;
    std::optional<double> size = partner == nullptr ? std::nullopt : UpdateSize(*baseline_, *partner);
    if (!size.has_value()) size = migrated_->rate;
    if (!size.has_value() || *size > limit) return false;
    args.emplace_back("size", FormatShort(*size));
    args.emplace_back("limit", FormatShort(limit));
    v1::Finding* finding = budget_.Add(v1::SEVERITY_WARNING, "update_lost_in_rounding", tensor.name, args);
    if (finding != nullptr) {
      SetFact(*finding, "update", *size);
      SetFact(*finding, "half_step_of_type", limit);
    }
    return true;
  }

  const CheckContext& context_;
  v1::CheckResult& result_;
  FindingBudget budget_;
  const StepChange* baseline_ = nullptr;
  const StepChange* migrated_ = nullptr;
  ModelMatch match_;
  int frozen_ = 0;
};

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  const RunCheckpoints* reference = ReferenceCheckpoints(context);
  std::optional<StepChange> baseline;
  if (reference != nullptr) baseline = FirstChange(context, result, *reference);
  if (baseline.has_value()) ReportNotFinite(context, result, baseline->after);
  for (const RunCheckpoints& run : CheckpointsOf(context, Side::kMigrated)) {
    const std::optional<StepChange> migrated = FirstChange(context, result, run);
    if (!migrated.has_value()) continue;
    ReportNotFinite(context, result, migrated->after);
    Judge(context, result).Run(baseline, *migrated);
  }
}

}  // namespace

extern const Check kUpdateUpdated;
const Check kUpdateUpdated = {"first-step.update.updated", kNeeds, &Evaluate};

}  // namespace paritect
