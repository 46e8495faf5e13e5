// -o xlsx: a workbook for people who work in tables. The first sheet is the checklist's own table (item, introduction,
// result: 检查项, 简介, 检查结果), then a sheet an item with every finding and what is missing. libxlsxwriter writes
// it.
#include <stdlib.h>
#include <unistd.h>
#include <xlsxwriter.h>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/report/json.h"
#include "client/report/renderer.h"
#include "common/file_system.h"
#include "common/utf8.h"
#include "report/summary.h"
#include "report/view.h"

namespace paritect {
namespace {

constexpr std::size_t kCellCharactersMax = 32'000;  // Excel's limit is 32767
constexpr std::size_t kSheetNameMax = 31;
constexpr std::uint64_t kWorkbookBytesMax = std::uint64_t{1} << 30;
constexpr lxw_row_t kRowsMax = 1'000'000;  // Excel's limit is 1048576
constexpr double kWide = 60, kNarrow = 16;

// A cell of a text that others wrote: shown, never run, cut where the format cannot hold it.
std::string Cell(absl::string_view text) {
  // A cell may hold several lines; all else that is no text is shown as \xHH.
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(text, '\n')) lines.push_back(DisplayBytes(line));
  std::string shown = absl::StrJoin(lines, "\n");
  if (shown.size() <= kCellCharactersMax) return shown;
  std::size_t end = kCellCharactersMax;
  while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xC0) == 0x80) --end;
  shown.resize(end);
  return shown + "…";
}

