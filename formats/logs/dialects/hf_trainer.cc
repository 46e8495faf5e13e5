// Hugging Face Trainer: what `ProgressCallback` prints, a Python dict a logging step, without the step.
//   {'loss': 2.4977, 'grad_norm': 11.009, 'learning_rate': 5.77e-07, 'epoch': 0.0}
// ms-swift and what follows it name the step: 'global_step/max_steps': '5/3766'.
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
#include "formats/logs/machinery/line_form.h"
#include "formats/logs/machinery/named_values.h"

namespace paritect {
namespace {

constexpr absl::string_view kPlace = "global_step/max_steps";
constexpr absl::string_view kPlaceKey = "'global_step/max_steps':";

std::size_t FindDict(absl::string_view line) {
  std::size_t at = line.find("{'");
  while (at != absl::string_view::npos) {
    const absl::string_view rest = line.substr(at);
    const bool trainer = absl::StartsWith(rest, "{'loss'") || absl::StartsWith(rest, "{'eval_") ||
                         absl::StartsWith(rest, "{'train_") ||
                         ((absl::StrContains(rest, "'epoch':") || absl::StrContains(rest, kPlaceKey)) &&
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
    epoch = epoch || path == "epoch" || path == kPlace;
    telling = telling || path == "loss" || path == "learning_rate" || path == "train_runtime" || path == "eval_runtime";
  });
  return length > 0 && epoch && telling;
}

bool SameNumber(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

// What is no result: times and speeds.
bool IsTiming(absl::string_view path) {
  return absl::EndsWith(path, "_runtime") || absl::EndsWith(path, "per_second");
}

class HfStdoutDialect : public LineDialect {
 public:
  // A training dict that stands alone on its line: behind a progress bar or another writer's text it is read by Line.
  bool Collect(absl::string_view text, LineFields& fields) override {
    if (!absl::StartsWith(text, "{'loss'")) return false;
    bool end = false;
    return CollectDict(text, fields, end) == text.size() && !end;
  }

  bool Emit(const LogLine& line, const LineFields& found, RunLogBuilder& out) override {
    return TakeDict(line, found, out);
  }

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
    LineFields found;
    bool end = false;
    if (CollectDict(text, found, end) == 0) {
      out.Unparsed(line.number, "a dict that is not whole");
      return true;
    }
    if (end) {
      out.End(v1::RunEnd::STATE_FINISHED, "train_runtime", line.number);
      return true;
    }
    return TakeDict(line, found, out);
  }

  // The bytes of the dict; 0: it is not whole.
  static std::size_t CollectDict(absl::string_view text, LineFields& fields, bool& end) {
    return ForEachJsonField(text, [&](absl::string_view path, absl::string_view value) {
      end = end || path == "train_runtime";
      const std::size_t slash = path == kPlace ? value.find('/') : absl::string_view::npos;
      if (slash != absl::string_view::npos) {
        fields.Add(LookUpLogKey("step"), ReadLogNumber(value));
        fields.Add(kTotalSteps, ReadLogNumber(value.substr(slash + 1)));
      } else if (!IsTiming(path)) {
        fields.Add(LookUpLogKey(path), ReadLogNumber(value));
      }
    });
  }

  bool TakeDict(const LogLine& line, const LineFields& found, RunLogBuilder& out) {
    FieldCollector fields;
    fields.SetLine(line.number);
    std::int64_t total = 0;
    TakeFields(found, fields, total);
    if (total > 0) out.TotalSteps(total);
    out.set_interval_means();
    fields.Finish(out);
    LogRecord& record = fields.record();
    if (line.rank && !record.values.has_rank()) record.values.set_rank(*line.rank);
    // A step whose loss is left out gives its norm and rate all the same.
    const bool is_step = record.values.has_grad_norm() && record.values.has_lr() && !fields.has_evaluation();
    const bool is_eval = !record.values.has_loss() && !record.values.loss_absent() && !is_step;
    if (is_eval && record.values.has_eval_loss() && AttachEval(record, out)) return true;
    const bool needs_step = !record.has_step;
    if (needs_step && !is_eval && IsKnownCopy(record.values)) return true;
    // Lines alike are of other steps, until Finish finds that several ranks print each: their places keep them apart.
    if (needs_step) record.values.set_step(is_eval ? place_ : ++place_);
    // Add may fold the record into one that stands already: then there is no entry of its own to give a step. Or it
    // thins the log, which takes entries away.
    const std::size_t size = out.size();
    out.Add(std::move(record));
    if (!needs_step || out.size() == size) return true;
    const DictAt dict = {out.size() - 1, line.number, bar_step_, bar_total_ > 0 ? 0 : told_step_, place_, is_eval};
    if (out.is_live()) {
      AssignNow(dict, out);
    } else {
      dicts_.push_back(dict);
      if (dicts_.size() >= forget_at_) Forget(out);
    }
    return true;
  }

  // Several ranks were found to print each dict: the same values once more.
  bool IsKnownCopy(const StepValues& values) {
    if (!copies_found_) return false;
    const Printed printed = {values.loss(), values.grad_norm(), values.lr(), values.epoch(), bar_step_, values.rank()};
    if (before_.IsAlike(printed)) return true;
    before_ = printed;
    return false;
  }

  // A log longer than memory: what its dicts tell together is taken down, and those whose records are gone (the builder
  // thins them) are forgotten.
  void Forget(RunLogBuilder& out) {
    if (!forgotten_) {
      Locate(out);
      FindCopies(out);
      copies_found_ = std::any_of(dicts_.begin(), dicts_.end(), [](const DictAt& dict) { return dict.copy; });
      if (copies_found_) CountWithoutCopies(out);
    }
    forgotten_ = true;
    const std::vector<const DictAt*> steps = Steps();
    bars_grow_ = bars_grow_ && BarsGrow(steps);
    counter_tells_ = counter_tells_ && CounterTells(steps);
    Locate(out);
    forget_at_ = dicts_.size() + kDictsMax / 2;
  }

  // The entries of the dicts, which stand in the order of both; dicts without one are left out.
  void Locate(RunLogBuilder& out) {
    std::size_t kept = 0;
    std::size_t at = 0;
    for (DictAt dict : dicts_) {
      const auto line_at = [&](std::size_t i) { return out.entries()[i].values.line(); };
      const auto is_numbered = [&](std::size_t i) {
        return out.entries()[i].has_step || out.entries()[i].values.step_unknown();
      };
      while (at < out.size() && (line_at(at) < dict.line || (line_at(at) == dict.line && is_numbered(at)))) ++at;
      if (at == out.size() || line_at(at) != dict.line) continue;
      dict.index = at++;
      dicts_[kept++] = dict;
    }
    dicts_.resize(kept);
  }

  // Places from now on are those of steps.
  void CountWithoutCopies(RunLogBuilder& out) {
    std::int64_t order = 0;
    for (DictAt& dict : dicts_) {
      if (!dict.is_eval && !dict.copy) ++order;
      dict.order = order;
      LogRecord& entry = out.entries()[dict.index];
      entry.values.set_step(order);
      entry.repeats = entry.repeats || dict.copy;
    }
    place_ = order;
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
    std::int64_t line;
    std::int64_t bar;
    std::int64_t told;   // the step of another dialect's counter before it
    std::int64_t order;  // of training steps' dicts up to it, so many
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
      const std::int64_t dicts = i > 0 ? steps[i]->order - steps[i - 1]->order : 1;
      if (gap <= 0 || gap % dicts != 0 || (i > 1 && gap / dicts != stride)) return false;
      stride = gap / dicts;
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
    return SameNumber(x.loss(), y.loss()) && SameNumber(x.grad_norm(), y.grad_norm()) &&
           (!epoch || (SameNumber(x.lr(), y.lr()) && SameNumber(x.epoch(), y.epoch()) && x.rank() == y.rank()));
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
    std::vector<EpochAt> epochs;
    for (const DictAt* dict : steps) {
      if (dict->index >= out.size()) return axis;
      epochs.push_back({dict->order, out.entries()[dict->index].values.epoch()});
    }
    if (epochs.empty() || epochs.back().epoch <= 0) return axis;
    if (examples_ > 0 && batch_ > 0) return AxisOfLength(epochs, std::ceil(examples_ / batch_));
    axis.first_step = BeginsWithOneStep(epochs);
    return axis;
  }

  struct EpochAt {
    std::int64_t order = 0;
    double epoch = 0;
  };

  // `length`: steps of an epoch.
  static Axis AxisOfLength(const std::vector<EpochAt>& epochs, double length) {
    const std::int64_t n = epochs.back().order;
    double most = epochs.front().epoch;
    for (const EpochAt& one : epochs) most = std::max(most, one.epoch);
    const auto error = [&](const Axis& axis) {
      double sum = 0;
      for (const EpochAt& one : epochs) {
        sum += std::fabs(one.epoch - static_cast<double>(axis.StepOf(one.order)) / length);
      }
      return sum;
    };
    const Axis even = {std::llround(most * length / static_cast<double>(n)), false};
    if (n < 3) return even;
    const Axis first = {std::llround(most * length / static_cast<double>(n - 1)), true};
    return first.stride > 1 && 2 * error(first) < error(even) ? first : even;
  }

  // Without the length of an epoch: whether the second dict lies one interval behind the begin, and the first before.
  static bool BeginsWithOneStep(const std::vector<EpochAt>& epochs) {
    constexpr std::size_t kDictsMin = 5;
    if (epochs.size() < kDictsMin || epochs[0].order != 1) return false;
    const auto n = static_cast<double>(epochs.size());
    const auto dicts = static_cast<double>(epochs.back().order - epochs[1].order);
    const double interval = (epochs.back().epoch - epochs[1].epoch) / dicts;
    if (!(interval > 0) || epochs[0].epoch > 0.6 * interval) return false;
    double behind = 0;
    for (std::size_t i = 1; i < epochs.size(); ++i) {
      behind += (epochs[i].epoch / interval - static_cast<double>(epochs[i].order)) / (n - 1);
    }
    return behind < -0.6;
  }

  void CountSteps() {
    std::int64_t order = 0;
    for (DictAt& dict : dicts_) dict.order = dict.is_eval || dict.copy ? order : ++order;
  }

  void AssignSteps(RunLogBuilder& out) {
    const bool moved = !dicts_.empty() && (dicts_.back().index >= out.size() ||
                                           out.entries()[dicts_.back().index].values.line() != dicts_.back().line);
    if (forgotten_ || moved) Locate(out);
    if (dicts_.empty() || dicts_[0].index >= out.size()) return;
    if (!forgotten_) {
      FindCopies(out);
      CountSteps();
    }
    const std::vector<const DictAt*> steps = Steps();
    const bool by_bar = bars_grow_ && BarsGrow(steps);
    const bool by_counter = !by_bar && counter_tells_ && CounterTells(steps);
    const Axis axis = by_bar || by_counter ? Axis() : AxisFromEpochs(steps, out);
    std::int64_t step = 0;
    const std::int64_t line = out.entries()[dicts_[0].index].values.line();
    for (const DictAt& dict : dicts_) {
      if (!dict.is_eval && !dict.copy) {
        step = by_bar ? dict.bar : by_counter ? dict.told : axis.StepOf(dict.order);
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

  // What a training dict tells, as ranks print it alike.
  struct Printed {
    double loss = 0, grad_norm = 0, lr = 0, epoch = 0;
    std::int64_t bar = 0;
    std::int32_t rank = 0;

    bool IsAlike(const Printed& b) const {
      return SameNumber(loss, b.loss) && SameNumber(grad_norm, b.grad_norm) && SameNumber(lr, b.lr) &&
             SameNumber(epoch, b.epoch) && bar == b.bar && rank == b.rank;
    }
  };

  static constexpr std::size_t kDictsMax = kLogRecordsMax / 5 * 4;  // before the builder thins for the first time

  std::vector<DictAt> dicts_;
  Printed before_;
  std::size_t forget_at_ = kDictsMax;
  bool forgotten_ = false;
  bool copies_found_ = false;
  bool bars_grow_ = true;      // of what is forgotten
  bool counter_tells_ = true;  // of what is forgotten
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
                                             &MakeLineDialect<HfStdoutDialect>, "{'\x01"};

}  // namespace paritect
