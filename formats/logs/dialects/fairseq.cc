// fairseq: progress lines as JSON or as `key=value`; the global step is `num_updates`, the printed place is in the
// epoch.
//   2020-05-20 10:15:10 | INFO | train_inner | {"epoch": 1, "update": 0.009, "loss": "2.5", "num_updates": "10", ...}
//   2020-05-20 10:15:10 | INFO | train_inner | epoch 001:     11 / 1102 loss=2.5, ..., num_updates=10, lr=0.0001,
//   gnorm=1.8
// Source: facebookresearch/fairseq fairseq/logging/progress_bar.py, fairseq/trainer.py.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/json_fields.h"
#include "formats/logs/machinery/named_values.h"

namespace paritect {
namespace {

bool HasUpdates(absl::string_view line) {
  return absl::StrContains(line, "num_updates");
}

bool IsFairseqLine(absl::string_view line) {
  return (HasUpdates(line) && (absl::StrContains(line, "| train_inner |") || absl::StrContains(line, "\"gnorm\"") ||
                               absl::StrContains(line, "gnorm="))) ||
         absl::StrContains(line, "NOTE: gradient overflow detected, ignoring gradient");
}

class FairseqDialect : public LineDialect {
 public:
  bool Line(const LogLine& line, RunLogBuilder& out) override {
    if (!HasUpdates(line.text)) return false;
    FieldCollector fields;
    fields.SetLine(line.number);
    if (!Collect(line.text, fields)) {
      out.Unparsed(line.number, "a progress line that is not whole");
      return true;
    }
    LogRecord& record = fields.record();
    if (!record.has_step) return false;
    const bool valid = absl::StrContains(line.text, "| valid |") || absl::StrContains(line.text, " valid on ");
    fields.Finish(out);
    if (valid && record.values.has_loss()) {
      record.values.set_eval_loss(record.values.loss());
      record.values.drop_loss();
    } else if (absl::StrContains(line.text, "| train |") && record.values.has_loss()) {
      // The epoch's mean, which the lines within the epoch have told already.
      record.values.mutable_metrics().Set("epoch_mean_loss", record.values.loss());
      record.values.drop_loss();
    }
    if (!record.values.has_loss()) record.values.clear_loss_resolution();
    out.set_interval_means();
    out.Add(std::move(record));
    return true;
  }

  bool takes_plain_lines() const override { return true; }

 private:
  static void Take(absl::string_view key, absl::string_view value, FieldCollector& fields) {
    for (absl::string_view prefix : {"train_", "valid_"}) {
      if (absl::StartsWith(key, prefix) && ClassifyLogKey(key.substr(prefix.size())) == LogField::kStep) {
        key.remove_prefix(prefix.size());
      }
    }
    if (key == "update" || key == "wall" || key == "train_wall") return;
    fields.Add(key, ReadLogNumber(value));
  }

  static bool Collect(absl::string_view text, FieldCollector& fields) {
    if (const std::size_t brace = text.find('{'); brace != absl::string_view::npos) {
      return ForEachJsonField(text.substr(brace),
                              [&](absl::string_view key, absl::string_view value) { Take(key, value, fields); }) > 0;
    }
    ForEachKeyValue(text, [&](absl::string_view, absl::string_view word, absl::string_view value) {
      if (word != "epoch" || fields.record().values.has_epoch()) {
        if (ClassifyLogKey(word) != LogField::kOther) Take(word, value, fields);
        return;
      }
      fields.Add("epoch", ReadLogNumber(value.substr(0, value.find_first_not_of("0123456789"))));
    });
    return true;
  }
};

bool Sniff(const LogHead& head) {
  return AnyLine(head.text, &IsFairseqLine);
}

}  // namespace

extern const LogFormat kFairseqLogFormat;
const LogFormat kFairseqLogFormat = {"fairseq", &Sniff, &CreateTextLogParser<FairseqDialect>,
                                     &MakeLineDialect<FairseqDialect>, "m_uNOT"};  // num_updates, NOTE

}  // namespace paritect
