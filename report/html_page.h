// The page that shows reports: as one file that opens from disk, and as what a server serves. One set of scripts and
// styles (report/page/) draws both.
#ifndef PARITECT_REPORT_HTML_PAGE_H_
#define PARITECT_REPORT_HTML_PAGE_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/string_view.h"
#include "paritect/v1/pictures.pb.h"
#include "paritect/v1/report.pb.h"
#include "report/json.h"
#include "rules/rules.h"

namespace paritect {

struct HtmlReport {
  OrderedJson report;                            // ReportToJson, lists as columns, signed where there is a signature
  const v1::ReportPictures* pictures = nullptr;  // nullptr: none were kept
  std::string headline_en;                       // the verdict sentence, readable before and without scripts
  std::string headline_zh;
};

// One file: everything embedded, nothing fetched; the policy in it allows its own script and style alone, by digest.
// `language`: "en" or "zh", what it opens in.
std::string HtmlReportFile(const HtmlReport& report, const Rules& rules, absl::string_view language);

// The shell that a server serves: the same without a report; it asks the server.
std::string HtmlServerPage(const Rules& rules);
// What the response to it has to carry as Content-Security-Policy.
std::string ServerPagePolicy();

// Text as HTML.
std::string HtmlEscape(absl::string_view text);

struct ReportInFile {
  OrderedJson report;  // its lists as rows
  // Whether this program writes the same file around these data: another page, be it another version's, may show
  // anything.
  bool page_is_ours = false;
  // What its pictures are drawn from, as it stands in the file; PicturesText of the same pictures is the same text. The
  // report's signature does not cover them.
  std::string pictures;
};

// As a file holds it: nullptr for none.
std::string PicturesText(const v1::ReportPictures* pictures);

// What stands in a file that HtmlReportFile made. NotFound: no such thing in it; InvalidArgument: it cannot be read.
absl::StatusOr<ReportInFile> ReportInHtml(absl::string_view html, const Rules& rules);

}  // namespace paritect

#endif  // PARITECT_REPORT_HTML_PAGE_H_
