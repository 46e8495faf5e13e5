// Evidence in, report out, as text. One folder a case below tests/golden/cases:
//   baseline.textproto, migrated.textproto   bundles (paritect.v1.Bundle), several parted by a line "---"
//   baseline*/, migrated*/                   or folders with plan.yaml, collected in order of name
//   profile.yaml                             optional
//   expected.txt                             first line "checks: ID..." says what is shown; the rest is what came out.
//                                            "checks: decided": all but those that are not performed and found nothing,
//                                            so that a new check changes no case that it says nothing of; "checks: all"
// A side may lack.
// `tests/golden/update` writes expected.txt anew; read the difference before it is committed.
#include <algorithm>
#include <climits>
#include <cstdlib>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "agent/collect.h"
#include "checks/evidence_set.h"
#include "checks/explaining/looked_at.h"
#include "checks/pictures/pictures.h"
#include "checks/runner.h"
#include "common/document.h"
#include "common/file_system.h"
#include "common/numbers.h"
#include "common/utf8.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "re2/re2.h"
#include "rules/rules.h"

namespace paritect {
namespace {

constexpr std::uint64_t kFileBytesMax = 4 << 20;
constexpr char kToday[] = "2026-06-01";

const std::string& CasesFolder() {
  static const auto* const folder = new std::string(PARITECT_SOURCE_DIR "/tests/golden/cases");
  return *folder;
}

std::vector<std::string> CaseNames() {
  std::vector<std::string> names;
  (void)PosixFileSystem().List(CasesFolder(), [&](const DirectoryEntry& entry) { names.push_back(entry.name); });
  std::sort(names.begin(), names.end());
  return names;
}

// The file's text, or nothing where it is not there.
std::string ReadIfThere(const std::string& path) {
  return ReadWholeFile(PosixFileSystem(), path, kFileBytesMax).value_or("");
}

// Bundles of the folders whose names begin with `side`, as `paritect check` would collect them.
std::vector<v1::Bundle> CollectSide(const std::string& folder, const std::string& side) {
  std::vector<std::string> names;
  (void)PosixFileSystem().List(folder, [&](const DirectoryEntry& entry) {
    if (absl::StartsWith(entry.name, side) && !absl::EndsWith(entry.name, ".textproto")) names.push_back(entry.name);
  });
  std::sort(names.begin(), names.end());
  std::vector<v1::Bundle> bundles;
  for (const std::string& name : names) {
    auto plan = LoadPlan(PosixFileSystem(), absl::StrCat(folder, "/", name), "this-host");
    EXPECT_TRUE(plan.ok()) << plan.status();
    if (!plan.ok()) continue;
    EXPECT_TRUE(CheckPlanPaths(PosixFileSystem(), *plan).ok());
    const CollectorEnv env = {.fs = PosixFileSystem(), .rules = BuiltInRules()};
    bundles.push_back(CollectPlan(env, *plan));
  }
  return bundles;
}

std::vector<v1::Bundle> ReadSide(const std::string& folder, const std::string& side) {
  const std::string path = absl::StrCat(folder, "/", side, ".textproto");
  std::vector<v1::Bundle> bundles = CollectSide(folder, side);
  for (absl::string_view part : absl::StrSplit(ReadIfThere(path), "\n---\n", absl::SkipWhitespace())) {
    v1::Bundle bundle;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(std::string(part), &bundle)) << path;
    bundles.push_back(std::move(bundle));
  }
  return bundles;
}

absl::string_view VerdictWord(v1::Verdict verdict) {
  switch (verdict) {
    case v1::VERDICT_PASS: return "pass";
    case v1::VERDICT_FAIL: return "fail";
    case v1::VERDICT_NOT_PERFORMED: return "not_performed";
    default: return "?";
  }
}

std::string ValueText(const google::protobuf::Value& value) {
  switch (value.kind_case()) {
    case google::protobuf::Value::kNumberValue: return FormatDouble(value.number_value());
    case google::protobuf::Value::kStringValue: return absl::StrCat("\"", value.string_value(), "\"");
    case google::protobuf::Value::kBoolValue: return value.bool_value() ? "true" : "false";
    case google::protobuf::Value::kListValue: {
      std::vector<std::string> items;
      for (const auto& item : value.list_value().values()) items.push_back(ValueText(item));
      return absl::StrCat("[", absl::StrJoin(items, ", "), "]");
    }
    case google::protobuf::Value::kStructValue: {
      const std::map<std::string, google::protobuf::Value> fields(value.struct_value().fields().begin(),
                                                                  value.struct_value().fields().end());
      std::vector<std::string> parts;
      for (const auto& [name, field] : fields) parts.push_back(absl::StrCat(name, " ", ValueText(field)));
      return absl::StrCat("{", absl::StrJoin(parts, ", "), "}");
    }
    default: return "null";
  }
}

void AppendText(std::string& out, absl::string_view label, const v1::Text& text) {
  if (!text.en().empty()) absl::StrAppend(&out, "    ", label, "en: ", text.en(), "\n");
  if (!text.zh().empty()) absl::StrAppend(&out, "    ", label, "zh: ", text.zh(), "\n");
}

void AppendFinding(std::string& out, const v1::Finding& finding) {
  constexpr absl::string_view kWords[] = {"?", "error", "warning", "note"};
  absl::StrAppend(&out, "  ", kWords[finding.severity()], " ", finding.kind());
  if (!finding.subject().empty()) absl::StrAppend(&out, " ", DisplayBytes(finding.subject()));
  absl::StrAppend(&out, finding.has_waived() ? " (waived)\n" : "\n");
  AppendText(out, "", finding.message());
  if (!finding.baseline().empty()) absl::StrAppend(&out, "    baseline: ", finding.baseline(), "\n");
  if (!finding.migrated().empty()) absl::StrAppend(&out, "    migrated: ", finding.migrated(), "\n");
  std::map<std::string, std::string> facts;
  for (const auto& [name, value] : finding.facts().fields()) facts[name] = ValueText(value);
  for (const auto& [name, value] : facts) absl::StrAppend(&out, "    fact ", name, " = ", value, "\n");
  for (const std::string& line : finding.evidence()) absl::StrAppend(&out, "    evidence: ", line, "\n");
  AppendText(out, "remedy ", finding.remedy());
}

void AppendCheck(std::string& out, const v1::CheckResult& result) {
  absl::StrAppend(&out, "\n", result.id(), ": ", VerdictWord(result.verdict()),
                  result.has_attested() ? " (attested)\n" : "\n");
  for (const v1::Finding& finding : result.findings()) AppendFinding(out, finding);
  for (const v1::Missing& missing : result.missing()) {
    absl::StrAppend(&out, "  missing from ", missing.from(), "\n");
    AppendText(out, "", missing.what());
    AppendText(out, "how ", missing.how());
  }
}

// What a line "checks: ..." names of the report.
std::vector<std::string> ShownChecks(absl::string_view words, const v1::Report& report) {
  if (words != "all" && words != "decided") return absl::StrSplit(words, ' ');
  std::vector<std::string> shown;
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& result : item.checks()) {
      const bool silent = result.verdict() == v1::VERDICT_NOT_PERFORMED && result.findings().empty();
      if (words == "all" || !silent) shown.push_back(result.id());
    }
  }
  return shown;
}

