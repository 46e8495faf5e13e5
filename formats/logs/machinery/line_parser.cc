// The frame of every text dialect: bytes to lines to pieces by rank, then the dialect, then what all logs share.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/logs/log_format.h"
#include "formats/logs/machinery/common_lines.h"
#include "formats/logs/machinery/cut_loss.h"
#include "formats/logs/machinery/evaluation_modes.h"
#include "formats/logs/machinery/plain_lines.h"
#include "formats/logs/machinery/rank_prefix.h"

namespace paritect {
namespace {

class TextLogParser : public LogParser {
 public:
  TextLogParser(TextEncoding encoding, std::unique_ptr<LineDialect> dialect,
                std::vector<std::unique_ptr<LineDialect>> helpers)
      : encoding_(encoding),
        lines_(encoding),
        dialect_(std::move(dialect)),
        helpers_(std::move(helpers)),
        needs_letters_(dialect_->wants_telling()) {
    if (dialect_->takes_plain_lines()) plain_ = MakePlainDialect();
  }

  absl::Status Feed(absl::string_view chunk, RunLogBuilder& out) override {
    const auto sink = [&](const TextLine& line) { OnLine(line, out); };
    const auto quiet = [&](absl::string_view text) {
      const auto more = QuietWithout();
      return more && !out.reads_every_line_anew() ? FindQuiet(text, *more) : QuietText();
    };
    if (helpers_.empty() && dialect_->quiet_without()) {
      lines_.Feed(chunk, quiet, sink);
    } else {
      lines_.Feed(chunk, sink);
    }
    return absl::OkStatus();
  }

  absl::Status Finish(RunLogBuilder& out) override {
    at_end_ = true;
    lines_.Finish([&](const TextLine& line) { OnLine(line, out); });
    dialect_->Finish(out);
    for (const auto& helper : helpers_) helper->FinishBeside(out);
    if (lines_.nul_bytes() > 0) {
      const bool hole = lines_.longest_hole() >= kHoleBytesMin;
      out.AddNote(hole ? "gap" : "nul_bytes", lines_.first_hole_line(),
                  absl::StrCat(lines_.nul_bytes(), " NUL bytes, the longest run ", lines_.longest_hole(),
                               ": text may be lost there (nul_bytes)"));
    }
    return absl::OkStatus();
  }

  absl::Status FeedHole(std::uint64_t bytes, RunLogBuilder& out) override {
    lines_.FeedHole(bytes, [&](const TextLine& line) { OnLine(line, out); });
    return absl::OkStatus();
  }

  void StartNewFile() override { lines_ = TextLines(encoding_); }

 private:
  static constexpr std::int64_t kHoleBytesMin = 512;

  void OnLine(const TextLine& line, RunLogBuilder& out) {
    if (line.too_long) {
      out.Unparsed(line.number, absl::StrCat("longer than ", kTextLineBytesMax, " bytes"));
    } else if (!line.ended && at_end_ && !dialect_->IsWholeWithoutEnd(line.text)) {
      out.set_incomplete_tail();
    } else if ((!line.ended && !at_end_) || line.after_hole) {
      out.Unparsed(line.number, "cut by a hole of NUL bytes");
    } else {
      Pieces(line, out);
    }
  }

  void Pieces(const TextLine& line, RunLogBuilder& out) {
    ++seen_;
    LogLine piece;
    piece.number = line.number;
    absl::string_view rest = line.text;
    // A form is of text without prefixes, so a line of that form has none either.
    piece.text = rest;
    if (ReadKnownForm(piece, out)) return;
    if (const auto more = QuietWithout(); more && !HasTellingLetters(rest, *more)) return;
    for (;;) {
      const std::size_t inside = FindRankPrefixInside(rest);
      piece.text = rest.substr(0, inside);
      piece.piece = piece.piece || inside != absl::string_view::npos;
      piece.rank = StripRankPrefix(piece.text);
      OnPiece(piece, line.text, out);
      if (inside == absl::string_view::npos) return;
      rest.remove_prefix(inside);
    }
  }

  void OnPiece(LogLine& line, absl::string_view whole, RunLogBuilder& out) {
    const bool stripped = !line.piece && line.text.data() != whole.data();
    if (stripped && ReadKnownForm(line, out)) return;
    if (needs_letters_) line.telling = line.piece || HasTellingLetters(line.text);
    if (line.telling) evaluations_.Take(line, out);
    const std::size_t before = out.size();
    const bool read = ReadsByDialect(line, out);
    if (read && out.size() > before) return TakeForm(line, *dialect_, before, out);
    if ((!line.piece && ReadsWithoutLoss(line, out)) || read) return;
    for (const auto& helper : helpers_) {
      const Helped helped = Help(*helper, line, out);
      if (helped == Helped::kNot) continue;
      // A line of which the helper makes nothing may still be the script's own.
      if (helped == Helped::kInVain && plain_ != nullptr) Reads(*plain_, line, out);
      return;
    }
    if (!needs_letters_) line.telling = line.piece || HasTellingLetters(line.text);
    if (!line.telling) return;
    if (plain_ != nullptr && Reads(*plain_, line, out)) return TakeForm(line, *plain_, before, out);
    common_.Line(line, out);
  }

  bool ReadsByDialect(const LogLine& line, RunLogBuilder& out) {
    if (!line.piece && line.telling) {
      fields_.Clear();
      if (dialect_->Collect(line.text, fields_)) {
        if (!out.reads_every_line_anew()) forms_.Learn(line.text, fields_);
        if (dialect_->Emit(line, fields_, out)) return true;
      }
    }
    return dialect_->Line(line, out);
  }

