// The one-file report of a large audit: nothing of it is lost, and its size stays bearable (time:
// bench/report_bench.cc).
#include <gtest/gtest.h>

#include <sstream>

#include "client/render/large_report.h"
#include "client/report/renderer.h"
#include "report/html_page.h"

namespace paritect {
namespace {

TEST(HtmlRenderer, TakesAHundredThousandFindings) {
  const v1::Report report = LargeReport(100, 100'000);
  std::ostringstream out;
  FindRenderer("html")->render(report, {.rules = BuiltInRules()}, out);
  EXPECT_LT(out.str().size(), 25u << 20);
  const auto inside = ReportInHtml(out.str(), BuiltInRules());
  ASSERT_TRUE(inside.ok()) << inside.status();
  EXPECT_EQ(inside->report, ReportToJson(report));
}

}  // namespace
}  // namespace paritect
