// Report in, text out, for each format: testdata/REPORT.textproto against testdata/FORMAT.LANGUAGES[.…].expected.
// PARITECT_UPDATE_GOLDEN=1 writes the expected files anew; read the difference before it is committed.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "checks/causes.h"
#include "client/report/renderer.h"
#include "common/file_system.h"
#include "common/language_testing.h"
#include "common/utf8.h"
#include "common/version.h"
#include "report/view.h"

namespace paritect {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string TestFile(const std::string& name) {
  return absl::StrCat(PARITECT_SOURCE_DIR, "/client/render/testdata/", name);
}

// With consequences linked, as a report comes from an audit.
v1::Report TestReport(const std::string& name = "report") {
  v1::Report report;
  auto text = ReadWholeFile(PosixFileSystem(), TestFile(absl::StrCat(name, ".textproto")), 1 << 20);
  EXPECT_TRUE(text.ok() && google::protobuf::TextFormat::ParseFromString(*text, &report)) << name;
  LinkConsequences(BuiltInCauses(), report);
  return report;
}

std::string Render(absl::string_view format, const RenderOptions& options, const v1::Report& report = TestReport()) {
  std::ostringstream out;
  FindRenderer(format)->render(report, options, out);
  return out.str();
}

RenderOptions Options(std::vector<Language> languages) {
  RenderOptions options = {.rules = BuiltInRules()};
  options.languages = std::move(languages);
  return options;
}

struct Golden {
  std::string format;
  std::string languages;
  std::string report = "report";
  int columns = 100;
  Detail detail = Detail::kFirstScreen;