  // After a line that was read: one with a loss shows what such lines look like. The lines right before the first one
  // may be of its form.
  void TakeForm(const LogLine& line, LineDialect& reader, std::size_t before, RunLogBuilder& out) {
    if (line.piece || out.size() == before || !out.last()->values.has_loss()) return;
    cut_.Take(line.text);
    reader_of_loss_ = &reader;
    if (before == 0 && !out.is_live()) {
      for (auto one = unread_.rbegin(); one != unread_.rend(); ++one) {
        LogLine early = line;
        early.text = one->text;
        early.number = one->number;
        early.rank = one->rank;
        for (LogRecord& entry : WithLossPutBack(early)) {
          if (entry.values.step() < out.entries()[0].values.step()) out.AddBeforeFirst(std::move(entry));
        }
      }
    }
    unread_.clear();
  }

  bool ReadsWithoutLoss(const LogLine& line, RunLogBuilder& out) {
    if (cut_.empty()) {
      if (unread_.size() == kUnreadMax) unread_.erase(unread_.begin());
      if (line.text.size() <= kUnreadBytesMax) unread_.push_back({std::string(line.text), line.number, line.rank});
      return false;
    }
    std::vector<LogRecord> entries = WithLossPutBack(line);
    for (LogRecord& entry : entries) out.Add(std::move(entry));
    return !entries.empty();
  }

  // What the dialect reads from a line whose loss is gone: the record without it.
  std::vector<LogRecord> WithLossPutBack(const LogLine& line) {
    std::vector<LogRecord> entries;
    const std::optional<std::string> whole = cut_.PutBack(line.text);
    if (!whole.has_value()) return entries;
    LogLine mended = line;
    mended.text = *whole;
    mended.telling = true;
    if (Reads(*reader_of_loss_, mended, *aside_)) {
      for (LogRecord& entry : aside_->entries()) {
        if (CutLoss::TakeOut(entry.values)) entries.push_back(std::move(entry));
      }
    }
    aside_ = std::make_unique<RunLogBuilder>();
    return entries;
  }

  // Letters without which a line is nothing to anybody here. Before the first loss any line may be one that lost it.
  std::optional<absl::string_view> QuietWithout() const {
    if (cut_.empty() && seen_ < kSeenMax) return std::nullopt;
    return helpers_.empty() ? dialect_->quiet_without() : std::nullopt;
  }

  bool Reads(LineDialect& dialect, const LogLine& line, RunLogBuilder& out) {
    if (!line.piece) {
      fields_.Clear();
      if (dialect.Collect(line.text, fields_) && dialect.Emit(line, fields_, out)) return true;
    }
    return dialect.Line(line, out);
  }

  struct Unread {
    std::string text;
    std::int64_t number = 0;
    std::optional<std::int32_t> rank;
  };
  static constexpr std::int64_t kSeenMax = 100'000;
  static constexpr std::size_t kUnreadMax = 4;
  static constexpr std::size_t kUnreadBytesMax = 4096;

  enum class Helped { kNot, kInVain, kYes };

  // What a helper makes of the line stands in a log of its own. Results of an evaluation belong to the curve's steps;
  // counters have steps of their own.
  Helped Help(LineDialect& helper, const LogLine& line, RunLogBuilder& out) {
    if (!Reads(helper, line, *aside_)) return Helped::kNot;
    bool gives = false;
    for (LogRecord& entry : aside_->entries()) {
      const StepValues& values = entry.values;
      entry.has_result = values.has_eval_loss() || (values.has_accuracy() && !values.accuracy_of_training());
      const bool counts = entry.has_step && !entry.step_in_epoch && !values.has_loss() && values.has_skipped();
      gives = gives || counts || entry.has_result;
      if (counts) {
        dialect_->StepTold(values.step());
        out.AddBeside(std::move(entry));
      } else if (entry.has_result) {
        entry.has_step = false;
        entry.values.clear_epoch();
        out.AddWithoutStep(std::move(entry));
      }
    }
    const v1::RunEnd& end = aside_->end();
    const bool ends = end.state() != v1::RunEnd::STATE_UNSPECIFIED;
    if (ends) out.End(end.state(), end.evidence(), end.line(), line.rank);
    aside_ = std::make_unique<RunLogBuilder>();
    return gives || ends ? Helped::kYes : Helped::kInVain;
  }

  bool ReadKnownForm(const LogLine& line, RunLogBuilder& out) {
    const LineFields* known = forms_.Match(line.text);
    return known != nullptr && dialect_->Emit(line, *known, out);
  }

  TextEncoding encoding_;
  TextLines lines_;
  std::unique_ptr<LineDialect> dialect_;
  std::unique_ptr<LineDialect> plain_;  // of a dialect that prints no loss: the script's own lines
  std::vector<std::unique_ptr<LineDialect>> helpers_;
  std::unique_ptr<RunLogBuilder> aside_ = std::make_unique<RunLogBuilder>();  // of the helpers
  bool needs_letters_ = false;
  LineFields fields_;
  LineForms forms_;
  CutLoss cut_;
  LineDialect* reader_of_loss_ = nullptr;  // of the line that cut_ holds
  std::int64_t seen_ = 0;                  // lines
  std::vector<Unread> unread_;             // the last ones before the first line with a loss
  CommonLines common_;
  EvaluationNotes evaluations_;
  bool at_end_ = false;
};

}  // namespace

std::unique_ptr<LogParser> MakeTextLogParser(TextEncoding encoding, std::unique_ptr<LineDialect> dialect,
                                             std::vector<std::unique_ptr<LineDialect>> helpers) {
  return std::make_unique<TextLogParser>(encoding, std::move(dialect), std::move(helpers));
}

}  // namespace paritect
