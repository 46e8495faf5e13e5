// The one-file report of a large audit: what its size and the time to make it are. PARITECT_LARGE_REPORT=FILE keeps it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/report/renderer.h"
#include "common/file_system.h"
#include "report/html_page.h"
#include "report/view.h"

namespace paritect {
namespace {

constexpr int kNodes = 100;
constexpr int kFindings = 100'000;

v1::Report LargeReport() {
  const Catalogue& catalogue = BuiltInRules().catalogue;
  v1::Report report;
  report.set_verdict(v1::VERDICT_FAIL);
  report.set_profile("pre-tuning/1");
  for (auto* const side : {report.mutable_baseline(), report.mutable_migrated()}) {
    v1::ReportRun& run = *side->add_runs();
    run.set_name(side == &report.baseline() ? "gpu" : "npu");
    for (int node = 0; node < kNodes / 2; ++node) run.add_nodes(absl::StrCat(run.name(), "-", node));
  }
  const int of_item = kFindings / static_cast<int>(catalogue.items.size()) + 1;
  int made = 0;
  for (const CatalogueItem& item : catalogue.items) {
    v1::ItemResult& result = *report.add_items();
    result.set_id(item.id);
    *result.mutable_title() = item.title;
    result.set_verdict(v1::VERDICT_FAIL);
    for (const CatalogueCheck& check : item.checks) {
      v1::CheckResult& one = *result.add_checks();
      one.set_id(check.id);
      *one.mutable_title() = check.title;
      one.set_verdict(v1::VERDICT_FAIL);
      for (int i = 0; i < of_item / static_cast<int>(item.checks.size()) + 1 && made < kFindings; ++i, ++made) {
        v1::Finding& finding = *one.add_findings();
        finding.set_severity(v1::SEVERITY_ERROR);
        finding.set_subject(absl::StrCat("train/part-", made, ".tfrecord"));
        finding.set_kind("truncated");
        *finding.mutable_message() = BuiltInRules().messages.Say("truncated", {{"at", "733"}, {"size", "949"}});
        *finding.mutable_remedy() = BuiltInRules().messages.Fix("truncated");
        finding.set_baseline("949 bytes");
        finding.set_migrated("733 bytes");
        finding.add_evidence(absl::StrCat("npu.md5:", made));
        finding.add_nodes(absl::StrCat("npu-", made % (kNodes / 2)));
      }
    }
  }
  EXPECT_EQ(made, kFindings);
  return report;
}

TEST(HtmlRenderer, TakesAHundredThousandFindings) {
  RenderOptions options = {.rules = BuiltInRules()};
  const v1::Report report = LargeReport();
  std::ostringstream out;
  const absl::Time began = absl::Now();
  FindRenderer("html")->render(report, options, out);
  const double seconds = absl::ToDoubleSeconds(absl::Now() - began);
  const std::string html = out.str();
  RecordProperty("bytes", static_cast<int>(html.size()));
  RecordProperty("milliseconds", static_cast<int>(seconds * 1000));
  EXPECT_LT(html.size(), 120u << 20);
  const auto inside = ReportInHtml(html);
  ASSERT_TRUE(inside.ok());
  EXPECT_NE(inside->find("train/part-99999.tfrecord"), std::string::npos);
  if (const char* file = std::getenv("PARITECT_LARGE_REPORT")) {
    EXPECT_TRUE(WriteFileAtomically(file, html).ok());
    std::printf("%zu bytes in %.2f s\n", html.size(), seconds);
  }
}

}  // namespace
}  // namespace paritect
