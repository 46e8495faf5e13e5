#include "rules/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/document.h"
#include "re2/re2.h"
#include "rules/prepared_document.h"
#include "rules/rules_files.h"
#include "rules/secrets.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;

TEST(Rules, EmbeddedFilesLoad) {
  auto rules = LoadRules(EmbeddedRules());
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_NE(rules->catalogue.FindCheck("data.dataset.content"), nullptr);
  EXPECT_EQ(rules->profile.name, "pre-tuning/1");
}

// Every collection compiles them: one wide bounded repeat cost 10 ms of CPU.
TEST(Rules, PatternsOfSecretsStaySmall) {
  constexpr int kStatesMax = 4000;
  for (const RE2* pattern : {&BuiltInSecrets().forms(), &BuiltInSecrets().behind()}) {
    EXPECT_GT(pattern->ProgramSize(), 100);
    EXPECT_LT(pattern->ProgramSize(), kStatesMax);
  }
}

// LoadRules leaves the entries of prepared files unread.
TEST(Rules, EveryEmbeddedMessageIsOfItsForm) {
  Messages messages;
  for (const RulesFile& file : EmbeddedRules()) {
    if (!absl::StartsWith(file.name, "messages/")) continue;
    const auto root = ReadRulesDocument(file.bytes);
    ASSERT_TRUE(root.ok()) << file.name << ":" << root.status();
    EXPECT_EQ(messages.Add(*root, false), absl::OkStatus()) << file.name;
  }
  const Messages& lazy = BuiltInRules().messages;
  ASSERT_EQ(messages.all().size(), lazy.all().size());
  for (const auto& [id, entry] : messages.all()) {
    EXPECT_EQ(lazy.Say(id).zh(), messages.Say(id).zh()) << id;
    EXPECT_EQ(lazy.Fix(id).en(), messages.Fix(id).en()) << id;
  }
}

TEST(Rules, ProfileStatesEveryThresholdOfTheContract) {
  for (const char* name : {"overflow_rate",
                           "overflow_rate_large",
                           "large_global_batch",
                           "loss_mean_relative_error_pass",
                           "loss_mean_relative_error",
                           "loss_mean_absolute_error",
                           "loss_smoothed_relative_error",
                           "loss_tail_relative_difference",
                           "pairing_correlation",
                           "common_steps_min",
                           "coverage_min",
                           "first_step_relative_error",
                           "first_step_absolute_error",
                           "gradient_norm_relative_error",
                           "gradient_ratio_spread",
                           "convergence_fall_share",
                           "loss_leaving_steps",
                           "accuracy_points",
                           "metric_relative_error",
                           "repeat_runs",
                           "repeat_variation",
                           "finished_tolerance"}) {
    EXPECT_FALSE(std::isnan(BuiltInRules().profile.threshold(name))) << name;
  }
}

TEST(Rules, OverrideReplacesOneMessage) {
  std::vector<RulesFile> override_files = {
      {"messages/mine.yaml", "source_absent: {en: gone {source}, zh: 无 {source}}\n"}};
  override_files[0].bytes = "source_absent: {en: \"gone {source}\", zh: \"无 {source}\"}\n";
  auto rules = LoadRules(EmbeddedRules(), override_files);
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_EQ(rules->messages.Say("source_absent", {{"source", "x"}}).en(), "gone x");
  EXPECT_TRUE(rules->messages.Has("not_supported"));
}

// A title stands above passes and failures alike: it names what is looked at, never what is hoped for.
TEST(Catalogue, TitlesOfChecksAssertNothing) {
  static const re2::RE2 kAsserts(
      "(?i)\\b(is|are|agree|agrees|fits|has|have|holds?)\\b|^(No|Every|Same|Exactly|At least|All) |"
      "(一致|相同|足够低|均衡|正确)$|^(已|仅|没有|确已|至少)");
  for (const CatalogueItem& item : BuiltInRules().catalogue.items) {
    for (const CatalogueCheck& check : item.checks) {
      EXPECT_FALSE(re2::RE2::PartialMatch(check.title.en(), kAsserts)) << check.id << ": " << check.title.en();
      EXPECT_FALSE(re2::RE2::PartialMatch(check.title.zh(), kAsserts)) << check.id << ": " << check.title.zh();
    }
  }
}

TEST(Messages, LanguagesNeedTheSamePlaceholders) {
  Messages messages;
  auto root = ParseDocument("m: {en: \"a {x}\", zh: \"b\"}\n");
  ASSERT_TRUE(root.ok());
  EXPECT_THAT(std::string(messages.Add(*root, false).message()), HasSubstr("other placeholders"));
}