std::string ReportText(const v1::Report& report, const std::vector<std::string>& shown) {
  std::string out;
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& result : item.checks()) {
      if (std::find(shown.begin(), shown.end(), result.id()) != shown.end()) AppendCheck(out, result);
    }
  }
  return out;
}

Profile ProfileOf(const std::string& folder, const Rules& rules) {
  Profile profile = rules.profile;
  const std::string text = ReadIfThere(absl::StrCat(folder, "/profile.yaml"));
  if (!text.empty()) {
    auto root = ParseDocument(text);
    EXPECT_TRUE(root.ok()) << root.status();
    auto read = ReadProfile(*root, rules.profile);
    EXPECT_TRUE(read.ok()) << read.status();
    profile = *std::move(read);
  }
  return profile;
}

v1::Report Audit(const std::string& folder) {
  const Rules& rules = BuiltInRules();
  const Profile profile = ProfileOf(folder, rules);
  const EvidenceSet evidence(ReadSide(folder, "baseline"), ReadSide(folder, "migrated"));
  AuditOptions options;
  options.today = kToday;
  return RunAudit(evidence, profile, rules, options);
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, ReportIsAsExpected) {
  const std::string folder = absl::StrCat(CasesFolder(), "/", GetParam());
  const std::string expected = ReadIfThere(absl::StrCat(folder, "/expected.txt"));
  const std::string head(absl::string_view(expected).substr(0, expected.find('\n')));
  ASSERT_TRUE(absl::StartsWith(head, "checks: ")) << folder << "/expected.txt: the first line names the checks";
  const v1::Report report = Audit(folder);
  const std::vector<std::string> shown = ShownChecks(absl::string_view(head).substr(8), report);
  // The checkout may stand anywhere.
  const std::string actual =
      absl::StrReplaceAll(absl::StrCat(head, "\n", ReportText(report, shown)), {{absl::StrCat(folder, "/"), ""}});
  // Texts may speak of {rank} in a plan's pattern; everything else in braces is a placeholder left open.
  std::string placeholder;
  EXPECT_FALSE(re2::RE2::PartialMatch(actual, "(\\{(?:[a-qs-z_]|r[b-z_]|rank[a-z_])[a-z_]*\\})", &placeholder))
      << placeholder << " is not filled";
  for (const std::string& id : shown) EXPECT_THAT(actual, testing::HasSubstr(absl::StrCat("\n", id, ": ")));
  if (std::getenv("PARITECT_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(WriteFileAtomically(absl::StrCat(folder, "/expected.txt"), actual).ok());
    return;
  }
  EXPECT_EQ(actual, expected) << "if this is what should come out: tests/golden/update";
}

// What no check of an item looks at by the catalogue's words.
std::vector<v1::Bundle> WithoutUnasked(std::vector<v1::Bundle> bundles, const Rules& rules, const std::string& item) {
  for (v1::Bundle& bundle : bundles) {
    auto& all = *bundle.mutable_evidence();
    all.erase(std::remove_if(all.begin(), all.end(),
                             [&](const v1::Evidence& one) {
                               const bool costly = one.kind() == v1::EVIDENCE_KIND_DATASET_FILES ||
                                                   one.kind() == v1::EVIDENCE_KIND_DATASET_LISTING ||
                                                   one.kind() == v1::EVIDENCE_KIND_RUN_LOG ||
                                                   one.kind() == v1::EVIDENCE_KIND_WEIGHTS ||
                                                   one.kind() == v1::EVIDENCE_KIND_TENSORS;
                               return costly && !AnyLooksAt(rules, {item}, one.kind());
                             }),
              all.end());
  }
  return bundles;
}

// `check --item` does not read the rest.
TEST_P(Golden, AnItemIsJudgedAlikeWithoutWhatNoneOfItsChecksLooksAt) {
  const std::string folder = absl::StrCat(CasesFolder(), "/", GetParam());
  const Rules& rules = BuiltInRules();
  const Profile profile = ProfileOf(folder, rules);
  const std::vector<v1::Bundle> baseline = ReadSide(folder, "baseline");
  const std::vector<v1::Bundle> migrated = ReadSide(folder, "migrated");
  const EvidenceSet whole(baseline, migrated);
  for (const CatalogueItem& item : rules.catalogue.items) {
    AuditOptions options;
    options.today = kToday;
    options.items = {item.id};
    const EvidenceSet asked(WithoutUnasked(baseline, rules, item.id), WithoutUnasked(migrated, rules, item.id));
    const v1::Report expected = RunAudit(whole, profile, rules, options);
    const v1::Report actual = RunAudit(asked, profile, rules, options);
    ASSERT_EQ(expected.items_size(), 1);
    EXPECT_EQ(actual.items(0).DebugString(), expected.items(0).DebugString()) << item.id;
  }
}

// Every bundle and one of another node that says the same, with equal lists kept once from the first file on, or not.
std::string ReportOfTwins(const std::string& folder, bool shared) {
  const Rules& rules = BuiltInRules();
  const auto lists = std::make_shared<SharedLists>(shared ? 1 : INT_MAX);
  std::vector<v1::Bundle> sides[2];
  for (const Side side : kBothSides) {
    std::vector<v1::Bundle>& bundles = sides[side == Side::kMigrated ? 1 : 0];
    bundles = ReadSide(folder, std::string(SideName(side)));
    for (std::size_t i = 0, count = bundles.size(); i < count; ++i) {
      v1::Bundle twin = bundles[i];
      twin.mutable_plan()->set_node(absl::StrCat("twin of ", twin.plan().node()));
      bundles.push_back(std::move(twin));
    }
    for (v1::Bundle& bundle : bundles) lists->Take(bundle);
  }
  const EvidenceSet evidence(std::move(sides[0]), std::move(sides[1]), lists);
  AuditOptions options;
  options.today = kToday;
  const Profile profile = ProfileOf(folder, rules);
  const CheckContext context{evidence, profile, rules};
  const std::string report = RunAudit(context, options).DebugString();
  return absl::StrCat(report, MakePictures(context).DebugString());
}

// A check that overlooked that a list stands for another would see no file, and what is not there differs from nothing.
TEST_P(Golden, ListsThatAreKeptOnceAreJudgedAlike) {
  const std::string folder = absl::StrCat(CasesFolder(), "/", GetParam());
  EXPECT_EQ(ReportOfTwins(folder, true), ReportOfTwins(folder, false));
}

std::string TestName(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) c = absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, Golden, testing::ValuesIn(CaseNames()), &TestName);

