#include "formats/logs/machinery/series_table.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

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

SeriesTable::Series& SeriesTable::SeriesOf(absl::string_view tag) {
  // Writers give the tags of a step in the same order each time.
  const std::size_t guess = series_.empty() ? 0 : (last_used_ + 1) % series_.size();
  if (guess < series_.size() && *series_[guess].name == tag) {
    last_used_ = guess;
    return series_[guess];
  }
  auto [found, fresh] = index_.try_emplace(std::string(tag), series_.size());
  if (fresh) {
    series_.emplace_back();
    series_.back().name = std::make_shared<const std::string>(tag);
    series_.back().key = LookUpLogKey(tag);
  }
  last_used_ = found->second;
  return series_[last_used_];
}

bool SeriesTable::Add(std::int64_t step, absl::string_view tag, double value) {
  Series& series = SeriesOf(tag);
  const bool back = step < series.last_step;
  series.last_step = step;
  if (values_ >= kValuesMax) {
    full_ = true;
    return back;
  }
  if (!series.points.empty() && step <= series.points.back().step) {
    if (step == series.points.back().step) {
      series.points.back().value = value;
      return back;
    }
    series.sorted = false;
  }
  series.points.push_back({step, value});
  ++values_;
  return back;
}

namespace {

// Keras: "evaluation_loss_vs_iterations"
bool OverIterations(absl::string_view name) {
  return absl::StartsWith(name, "evaluation_") && absl::EndsWith(name, "_vs_iterations");
}

}  // namespace

void SeriesTable::DropFrom(std::int64_t step) {
  for (Series& series : series_) {
    const std::size_t before = series.points.size();
    std::erase_if(series.points, [&](const Point& point) { return point.step >= step; });
    values_ -= before - series.points.size();
    series.last_step = std::min(series.last_step, step);
  }
}

// By step; of several points at one step the last that came.
void SeriesTable::Sort(Series& series) {
  series.next = 0;
  if (series.sorted) return;
  std::stable_sort(series.points.begin(), series.points.end(),
                   [](const Point& a, const Point& b) { return a.step < b.step; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    if (kept > 0 && series.points[kept - 1].step == series.points[i].step) --kept;
    series.points[kept++] = series.points[i];
  }
  series.points.resize(kept);
  series.sorted = true;
}

// The surest name of a training loss; a lone other loss counts, several do not.
int SeriesTable::ChooseLoss() const {
  int best = -1;
  int other = -1;
  int others = 0;
  LogField best_field = LogField::kOtherLoss;
  for (std::size_t i = 0; i < series_.size(); ++i) {
    const LogField field = series_[i].key.field;
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

// `present`: the series that have a point at `step`, in the order in which their tags came.
void SeriesTable::AddRow(std::int64_t step, const std::vector<std::size_t>& present, int loss, bool evaluation,
                         RunLogBuilder& out) {
  FieldCollector fields;
  StepValues& values = fields.record().values;
  values.mutable_metrics().Reserve(present.size());
  for (const std::size_t id : present) {
    const Series& series = series_[id];
    const double value = series.points[series.next - 1].value;
    const LogField field = series.key.field;
    if (static_cast<int>(id) == loss) {
      evaluation ? values.set_eval_loss(value) : values.set_loss(value);
    } else if (field != LogField::kOther && field != LogField::kOtherLoss && !IsTrainingLoss(field) &&
               field != LogField::kStep) {
      fields.Add(series.key, NumberOf(value));
    }
    if (series.key.summed && loss < 0 && !evaluation) values.set_loss_of_parts(true);
    values.mutable_metrics().Set(series.name, value);
  }
  LogRecord record = std::move(fields.record());
  // Beside a training loss an accuracy is that of training batches, unless it is named after an evaluation.
  record.values.set_accuracy_of_training(record.values.has_accuracy() && !fields.has_evaluation() && !evaluation &&
                                         record.values.has_loss());
  record.has_step = true;
  record.values.set_step(step);
  out.Add(std::move(record));
}

void SeriesTable::Finish(RunLogBuilder& out) {
  const int loss = ChooseLoss();
  bool evaluation = false;
  bool epochs = false;
  using Next = std::pair<std::int64_t, std::size_t>;  // step, series
  std::priority_queue<Next, std::vector<Next>, std::greater<>> queue;
  for (std::size_t i = 0; i < series_.size(); ++i) {
    Series& series = series_[i];
    const std::string& name = *series.name;
    evaluation = evaluation || OverIterations(name);
    epochs = epochs || absl::StartsWith(name, "epoch_");
    Sort(series);
  }
  for (std::size_t i = 0; i < series_.size(); ++i) {
    Series& series = series_[i];
    // Keras writes an evaluation twice, over epochs and over iterations: one axis counts, the other stays a metric.
    if (evaluation && epochs && OverIterations(*series.name)) series.key.field = LogField::kOther;
    if (!series.points.empty()) queue.emplace(series.points[0].step, i);
  }
  std::vector<std::size_t> present;
  while (!queue.empty()) {
    const std::int64_t step = queue.top().first;
    present.clear();
    while (!queue.empty() && queue.top().first == step) {
      const std::size_t id = queue.top().second;
      queue.pop();
      present.push_back(id);
      Series& series = series_[id];
      ++series.next;
      if (series.next < series.points.size()) queue.emplace(series.points[series.next].step, id);
    }
    AddRow(step, present, loss, evaluation, out);
  }
  if (full_) out.AddNote("too_many_values", 0, absl::StrCat("more than ", kValuesMax, " values; the rest is left out"));
  for (Series& series : series_) series.points.clear();
  values_ = 0;
}

}  // namespace paritect
