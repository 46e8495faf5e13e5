#include "formats/logs/machinery/plain_lines.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/logs/machinery/common_lines.h"
#include "formats/logs/machinery/evaluation_lines.h"
#include "formats/logs/machinery/evaluation_modes.h"
#include "formats/logs/machinery/field_names.h"
#include "formats/logs/machinery/named_values.h"
#include "formats/logs/machinery/rank_prefix.h"
#include "formats/logs/machinery/telling_groups.h"

namespace paritect {
namespace {

bool MayTell(absl::string_view line) {
  return absl::StrContains(line, "oss") || absl::StrContains(line, "OSS") || absl::StrContains(line, "损失") ||
         absl::StrContains(line, "xent");
}

// MLPerf's lines repeat what the script prints, with other digits: they are their own dialect's.
constexpr absl::string_view kMllog = ":::MLLOG";

enum Kind { kLine = 0, kEvaluationLine = 1, kPlace = 2 };

void AddPlaceFields(const LogLine& line, const EpochPlace& place, std::int64_t first_epoch, const LineFields& found,
                    RunLogBuilder& out) {
  FieldCollector fields;
  fields.SetLine(line.number);
  std::int64_t total = 0;
  TakeFields(found, fields, total);
  if (fields.spliced()) return out.Unparsed(line.number, "another writer's text stands inside a number");
  LogRecord& record = fields.record();
  record.has_step = true;
  record.step_in_epoch = record.may_go_on = true;
  record.epoch_index = std::max<std::int64_t>(place.epoch - first_epoch, 0);
  record.steps_per_epoch = place.steps_per_epoch;
  record.values.set_step(place.step);
  record.values.set_epoch(static_cast<double>(place.epoch));
  if (!fields.has_loss_key() && !fields.has_values()) return;
  fields.Finish(out);
  if (line.rank && !record.values.has_rank()) record.values.set_rank(*line.rank);
  out.Add(std::move(record));
}

// The place's numbers as fields, and back; false where a number of a known form is no integer.
void AddPlaceNumbers(const EpochPlace& place, LineFields& fields) {
  const std::pair<LineSlot, absl::string_view> numbers[] = {
      {kPlaceEpoch, place.epoch_text}, {kPlaceStep, place.step_text}, {kPlaceTotal, place.total_text}};
  for (const auto& [slot, text] : numbers) {
    LogNumber number;
    ReadPlainLogNumber(text, number);
    fields.Add(slot, number);
  }
}

bool PlaceOf(const LineFields& fields, EpochPlace& place) {
  for (const FieldValue& field : fields.values) {
    if (field.slot < kPlaceEpoch) continue;
    const absl::string_view text = field.number.text;
    const bool integer = field.number.kind == LogNumber::Kind::kValue && text.size() < 16 &&
                         text.find_first_not_of("0123456789") == absl::string_view::npos;
    if (!integer) return false;
    const auto value = static_cast<std::int64_t>(field.number.value);
    (field.slot == kPlaceEpoch ? place.epoch : field.slot == kPlaceStep ? place.step : place.steps_per_epoch) = value;
  }
  return true;
}

// A training's line that begins with "[200/30000]" and names no step in words.
bool CollectBracketLine(absl::string_view text, LineFields& fields) {
  EpochPlace place;
  if (!MayTell(text) || IsEvaluationLine(text) || !FindBracketPlace(text, place)) return false;
  LineFields behind;
  FindPlainFields(place.rest, behind);
  bool trains = false;
  for (const FieldValue& field : behind.values) {
    const LogField what = field.slot == kKeyed ? field.key.field : LogField::kOther;
    if (what == LogField::kStep || what == LogField::kBatch || what == LogField::kEpoch) return false;
    trains = trains || IsTrainingLoss(what) || what == LogField::kOtherLoss;
  }
  if (!trains) return false;
  fields = std::move(behind);
  if (!place.epoch_text.empty()) {
    AddPlaceNumbers(place, fields);
    fields.kind = kPlace;
    return true;
  }
  fields.Add(LookUpLogKey("step"), ReadLogNumber(place.step_text));
  fields.Add(kTotalSteps, ReadLogNumber(place.total_text));
  fields.kind = kLine;
  return true;
}

}  // namespace

void AddAtEpochPlace(const LogLine& line, const EpochPlace& place, std::int64_t first_epoch, RunLogBuilder& out) {
  LineFields found;
  FindPlainFields(place.rest, found);
  AddPlaceFields(line, place, first_epoch, found, out);
}

bool IsPlainLossLine(absl::string_view line) {
  if (!MayTell(line)) return false;
  FieldCollector fields;
  std::int64_t total = 0;
  CollectPlainFields(line, fields, total);
  RunLogBuilder scratch;
  fields.Finish(scratch);
  return fields.record().has_step && !fields.spliced() && fields.record().values.has_loss();
}

bool CollectPlainLine(absl::string_view text, LineFields& fields) {
  if (!MayTell(text) && !MayEvaluate(text)) return false;
  FindPlainFields(text, fields);
  fields.kind = IsEvaluationLine(text) ? kEvaluationLine : kLine;
  return true;
}

bool EmitPlainLine(const LogLine& line, const LineFields& found, RunLogBuilder& out) {
  FieldCollector fields;
  std::int64_t total = 0;
  fields.SetLine(line.number);
  TakeFields(found, fields, total);
  if (!fields.record().has_step) {
    if (line.piece) out.Unparsed(line.number, "cut by another writer's line");
    if (!line.piece && fields.odd_step() && fields.has_loss_key()) {
      out.Unparsed(line.number, "its step is no whole number");
      return true;
    }
    return line.piece;
  }
  if (fields.spliced()) {
    out.Unparsed(line.number, "another writer's text stands inside a number");
    return true;
  }
  if (!fields.has_loss_key() && !fields.has_evaluation()) {
    if (line.piece) out.Unparsed(line.number, "cut by another writer's line");
    return line.piece || (MayTell(line.text) && fields.has_values() && !TellsOfOverflow(line.text));
  }
  fields.Finish(out);
  if (found.kind == kEvaluationLine) fields.MarkEvaluation();
  LogRecord& record = fields.record();
  if (line.rank && !record.values.has_rank()) record.values.set_rank(*line.rank);
  const double epoch = record.values.epoch();
  if (record.values.has_epoch() && epoch >= 0 && epoch < 1e9 && epoch == std::floor(epoch)) {
    record.maybe_in_epoch = true;
    record.epoch_index = static_cast<std::int64_t>(epoch);
    record.steps_per_epoch = total;
  } else if (total > 0) {
    out.TotalSteps(total);
  }
  out.Add(std::move(record));
  return true;
}

bool ReadPlainLine(const LogLine& line, RunLogBuilder& out) {
  LineFields fields;
  if (!CollectPlainLine(line.text, fields)) {
    if (line.piece) out.Unparsed(line.number, "cut by another writer's line");
    return line.piece;
  }
  return EmitPlainLine(line, fields, out);
}

namespace {

class PlainDialect : public LineDialect {
 public:
  bool wants_telling() const override { return true; }

