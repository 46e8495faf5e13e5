// -o junit: for build servers (Jenkins' schema, which counts what was skipped for each suite and not for all). Suite =
// item, test case = check; not performed is `skipped` with what is missing.
#include <algorithm>

#include "absl/strings/str_join.h"
#include "client/report/json.h"
#include "client/report/renderer.h"
#include "common/utf8.h"
#include "report/summary.h"
#include "report/view.h"

namespace paritect {
namespace {

// XML 1.0 text: control characters, which it cannot hold at all, stand as \xHH.
std::string Xml(absl::string_view text) {
  std::string out;
  for (char c : DisplayBytes(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out.push_back(c);
    }
  }
  return out;
}

std::string Sentence(const RenderOptions& options, const v1::Finding& finding) {
  std::string text = finding.kind();
  if (!finding.subject().empty()) absl::StrAppend(&text, " ", ValueIn(options.languages[0], finding.subject()));
  const Language language = options.languages[0];
  absl::StrAppend(&text, Colon(language), InAll(options.languages, finding.message()));
  if (!finding.baseline().empty() || !finding.migrated().empty()) {
    absl::StrAppend(&text, language == Language::kChinese ? "（" : " (",
                    Word(options.rules, options.languages, "ui_baseline"), " ", ValueIn(language, finding.baseline()),
                    language == Language::kChinese ? "，" : ", ", Word(options.rules, options.languages, "ui_migrated"),
                    " ", ValueIn(language, finding.migrated()), language == Language::kChinese ? "）" : ")");
  }
  if (!finding.remedy().en().empty())
    absl::StrAppend(&text, ListSeparator(language), InAll(options.languages, finding.remedy()));
  return text;
}

void TestCase(const v1::ItemResult& item, const v1::CheckResult& check, const RenderOptions& options,
              std::ostream& out) {
  out << "    <testcase classname=\"" << Xml(item.id()) << "\" name=\"" << Xml(check.id()) << "\"";
  std::vector<std::string> errors;
  std::vector<std::string> others;
  for (const v1::Finding& finding : check.findings()) {
    (ClassOf(finding) == FindingClass::kError ? errors : others).push_back(Xml(Sentence(options, finding)));
  }
  std::vector<std::string> missing;
  for (const v1::Missing& one : check.missing()) missing.push_back(Xml(InAll(options.languages, one.what())));
  out << ">\n";
  if (check.verdict() == v1::VERDICT_FAIL) {
    const auto error = std::find_if(check.findings().begin(), check.findings().end(),
                                    [](const v1::Finding& one) { return ClassOf(one) == FindingClass::kError; });
    const std::string kind = error == check.findings().end() ? "" : error->kind();
    out << "      <failure message=\"" << (errors.empty() ? "" : errors[0]) << "\" type=\"" << Xml(kind) << "\">"
        << absl::StrJoin(errors, "\n") << "</failure>\n";
  } else if (check.verdict() == v1::VERDICT_NOT_PERFORMED) {
    out << "      <skipped message=\"" << absl::StrJoin(missing, ListSeparator(options.languages[0])) << "\"/>\n";
  } else if (StandingOf(check) == Standing::kNotApplicable) {
    // Nothing was tried that could have passed; the note beside it says why.
    out << "      <skipped message=\"" << Xml(StandingName(options.rules, options.languages, Standing::kNotApplicable))
        << "\"/>\n";
  }
  if (check.has_attested()) {
    others.push_back(Xml(Word(
        options.rules, options.languages, "ui_attested_by",
        {{"by", check.attested().by()}, {"until", check.attested().until()}, {"reason", check.attested().reason()}})));
  }
  if (!others.empty()) out << "      <system-out>" << absl::StrJoin(others, "\n") << "</system-out>\n";
  out << "    </testcase>\n";
}

void Render(const v1::Report& report, const RenderOptions& options, std::ostream& out) {
  const StandingCounts all = CountChecks(report);
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"paritect " << Xml(report.profile())
      << "\" tests=\"" << all.total() << "\" failures=\"" << all.fail << "\" errors=\"0\">\n";
  for (const v1::ItemResult& item : report.items()) {
    const StandingCounts counts = CountChecks(item);
    out << "  <testsuite name=\"" << Xml(item.id()) << "\" tests=\"" << counts.total() << "\" failures=\""
        << counts.fail << "\" errors=\"0\" skipped=\"" << counts.not_performed + counts.not_applicable << "\">\n";
    for (const v1::CheckResult& check : item.checks()) TestCase(item, check, options, out);
    out << "  </testsuite>\n";
  }
  out << "</testsuites>\n";
}

}  // namespace

extern const Renderer kJunitRenderer;
const Renderer kJunitRenderer = {"junit", &Render};

}  // namespace paritect
