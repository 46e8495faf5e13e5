// Progress bars with a loss behind or before them, in logs where no word names a step:
//     5%|▌         | 3/60 [00:05<00:40,  1.15it/s, loss=2.5, lr=1e-4]
//   1|5|Loss: 2.5:  10%|█         | 5/52 [00:05<00:40,  1.15s/it]
// The bar's count is the step; bars of one length that begin anew at their end are epochs. Bars of another length are
// another loop's. Source: tqdm/tqdm std.py `format_meter`; pytorch/torchtune recipes ("epoch|step|Loss: ...").
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/evaluation_lines.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/named_values.h"
#include "formats/logs/machinery/plain_lines.h"

namespace paritect {
namespace {

struct Bar {
  std::int64_t done = 0;
  std::int64_t total = 0;
  absl::string_view name;                // before the percentage
  absl::string_view behind;              // the count, in brackets
  std::optional<std::int64_t> run_step;  // "1|5|"
};

bool ReadCount(absl::string_view& text, std::int64_t& count) {
  std::size_t digits = 0;
  while (digits < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[digits]))) ++digits;
  if (!absl::SimpleAtoi(text.substr(0, digits), &count)) return false;
  text.remove_prefix(digits);
  return true;
}

// "[00:05<00:40, 1.15it/s, lr=[1e-4]]": what follows may be another program's.
absl::string_view InBrackets(absl::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    if (depth == 0) return text.substr(0, i + 1);
  }
  return text;
}

bool ReadBar(absl::string_view line, Bar& bar) {
  const std::size_t share = line.find("%|");
  const std::size_t end = share == absl::string_view::npos ? share : line.find("| ", share + 2);
  if (end == absl::string_view::npos) return false;
  absl::string_view rest = absl::StripLeadingAsciiWhitespace(line.substr(end + 2));
  if (!ReadCount(rest, bar.done) || !absl::ConsumePrefix(&rest, "/") || !ReadCount(rest, bar.total)) return false;
  if (!absl::StartsWith(rest, " [") || bar.total <= 0 || bar.done > bar.total) return false;
  bar.behind = InBrackets(rest.substr(1));
  bar.name = line.substr(0, share);
  while (!bar.name.empty() && absl::ascii_isdigit(static_cast<unsigned char>(bar.name.back()))) {
    bar.name.remove_suffix(1);
  }
  absl::string_view name = absl::StripLeadingAsciiWhitespace(bar.name);
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  if (ReadCount(name, epoch) && absl::ConsumePrefix(&name, "|") && ReadCount(name, step) &&
      absl::ConsumePrefix(&name, "|")) {
    bar.run_step = step;
  }
  return true;
}

// The values before and behind the bar; false where there is no loss of a training among them.
bool TakeValues(absl::string_view line, const Bar& bar, FieldCollector& fields) {
  if (IsEvaluationLine(line)) return false;
  std::int64_t total = 0;
  CollectPlainFields(bar.name, fields, total);
  CollectPlainFields(bar.behind, fields, total);
  return fields.has_loss_key() && !fields.spliced();
}

class TqdmDialect : public LineDialect {
 public:
  bool Line(const LogLine& line, RunLogBuilder& out) override {
    Bar bar;
    if (!ReadBar(line.text, bar)) return false;
    FieldCollector fields;
    fields.SetLine(line.number);
    if (!TakeValues(line.text, bar, fields)) return false;
    if (total_ == 0) total_ = bar.total;
    if (bar.total != total_) return true;
    if (bar.done < done_ && done_ == total_) ++epoch_;
    done_ = bar.done;
    fields.Finish(out);
    LogRecord& record = fields.record();
    record.has_step = true;
    record.values.set_step(bar.run_step.value_or(bar.done));
    if (!bar.run_step) {
      record.step_in_epoch = true;
      record.epoch_index = epoch_;
      record.steps_per_epoch = bar.total;
    }
    if (line.rank && !record.values.has_rank()) record.values.set_rank(*line.rank);
    out.Add(std::move(record));
    return true;
  }

 private:
  std::int64_t total_ = 0;  // of the training's bars
  std::int64_t done_ = 0;
  std::int64_t epoch_ = 0;
};

bool IsLossBar(absl::string_view line) {
  Bar bar;
  FieldCollector fields;
  return ReadBar(line, bar) && TakeValues(line, bar, fields);
}

// What names a step in words is read by its words.
bool NamesStep(absl::string_view line) {
  EpochPlace place;
  return IsPlainLossLine(line) || (absl::StrContains(line, "oss") && FindEpochPlace(line, place));
}

bool Sniff(const LogHead& head) {
  return AnyLine(head.text, &IsLossBar) && !AnyLine(head.text, &NamesStep);
}

}  // namespace

extern const LogFormat kTqdmLogFormat;
const LogFormat kTqdmLogFormat = {"tqdm", &Sniff, &CreateTextLogParser<TqdmDialect>, &MakeLineDialect<TqdmDialect>};

}  // namespace paritect
