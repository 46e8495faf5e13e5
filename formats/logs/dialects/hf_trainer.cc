// Hugging Face Trainer: what `ProgressCallback` prints, a Python dict a logging step, without the step.
//   {'loss': 2.4977, 'grad_norm': 11.009, 'learning_rate': 5.77e-07, 'epoch': 0.0}
// Values may be strings ('2.498'), and the dict is often glued to a progress bar. The step: the bar's where bars
// stand between the dicts, else from the printed epoch and the banner, else the order of the dicts.
// Source: huggingface/transformers src/transformers/trainer_callback.py.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/json_fields.h"

namespace paritect {
namespace {

std::size_t FindDict(absl::string_view line) {
  std::size_t at = line.find("{'");
  while (at != absl::string_view::npos) {
    const absl::string_view rest = line.substr(at);
    const bool trainer = absl::StartsWith(rest, "{'loss'") || absl::StartsWith(rest, "{'eval_") ||
                         absl::StartsWith(rest, "{'train_") ||
                         (absl::StrContains(rest, "'epoch':") &&
                          (absl::StrContains(rest, "loss'") || absl::StrContains(rest, "'grad_norm':")));
    if (trainer) return at;
    at = line.find("{'", at + 2);
  }
  return at;
}

bool IsTrainerLine(absl::string_view line) {
  const std::size_t at = FindDict(line);
  if (at == absl::string_view::npos) return false;
  bool epoch = false;
  bool telling = false;
  const std::size_t length = ForEachJsonField(line.substr(at), [&](absl::string_view path, absl::string_view) {
    epoch = epoch || path == "epoch";
    telling = telling || path == "loss" || path == "learning_rate" || path == "train_runtime" || path == "eval_runtime";
  });
  return length > 0 && epoch && telling;
}

class HfStdoutDialect : public LineDialect {
 public:
  bool Line(const LogLine& line, RunLogBuilder& out) override {
    Bar(line.text);
    const std::size_t at = FindDict(line.text);
    if (at != absl::string_view::npos) return Dict(line, line.text.substr(at), out);
    Banner(line);
    return false;
  }

  void StepTold(std::int64_t step) override { told_step_ = step; }

  void Finish(RunLogBuilder& out) override {
    AssignSteps(out);
    if (banner_total_ > 0) out.TotalSteps(banner_total_);
  }

 private:
  // " 66%|###   | 890/1352 [05:32<01:07, ...]"
  void Bar(absl::string_view line) {
    const std::size_t percent = line.find("%|");
    if (percent == absl::string_view::npos) return;
    const std::size_t bar = line.find("| ", percent + 2);
    if (bar == absl::string_view::npos) return;
    const LogNumber done = ReadLogNumber(line.substr(bar + 2));
    const std::size_t slash = line.find('/', bar);
    if (done.kind != LogNumber::Kind::kValue || slash == absl::string_view::npos) return;
    const LogNumber total = ReadLogNumber(line.substr(slash + 1));
    if (total.kind != LogNumber::Kind::kValue) return;
    // An evaluation has a bar of its own, with another total.
    if (banner_total_ > 0 && static_cast<std::int64_t>(total.value) != banner_total_) return;
    bar_step_ = static_cast<std::int64_t>(done.value);
    bar_total_ = static_cast<std::int64_t>(total.value);
  }

  bool Dict(const LogLine& line, absl::string_view text, RunLogBuilder& out) {
    FieldCollector fields;
    fields.SetLine(line.number);
    bool end = false;
    const std::size_t length = ForEachJsonField(text, [&](absl::string_view path, absl::string_view value) {
      end = end || path == "train_runtime";
      if (absl::EndsWith(path, "_runtime") || absl::EndsWith(path, "per_second")) return;
      fields.Add(path, ReadLogNumber(value));
    });
    if (length == 0) {
      out.Unparsed(line.number, "a dict that is not whole");
      return true;
    }
    if (end) {
      out.End(v1::RunEnd::STATE_FINISHED, "train_runtime", line.number);
      return true;
    }
    out.set_interval_means();
    fields.Finish(out);
    LogRecord& record = fields.record();
    if (line.rank && !record.values.has_rank()) record.values.set_rank(*line.rank);
    // A step whose loss is left out gives its norm and rate all the same.
    const bool is_step = record.values.has_grad_norm() && record.values.has_lr() && !fields.has_evaluation();
    const bool is_eval = !record.values.has_loss() && !record.values.loss_absent() && !is_step;
    if (is_eval && record.values.has_eval_loss() && AttachEval(record, out)) return true;
    // Lines alike are of other steps, until Finish finds that several ranks print each: their places keep them apart.
    const bool needs_step = !record.has_step;
    if (needs_step) record.values.set_step(is_eval ? place_ : ++place_);
    // Add may fold the record into one that stands already: then there is no entry of its own to give a step.
    const std::size_t index = out.size();
    out.Add(std::move(record));
    if (!needs_step || out.size() == index) return true;
    const DictAt dict = {index, bar_step_, bar_total_ > 0 ? 0 : told_step_, is_eval};
    if (out.is_live()) {
      AssignNow(dict, out);
    } else {
      dicts_.push_back(dict);
    }
    return true;
  }

