// Two scripts that people wrote each in their way, with one fault between them or none: what must be named is named or
// left open at its check, and never passed; a healthy pair raises no alarm. The pairs stand in tests/scripts/twins/:
//   === define NAME                          lines that {{NAME}} stands for
//   === name framework: check = verdict [kind], check = verdict     (or: healthy [check, check that must pass])
//   --- baseline [FILE]
//   --- migrated [FILE]
//   --- both [FILE]
// Verdicts: fail, pass, not_performed, open (fail or not performed). Precision and recall are printed; both are 1.
#include <cstdio>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/scripts/script_test_util.h"

namespace paritect {
namespace {

struct Answer {
  std::string check, verdict, kind;
};

struct Twins {
  std::string name, framework;
  bool healthy = false;
  std::vector<Answer> answers;
  std::map<std::string, std::string> files[2];  // by side
};

Answer AnswerOf(absl::string_view text) {
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(" = ", 1));
  const std::vector<std::string> words = absl::StrSplit(parts.size() > 1 ? parts[1] : "pass", ' ');
  return {std::string(absl::StripAsciiWhitespace(parts[0])), words[0], words.size() > 1 ? words[1] : ""};
}

Twins TwinsOf(absl::string_view head) {
  const std::vector<std::string> sides = absl::StrSplit(head, absl::MaxSplits(": ", 1));
  const std::vector<std::string> names = absl::StrSplit(sides[0], ' ');
  Twins twins;
  twins.name = names[0];
  twins.framework = names[1];
  absl::string_view answers = sides[1];
  twins.healthy = absl::ConsumePrefix(&answers, "healthy");
  for (absl::string_view one : absl::StrSplit(answers, ", ", absl::SkipWhitespace()))
    twins.answers.push_back(AnswerOf(one));
  return twins;
}

std::vector<Twins> AllTwins(const std::string& file) {
  std::vector<Twins> all;
  std::map<std::string, std::string> defined;
  std::vector<std::string*> open;
  const std::string text = ReadSample(absl::StrCat("twins/", file));
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::ConsumePrefix(&line, "=== define ")) {
      open = {&defined[std::string(line)]};
    } else if (absl::ConsumePrefix(&line, "=== ")) {
      all.push_back(TwinsOf(line));
      open.clear();
    } else if (absl::ConsumePrefix(&line, "--- ") && !all.empty()) {
      const std::vector<std::string> words = absl::StrSplit(line, ' ');
      const std::string path = words.size() > 1 ? words[1] : "train.py";
      open.clear();
      if (words[0] != "migrated") open.push_back(&all.back().files[0][path]);
      if (words[0] != "baseline") open.push_back(&all.back().files[1][path]);
    } else if (absl::StartsWith(line, "{{")) {
      const std::string name(line.substr(2, line.find("}}") - 2));
      EXPECT_TRUE(defined.contains(name)) << name;
      for (std::string* one : open) absl::StrAppend(one, defined[name]);
    } else {
      for (std::string* one : open) absl::StrAppend(one, line, "\n");
    }
  }
  return all;
}

v1::Bundle BundleOfFiles(const std::string& run, const std::string& framework, const std::string& platform,
                         const std::map<std::string, std::string>& files) {
  MemoryFileSystem fs;
  for (const auto& [path, text] : files) fs.AddFile(absl::StrCat("/", run, "/", path), text);
  std::string settings;
  for (const char* file : {"run.sh", "options.yaml"}) {
    if (files.contains(file)) absl::StrAppend(&settings, settings.empty() ? "" : ", ", run, "/", file);
  }
  fs.AddFile(
      "/plan.yaml",
      absl::StrCat("run: ", run, "\nnode: n-", run, "\nplatform: ", platform, "\nframework: ", framework,
                   "\nscripts: [", run, "]\n", settings.empty() ? "" : absl::StrCat("settings: [", settings, "]\n"),
                   files.contains("train.log") ? absl::StrCat("logs: [", run, "/train.log]\n") : ""));
  auto plan = LoadPlan(fs, "/plan.yaml", "host");
  EXPECT_TRUE(plan.ok()) << plan.status();
  return CollectPlan({fs, BuiltInRules()}, *plan);
}

std::string WordOf(v1::Verdict verdict) {
  return verdict == v1::VERDICT_PASS ? "pass" : verdict == v1::VERDICT_FAIL ? "fail" : "not_performed";
}

// What is missing at a check, for the reader of a failure.
std::string WhyOf(const v1::Report& report, absl::string_view id) {
  std::string why;
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& check : item.checks()) {
      if (check.id() != id) continue;
      for (const v1::Missing& one : check.missing()) absl::StrAppend(&why, one.what().en(), "\n");
    }
  }
  return why;
}

class ScriptTwins : public testing::TestWithParam<const char*> {};