// A name that is ours alone until it goes: the library (1.1) writes to a name, not into memory.
class TemporaryFile {
 public:
  TemporaryFile() {
    // A TMPDIR that is not there, or may not be written, is no reason against a report: then /tmp, as others do.
    const char* folder = getenv("TMPDIR");
    for (const char* place : {folder, "/tmp"}) {
      if (place == nullptr || *place == '\0') continue;
      name_ = absl::StrCat(place, "/paritect-XXXXXX");
      descriptor_ = mkstemp(name_.data());
      if (descriptor_ >= 0) return;
    }
  }
  ~TemporaryFile() {
    if (descriptor_ < 0) return;
    close(descriptor_);
    unlink(name_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  bool ok() const { return descriptor_ >= 0; }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  int descriptor_ = -1;
};

class Workbook {
 public:
  Workbook(const RenderOptions& options, const std::string& file) : options_(options) {
    book_ = workbook_new(file.c_str());
    if (book_ == nullptr) return;
    // The time inside is the report's, so that equal reports give equal files.
    lxw_doc_properties properties = {};
    properties.created = options.companion.meta == nullptr ? 1 : options.companion.meta->at_unix_ms() / 1000;
    workbook_set_properties(book_, &properties);
    plain_ = Format(LXW_COLOR_UNSET);
    head_ = Format(0xDDE3EA);
    if (head_ != nullptr) format_set_bold(head_);
    fail_ = Format(0xFDECEA);
    pass_ = Format(0xE7F5EC);
    open_ = Format(0xFBF4D8);
  }

  bool Write(const v1::Report& report) {
    if (book_ == nullptr) return false;
    Overview(report);
    int number = 0;
    for (const v1::ItemResult& item : report.items()) Item(item, ++number);
    return workbook_close(book_) == LXW_NO_ERROR;
  }

 private:
  lxw_format* Format(lxw_color_t ground) {
    lxw_format* format = workbook_add_format(book_);
    if (format == nullptr) return nullptr;
    format_set_text_wrap(format);
    format_set_align(format, LXW_ALIGN_VERTICAL_TOP);
    if (ground != LXW_COLOR_UNSET) format_set_bg_color(format, ground);
    return format;
  }

  lxw_format* Of(Standing standing) const {
    return standing == Standing::kFail            ? fail_
           : standing == Standing::kPass          ? pass_
           : standing == Standing::kNotApplicable ? plain_
                                                  : open_;
  }

  std::string Say(absl::string_view id) const { return Word(options_.rules, options_.languages, id); }
  std::string Say(const v1::Text& text) const { return InAll(options_.languages, text, "\n"); }

  static void Put(lxw_worksheet* sheet, lxw_row_t row, int column, absl::string_view text, lxw_format* format) {
    // As a string whatever it looks like: "=1+1" stays a text.
    worksheet_write_string(sheet, row, static_cast<lxw_col_t>(column), Cell(text).c_str(), format);
  }

  // Names of sheets are short, may not repeat, and hold none of []:*?/\ ("check result / 检查结果" in two languages).
  static std::string SheetName(const std::string& wanted) {
    const std::string plain = absl::StrReplaceAll(wanted, {{" / ", " "}, {"/", " "}, {":", " "}});
    return std::string(TruncateToWidth(plain, kSheetNameMax));
  }

  lxw_worksheet* Sheet(const std::string& name, absl::Span<const std::string> heads, absl::Span<const double> widths) {
    lxw_worksheet* sheet = workbook_add_worksheet(book_, name.c_str());
    for (std::size_t i = 0; i < heads.size(); ++i) {
      const auto column = static_cast<lxw_col_t>(i);
      worksheet_set_column(sheet, column, column, widths[i], nullptr);
      Put(sheet, 0, static_cast<int>(i), heads[i], head_);
    }
    worksheet_freeze_panes(sheet, 1, 0);
    return sheet;
  }

  // The source's three columns, in the reader's language.
  void Overview(const v1::Report& report) {
    const std::string heads[] = {Say("ui_sheet_item"), Say("ui_sheet_about"), Say("ui_sheet_result"), "id"};
    const double widths[] = {40, kWide, 70, 28};
    lxw_worksheet* sheet = Sheet(SheetName(Say("ui_sheet_result")), heads, widths);
    lxw_row_t row = 1;
    for (const v1::ItemResult& item : report.items()) {
      const CatalogueItem* known = options_.rules.catalogue.FindItem(item.id());
      Put(sheet, row, 0, Say(item.title()), plain_);
      Put(sheet, row, 1, known == nullptr ? "" : Say(known->about), plain_);
      Put(sheet, row, 2, ResultOf(item), Of(StandingOf(item)));
      Put(sheet, row, 3, item.id(), plain_);
      ++row;
    }
  }

  // The verdict, then its first reasons.
  std::string ResultOf(const v1::ItemResult& item) const {
    constexpr std::size_t kReasonsMax = 3;
    std::vector<std::string> lines = {StandingName(options_.rules, options_.languages, StandingOf(item))};
    std::size_t more = 0;
    const auto reason = [&](const std::string& text) {
      lines.size() <= kReasonsMax ? lines.push_back(text) : void(++more);
    };
    for (const v1::CheckResult& check : item.checks()) {
      for (const v1::Finding& finding : check.findings()) {
        if (ClassOf(finding) != FindingClass::kError) continue;
        reason(absl::StrCat(DisplayBytes(finding.subject()),
                            finding.subject().empty() ? "" : Colon(options_.languages[0]), Say(finding.message())));
      }
    }
    if (item.verdict() == v1::VERDICT_NOT_PERFORMED) {
      for (const v1::CheckResult& check : item.checks()) {
        for (const v1::Missing& missing : check.missing()) reason(Say(missing.what()));
      }
    }
    if (more > 0) {
      lines.push_back(Word(options_.rules, options_.languages, "ui_more", {{"count", absl::StrCat(more)}}));
    }
    return absl::StrJoin(lines, "\n");
  }

  void Item(const v1::ItemResult& item, int number) {
    std::vector<std::string> heads;
    for (const char* id : {"ui_check", "ui_verdict", "ui_required", "ui_kind", "ui_subject", "ui_baseline",
                           "ui_migrated", "ui_message", "ui_fix", "ui_evidence", "ui_answer"}) {
      heads.push_back(Say(id));
    }
    const double widths[] = {34, kNarrow, 10, 24, 36, 30, 30, kWide, kWide, 36, 30};
    lxw_worksheet* sheet = Sheet(SheetName(absl::StrCat(number, " ", item.id())), heads, widths);
    lxw_row_t row = 1;
    for (const v1::CheckResult& check : item.checks()) Check(sheet, check, row);
    worksheet_autofilter(sheet, 0, 0, row > 1 ? row - 1 : 1, static_cast<lxw_col_t>(heads.size() - 1));
  }

  void Check(lxw_worksheet* sheet, const v1::CheckResult& check, lxw_row_t& row) {
    const auto line = [&](const std::vector<std::string>& cells, lxw_format* verdict) {
      if (row >= kRowsMax) return;
      Put(sheet, row, 0, check.id(), plain_);
      Put(sheet, row, 1, StandingName(options_.rules, options_.languages, StandingOf(check)), verdict);
      Put(sheet, row, 2, check.required() ? Say("ui_required") : "", plain_);
      for (std::size_t i = 0; i < cells.size(); ++i) Put(sheet, row, static_cast<int>(i) + 3, cells[i], plain_);
      ++row;
    };
    lxw_format* verdict = Of(StandingOf(check));
    for (const v1::Finding& finding : check.findings()) {
      std::string answer;
      if (finding.has_waived()) answer = Answer("ui_waived_by", finding.waived());
      line({finding.kind(), finding.subject(), ValueIn(options_.languages[0], finding.baseline()),
            ValueIn(options_.languages[0], finding.migrated()), Say(finding.message()), Say(finding.remedy()),
            absl::StrJoin(finding.evidence(), "\n"), answer},
           verdict);
    }
    for (const v1::Missing& missing : check.missing()) {
      line({"", missing.from(), "", "", Say(missing.what()), Say(missing.how()), "", ""}, verdict);
    }
    const bool nothing = check.findings().empty() && check.missing().empty();
    const std::string attested = check.has_attested() ? Answer("ui_attested_by", check.attested()) : "";
    if (nothing || !attested.empty()) line({"", "", "", "", "", "", "", attested}, verdict);
  }

  template <typename PersonsWord>
  std::string Answer(absl::string_view id, const PersonsWord& answer) const {
    return Word(options_.rules, options_.languages, id,
                {{"by", answer.by()}, {"until", answer.until()}, {"reason", answer.reason()}});
  }

  const RenderOptions& options_;
  lxw_workbook* book_ = nullptr;
  lxw_format* plain_ = nullptr;
  lxw_format* head_ = nullptr;
  lxw_format* fail_ = nullptr;
  lxw_format* pass_ = nullptr;
  lxw_format* open_ = nullptr;
};

void Render(const v1::Report& report, const RenderOptions& options, std::ostream& out) {
  const TemporaryFile file;
  if (!file.ok() || !Workbook(options, file.name()).Write(report)) return out.setstate(std::ios::failbit);
  const auto bytes = ReadWholeFile(PosixFileSystem(), file.name(), kWorkbookBytesMax);
  if (!bytes.ok()) return out.setstate(std::ios::failbit);
  out << *bytes;
}

}  // namespace

extern const Renderer kXlsxRenderer;
const Renderer kXlsxRenderer = {"xlsx", &Render};

}  // namespace paritect
