#include "report/html_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/digest.h"
#include "re2/re2.h"
#include "report/page_files.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

HtmlReport Hostile() {
  HtmlReport report;
  report.report = {{"schema", "paritect.report/1"}, {"subject", "</script><script>alert(1)</script><!--"}};
  report.headline_en = "fail: <b>\"x\"</b> & 'y'";
  report.headline_zh = "不通过";
  return report;
}

TEST(HtmlReportFile, WhatComesFromOutsideEndsNoElement) {
  const std::string html = HtmlReportFile(Hostile(), BuiltInRules(), "en");
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("<b>")));
  EXPECT_THAT(html, HasSubstr("fail: &lt;b&gt;&quot;x&quot;&lt;/b&gt; &amp; &#39;y&#39;"));
}

TEST(HtmlReportFile, HoldsTheReportAsJson) {
  const auto inside = ReportInHtml(HtmlReportFile(Hostile(), BuiltInRules(), "zh"), BuiltInRules());
  ASSERT_TRUE(inside.ok()) << inside.status();
  EXPECT_EQ(inside->report, Hostile().report);
  EXPECT_TRUE(absl::IsNotFound(ReportInHtml("<!DOCTYPE html><p>another", BuiltInRules()).status()));
}

// A genuine report within a page that shows something else: only a page that this program writes is vouched for.
TEST(ReportInHtml, KnowsAPageThatIsNotOurs) {
  HtmlReport report;
  report.headline_en = "FAIL: 1 cause.";
  report.headline_zh = "不通过";
  report.report = {{"sentence", {{"en", report.headline_en}, {"zh", report.headline_zh}}}};
  const std::string genuine = HtmlReportFile(report, BuiltInRules(), "zh");
  EXPECT_TRUE(ReportInHtml(genuine, BuiltInRules())->page_is_ours);
  const std::pair<std::string, std::string> changes[] = {
      {"\"use strict\";", "\"use strict\";document.title='';"},  // the script
      {"<h1 lang=\"en\">FAIL", "<h1 lang=\"en\">PASS"},          // what stands there before it runs
      {"--fail: #b3261e", "--fail: #00ff00"},                    // the style
      {"</main>", "<p>all passes</p></main>"},
      {"</html>\n", "</html>\n<script type=\"application/json\" id=\"report\">{}</script>"}};
  for (const auto& [from, to] : changes) {
    const std::string forged = absl::StrReplaceAll(genuine, {{from, to}});
    ASSERT_NE(forged, genuine) << from;
    const auto inside = ReportInHtml(forged, BuiltInRules());
    ASSERT_TRUE(inside.ok()) << inside.status();
    EXPECT_EQ(inside->report, report.report);
    EXPECT_FALSE(inside->page_is_ours) << to;
  }
}

// The policy allows the page's own script and style, by their digests, and nothing from anywhere.
TEST(HtmlReportFile, ThePolicyFitsItsScript) {
  const std::string html = HtmlReportFile(Hostile(), BuiltInRules(), "en");
  for (const auto& [open, close] : {std::pair("<script>", "</script>"), std::pair("<style>", "</style>")}) {
    const std::size_t begin = html.find(open) + absl::string_view(open).size();
    const std::string text = html.substr(begin, html.find(close, begin) - begin);
    EXPECT_GT(text.size(), 1000u);
    EXPECT_THAT(html, HasSubstr(absl::StrCat("&#39;sha256-", absl::Base64Escape(Sha256(text)), "&#39;")));
  }
  EXPECT_THAT(html, HasSubstr("default-src &#39;none&#39;"));
  EXPECT_THAT(html, Not(HasSubstr("unsafe")));
  // Nothing is fetched: addresses stand only in comments and name spaces of the library.
  EXPECT_FALSE(RE2::PartialMatch(html, R"((src|href)=["']?(https?:)?//)"));
}

// A word that the catalogue lacks would show as its id; one that nobody says is dead.
TEST(PageWords, AreThoseThatTheScriptsSay) {
  const std::string script = PageFiles(".js");
  const auto& messages = BuiltInRules().messages;
  re2::StringPiece rest(script);
  std::string word;
  int said = 0;
  while (RE2::FindAndConsume(&rest, R"re(\bt\("([a-z_0-9]+[a-z0-9])")re", &word)) {
    ++said;
    EXPECT_TRUE(messages.Has(absl::StrCat("page_", word))) << "page_" << word;
  }
  EXPECT_GT(said, 60);
  for (const auto& [id, message] : messages.all()) {
    absl::string_view name = id;
    if (!absl::ConsumePrefix(&name, "page_") || name == "no_script") continue;
    name = name.substr(0, name.find('/'));  // "/one": of one thing
    bool is_said = absl::StrContains(script, absl::StrCat("\"", name, "\""));
    // t("verdict_" + word): the script says the beginning of it.
    for (std::size_t at = name.find('_'); at != absl::string_view::npos; at = name.find('_', at + 1)) {
      is_said = is_said || absl::StrContains(script, absl::StrCat("\"", name.substr(0, at + 1), "\""));
    }
    EXPECT_TRUE(is_said) << "nothing says page_" << name;
  }
}

TEST(HtmlServerPage, HoldsNoReport) {
  const std::string html = HtmlServerPage(BuiltInRules());
  EXPECT_TRUE(absl::IsNotFound(ReportInHtml(html, BuiltInRules()).status()));
  EXPECT_THAT(html, HasSubstr("data-mode=\"server\""));
  EXPECT_THAT(ServerPagePolicy(), HasSubstr("connect-src 'self'"));
}

}  // namespace
}  // namespace paritect
