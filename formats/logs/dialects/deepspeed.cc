// DeepSpeed engine: counters every `steps_per_print` steps, one sequence an engine; the loss is the user's to print.
//   [...] [Rank 0] step=10, skipped=6, lr=[9.6e-06, 9.6e-06], mom=[(0.9, 0.95), (0.9, 0.95)]
//   [...] epoch=0/micro_step=20/global_step=10, RunningAvgSamplesPerSec=...
// `skipped` counts from the start of the run. Two engines (actor, critic) interleave the same steps.
// Source: deepspeedai/DeepSpeed runtime/engine.py `_report_progress`, utils/timer.py.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "formats/logs/log_format.h"

namespace paritect {
namespace {

// What stands behind `name` where it is "step=" at a word's begin.
absl::string_view Behind(absl::string_view line, absl::string_view name) {
  std::size_t at = line.find(name);
  while (at != absl::string_view::npos && at > 0 && line[at - 1] != ' ') at = line.find(name, at + 1);
  return at == absl::string_view::npos ? absl::string_view() : line.substr(at + name.size());
}

bool IsCounterLine(absl::string_view line) {
  return absl::StrContains(line, ", skipped=") && !Behind(line, "step=").empty();
}

class DeepSpeedDialect : public LineDialect {
 public:
  bool Line(const LogLine& line, RunLogBuilder& out) override {
    if (absl::StrContains(line.text, "/global_step=") && absl::StrContains(line.text, "epoch=")) return true;
    if (!IsCounterLine(line.text)) return false;
    const LogNumber step = ReadLogNumber(Behind(line.text, "step="));
    const LogNumber skipped = ReadLogNumber(Behind(line.text, "skipped="));
    if (step.kind != LogNumber::Kind::kValue || skipped.kind != LogNumber::Kind::kValue) {
      out.Unparsed(line.number, "a DeepSpeed counter line whose numbers cannot be read");
      return true;
    }
    if (step.value <= 0) return true;  // printed when the engine is made
    LogRecord record;
    record.has_step = true;
    record.skipped_is_total = true;
    record.values.set_line(line.number);
    record.values.set_step(static_cast<std::int64_t>(step.value));
    record.values.set_skipped(static_cast<std::int64_t>(skipped.value));
    if (const absl::string_view lr = Behind(line.text, "lr="); !lr.empty()) SetLr(lr, record);
    const std::size_t engine = EngineOf(record.values.step());
    if (engine > 0) {
      record.values.set_engine(static_cast<std::int32_t>(engine));
      several_ = true;
    }
    out.Add(std::move(record));
    return true;
  }

  void Finish(RunLogBuilder& out) override {
    if (!several_) return;
    for (LogRecord& entry : out.entries()) {
      if (entry.skipped_is_total && !entry.values.has_engine()) entry.values.set_engine(0);
    }
  }

  void FinishBeside(RunLogBuilder& out) override { Finish(out); }

  std::optional<absl::string_view> quiet_without() const override { return "ski"; }  // skipped=

  bool takes_plain_lines() const override { return true; }

 private:
  // One learning rate a parameter group; the first is the schedule's, others stay visible where they differ.
  static void SetLr(absl::string_view text, LogRecord& record) {
    if (absl::StartsWith(text, "[")) text.remove_prefix(1);
    const absl::string_view list = text.substr(0, text.find(']'));
    int group = 0;
    for (absl::string_view one : absl::StrSplit(list, ", ")) {
      const LogNumber lr = ReadLogNumber(one);
      if (++group > kGroupsMax || lr.kind != LogNumber::Kind::kValue) return;
      if (group == 1) record.values.set_lr(lr.value);
      if (lr.value != record.values.lr())
        record.values.mutable_metrics().Set(absl::StrCat("lr group ", group), lr.value);
    }
  }

  static constexpr int kGroupsMax = 64;

  // Engines print in the same order: the first of them whose last step is below this one.
  std::size_t EngineOf(std::int64_t step) {
    for (std::size_t i = 0; i < last_step_.size(); ++i) {
      if (last_step_[i] == step) continue;
      if (step < last_step_[i] && i == 0) last_step_.resize(1);  // a restart
      last_step_[i] = step;
      return i;
    }
    last_step_.push_back(step);
    return last_step_.size() - 1;
  }

  std::vector<std::int64_t> last_step_;
  bool several_ = false;
};

bool IsDeepSpeedLine(absl::string_view line) {
  return IsCounterLine(line) || absl::StrContains(line, "[deepspeed] OVERFLOW!") ||
         absl::StrContains(line, "[deepspeed] fp16 dynamic loss scale overflow!") ||
         absl::StartsWith(line, "Grad overflow on iteration ") ||
         absl::StrContains(line, "Overflow detected. Skipping step. Attempted loss scale: ");
}

bool Sniff(const LogHead& head) {
  return AnyLine(head.text, &IsDeepSpeedLine);
}

}  // namespace

extern const LogFormat kDeepSpeedLogFormat;
const LogFormat kDeepSpeedLogFormat = {"deepspeed", &Sniff, &CreateTextLogParser<DeepSpeedDialect>,
                                       &MakeLineDialect<DeepSpeedDialect>,
                                       "kip[deGra"};  // skipped, Skipping, [deepspeed], Grad

}  // namespace paritect