// Every check is shown with a pass, a fail and a not_performed, but for those that tests/golden/not_shown.txt names:
// a new check comes with its cases, and a case that shows a named one takes it off the list.
TEST(GoldenCoverage, EveryCheckIsShown) {
  std::string all;
  for (const std::string& name : CaseNames())
    absl::StrAppend(&all, ReadIfThere(absl::StrCat(CasesFolder(), "/", name, "/expected.txt")));
  std::vector<std::string> not_shown;
  for (const Check* check : AllChecks()) {
    for (absl::string_view verdict : {"pass", "fail", "not_performed"}) {
      const std::string line = absl::StrCat(check->id, ": ", verdict);
      if (!absl::StrContains(all, absl::StrCat("\n", line, "\n"))) not_shown.push_back(line);
    }
  }
  const std::string list = PARITECT_SOURCE_DIR "/tests/golden/not_shown.txt";
  std::string head;
  std::vector<std::string> named;
  for (absl::string_view line : absl::StrSplit(ReadIfThere(list), '\n', absl::SkipEmpty())) {
    if (line.front() == '#') {
      absl::StrAppend(&head, line, "\n");
    } else {
      named.emplace_back(line);
    }
  }
  std::sort(not_shown.begin(), not_shown.end());
  if (std::getenv("PARITECT_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(WriteFileAtomically(list, absl::StrCat(head, absl::StrJoin(not_shown, "\n"), "\n")).ok());
    return;
  }
  EXPECT_EQ(absl::StrJoin(not_shown, "\n"), absl::StrJoin(named, "\n"));
}

}  // namespace
}  // namespace paritect