  // A line of the form whose loss is left out begins as the others do.
  std::optional<absl::string_view> quiet_without() const override {
    if (!form_.empty() && form_.size() < 3) return std::nullopt;
    return form_;
  }

  bool Collect(absl::string_view text, LineFields& fields) override {
    EpochPlace place;
    if (MayTell(text) && !absl::StrContains(text, "est:") && FindEpochPlace(text, place)) {
      AddPlaceNumbers(place, fields);
      FindPlainFields(place.rest, fields);
      fields.kind = kPlace;
      return true;
    }
    if (absl::StartsWith(text, kMllog)) return false;
    return CollectBracketLine(text, fields) || CollectPlainLine(text, fields);
  }

  bool Emit(const LogLine& line, const LineFields& fields, RunLogBuilder& out) override {
    if (fields.kind == kPlace) {
      EpochPlace place;
      if (!PlaceOf(fields, place)) return false;
      if (!first_epoch_) first_epoch_ = place.epoch == 1 ? 1 : 0;
      AddPlaceFields(line, place, *first_epoch_, fields, out);
      return true;
    }
    const std::size_t before = out.size();
    const bool read = EmitPlainLine(line, fields, out);
    if (out.size() > before) Remember(line.text, out.last()->values);
    return read;
  }

  bool Line(const LogLine& line, RunLogBuilder& out) override {
    if (!line.telling || absl::StartsWith(line.text, kMllog)) return false;
    if (!line.piece) return ReadEpochLine(line, out);  // Collect has seen what else it may be
    LineFields fields;
    return Collect(line.text, fields) ? Emit(line, fields, out) : ReadPlainLine(line, out);
  }

 private:
  static constexpr std::size_t kFormBytes = 4;

  static bool HasOtherValues(const StepValues& record) {
    return record.has_lr() || record.has_grad_norm() || record.has_loss_scale();
  }

  // A line that gives a loss beside other values: without it (cut_loss.h) it would tell nothing.
  void Remember(absl::string_view text, const StepValues& record) {
    if (!record.has_loss() || !HasOtherValues(record)) return;
    text = text.substr(0, kFormBytes);
    // "[2/200]": of a place only the bracket is the same in each line.
    form_ = std::string(absl::StartsWith(text, "[") ? text.substr(0, text.find_first_of("0123456789")) : text);
  }

  std::string form_;  // how those lines begin
  std::optional<std::int64_t> first_epoch_;
};

}  // namespace

std::unique_ptr<LineDialect> MakePlainDialect() {
  return std::make_unique<PlainDialect>();
}

namespace {

bool IsPlaceWithLoss(absl::string_view line) {
  EpochPlace place;
  if (!MayTell(line) || !FindEpochPlace(line, place)) return false;
  FieldCollector fields;
  std::int64_t total = 0;
  CollectPlainFields(place.rest, fields, total);
  return fields.has_loss_key();
}

bool IsBracketLine(absl::string_view line) {
  LineFields fields;
  StripRankPrefix(line);
  return CollectBracketLine(line, fields);
}

bool Sniff(const LogHead& head) {
  return AnyLine(head.text, [](absl::string_view line) {
    return HasTellingLetters(line) && !absl::StartsWith(line, kMllog) &&
           (IsPlainLossLine(line) || IsBracketLine(line) || IsPlaceWithLoss(line) || IsEpochLine(line) ||
            NamesEvaluatedWeights(line));
  });
}

}  // namespace

extern const LogFormat kTextLogFormat;
const LogFormat kTextLogFormat = {"text", &Sniff, &CreateTextLogParser<PlainDialect>, &MakeLineDialect<PlainDialect>,
                                  telling::kLetters};

}  // namespace paritect
