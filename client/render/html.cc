// -o html: the whole report as one file that opens from disk.
#include "client/report/renderer.h"
#include "report/html_page.h"

namespace paritect {
namespace {

void Render(const v1::Report& report, const RenderOptions& options, std::ostream& out) {
  HtmlReport page;
  page.report = ReportToJson(report, options.companion, ListForm::kColumns);
  page.pictures = options.companion.pictures;
  page.headline_en = page.report["sentence"]["en"];
  page.headline_zh = page.report["sentence"]["zh"];
  out << HtmlReportFile(page, options.rules, options.languages[0] == Language::kChinese ? "zh" : "en");
}

}  // namespace

extern const Renderer kHtmlRenderer;
const Renderer kHtmlRenderer = {"html", &Render, /*draws=*/true};

}  // namespace paritect
