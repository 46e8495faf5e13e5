#include "formats/logs/machinery/step_values.h"

#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace paritect {
namespace {

constexpr std::size_t kFewNames = 16;

bool Same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

}  // namespace

const double* Metrics::Find(absl::string_view name) const {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (*entry->first == name) return &entry->second;
  }
  return nullptr;
}

// Adds what `from` has and this one lacks; false, changing nothing, where both have a name with different values.
bool Metrics::Fold(const Metrics& from) {
  if (from.empty()) return true;
  absl::flat_hash_map<absl::string_view, double> index;  // where a search for each name would take too long
  if (entries_.size() > kFewNames) {
    for (const auto& [name, value] : entries_) index.insert_or_assign(*name, value);
  }
  std::vector<const Entry*> fresh;
  for (const Entry& entry : from.entries_) {
    const double* found = nullptr;
    if (entries_.size() <= kFewNames) {
      found = Find(*entry.first);
    } else if (auto it = index.find(*entry.first); it != index.end()) {
      found = &it->second;
    }
    if (found == nullptr) {
      fresh.push_back(&entry);
    } else if (!Same(*found, entry.second)) {
      return false;
    }
  }
  for (const Entry* entry : fresh) entries_.push_back(*entry);
  return true;
}

void StepValues::ToProto(v1::StepRecord& record) const {
  record.set_step(step_);
  record.set_line(line_);
#define F(name) \
  if (has_##name()) record.set_##name(name##_);
  F(epoch)
  F(loss)
  F(lr)
  F(grad_norm)
  F(loss_scale)
  F(skipped)
  F(eval_loss)
  F(samples)
  F(accuracy)
  F(loss_resolution)
  F(rank)
  F(overflow)
#undef F
  if (has_engine()) record.set_engine(absl::StrCat(engine_));
  record.set_loss_absent(loss_absent_);
  record.set_step_unknown(step_unknown_);
  record.set_overflow_applied(overflow_applied_);
  record.set_accuracy_of_training(accuracy_of_training_);
  record.set_accuracy_in_points(accuracy_in_points_);
  for (const auto& [name, value] : metrics_.entries()) (*record.mutable_metrics())[*name] = value;
}

#define PARITECT_FOLD_FIELDS(F) \
  F(epoch) F(loss) F(lr) F(grad_norm) F(loss_scale) F(overflow) F(skipped) F(eval_loss) F(samples)

bool FoldRecord(const StepValues& from, StepValues& into) {
#define F(f)                                                                                                   \
  if (from.has_##f() && into.has_##f() && !Same(static_cast<double>(from.f()), static_cast<double>(into.f()))) \
    return false;
  PARITECT_FOLD_FIELDS(F)
#undef F
  const bool both_accuracies = from.has_accuracy() && into.has_accuracy();
  if (both_accuracies && from.accuracy_of_training() == into.accuracy_of_training() &&
      !Same(from.accuracy(), into.accuracy())) {
    return false;
  }
  if (!into.mutable_metrics().Fold(from.metrics())) return false;
#define F(f) \
  if (from.has_##f()) into.set_##f(from.f());
  PARITECT_FOLD_FIELDS(F)
#undef F
  // The accuracy of a validation beats that of the training batch.
  if (from.has_accuracy() && (!into.has_accuracy() || into.accuracy_of_training())) {
    into.set_accuracy(from.accuracy());
    into.set_accuracy_of_training(from.accuracy_of_training());
    into.set_accuracy_in_points(from.accuracy_in_points());
  }
  if (from.has_loss_resolution()) into.set_loss_resolution(from.loss_resolution());
  into.set_loss_absent((into.loss_absent() || from.loss_absent()) && !into.has_loss());
  into.set_loss_of_parts(into.loss_of_parts() || (from.loss_of_parts() && !into.has_loss()));
  into.set_overflow_applied(into.overflow_applied() || from.overflow_applied());
  return true;
}

}  // namespace paritect
