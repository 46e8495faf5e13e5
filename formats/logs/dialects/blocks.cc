// Values one a line under a line that names their step, and no framework's own words:
//   [step=27/10000,epoch=0]
//       optim/total_grad_norm=1.232
//       train/CrossEntropyLoss=8.301
// Of allenai/OLMo olmo/train.py `log_metrics_to_console`, and of scripts that print "Iteration 250" and then
// "loss: 0.3".
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "formats/logs/machinery/common_lines.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/named_values.h"
#include "formats/logs/machinery/rank_prefix.h"

namespace paritect {
namespace {

constexpr std::int64_t kBlockLinesMax = 40;
constexpr std::size_t kNameBytesMax = 80;

// A line that tells where the run is and nothing else that counts.
bool TakeHeader(absl::string_view text, FieldCollector& fields, std::int64_t& total) {
  if (TellsOfOverflow(text) || HoldsOneOf(text, {"esum", "heckpoint", "oaded", "oading"})) return false;
  CollectPlainFields(text, fields, total);
  return fields.record().has_step && !fields.spliced() && !fields.has_loss_key() && !fields.has_values() &&
         !fields.has_evaluation();
}

// "optim/total_grad_norm=1.232": one name and one number, from the first to the last byte.
bool TakeValue(absl::string_view text, absl::string_view& name, LogNumber& number) {
  text = absl::StripAsciiWhitespace(text);
  const std::size_t mark = text.find_first_of(":=");
  if (mark == absl::string_view::npos || mark == 0 || mark > kNameBytesMax) return false;
  name = absl::StripTrailingAsciiWhitespace(text.substr(0, mark));
  const absl::string_view value = absl::StripLeadingAsciiWhitespace(text.substr(mark + 1));
  if (value.empty() || name.empty() || !absl::ascii_isalpha(static_cast<unsigned char>(name[0]))) return false;
  number = ReadLogNumber(value);
  return number.kind == LogNumber::Kind::kValue && number.text.data() == value.data() &&
         number.text.size() == value.size();
}

bool IsLoss(const LogKey& key) {
  return IsTrainingLoss(key.field) || key.field == LogField::kOtherLoss;
}

class BlocksDialect : public LineDialect {
 public:
  bool Line(const LogLine& line, RunLogBuilder& out) override {
    absl::string_view name;
    LogNumber number;
    if (block_ && line.number - begin_ <= kBlockLinesMax && TakeValue(line.text, name, number)) {
      const LogKey& key = LookUpLogKey(name);
      if (key.field == LogField::kStep || key.field == LogField::kEpoch) return Open(line, out);
      // A second loss is no longer of this step: who prints it names none.
      if (IsLoss(key) && has_loss_) return Close(out);
      has_loss_ = has_loss_ || IsLoss(key);
      block_->Add(key, number);
      return true;
    }
    return Open(line, out);
  }

  void Finish(RunLogBuilder& out) override { Close(out); }

 private:
  bool Open(const LogLine& line, RunLogBuilder& out) {
    FieldCollector fields;
    std::int64_t total = 0;
    if (!TakeHeader(line.text, fields, total)) return false;
    Close(out);
    fields.SetLine(line.number);
    if (line.rank) fields.record().values.set_rank(*line.rank);
    block_ = std::move(fields);
    begin_ = line.number;
    if (total > 0) out.TotalSteps(total);
    return true;
  }

  bool Close(RunLogBuilder& out) {
    if (!block_) return false;
    const bool tells = block_->has_loss_key() || block_->has_values() || block_->has_evaluation();
    if (tells) {
      block_->Finish(out);
      out.Add(std::move(block_->record()));
    }
    block_.reset();
    has_loss_ = false;
    return false;
  }

  std::optional<FieldCollector> block_;
  bool has_loss_ = false;
  std::int64_t begin_ = 0;
};

// Of the lines that name a step or a loss, one with a loss alone behind one with a step.
bool Sniff(const LogHead& head) {
  bool header = false;
  return AnyLine(head.text, [&](absl::string_view line) {
    absl::string_view name;
    LogNumber number;
    StripRankPrefix(line);
    if (header && TakeValue(line, name, number) && IsLoss(LookUpLogKey(name))) return true;
    FieldCollector fields;
    std::int64_t total = 0;
    header = TakeHeader(line, fields, total);
    return false;
  });
}

}  // namespace

extern const LogFormat kBlocksLogFormat;
const LogFormat kBlocksLogFormat = {"blocks", &Sniff, &CreateTextLogParser<BlocksDialect>,
                                    &MakeLineDialect<BlocksDialect>, "tepteross"};  // step, iteration, loss

}  // namespace paritect