  std::string name() const {
    std::string name = absl::StrCat(format, ".", languages);
    if (report != "report") absl::StrAppend(&name, ".", report);
    if (columns != 100) absl::StrAppend(&name, ".", columns);
    if (detail != Detail::kFirstScreen) absl::StrAppend(&name, detail == Detail::kFull ? ".full" : ".failed");
    return name;
  }
};

class RenderTest : public testing::TestWithParam<Golden> {};

TEST_P(RenderTest, GivesTheExpectedText) {
  std::vector<Language> languages;
  for (absl::string_view word : absl::StrSplit(GetParam().languages, '-')) {
    languages.push_back(word == "zh" ? Language::kChinese : Language::kEnglish);
  }
  RenderOptions options = Options(languages);
  options.columns = GetParam().columns;
  options.detail = GetParam().detail;
  v1::ReportMeta meta;
  meta.set_at_unix_ms(1'796'047'320'000);  // 2026-11-30T14:02:00Z
  meta.set_host("audit-host");
  meta.set_version(std::string(kProgramVersion));
  options.companion.meta = &meta;
  const std::string got = Render(GetParam().format, options, TestReport(GetParam().report));
  EXPECT_TRUE(IsValidUtf8(got));
  const std::string file = TestFile(absl::StrCat(GetParam().name(), ".expected"));
  if (std::getenv("PARITECT_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(WriteFileAtomically(file, got).ok());
  }
  EXPECT_EQ(ReadWholeFile(PosixFileSystem(), file, 1 << 20).value_or("(not there)"), got) << file;
}

// Every format of the list at least once; a page and a workbook have tests of their own.
std::vector<Golden> Goldens() {
  std::vector<Golden> all = {{"table", "en"},
                             {"table", "zh"},
                             {"table", "en-zh"},
                             {"table", "en", "report", 100, Detail::kFull},
                             {"table", "zh", "cluster", 100, Detail::kFailed},
                             {"table", "en", "cluster", 80},
                             {"table", "en", "cluster", 160},
                             {"table", "zh", "cluster", 80},
                             {"table", "zh", "cluster", 160},
                             {"table", "en", "healthy", 80},
                             {"table", "zh", "healthy", 80},
                             {"markdown", "en"},
                             {"markdown", "zh"},
                             {"markdown", "en", "cluster"},
                             {"csv", "en"},
                             {"csv", "en-zh"},
                             {"junit", "zh"}};
  for (const Renderer* renderer : AllRenderers()) {
    const bool shown =
        std::any_of(all.begin(), all.end(), [&](const Golden& one) { return one.format == renderer->name; });
    if (!shown && renderer->name != "html" && renderer->name != "xlsx")
      all.push_back({std::string(renderer->name), "en"});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(AllFormats, RenderTest, testing::ValuesIn(Goldens()),
                         [](const testing::TestParamInfo<Golden>& one) {
                           std::string name = one.param.name();
                           for (char& c : name) c = c == '-' || c == '.' ? '_' : c;
                           return name;
                         });

// Sixty-four causes that follow from nothing: each a line, and still one screen.
TEST(Render, TheFirstScreenIsOneScreenWhateverFailed) {
  v1::Report report = TestReport("cluster");
  v1::ItemResult& item = *report.mutable_items(0);
  for (int i = 0; i < 64; ++i) {
    v1::Finding& finding = *item.mutable_checks(0)->add_findings();
    finding = item.checks(0).findings(0);
    finding.set_kind(absl::StrCat("kind_", i));
    finding.set_subject(absl::StrCat("train/part-", i));
  }
  for (const int columns : {80, 160}) {
    RenderOptions options = Options({Language::kEnglish});
    options.columns = columns;
    const std::string screen = Render("table", options, report);
    EXPECT_LE(std::count(screen.begin(), screen.end(), '\n'), 64);
    EXPECT_THAT(screen, HasSubstr("FAIL: 66 causes."));
    options.detail = Detail::kFailed;
    EXPECT_THAT(Render("table", options, report), HasSubstr("train/part-63"));
  }
}

TEST(Render, AHealthyReportNeverBeginsWithWhatIsOpen) {
  for (const char* format : {"table", "markdown"}) {
    const std::string text = Render(format, Options({Language::kEnglish}), TestReport("healthy"));
    const auto answer = text.find("NOTHING FAILED: 1 of 2 items pass, 1 is open");
    ASSERT_NE(answer, std::string::npos) << text;
    EXPECT_LT(answer, text.find("not performed")) << format;
  }
}

TEST(Render, AnItemOfWhichNothingWasPerformedIsNoPassForPeople) {
  v1::Report report = TestReport("healthy");
  auto& checks = *report.mutable_items(0)->mutable_checks();
  checks.DeleteSubrange(0, 1);  // what does not apply is left
  ASSERT_EQ(report.items(0).verdict(), v1::VERDICT_PASS);
  const RenderOptions options = Options({Language::kEnglish});
  EXPECT_THAT(Render("table", options, report), HasSubstr("ITEMS 0 pass, 0 fail, 1 open, 1 n/a, of 2"));
  EXPECT_THAT(Render("table", options, report), HasSubstr("NOTHING FAILED: 0 of 2 items pass, 1 is open"));
  EXPECT_THAT(Render("markdown", options, report), HasSubstr("`data.dataset` | | | **does not apply** |"));
  EXPECT_THAT(Render("markdown", options, report), HasSubstr("checks 0 pass, 0 fail, 1 not performed, 1 do not apply"));
  EXPECT_THAT(Render("junit", options, report), HasSubstr("<skipped message=\"does not apply\"/>"));
  EXPECT_THAT(Render("json", options, report), HasSubstr("\"verdict\": \"pass\""));
}

TEST(Render, ASilentNodeIsToldWithWhatWaitsForIt) {
  const std::string text = Render("table", Options({Language::kEnglish}), TestReport("cluster"));
  EXPECT_THAT(text, HasSubstr("INCOMPLETE: npu-08 did not report; 2 checks wait for that."));
  EXPECT_THAT(text, HasSubstr("npu-[01-08] (8)"));
}

TEST(Render, TheReportsOfOneLanguageHoldNoSentenceOfTheOther) {
  for (const char* name : {"cluster", "healthy"}) {
    for (const char* format : {"table", "markdown"}) {
      for (const Detail detail : {Detail::kFirstScreen, Detail::kFull}) {
        RenderOptions options = Options({Language::kChinese});
        options.detail = detail;
        const std::string chinese = Render(format, options, TestReport(name));
        for (absl::string_view line : absl::StrSplit(chinese, '\n')) EXPECT_EQ(EnglishSentenceIn(line), "") << line;
        options.languages = {Language::kEnglish};
        const std::string english = Render(format, options, TestReport(name));
        for (absl::string_view line : absl::StrSplit(english, '\n')) EXPECT_FALSE(HoldsChinese(line)) << line;
      }
    }
  }
}

TEST(Render, TableKeepsToItsColumns) {
  for (int columns : {60, 80, 100, 140}) {
    for (const auto& languages : {std::vector<Language>{Language::kEnglish}, {Language::kChinese}}) {
      RenderOptions options = Options(languages);
      options.columns = columns;
      for (absl::string_view line : absl::StrSplit(Render("table", options), '\n')) {
        EXPECT_LE(DisplayWidth(line), static_cast<std::size_t>(columns)) << line;
      }
    }
  }
}

TEST(Render, TableIsAsciiWhereAskedAndColouredOnlyWhereAsked) {
  RenderOptions options = Options({Language::kEnglish});
  options.ascii = true;
  for (char c : Render("table", options)) {
    ASSERT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << static_cast<int>(c);
  }
  options.colour = true;
  EXPECT_THAT(Render("table", options), HasSubstr("\x1b["));
  for (const char* format : {"json", "jsonl", "markdown", "csv", "junit"}) {
    EXPECT_THAT(Render(format, options), Not(HasSubstr("\x1b"))) << format;
  }
}

// A name in an audited folder is somebody else's text.
TEST(Render, NothingThatATerminalOrAReaderObeysGetsThrough) {
  v1::Report report = TestReport();
  const std::string name = "a\u202eb\u009b31mc\u2066d";
  v1::Finding& finding = *report.mutable_items(0)->mutable_checks(0)->add_findings();
  finding.set_subject(name);
  finding.set_kind("differs");
  finding.set_baseline(name);
  finding.mutable_message()->set_en(name);
  for (const Renderer* renderer : AllRenderers()) {
    const std::string out = Render(renderer->name, Options({Language::kEnglish}), report);
    for (const char* obeyed : {"\u202e", "\u009b", "\u2066"})
      EXPECT_THAT(out, Not(HasSubstr(obeyed))) << renderer->name;
  }
  const auto json = nlohmann::json::parse(Render("json", Options({Language::kEnglish}), report));
  EXPECT_EQ(json["items"][0]["checks"][0]["findings"].back()["subject"], name);  // and JSON loses nothing
}

// What a report may hold that no audit of ours should put there: a store or another version's server may.
TEST(Render, EveryFormatTakesWhateverAReportHolds) {
  const std::string evil =
      absl::StrCat("<b>&\"'</script><!--]]>", "\x01\x1b[2J", std::string(1, '\0'),
                   "\u202e\u200f\ufffe\uffff\xff\xed\xa0\x80\xf4\x90\x80\x80", "=cmd|' /C calc'!A0\r\n|`");
  const std::string texts[] = {evil, std::string(1 << 16, 'x') + evil, ""};
  v1::Report report = TestReport();
  for (v1::ItemResult& item : *report.mutable_items()) {
    for (v1::CheckResult& check : *item.mutable_checks()) {
      check.clear_findings();  // a failure of which nothing is said
      if (&item != report.mutable_items(0)) continue;
      for (const std::string& text : texts) {
        v1::Finding& finding = *check.add_findings();
        finding.set_severity(v1::SEVERITY_ERROR);
        finding.set_subject(text);
        finding.set_kind(text);
        finding.set_baseline(text);
        finding.set_migrated(text);
        finding.add_evidence(text);
        finding.add_nodes(text);
        finding.mutable_message()->set_en(text);
        finding.mutable_remedy()->set_en(text);
        finding.mutable_waived()->set_reason(text);
        (*finding.mutable_facts()->mutable_fields())[text].set_string_value(text);
        v1::Missing& missing = *check.add_missing();
        missing.mutable_what()->set_en(text);
        missing.set_from(text);
        check.mutable_attested()->set_by(text);
      }
      check.mutable_findings(0)->clear_waived();
    }
  }
  for (const Renderer* const renderer : AllRenderers()) {
    const std::string out = Render(renderer->name, Options({Language::kEnglish, Language::kChinese}), report);
    EXPECT_GT(out.size(), 100u) << renderer->name;
    if (const char* folder = std::getenv("PARITECT_HOSTILE_REPORTS")) {
      EXPECT_TRUE(WriteFileAtomically(absl::StrCat(folder, "/hostile.", renderer->name), out).ok());
    }
    if (renderer->name == "xlsx") continue;
    EXPECT_TRUE(IsValidUtf8(out)) << renderer->name;
    for (const char* const mark : {"\x01", "\x1b", "\u202e", "\u200f", "\ufffe", "\uffff"}) {
      EXPECT_THAT(out, Not(HasSubstr(mark))) << renderer->name;
    }
    EXPECT_EQ(out.find('\0'), std::string::npos) << renderer->name;
  }
}

TEST(Render, AReportOfNothingIsStillAReport) {
  for (const Renderer* renderer : AllRenderers()) {
    EXPECT_FALSE(Render(renderer->name, Options({Language::kEnglish}), v1::Report()).empty()) << renderer->name;
  }
}

TEST(Render, JsonLinesAreOneObjectEach) {
  int findings = 0;
  for (absl::string_view line :
       absl::StrSplit(Render("jsonl", Options({Language::kEnglish})), '\n', absl::SkipEmpty())) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(json.is_object()) << line;
    ASSERT_TRUE(json.contains("record")) << line;
    if (json["record"] == "finding") {
      ++findings;
      EXPECT_TRUE(json.contains("check") && json.contains("item")) << line;
    }
  }
  EXPECT_EQ(findings, 5);
}

TEST(ReportView, GroupsWhatOneStepWouldBring) {
  const v1::Report report = TestReport();
  const std::vector<MissingGroup> groups = GroupMissing(report, BuiltInRules());
  ASSERT_EQ(groups.size(), 2u);  // the attested check asks for nothing
  EXPECT_EQ(groups[0].how.en(), "add `logs:` to the plan");
  EXPECT_EQ(groups[0].required, 1);
  EXPECT_EQ(CompressIds(groups[0].checks), "data.dataset.records, training.flow.state");
  EXPECT_THAT(groups[1].from, ElementsAre("rank 3 of npu-01"));
}

TEST(ReportView, PutsWhatNobodyCanBringLast) {
  v1::Report report = TestReport();
  v1::CheckResult& check = *report.mutable_items(0)->mutable_checks(0);
  for (int i = 0; i < 3; ++i) {
    v1::CheckResult& more = *report.mutable_items(0)->add_checks();
    more = check;
    more.set_id(absl::StrCat("data.dataset.extra", i));
    v1::Missing& missing = *more.add_missing();
    *missing.mutable_what() = BuiltInRules().messages.Say("check_not_supported");
    *missing.mutable_how() = BuiltInRules().messages.Fix("check_not_supported");
  }
  const std::vector<MissingGroup> groups = GroupMissing(report, BuiltInRules());
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[2].required, 3);
}

}  // namespace
}  // namespace paritect
