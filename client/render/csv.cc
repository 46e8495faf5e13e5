// -o csv: one row a finding or missing piece, one row for a check that has neither. RFC 4180 (CRLF, quotes), UTF-8
// with a byte order mark, as spreadsheets want it.
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/report/json.h"
#include "client/report/renderer.h"
#include "common/numbers.h"
#include "common/utf8.h"

namespace paritect {
namespace {

// A cell that begins like a formula would be run by a spreadsheet: names in an audited folder are other
// people's texts. A leading apostrophe makes it a text; numbers stay numbers.
std::string Harmless(absl::string_view text) {
  if (text.empty() || !absl::StrContains("=+-@\t\r", text.substr(0, 1)) || ParseDouble(text)) return std::string(text);
  return absl::StrCat("'", text);
}

std::string Cell(absl::string_view text) {
  const std::string safe = Harmless(DisplayBytes(text));
  if (safe.find_first_of(",\"\r\n") == std::string::npos) return safe;
  return absl::StrCat("\"", absl::StrReplaceAll(safe, {{"\"", "\"\""}}), "\"");
}

class Csv {
 public:
  Csv(const RenderOptions& options, std::ostream& out) : options_(options), out_(out) {}

  void Write(const v1::Report& report) {
    out_ << "\xef\xbb\xbf";
    Header();
    for (const v1::ItemResult& item : report.items()) {
      for (const v1::CheckResult& check : item.checks()) Check(item, check);
    }
  }

 private:
  // A column of texts: one for each language wanted.
  void AddNames(std::vector<std::string>& row, absl::string_view name) const {
    for (Language language : options_.languages) {
      const absl::string_view tail = language == Language::kEnglish ? "_en" : "_zh";
      row.push_back(absl::StrCat(name, options_.languages.size() > 1 ? tail : ""));
    }
  }
  void AddTexts(std::vector<std::string>& row, const v1::Text& text) const {
    for (Language language : options_.languages) row.push_back(In(language, text));
  }
  void AddBlanks(std::vector<std::string>& row, std::size_t columns) const { row.resize(row.size() + columns); }

  void Row(const std::vector<std::string>& cells) {
    out_ << absl::StrJoin(cells, ",", [](std::string* out, const std::string& cell) { out->append(Cell(cell)); })
         << "\r\n";
  }

  void Header() {
    std::vector<std::string> row = {"item"};
    AddNames(row, "item_title");
    row.push_back("item_verdict");
    row.push_back("check");
    AddNames(row, "check_title");
    for (const char* name : {"required", "verdict", "row", "severity", "kind", "subject", "baseline", "migrated"}) {
      row.emplace_back(name);
    }
    AddNames(row, "message");
    AddNames(row, "remedy");
    for (const char* name : {"evidence", "from", "answered_by", "answered_until", "answer"}) row.emplace_back(name);
    Row(row);
  }

  std::vector<std::string> Begin(const v1::ItemResult& item, const v1::CheckResult& check,
                                 absl::string_view kind) const {
    std::vector<std::string> row = {item.id()};
    AddTexts(row, item.title());
    row.emplace_back(VerdictWord(item.verdict()));
    row.push_back(check.id());
    AddTexts(row, check.title());
    row.emplace_back(check.required() ? "true" : "false");
    row.emplace_back(VerdictWord(check.verdict()));
    row.emplace_back(kind);
    return row;
  }

  void Check(const v1::ItemResult& item, const v1::CheckResult& check) {
    const std::size_t languages = options_.languages.size();
    if (check.has_attested() || (check.findings().empty() && check.missing().empty())) {
      std::vector<std::string> row = Begin(item, check, "check");
      AddBlanks(row, 5 + 2 * languages + 2);
      const v1::Attestation& a = check.attested();
      for (const std::string& cell : {a.by(), a.until(), a.reason()}) row.push_back(cell);
      Row(row);
    }
    for (const v1::Finding& finding : check.findings()) Finding(item, check, finding);
    for (const v1::Missing& missing : check.missing()) {
      std::vector<std::string> row = Begin(item, check, "missing");
      AddBlanks(row, 5);
      AddTexts(row, missing.what());
      AddTexts(row, missing.how());
      row.emplace_back();
      row.push_back(missing.from());
      AddBlanks(row, 3);
      Row(row);
    }
  }

  void Finding(const v1::ItemResult& item, const v1::CheckResult& check, const v1::Finding& finding) {
    std::vector<std::string> row = Begin(item, check, "finding");
    row.emplace_back(SeverityWord(finding.severity()));
    row.push_back(finding.kind());
    // A report in both languages keeps values as they were found.
    const Language language = options_.languages.size() == 1 ? options_.languages[0] : Language::kEnglish;
    for (const std::string& value : {finding.subject(), finding.baseline(), finding.migrated()}) {
      row.push_back(ValueIn(language, value));
    }
    AddTexts(row, finding.message());
    AddTexts(row, finding.remedy());
    row.push_back(absl::StrJoin(finding.evidence(), "; "));
    row.push_back(absl::StrJoin(finding.nodes(), "; "));
    for (const std::string& cell : {finding.waived().by(), finding.waived().until(), finding.waived().reason()}) {
      row.push_back(cell);
    }
    Row(row);
  }

  const RenderOptions& options_;
  std::ostream& out_;
};

void Render(const v1::Report& report, const RenderOptions& options, std::ostream& out) {
  Csv(options, out).Write(report);
}

}  // namespace

extern const Renderer kCsvRenderer;
const Renderer kCsvRenderer = {"csv", &Render};

}  // namespace paritect
