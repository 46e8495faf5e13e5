// Report in, text out, for each format: testdata/report.textproto against testdata/FORMAT.LANGUAGES.expected.
// PARITECT_UPDATE_GOLDEN=1 writes the expected files anew; read the difference before it is committed.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "client/report/renderer.h"
#include "client/report/view.h"
#include "common/file_system.h"
#include "common/utf8.h"

namespace paritect {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string TestFile(const std::string& name) {
  return absl::StrCat(PARITECT_SOURCE_DIR, "/client/render/testdata/", name);
}

v1::Report TestReport() {
  v1::Report report;
  auto text = ReadWholeFile(PosixFileSystem(), TestFile("report.textproto"), 1 << 20);
  EXPECT_TRUE(text.ok() && google::protobuf::TextFormat::ParseFromString(*text, &report));
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
};

class RenderTest : public testing::TestWithParam<Golden> {};

TEST_P(RenderTest, GivesTheExpectedText) {
  std::vector<Language> languages;
  for (absl::string_view word : absl::StrSplit(GetParam().languages, '-')) {
    languages.push_back(word == "zh" ? Language::kChinese : Language::kEnglish);
  }
  const std::string got = Render(GetParam().format, Options(languages));
  EXPECT_TRUE(IsValidUtf8(got));
  const std::string file = TestFile(absl::StrCat(GetParam().format, ".", GetParam().languages, ".expected"));
  if (std::getenv("PARITECT_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(WriteFileAtomically(file, got).ok());
  }
  EXPECT_EQ(ReadWholeFile(PosixFileSystem(), file, 1 << 20).value_or("(not there)"), got) << file;
}

INSTANTIATE_TEST_SUITE_P(AllFormats, RenderTest,
                         testing::Values(Golden{"table", "en"}, Golden{"table", "zh"}, Golden{"table", "en-zh"},
                                         Golden{"json", "en"}, Golden{"jsonl", "en"}, Golden{"markdown", "en"},
                                         Golden{"markdown", "zh"}, Golden{"csv", "en"}, Golden{"csv", "en-zh"},
                                         Golden{"junit", "zh"}, Golden{"sarif", "en"}),
                         [](const testing::TestParamInfo<Golden>& one) {
                           std::string name = absl::StrCat(one.param.format, "_", one.param.languages);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

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
