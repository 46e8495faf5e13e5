// Tables with a header: CSVLogger of Lightning and Keras, DeepSpeed's monitor, msprobe's monitor, exports of
// dashboards. Comma, tab or semicolon; a column named like a step or an epoch, and at least one other number. Which
// column is the loss is decided by the header, once. Rows of one step add up (Lightning leaves the cells of other kinds
// empty).
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/field_names.h"

namespace paritect {
namespace {

constexpr std::size_t kColumnsMax = 4096;

// Cells of a row; quotes are taken off, doubled quotes inside stay (no name of ours has them).
std::vector<absl::string_view> Cells(absl::string_view row, char separator) {
  std::vector<absl::string_view> cells;
  std::size_t begin = 0;
  bool quoted = false;
  for (std::size_t i = 0; i <= row.size() && cells.size() < kColumnsMax; ++i) {
    if (i < row.size() && row[i] == '"') quoted = !quoted;
    if (i < row.size() && (row[i] != separator || quoted)) continue;
    absl::string_view cell = absl::StripAsciiWhitespace(row.substr(begin, i - begin));
    if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"') cell = cell.substr(1, cell.size() - 2);
    cells.push_back(cell);
    begin = i + 1;
  }
  return cells;
}

char SeparatorOf(absl::string_view header) {
  for (char c : {'\t', ';'}) {
    if (absl::StrContains(header, c)) return c;
  }
  return ',';
}

enum class TableKind { kNone, kCsv, kLightning, kMonitor };

bool IsNumberCell(absl::string_view cell) {
  return ReadLogNumber(cell).kind == LogNumber::Kind::kValue;
}

TableKind KindOf(const std::vector<absl::string_view>& cells) {
  if (cells.size() < 2) return TableKind::kNone;
  bool step = false;
  bool epoch = false;
  for (absl::string_view cell : cells) {
    if (IsNumberCell(cell) || cell.size() > 200 || absl::StrContains(cell, "{")) return TableKind::kNone;
    if (cell.find_first_of("=|<>") != absl::string_view::npos) return TableKind::kNone;
    const LogField field = ClassifyLogKey(cell);
    step = step || field == LogField::kStep;
    epoch = epoch || field == LogField::kEpoch;
  }
  if (cells[0] == "vpp_stage" && step) return TableKind::kMonitor;
  if (step && epoch) return TableKind::kLightning;
  return step || epoch ? TableKind::kCsv : TableKind::kNone;
}

class CsvDialect : public LineDialect {
 public:
  bool Line(const LogLine& line, RunLogBuilder& out) override {
    if (header_.empty() || line.text == header_) {  // appended to by a restart, the header stands again
      Header(line.text);
      return true;
    }
    const std::vector<absl::string_view> cells = Cells(line.text, separator_);
    if (cells.size() != columns_.size()) {
      out.Unparsed(line.number, absl::StrCat(cells.size(), " cells in place of ", columns_.size()));
      return true;
    }
    monitor_name_ >= 0 ? Monitor(cells, line.number, out) : Row(cells, line.number, out);
    return true;
  }

 private:
  void Header(absl::string_view text) {
    header_ = std::string(text);
    separator_ = SeparatorOf(header_);
    columns_.clear();
    LogField best = LogField::kOtherLoss;
    int others = 0;
    loss_ = -1;
    int other = -1;
    for (absl::string_view cell : Cells(header_, separator_)) {
      const int at = static_cast<int>(columns_.size());
      const LogField field = ClassifyLogKey(cell);
      if (IsTrainingLoss(field) && field < best) {
        best = field;
        loss_ = at;
      }
      if (field == LogField::kOtherLoss) {
        ++others;
        other = at;
      }
      columns_.emplace_back(cell);
    }
    if (loss_ < 0 && others == 1) loss_ = other;
    monitor_name_ = columns_[0] == "vpp_stage" && columns_.size() > 2 ? 1 : -1;
    if (monitor_name_ > 0 && columns_[1] == "step") monitor_name_ = 0;
  }