  // An evaluation belongs to the training step whose dict stands before it with the same epoch.
  static bool AttachEval(const LogRecord& eval, RunLogBuilder& out) {
    LogRecord* last = out.last();
    if (last == nullptr || !last->values.has_loss() || last->values.has_eval_loss()) return false;
    if (std::fabs(last->values.epoch() - eval.values.epoch()) > 1e-9) return false;
    return FoldRecord(eval.values, last->values);
  }

  void Banner(const LogLine& line) {
    static constexpr absl::string_view kKeys[] = {"Num examples",
                                                  "Num Epochs",
                                                  "Instantaneous batch size per device",
                                                  "Total train batch size (w. parallel, distributed & accumulation)",
                                                  "Gradient Accumulation steps",
                                                  "Total optimization steps",
                                                  "Number of trainable parameters"};
    std::size_t equals = line.text.find("= ");
    if (equals == absl::string_view::npos || equals == 0 || line.text[equals - 1] != ' ') return;
    --equals;
    for (absl::string_view key : kKeys) {
      if (!absl::EndsWith(line.text.substr(0, equals), key)) continue;
      const LogNumber number = ReadLogNumber(line.text.substr(equals + 3));
      if (number.kind != LogNumber::Kind::kValue) return;
      if (key == kKeys[0]) examples_ = number.value;
      if (key == kKeys[3]) batch_ = number.value;
      if (key == kKeys[5]) banner_total_ = static_cast<std::int64_t>(number.value);
      return;
    }
  }

  struct DictAt {
    std::size_t index;
    std::int64_t bar;
    std::int64_t told;  // the step of another dialect's counter before it
    bool is_eval;
    bool copy = false;  // another rank's print of the one before
  };

  // What AssignSteps would say, as far as the log told so far.
  void AssignNow(const DictAt& dict, RunLogBuilder& out) {
    LogRecord& entry = out.entries()[dict.index];
    if (!dict.is_eval) {
      const double epoch = entry.values.epoch();
      const bool by_epoch = examples_ > 0 && batch_ > 0 && epoch > 0;
      live_step_ = dict.bar > live_step_ ? dict.bar
                   : by_epoch            ? std::llround(epoch * std::ceil(examples_ / batch_))
                                         : live_step_ + 1;
    }
    entry.has_step = true;
    entry.values.set_step(live_step_);
  }

  // The dicts of training steps, copies left out.
  std::vector<const DictAt*> Steps() const {
    std::vector<const DictAt*> steps;
    for (const DictAt& dict : dicts_) {
      if (!dict.is_eval && !dict.copy) steps.push_back(&dict);
    }
    return steps;
  }

  static bool BarsGrow(const std::vector<const DictAt*>& steps) {
    std::int64_t last = 0;
    for (const DictAt* dict : steps) {
      if (dict->bar <= last) return false;
      last = dict->bar;
    }
    return last > 0;
  }

  // A counter tells the step where it is printed as often as the dicts are, or each step.
  static bool CounterTells(const std::vector<const DictAt*>& steps) {
    std::int64_t stride = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::int64_t gap = steps[i]->told - (i > 0 ? steps[i - 1]->told : 0);
      if (gap <= 0 || (i > 1 && gap != stride)) return false;
      stride = gap;
    }
    return steps.size() > 1;
  }

  // Ranks that print each dict once more, without their names: every dict stands there as often as there are ranks.
  // Where the values themselves stand still, lines alike are steps alike.
  void FindCopies(RunLogBuilder& out) {
    constexpr std::size_t kRunsMin = 3;
    std::size_t common = 0;
    std::size_t length = 0;
    std::size_t runs = 0;
    std::size_t moves = 0;
    const DictAt* before = nullptr;
    for (DictAt& dict : dicts_) {
      if (dict.is_eval || dict.index >= out.size()) continue;
      const bool alike = before != nullptr && before->bar == dict.bar && Alike(out, *before, dict, true);
      if (!alike && before != nullptr) {
        common = std::gcd(common, length);
        ++runs;
        moves += Alike(out, *before, dict, false) ? 0 : 1;
        length = 0;
      }
      ++length;
      before = &dict;
    }
    if (runs < kRunsMin || common < 2 || 2 * moves < runs) return;
    before = nullptr;
    for (DictAt& dict : dicts_) {
      if (dict.is_eval || dict.index >= out.size()) continue;
      dict.copy = before != nullptr && before->bar == dict.bar && Alike(out, *before, dict, true);
      before = &dict;
    }
  }

  // Whether two dicts are one; without `epoch`, whether what was measured is the same.
  static bool Alike(RunLogBuilder& out, const DictAt& a, const DictAt& b, bool epoch) {
    const StepValues& x = out.entries()[a.index].values;
    const StepValues& y = out.entries()[b.index].values;
    const auto same = [](double p, double q) { return p == q || (std::isnan(p) && std::isnan(q)); };
    return same(x.loss(), y.loss()) && same(x.grad_norm(), y.grad_norm()) &&
           (!epoch || (same(x.lr(), y.lr()) && same(x.epoch(), y.epoch()) && x.rank() == y.rank()));
  }

