#include "formats/logs/series_table.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/logs/field_names.h"

namespace paritect {
namespace {

constexpr std::size_t kValuesMax = 20'000'000;

LogNumber NumberOf(double value) {
  LogNumber number;
  number.kind = LogNumber::Kind::kValue;
  number.value = value;
  return number;
}

}  // namespace

int SeriesTable::TagId(absl::string_view tag) {
  auto [found, fresh] = tags_.try_emplace(std::string(tag), static_cast<int>(names_.size()));
  if (fresh) names_.emplace_back(tag);
  return found->second;
}

void SeriesTable::Add(std::int64_t step, absl::string_view tag, double value) {
  if (values_ >= kValuesMax) {
    full_ = true;
    return;
  }
  auto [found, fresh] = rows_[step].insert_or_assign(TagId(tag), value);
  (void)found;
  ++(fresh ? values_ : replaced_);
}

// The surest name of a training loss; a lone other loss counts, several do not.
int SeriesTable::ChooseLoss() const {
  int best = -1;
  int other = -1;
  int others = 0;
  LogField best_field = LogField::kOtherLoss;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const LogField field = ClassifyLogKey(names_[i]);
    if (field == LogField::kOtherLoss) {
      ++others;
      other = static_cast<int>(i);
    } else if (IsTrainingLoss(field) && field < best_field) {
      best_field = field;
      best = static_cast<int>(i);
    }
  }
  return best >= 0 ? best : others == 1 ? other : -1;
}

LogRecord SeriesTable::ToRecord(std::int64_t step, const std::map<int, double>& values, int loss,
                                bool evaluation) const {
  FieldCollector fields;
  for (const auto& [id, value] : values) {
    const std::string& name = names_[static_cast<std::size_t>(id)];
    const LogField field = ClassifyLogKey(name);
    StepValues& record = fields.record().values;
    if (id == loss) {
      evaluation ? record.set_eval_loss(value) : record.set_loss(value);
    } else if (field != LogField::kOther && field != LogField::kOtherLoss && !IsTrainingLoss(field) &&
               field != LogField::kStep) {
      fields.Add(name, NumberOf(value));
    }
    record.mutable_metrics().Set(name, value);
  }
  LogRecord record = std::move(fields.record());
  record.has_step = true;
  record.values.set_step(step);
  return record;
}

void SeriesTable::Finish(RunLogBuilder& out) {
  const int loss = ChooseLoss();
  bool evaluation = false;
  for (const std::string& name : names_) {
    evaluation = evaluation || (absl::StartsWith(name, "evaluation_") && absl::EndsWith(name, "_vs_iterations"));
  }
  for (const auto& [step, values] : rows_) out.Add(ToRecord(step, values, loss, evaluation));
  if (full_) out.AddNote("too_many_values", 0, absl::StrCat("more than ", kValuesMax, " values; the rest is left out"));
  rows_.clear();
  values_ = 0;
}

}  // namespace paritect
