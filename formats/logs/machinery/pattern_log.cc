#include "formats/logs/machinery/pattern_log.h"

#include <re2/re2.h>

#include "absl/strings/str_cat.h"
#include "formats/logs/machinery/field_names.h"

namespace paritect {
namespace {

class PatternDialect : public LineDialect {
 public:
  explicit PatternDialect(std::unique_ptr<RE2> pattern)
      : pattern_(std::move(pattern)), names_(pattern_->CapturingGroupNames()) {
    groups_.resize(static_cast<std::size_t>(pattern_->NumberOfCapturingGroups()) + 1);
  }

  bool Line(const LogLine& line, RunLogBuilder& out) override {
    const re2::StringPiece text(line.text.data(), line.text.size());
    if (!pattern_->Match(text, 0, text.size(), RE2::UNANCHORED, groups_.data(), static_cast<int>(groups_.size()))) {
      return false;
    }
    matched_ = true;
    FieldCollector fields;
    fields.SetLine(line.number);
    for (const auto& [index, name] : names_) {
      const re2::StringPiece& group = groups_[static_cast<std::size_t>(index)];
      if (group.data() == nullptr) continue;
      const LogKey& key = LookUpLogKey(name);
      const absl::string_view value(group.data(), group.size());
      fields.Add(key, key.field == LogField::kAccuracy ? ReadLogShare(value) : ReadLogNumber(value));
    }
    if (!fields.record().has_step && fields.odd_step()) {
      out.Unparsed(line.number, "its step is no whole number");
      return true;
    }
    fields.Finish(out);
    LogRecord& record = fields.record();
    if (line.rank && !record.values.has_rank()) record.values.set_rank(*line.rank);
    if (!record.has_step) {
      record.has_step = true;
      record.values.set_step(++order_);
      out.set_steps_by_order(line.number);
    } else if (const auto epoch = WholeLogNumber(record.values.epoch()); record.values.has_epoch() && epoch) {
      record.maybe_in_epoch = *epoch >= 0;
      record.epoch_index = *epoch;
    }
    out.Add(std::move(record));
    return true;
  }

  void Finish(RunLogBuilder& out) override {
    if (!matched_) {
      out.AddNote("pattern_never_matches", 0, absl::StrCat("the pattern `", pattern_->pattern(), "` matches no line"));
    }
  }

 private:
  std::unique_ptr<RE2> pattern_;
  std::map<int, std::string> names_;
  std::vector<re2::StringPiece> groups_;
  std::int64_t order_ = 0;
  bool matched_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LogParser>> MakePatternParser(TextEncoding encoding, absl::string_view pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  auto compiled = std::make_unique<RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (!compiled->ok()) {
    return absl::InvalidArgumentError(absl::StrCat("pattern `", pattern, "`: ", compiled->error()));
  }
  bool known = false;
  for (const auto& [name, index] : compiled->NamedCapturingGroups()) {
    known = known || ClassifyLogKey(name) != LogField::kOther;
  }
  if (!known) {
    return absl::InvalidArgumentError(
        absl::StrCat("pattern `", pattern,
                     "`: no named group of step, epoch, loss, lr, grad_norm, loss_scale, accuracy, eval_loss"));
  }
  return MakeTextLogParser(encoding, std::make_unique<PatternDialect>(std::move(compiled)));
}

}  // namespace paritect