TEST_P(ScriptTwins, FaultsAreNamedAndHealthyPairsRaiseNothing) {
  int named = 0, left_open = 0, missed = 0, alarms_of_healthy = 0, healthy = 0;
  for (const Twins& twins : AllTwins(GetParam())) {
    const v1::Report report = Audit(BundleOfFiles("gpu", twins.framework, "nvidia", twins.files[0]),
                                    BundleOfFiles("npu", twins.framework, "atlas-a2", twins.files[1]));
    const std::string alarms = absl::StrJoin(Alarms(report), "\n");
    for (const Answer& answer : twins.answers) {
      const std::string verdict = WordOf(VerdictOf(report, answer.check));
      const bool right = verdict == answer.verdict || (answer.verdict == "open" && verdict != "pass");
      EXPECT_TRUE(right) << GetParam() << " " << twins.name << ": " << answer.check << " is " << verdict
                         << ", expected " << answer.verdict << "\n"
                         << alarms << "\n"
                         << WhyOf(report, answer.check);
      EXPECT_TRUE(answer.kind.empty() || absl::StrContains(alarms, absl::StrCat(answer.check, " ", answer.kind)))
          << GetParam() << " " << twins.name << "\n"
          << alarms;
      if (twins.healthy) continue;
      named += verdict == "fail" ? 1 : 0;
      left_open += verdict == "not_performed" ? 1 : 0;
      missed += verdict == "pass" ? 1 : 0;
    }
    if (!twins.healthy) continue;
    ++healthy;
    alarms_of_healthy += alarms.empty() ? 0 : 1;
    EXPECT_EQ(alarms, "") << GetParam() << " " << twins.name;
  }
  std::printf("%-14s faults: %d named, %d left open, %d passed; healthy pairs: %d, with an alarm: %d\n", GetParam(),
              named, left_open, missed, healthy, alarms_of_healthy);
}

INSTANTIATE_TEST_SUITE_P(All, ScriptTwins, testing::Values("values.txt", "styles.txt", "options.txt"),
                         [](const auto& one) { return std::string(one.param, std::string(one.param).find('.')); });

// --- one training, changed in one place at a time

struct Base {
  std::string framework;
  std::vector<std::string> passing;
  std::map<std::string, std::string> files;
};

struct Edit {
  std::string base, name;
  Answer answer;
  std::vector<std::pair<std::string, std::string>> texts;
};

struct Edits {
  std::map<std::string, Base> bases;
  std::vector<Edit> edits;
};

Edits AllEdits() {
  Edits all;
  Base* base = nullptr;
  std::string* file = nullptr;
  const auto unescaped = [](absl::string_view text) { return absl::StrReplaceAll(text, {{"\\n", "\n"}}); };
  const std::string text = ReadSample("twins/edits.txt");
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::ConsumePrefix(&line, "=== base ")) {
      const std::vector<std::string> sides = absl::StrSplit(line, absl::MaxSplits(": ", 1));
      const std::vector<std::string> names = absl::StrSplit(sides[0], ' ');
      base = &all.bases[names[0]];
      base->framework = names[1];
      base->passing = absl::StrSplit(sides[1], ", ");
      file = nullptr;
    } else if (absl::ConsumePrefix(&line, "=== ")) {
      const std::vector<std::string> sides = absl::StrSplit(line, absl::MaxSplits(": ", 1));
      const std::vector<std::string> names = absl::StrSplit(sides[0], ' ');
      all.edits.push_back({names[0], names[1], AnswerOf(sides[1]), {}});
      base = nullptr;
    } else if (base != nullptr && absl::ConsumePrefix(&line, "--- ")) {
      file = &base->files[std::string(line)];
    } else if (base != nullptr && file != nullptr) {
      absl::StrAppend(file, line, "\n");
    } else if (!all.edits.empty() && absl::ConsumePrefix(&line, "- ")) {
      all.edits.back().texts.emplace_back(unescaped(line), "");
    } else if (!all.edits.empty() && absl::ConsumePrefix(&line, "+ ")) {
      all.edits.back().texts.back().second = unescaped(line);
    }
  }
  return all;
}

v1::Report AuditOfFiles(const Base& base, const std::map<std::string, std::string>& port) {
  return Audit(BundleOfFiles("gpu", base.framework, "nvidia", base.files),
               BundleOfFiles("npu", base.framework, "atlas-a2", port));
}

TEST(ScriptEdits, WhatChangesTheTrainingNeverPasses) {
  const Edits all = AllEdits();
  EXPECT_GT(all.edits.size(), 100u);
  int named = 0, left_open = 0, passed = 0;
  for (const auto& [name, base] : all.bases) {
    const v1::Report twin = AuditOfFiles(base, base.files);
    EXPECT_EQ(absl::StrJoin(Alarms(twin), "\n"), "") << name;
    for (const std::string& check : base.passing)
      EXPECT_EQ(WordOf(VerdictOf(twin, check)), "pass") << name << " " << check << "\n" << WhyOf(twin, check);
  }
  for (const Edit& edit : all.edits) {
    const Base& base = all.bases.at(edit.base);
    std::map<std::string, std::string> port = base.files;
    for (const auto& [from, to] : edit.texts) {
      EXPECT_TRUE(absl::StrContains(port["train.py"], from)) << edit.name << ": the base has no " << from;
      port["train.py"] = absl::StrReplaceAll(port["train.py"], {{from, to}});
    }
    const v1::Report report = AuditOfFiles(base, port);
    const std::string verdict = WordOf(VerdictOf(report, edit.answer.check));
    const bool right = verdict == edit.answer.verdict || (edit.answer.verdict == "open" && verdict != "pass");
    EXPECT_TRUE(right) << edit.base << " " << edit.name << ": " << edit.answer.check << " is " << verdict
                       << ", expected " << edit.answer.verdict << "\n"
                       << absl::StrJoin(Alarms(report), "\n") << "\n"
                       << WhyOf(report, edit.answer.check);
    named += verdict == "fail" ? 1 : 0;
    left_open += verdict == "not_performed" ? 1 : 0;
    passed += verdict == "pass" ? 1 : 0;
  }
  std::printf("%-14s edits: %d named, %d left open, %d passed\n", "edits.txt", named, left_open, passed);
}

}  // namespace
}  // namespace paritect