  void Row(const std::vector<absl::string_view>& cells, std::int64_t line, RunLogBuilder& out) {
    FieldCollector fields;
    fields.SetLine(line);
    bool evaluation = false;
    for (std::size_t i = 0; i < cells.size(); ++i) evaluation = evaluation || NamesEvaluation(columns_[i], cells[i]);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i].empty()) continue;
      const LogNumber number = ReadLogNumber(cells[i]);
      const LogKey& key = LookUpLogKey(columns_[i]);
      const LogField field = key.field;
      if (static_cast<int>(i) == loss_) {
        fields.Add("loss", number);
      } else if ((!IsTrainingLoss(field) && field != LogField::kOtherLoss) || (key.summed && loss_ < 0)) {
        fields.Add(columns_[i], number);
        continue;
      }
      // The training row of the step has the metric by this name.
      if (number.kind == LogNumber::Kind::kValue && !evaluation)
        fields.record().values.mutable_metrics().Set(columns_[i], number.value);
    }
    Emit(fields, evaluation, line, out);
  }

  void Emit(FieldCollector& fields, bool evaluation, std::int64_t line, RunLogBuilder& out) {
    LogRecord& record = fields.record();
    const double epoch = record.values.epoch();
    if (!record.has_step && record.values.has_epoch() && epoch == std::floor(epoch) && std::fabs(epoch) < 9e15) {
      record.has_step = true;
      record.values.set_step(static_cast<std::int64_t>(epoch));
      if (!noted_) out.AddNote("step_is_epoch", line, "rows name no step; the epoch stands for it");
      noted_ = true;
    }
    if (!record.has_step) return out.Unparsed(line, "a row without a step");
    fields.Finish(out);
    if (evaluation) fields.MarkEvaluation();
    out.Add(std::move(record));
  }

  // msprobe: a row a parameter; its statistics become metrics NAME/OP of the step.
  void Monitor(const std::vector<absl::string_view>& cells, std::int64_t line, RunLogBuilder& out) {
    FieldCollector fields;
    fields.SetLine(line);
    std::string name(cells[static_cast<std::size_t>(monitor_name_)]);
    for (std::size_t i = 1; i < cells.size(); ++i) {  // several accumulated batches of one step
      if (columns_[i] != "micro_step") continue;
      const double micro = ParseLogNumber(cells[i]).value_or(0);
      if (micro > 0) absl::StrAppend(&name, "/micro_step_", cells[i]);
    }
    for (std::size_t i = 1; i < cells.size(); ++i) {
      const LogNumber number = ReadLogNumber(cells[i]);
      if (columns_[i] == "step") {
        fields.Add("step", number);
      } else if (static_cast<int>(i) != monitor_name_ && columns_[i] != "micro_step" &&
                 number.kind == LogNumber::Kind::kValue) {
        fields.record().values.mutable_metrics().Set(absl::StrCat(name, "/", columns_[i]), number.value);
      }
    }
    Emit(fields, false, line, out);
  }

  std::string header_;
  char separator_ = ',';
  std::vector<std::string> columns_;
  int loss_ = -1;
  int monitor_name_ = -1;
  bool noted_ = false;
};

// The header is the first line, and the second has a number where the step is.
TableKind SniffKind(const LogHead& head) {
  if (!head.first) return TableKind::kNone;
  const std::size_t end = head.text.find('\n');
  if (end == absl::string_view::npos) return TableKind::kNone;
  const absl::string_view header = head.text.substr(0, end);
  const char separator = SeparatorOf(header);
  if (!absl::StrContains(header, separator)) return TableKind::kNone;
  const std::vector<absl::string_view> names = Cells(header, separator);
  const TableKind kind = KindOf(names);
  if (kind == TableKind::kNone) return kind;
  const absl::string_view second = head.text.substr(end + 1, head.text.find('\n', end + 1) - end - 1);
  if (second.empty()) return kind;
  const std::vector<absl::string_view> cells = Cells(second, separator);
  if (cells.size() != names.size()) return TableKind::kNone;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const LogField field = ClassifyLogKey(names[i]);
    if ((field == LogField::kStep || field == LogField::kEpoch) && IsNumberCell(cells[i])) return kind;
  }
  return TableKind::kNone;
}

bool SniffCsv(const LogHead& head) {
  return SniffKind(head) == TableKind::kCsv;
}
bool SniffLightning(const LogHead& head) {
  return SniffKind(head) == TableKind::kLightning;
}
bool SniffMonitor(const LogHead& head) {
  return SniffKind(head) == TableKind::kMonitor;
}

}  // namespace

extern const LogFormat kCsvLogFormat;
const LogFormat kCsvLogFormat = {"csv", &SniffCsv, &CreateTextLogParser<CsvDialect>};
extern const LogFormat kLightningLogFormat;
const LogFormat kLightningLogFormat = {"lightning", &SniffLightning, &CreateTextLogParser<CsvDialect>};
extern const LogFormat kMsprobeMonitorLogFormat;
const LogFormat kMsprobeMonitorLogFormat = {"msprobe-monitor", &SniffMonitor, &CreateTextLogParser<CsvDialect>};

}  // namespace paritect
