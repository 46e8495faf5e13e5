// -o html: the whole report as one file that opens from disk.
#include "client/report/renderer.h"
#include "client/report/view.h"
#include "report/html_page.h"

namespace paritect {
namespace {

void Render(const v1::Report& report, const RenderOptions& options, std::ostream& out) {
  const Language english = Language::kEnglish, chinese = Language::kChinese;
  HtmlReport page;
  page.report = ReportToJson(report, options.companion);
  page.pictures = options.companion.pictures;
  page.headline_en = VerdictLine(options.rules, absl::MakeConstSpan(&english, 1), report);
  page.headline_zh = VerdictLine(options.rules, absl::MakeConstSpan(&chinese, 1), report);
  out << HtmlReportFile(page, options.rules, options.languages[0] == Language::kChinese ? "zh" : "en");
}

}  // namespace

extern const Renderer kHtmlRenderer;
const Renderer kHtmlRenderer = {"html", &Render, /*draws=*/true};

}  // namespace paritect
