// MindSpore callbacks: LossMonitor (steps count within the epoch), the ModelZoo's LossCallBack (steps are global),
// MindYOLO.
//   epoch: 1 step: 195, loss is 1.2345678
//   epoch: 1, current epoch percent: 0.003, step: 100, outputs are (Tensor(... value= 10.2), Tensor(... False),
//   Tensor(... 65536)) epoch: 0, current epoch percent: 0.010, step: 10, loss: 10.27, overflow: False, loss scale:
//   65536 2024-12-25 10:00:10,236 [INFO] Epoch 1/200, Step 10/3995, imgsize (640, 640), loss: 2.5000, lbox: 1.0,
//   cur_lr: 1e-4
// Source: mindspore/train/callback/_loss_monitor.py; mindspore-ai/models; mindspore-lab/mindyolo.
#include <limits>

#include "absl/strings/match.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/named_values.h"
#include "formats/logs/machinery/plain_lines.h"

namespace paritect {
namespace {

enum class Shape { kNone, kLossMonitor, kOutputs, kGlobal, kMindYolo, kEpochMean };

Shape ShapeOf(absl::string_view line) {
  const bool epoch = absl::StrContains(line, "poch");
  if (!epoch) return Shape::kNone;
  if (absl::StrContains(line, ", outputs are ")) return Shape::kOutputs;
  if (absl::StrContains(line, ", current epoch percent:")) return Shape::kGlobal;
  const bool loss_is = absl::StrContains(line, "loss is ");
  if (loss_is && absl::StrContains(line, "epoch: ") && absl::StrContains(line, " step: ")) return Shape::kLossMonitor;
  if (absl::StrContains(line, "Epoch ") && absl::StrContains(line, ", Step ") &&
      (absl::StrContains(line, "imgsize") || absl::StrContains(line, "step time"))) {
    return Shape::kMindYolo;
  }
  // A line an epoch: "epoch: [2/90] loss: 1.045892, epoch time: 2.413 s, per step time: 12.377 ms"
  if (absl::StrContains(line, "epoch: [") && absl::StrContains(line, "] loss: ") &&
      absl::StrContains(line, ", epoch time: ")) {
    return Shape::kEpochMean;
  }
  return Shape::kNone;
}

class MindSporeDialect : public LineDialect {
 public:
  bool Line(const LogLine& line, RunLogBuilder& out) override {
    if (absl::StrContains(line.text, "Invalid loss, terminating training")) {
      InvalidLoss(line, out);
      return false;  // the end, which is told elsewhere
    }
    EpochPlace place;
    switch (ShapeOf(line.text)) {
      case Shape::kNone: return false;
      case Shape::kMindYolo:
        if (!FindEpochPlace(line.text, place)) return false;
        if (absl::StrContains(place.rest, "loss")) AddAtEpochPlace(line, place, 1, out);
        return true;
      case Shape::kEpochMean: EpochMean(line, out); return true;
      default: Values(line, out); return true;
    }
  }

 private:
  // "epoch: 1 step: 5. Invalid loss, terminating training.": LossMonitor's word for a loss that is NaN or infinite.
  static void InvalidLoss(const LogLine& line, RunLogBuilder& out) {
    FieldCollector fields;
    fields.SetLine(line.number);
    std::int64_t total = 0;
    CollectPlainFields(line.text, fields, total);
    LogRecord& record = fields.record();
    if (!record.has_step || !record.values.has_epoch()) return;
    if (line.rank) record.values.set_rank(*line.rank);
    record.values.set_loss(std::numeric_limits<double>::quiet_NaN());
    record.step_in_epoch = true;
    record.epoch_index = static_cast<std::int64_t>(record.values.epoch()) - 1;
    out.Add(std::move(record));
  }

  void EpochMean(const LogLine& line, RunLogBuilder& out) {
    FieldCollector fields;
    fields.SetLine(line.number);
    std::int64_t total = 0;
    CollectPlainFields(line.text.substr(0, line.text.find(", epoch time: ")), fields, total);
    if (!fields.record().values.has_epoch() || !fields.has_loss_key()) return;
    fields.Finish(out);
    LogRecord& record = fields.record();
    if (line.rank) record.values.set_rank(*line.rank);
    record.has_step = true;
    record.values.set_step(static_cast<std::int64_t>(record.values.epoch()));
    if (!noted_) out.AddNote("step_is_epoch", line.number, "rows name no step; the epoch stands for it");
    noted_ = true;
    out.Add(std::move(record));
  }

  static void Values(const LogLine& line, RunLogBuilder& out) {
    FieldCollector fields;
    fields.SetLine(line.number);
    std::int64_t total = 0;
    const std::size_t outputs = line.text.find(", outputs are ");
    CollectPlainFields(line.text.substr(0, outputs), fields, total);
    if (outputs != absl::string_view::npos) Outputs(line.text.substr(outputs + 14), fields);
    if (fields.spliced()) return out.Unparsed(line.number, "another writer's text stands inside a number");
    if (!fields.record().has_step || !fields.has_loss_key()) return;
    fields.Finish(out);
    LogRecord& record = fields.record();
    if (line.rank) record.values.set_rank(*line.rank);
    if (ShapeOf(line.text) == Shape::kLossMonitor && record.values.has_epoch()) {
      record.step_in_epoch = true;
      record.epoch_index = static_cast<std::int64_t>(record.values.epoch()) - 1;
      record.steps_per_epoch = total;
    }
    out.Add(std::move(record));
  }

  // (loss, overflow, scale), as tensors or as plain values.
  static void Outputs(absl::string_view text, FieldCollector& fields) {
    static constexpr absl::string_view kNames[] = {"loss", "overflow", "loss_scale"};
    if (absl::StartsWith(text, "(")) text.remove_prefix(1);
    for (absl::string_view name : kNames) {
      LogNumber number = ReadLogNumber(text);
      if (const std::size_t value = text.find("value=");
          absl::StartsWith(text, "Tensor(") && value != absl::string_view::npos) {
        number = ReadLogNumber(text.substr(value + 6));
      }
      fields.Add(name, number);
      const std::size_t next = text.find("), Tensor(");
      if (next == absl::string_view::npos) return;
      text.remove_prefix(next + 3);
    }
  }

  bool noted_ = false;
};

bool Sniff(const LogHead& head) {
  return AnyLine(head.text, [](absl::string_view line) { return ShapeOf(line) != Shape::kNone; });
}

}  // namespace

extern const LogFormat kMindSporeLogFormat;
const LogFormat kMindSporeLogFormat = {"mindspore", &Sniff, &CreateTextLogParser<MindSporeDialect>,
                                       &MakeLineDialect<MindSporeDialect>, "och"};

}  // namespace paritect