  // Where the dicts stand on the axis of steps: one every `stride`, but for one of the first step before them.
  struct Axis {
    std::int64_t stride = 0;  // 0: not known
    bool first_step = false;  // `logging_first_step`
    std::int64_t StepOf(std::int64_t order) const {
      const std::int64_t whole = std::max<std::int64_t>(stride, 1);
      if (!first_step) return order * whole;
      return order == 1 ? (stride > 0 ? 1 : 0) : (order - 1) * whole;
    }
  };

  Axis AxisFromEpochs(const std::vector<const DictAt*>& steps, RunLogBuilder& out) const {
    Axis axis;
    std::vector<double> epochs;
    for (const DictAt* dict : steps) {
      if (dict->index >= out.size()) return axis;
      epochs.push_back(out.entries()[dict->index].values.epoch());
    }
    if (epochs.empty() || epochs.back() <= 0) return axis;
    if (examples_ > 0 && batch_ > 0) return AxisOfLength(epochs, std::ceil(examples_ / batch_));
    axis.first_step = BeginsWithOneStep(epochs);
    return axis;
  }

  // `length`: steps of an epoch.
  static Axis AxisOfLength(const std::vector<double>& epochs, double length) {
    const auto n = static_cast<std::int64_t>(epochs.size());
    const double most = *std::max_element(epochs.begin(), epochs.end());
    const auto error = [&](const Axis& axis) {
      double sum = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        sum += std::fabs(epochs[static_cast<std::size_t>(i)] - static_cast<double>(axis.StepOf(i + 1)) / length);
      }
      return sum;
    };
    const Axis even = {std::llround(most * length / static_cast<double>(n)), false};
    if (n < 3) return even;
    const Axis first = {std::llround(most * length / static_cast<double>(n - 1)), true};
    return first.stride > 1 && 2 * error(first) < error(even) ? first : even;
  }

  // Without the length of an epoch: whether the second dict lies one interval behind the begin, and the first before.
  static bool BeginsWithOneStep(const std::vector<double>& epochs) {
    constexpr std::size_t kDictsMin = 5;
    if (epochs.size() < kDictsMin) return false;
    const auto n = static_cast<double>(epochs.size());
    const double interval = (epochs.back() - epochs[1]) / (n - 2);
    if (!(interval > 0) || epochs[0] > 0.6 * interval) return false;
    double behind = 0;
    for (std::size_t i = 1; i < epochs.size(); ++i) {
      behind += (epochs[i] / interval - static_cast<double>(i + 1)) / (n - 1);
    }
    return behind < -0.6;
  }

  void AssignSteps(RunLogBuilder& out) {
    if (dicts_.empty() || dicts_[0].index >= out.size()) return;
    FindCopies(out);
    const std::vector<const DictAt*> steps = Steps();
    const bool by_bar = BarsGrow(steps);
    const bool by_counter = !by_bar && CounterTells(steps);
    const Axis axis = by_bar || by_counter ? Axis() : AxisFromEpochs(steps, out);
    std::int64_t order = 0;
    std::int64_t step = 0;
    const std::int64_t line = out.entries()[dicts_[0].index].values.line();
    for (const DictAt& dict : dicts_) {
      if (!dict.is_eval && !dict.copy) {
        ++order;
        step = by_bar ? dict.bar : by_counter ? dict.told : axis.StepOf(order);
      }
      if (dict.index >= out.size()) return;
      LogRecord& entry = out.entries()[dict.index];
      entry.has_step = true;
      entry.repeats = entry.repeats || dict.copy;
      entry.values.set_step(step);
    }
    if (by_bar) {
      out.AddNote("steps_from_progress_bar", line, "the dicts name no step; it is the progress bar's");
    } else if (by_counter) {
      out.AddNote("steps_from_counter", line, "the dicts name no step; it is that of the engine's counter before them");
    } else if (axis.stride > 0) {
      out.AddNote("steps_from_epochs", line,
                  absl::StrCat("the dicts name no step; from their epochs there is one every ", axis.stride, " steps"));
    } else {
      out.set_steps_by_order(line);
    }
  }

  std::vector<DictAt> dicts_;
  double examples_ = 0;
  double batch_ = 0;
  std::int64_t banner_total_ = 0;
  std::int64_t bar_step_ = 0;
  std::int64_t bar_total_ = 0;
  std::int64_t live_step_ = 0;
  std::int64_t told_step_ = 0;
  std::int64_t place_ = 0;
};

bool Sniff(const LogHead& head) {
  return AnyLine(head.text, &IsTrainerLine);
}

}  // namespace

extern const LogFormat kHfTrainerStdoutLogFormat;
const LogFormat kHfTrainerStdoutLogFormat = {"hf-trainer-stdout", &Sniff, &CreateTextLogParser<HfStdoutDialect>,
                                             &MakeLineDialect<HfStdoutDialect>};

}  // namespace paritect