TEST(Messages, AFormForOneAndOneForMany) {
  Messages messages;
  auto root = ParseDocument("m: {en: \"{n} {n|file is|files are} there\", zh: \"{n} 个\"}\n");
  ASSERT_TRUE(root.ok());
  ASSERT_TRUE(messages.Add(*root, false).ok());
  EXPECT_EQ(messages.Say("m", {{"n", "1"}}).en(), "1 file is there");
  EXPECT_EQ(messages.Say("m", {{"n", "0"}}).en(), "0 files are there");
  EXPECT_EQ(messages.Say("m", {{"n", "1"}}).zh(), "1 个");
  EXPECT_EQ(messages.Say("m").en(), "{n} {n|file is|files are} there");  // unfilled: stays visible
}

TEST(Messages, UnknownIdsStayVisible) {
  Messages messages;
  EXPECT_EQ(messages.Say("no_such", {{"a", "1"}}).en(), "no_such a=1");
}

absl::StatusOr<Profile> ReadText(absl::string_view text) {
  auto root = ParseDocument(text);
  if (!root.ok()) return root.status();
  return ReadProfile(*root, BuiltInRules().profile);
}

TEST(Profile, ExtendsTheBuiltIn) {
  auto profile =
      ReadText("profile: mine/2\nextends: pre-tuning/1\nthresholds: {overflow_rate: 0.01, loss_lower_fails: false}\n");
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->threshold("overflow_rate"), 0.01);
  EXPECT_EQ(profile->threshold("coverage_min"), 0.8);
  EXPECT_FALSE(profile->loss_lower_fails);
}

TEST(Profile, RefusesWithAPosition) {
  EXPECT_THAT(std::string(ReadText("profile: a/1\nthreshholds: {}\n").status().message()),
              HasSubstr("2:1: unknown key"));
  EXPECT_THAT(std::string(ReadText("profile: a/1\nthresholds: {overflow: 1}\n").status().message()),
              HasSubstr("2:14: unknown key 'overflow'"));
  EXPECT_THAT(std::string(ReadText("profile: a/1\nthresholds: {overflow_rate: much}\n").status().message()),
              HasSubstr("must be a number"));
  EXPECT_THAT(
      std::string(
          ReadText("profile: a/1\nwaivers: [{check: x.y, kind: k, by: me, until: 2099-01-01}]\n").status().message()),
      HasSubstr("`reason` is needed"));
}

TEST(Profile, RefusesWhatCannotBeMeant) {
  const auto why = [](absl::string_view text) { return std::string(ReadText(text).status().message()); };
  EXPECT_THAT(why("profile: a\n"), HasSubstr("1:10: `profile` must be NAME/VERSION"));
  EXPECT_THAT(why("profile: /1\n"), HasSubstr("NAME/VERSION"));
  EXPECT_THAT(why(""), HasSubstr("1:1: the profile is empty"));
  const auto until = [&](absl::string_view date) {
    return why(absl::StrCat("profile: a/1\nwaivers: [{check: x.y, kind: k, by: me, reason: r, until: ", date, "}]\n"));
  };
  EXPECT_THAT(until("2026-02-31"), HasSubstr("there is no date '2026-02-31'"));
  EXPECT_THAT(until("2027-02-29"), HasSubstr("there is no date"));
  EXPECT_THAT(until("2026-1-10"), HasSubstr("there is no date"));
  EXPECT_EQ(until("2028-02-29"), "");
  for (absl::string_view number : {"-0.1", "nan", ".nan", "inf", "1.5", "'0.1'"}) {
    EXPECT_THAT(why(absl::StrCat("profile: a/1\nthresholds: {overflow_rate: ", number, "}\n")), HasSubstr("must be"))
        << number;
  }
  EXPECT_EQ(why("profile: a/1\nthresholds: {repeat_runs: 5, accuracy_points: 1.5, large_global_batch: 4096}\n"), "");
  EXPECT_EQ(why("profile: a/1\nthresholds: {noise_errors: 4, gradient_jump: 20, stretch_share: 1}\n"), "");
  EXPECT_THAT(why("profile: a/1\nthresholds: {stretch_share: 1.5}\n"), HasSubstr("must be at most 1"));
  EXPECT_THAT(why("profile: a/1\nignore_keys: ['*']\n"), HasSubstr("would ignore every key"));
  EXPECT_THAT(why("profile: a/1\nignore_keys: [lr, '**']\n"), HasSubstr("would ignore every key"));
  EXPECT_EQ(why("profile: a/1\nignore_keys: ['data_*']\n"), "");
}

}  // namespace
}  // namespace paritect
