#include "checks/explaining/openings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "rules/rules.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

void Lack(const std::string& message, const MessageArgs& args, v1::CheckResult& check) {
  const Messages& messages = BuiltInRules().messages;
  v1::Missing& missing = *check.add_missing();
  *missing.mutable_what() = messages.Say(message, args);
  *missing.mutable_how() = messages.Fix(message, args);
}

MessageArgs NotCollected(const std::string& plan_key) {
  return {{"kind", "anything"}, {"side", "baseline"}, {"plan_key", plan_key}, {"side_option", "baseline"}};
}

v1::CheckResult& AddOpen(v1::Report& report, const std::string& id) {
  if (report.items_size() == 0) report.add_items();
  v1::CheckResult& check = *report.mutable_items(0)->add_checks();
  check.set_id(id);
  check.set_verdict(v1::VERDICT_NOT_PERFORMED);
  return check;
}

// "ID: CHECK, CHECK"
std::vector<std::string> Told(const v1::Report& report) {
  std::vector<std::string> told;
  for (const OpenedChecks& one : WhatOpensMost(BuiltInRules().messages, BuiltInOpenings(), report)) {
    told.push_back(absl::StrCat(one.id.empty() ? one.action.en() : one.id, ": ",
                                absl::StrJoin(one.checks, ", ", [](std::string* out, const v1::CheckResult* check) {
                                  out->append(check->id());
                                })));
  }
  return told;
}

TEST(WhatOpensMost, GathersWhatOneStepBringsAndCountsWhatTheNextOneAdds) {
  v1::Report report;
  Lack("kind_not_collected", NotCollected("weights"), AddOpen(report, "w"));
  Lack("kind_not_collected", NotCollected("scripts"), AddOpen(report, "a"));
  Lack("pipeline_in_script", {}, AddOpen(report, "b"));
  v1::CheckResult& both = AddOpen(report, "both");
  Lack("kind_not_collected", NotCollected("scripts"), both);
  Lack("kind_not_collected", NotCollected("weights"), both);
  EXPECT_THAT(Told(report), ElementsAre("scripts: a, b", "wrapped-run: w, both"));
}

TEST(WhatOpensMost, AmongEqualsTheOneWithMoreRequiredChecksStandsFirst) {
  v1::Report report;
  Lack("kind_not_collected", NotCollected("scripts"), AddOpen(report, "optional"));
  v1::CheckResult& required = AddOpen(report, "required");
  required.set_required(true);
  Lack("kind_not_collected", NotCollected("weights"), required);
  EXPECT_THAT(Told(report), ElementsAre("wrapped-run: required", "scripts: optional"));
}

TEST(WhatOpensMost, ARemedyThatNoOpeningNamesIsAStepOfItsOwn) {
  v1::Report report;
  v1::Missing& missing = *AddOpen(report, "a").add_missing();
  missing.mutable_what()->set_en("something that no rules file knows");
  missing.mutable_how()->set_en("do this");
  EXPECT_THAT(Told(report), ElementsAre("do this: a"));
}

TEST(WhatOpensMost, LeavesOutWhatNobodyCanBringAndWhatAPersonAnswered) {
  v1::Report report;
  Lack("check_not_supported", {}, AddOpen(report, "never"));
  v1::CheckResult& attested = AddOpen(report, "attested");
  Lack("kind_not_collected", NotCollected("logs"), attested);
  attested.mutable_attested()->set_by("someone");
  EXPECT_THAT(Told(report), IsEmpty());
}

TEST(Openings, EveryAnsweredMessageIsInTheCatalogue) {
  const auto& all = BuiltInRules().messages.all();
  for (const Opening& opening : BuiltInOpenings()) {
    for (const AnsweredMessage& answer : opening.answers) {
      const auto found = all.lower_bound(answer.id);
      ASSERT_NE(found, all.end()) << answer.id;
      EXPECT_EQ(found->first.substr(0, answer.id.size()), answer.id) << opening.id;
      EXPECT_TRUE(answer.prefix || found->first == answer.id) << opening.id << " " << answer.id;
    }
  }
}

}  // namespace
}  // namespace paritect
