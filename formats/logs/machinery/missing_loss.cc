#include "formats/logs/machinery/missing_loss.h"

#include <algorithm>

#include "formats/logs/machinery/log_keys.h"

namespace paritect {
namespace {

constexpr int kRow = 5;
constexpr std::size_t kFormsMax = 64;
constexpr std::size_t kLeadingMax = 4;
constexpr std::size_t kStretchMax = 10'000;  // records that can be taken back

// What a training step gives beside its loss.
bool HasOtherValues(const StepValues& record) {
  return record.has_lr() || record.has_grad_norm() || record.has_loss_scale();
}

// How many of the names are none of a loss.
std::size_t CountOthers(const std::vector<MetricName>& names) {
  return static_cast<std::size_t>(std::count_if(names.begin(), names.end(), [](const MetricName& name) {
    const LogField field = ClassifyLogKey(*name);
    return !IsTrainingLoss(field) && field != LogField::kOtherLoss && field != LogField::kLossTerm;
  }));
}

// Told by itself, or left out because the step was.
bool IsExcused(const StepValues& record) {
  return record.loss_absent() || record.skipped() > 0 || record.overflow() || record.step_unknown();
}

bool HasAll(const std::vector<MetricName>& known, const Metrics& metrics) {
  return std::all_of(metrics.entries().begin(), metrics.entries().end(), [&](const Metrics::Entry& entry) {
    return std::any_of(known.begin(), known.end(),
                       [&](const MetricName& name) { return name == entry.first || *name == *entry.first; });
  });
}

}  // namespace

MissingLoss::Form* MissingLoss::Find(const Writer& writer, const StepValues& record) {
  const std::uint16_t fields = record.fields_beside_loss();
  const auto is = [&](const Form& form) { return form.fields == fields && form.writer == writer; };
  if (last_ < forms_.size() && is(forms_[last_])) return &forms_[last_];
  const auto found = std::find_if(forms_.begin(), forms_.end(), is);
  last_ = static_cast<std::size_t>(found - forms_.begin());
  if (found != forms_.end()) return &*found;
  if (forms_.size() == kFormsMax) return nullptr;
  Form& form = forms_.emplace_back();
  form.writer = writer;
  form.fields = fields;
  return &form;
}

void MissingLoss::WithLoss(Form& form, const StepValues& record, Change& change) {
  if (form.row == 0) {
    for (const Metrics::Entry& entry : record.metrics().entries()) {
      if (form.metrics.size() < kStretchMax) form.metrics.push_back(entry.first);
    }
    std::sort(form.metrics.begin(), form.metrics.end());
    form.metrics.erase(std::unique(form.metrics.begin(), form.metrics.end()), form.metrics.end());
  }
  if (form.row < kRow && ++form.row < kRow) return;
  form.carries = true;
  if (form.open.empty()) return;
  if (!form.lost && form.open.size() <= kLeadingMax) change.lost = form.open;
  form.open.clear();
  form.lost = false;
}

void MissingLoss::WithoutLoss(Form& form, std::size_t at, StepValues& record, Change& change) {
  const bool leads = !form.carries && form.row == 0;
  const bool begins = form.row >= kRow;
  const bool goes_on = form.lost && form.row == 0;
  const bool now_and_then = !leads && !begins && !goes_on;
  if (begins || goes_on) {
    record.set_loss_absent(true);
    form.lost = true;
  }
  if (now_and_then) {
    if (form.lost) change.found = form.open;
    form.open.clear();
    form.lost = false;
  } else if (form.open.size() < (leads ? kLeadingMax + 1 : kStretchMax)) {
    form.open.push_back({at, record.line()});
  }
  form.row = 0;
}

MissingLoss::Change MissingLoss::Look(const Writer& writer, std::size_t at, StepValues& record) {
  Change change;
  const bool step = HasOtherValues(record);
  if ((!step && record.metrics().empty()) || IsExcused(record)) return change;
  Form* form = Find(writer, record);
  if (form == nullptr) return change;
  if (record.has_loss()) {
    WithLoss(*form, record, change);
    return change;
  }
  const bool of_form = HasAll(form->metrics, record.metrics());
  const bool whole = of_form && record.metrics().entries().size() >= CountOthers(form->metrics);
  if (form->carries ? of_form && (step || whole) : step) WithoutLoss(*form, at, record, change);
  return change;
}

void MissingLoss::Forget() {
  for (Form& form : forms_) form.open.clear();
}

}  // namespace paritect
