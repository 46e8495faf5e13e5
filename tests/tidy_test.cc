// The rules of the house that a machine can read. Each test names the offenders and how to mend them.
#include <map>
#include <regex>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "checks/check.h"
#include "common/version.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "re2/re2.h"
#include "rules/launchers.h"
#include "rules/rules.h"
#include "tests/tidy/source_tree.h"

namespace paritect::tidy {
namespace {

using Folders = std::set<std::string>;

// Which folders a folder's files may include beside libraries: the last column of the table in docs/ARCHITECTURE.md, so that
// who reads it reads the rule. `absl`, `paritect` (generated messages) and a folder's own files are always allowed.
std::map<std::string, Folders> ReadMayInclude() {
  static const re2::RE2 kRow("(?m)^\\| `([a-z]+)/` \\|.*\\| ([^|]+) \\|$");
  std::map<std::string, Folders> table;
  Folders above;
  re2::StringPiece rest(TextOf("docs/ARCHITECTURE.md"));
  for (std::string folder, names; re2::RE2::FindAndConsume(&rest, kRow, &folder, &names);) {
    if (names == "all above") table[folder] = above;
    if (names != "all" && names != "all above" && names != "–") table[folder] = absl::StrSplit(names, ", ");
    if (folder == "common") table[folder] = {};
    above.insert(folder);
  }
  return table;
}

const std::map<std::string, Folders>& MayInclude() {
  static const auto* const table = new std::map<std::string, Folders>(ReadMayInclude());
  return *table;
}

TEST(Tidy, FoldersIncludeInOneDirection) {
  ASSERT_GE(MayInclude().size(), 9u) << "the table of docs/ARCHITECTURE.md has another form";
  for (const char* folder : {"common", "rules", "formats", "checks", "storage", "report", "agent", "client", "server"}) {
    ASSERT_TRUE(MayInclude().contains(folder)) << folder;
  }
  static const re2::RE2 kInclude("(?m)^\\s*#include \"([a-z_]+)/");
  for (const SourceFile& file : AllFiles()) {
    const auto rule = MayInclude().find(TopFolder(file.path));
    if (!IsCpp(file) || rule == MayInclude().end()) continue;
    re2::StringPiece text(file.text);
    std::string folder;
    while (re2::RE2::FindAndConsume(&text, kInclude, &folder)) {
      if (!MayInclude().contains(folder) || folder == rule->first || rule->second.contains(folder)) continue;
      ADD_FAILURE() << file.path << " includes " << folder << "/, which " << rule->first << "/ must not know";
    }
  }
}

// The client uses of agent/ the collectors and their runner, never what speaks gRPC; checks see no I/O.
TEST(Tidy, ChecksIncludeNothingThatTouchesTheWorld) {
  static const re2::RE2 kWorld(
      "(?m)^\\s*#include "
      "(<(?:chrono|ctime|time.h|fstream|cstdio|filesystem|locale|random|thread|unistd.h|sys/[a-z]+.h)>"
      "|\"common/memory_file_system\\.h\"|\"grpc)");
  for (const SourceFile& file : AllFiles()) {
    if (!IsCpp(file) || TopFolder(file.path) != "checks" || IsTest(file) || absl::EndsWith(file.path, "_fixture.h"))
      continue;
    std::string header;
    EXPECT_FALSE(re2::RE2::PartialMatch(file.text, kWorld, &header)) << file.path << " includes " << header;
  }
}

std::set<std::string> Matches(const std::string& text, const re2::RE2& pattern) {
  std::set<std::string> found;
  re2::StringPiece rest(text);
  std::string name;
  while (re2::RE2::FindAndConsume(&rest, pattern, &name)) found.insert(name);
  return found;
}

// Two lists of launchers' variables part in time, and then the ranks of one job are told apart here and not there.
TEST(Tidy, LaunchersVariablesStandInTheirTableAlone) {
  static const re2::RE2 kLiteral("\"([A-Z][A-Z0-9_]+)=?\"");
  int files = 0;
  for (const SourceFile& file : AllFiles()) {
    const bool source = IsCpp(file) || absl::EndsWith(file.path, ".c") || absl::EndsWith(file.path, ".inc");
    const bool variables = file.path == "rules/data/settings.yaml" || file.path == "rules/data/defaults.yaml";
    if ((!source && !variables) || IsTest(file)) continue;
    ++files;
    // In the rules a name stands without quotes; aliases of settings are in lower case.
    static const re2::RE2 kWord("\\b([A-Z][A-Z0-9_]+)\\b");
    for (const std::string& name :
         Matches(source ? WithoutComments(file.text) : file.text, source ? kLiteral : kWord)) {
      EXPECT_FALSE(BuiltInLaunchers().variables().contains(name))
          << file.path << " spells " << name << ": it stands in rules/data/launchers.yaml, and rules/launchers.h has "
          << "what it tells";
    }
  }
  EXPECT_GT(files, 100);
}

// A machine may be busy: what took long today fails tomorrow, and says nothing of the code. A wait has a limit, no
// result.
TEST(Tidy, NoTestJudgesByTheClock) {
  static const re2::RE2 kCpp("(?:EXPECT|ASSERT|CHECK)_L[TE]\\(\\s*absl::Now\\(\\) - ");
  static const re2::RE2 kPython("(?m)^\\s*check\\(time\\.(?:time|monotonic)\\(\\) - ");
  for (const SourceFile& file : AllFiles()) {
    if (!IsTest(file)) continue;
    const bool clock = (IsCpp(file) && re2::RE2::PartialMatch(WithoutComments(file.text), kCpp)) ||
                       (absl::EndsWith(file.path, ".py") && re2::RE2::PartialMatch(file.text, kPython));
    EXPECT_FALSE(clock) << file.path << " asserts how long something took: assert what happened, or what did not";
  }
}

// "Not ok" is also what a test of another error says: one that stands for the wrong reason goes on standing when the right
// one is gone.
TEST(Tidy, TestsOfErrorsNameTheCode) {
  static const re2::RE2 kNotOk("((?:EXPECT|ASSERT)_FALSE\\([^;]*\\bok\\(\\)\\))");
  ASSERT_TRUE(re2::RE2::PartialMatch("  EXPECT_FALSE(Read(\"\").ok()) << 1;", kNotOk));
  for (const SourceFile& file : AllFiles()) {
    if (!absl::EndsWith(file.path, "_test.cc") || file.path == "tests/tidy_test.cc") continue;
    std::string found;
    const std::string text = WithoutComments(file.text);
    EXPECT_FALSE(re2::RE2::PartialMatch(text, kNotOk, &found)) << file.path << ": " << found << ": name the code";
  }
}

TEST(Tidy, NothingThrowsOrUsesTheLocale) {
  static const re2::RE2 kForbidden("\\b(std::sto[a-z]+|std::filesystem|setlocale|strtod|atof|atoi)\\b");
  for (const SourceFile& file : AllFiles()) {
    if (!IsCpp(file) || IsTest(file)) continue;
    std::string word;
    EXPECT_FALSE(re2::RE2::PartialMatch(CodeOnly(file.text), kForbidden, &word))
        << file.path << " uses " << word << ": see common/numbers.h and common/file_system.h";
  }
}

// `extern const Check kDatasetFiles;` as the list's registry declares it: the type, and what stands before and after
// the name.
struct PluginList {
  std::string macro, type, prefix, suffix;
};

std::vector<PluginList> PluginLists() {
  static const re2::RE2 kDefine(
      "#define (PARITECT_[A-Z_]+)\\((\\w+)\\) extern const (\\w+) k(\\w*)##\\w+?(?:##(\\w+))?;");
  std::vector<PluginList> lists;
  for (const SourceFile& file : AllFiles()) {
    if (!IsCpp(file) || IsTest(file)) continue;
    re2::StringPiece text(file.text);
    PluginList list;
    std::string parameter;
    while (re2::RE2::FindAndConsume(&text, kDefine, &list.macro, &parameter, &list.type, &list.prefix, &list.suffix)) {
      lists.push_back(list);
    }
  }
  return lists;
}

// Names that a source defines: written out, or through a macro of its own where several differ in little.
std::set<std::string> Defined(const SourceFile& file, const PluginList& list) {
  const re2::RE2 plain(absl::StrCat("(?m)^extern const ", list.type, " k", list.prefix, "(\\w+?)", list.suffix, ";"));
  const re2::RE2 macro(absl::StrCat("#define (PARITECT_\\w+)\\([^)]*\\)[ \\\\\\n]+extern const ", list.type, " k"));
  std::set<std::string> names = Matches(file.text, plain);
  for (const std::string& own : Matches(file.text, macro)) {
    if (own != list.macro) names.merge(Matches(file.text, re2::RE2(absl::StrCat("(?m)^", own, "\\((\\w+)"))));
  }
  return names;
}

TEST(Tidy, EveryPluginHasItsLineAndEveryLineItsPlugin) {
  const std::vector<PluginList> lists = PluginLists();
  ASSERT_GE(lists.size(), 4u) << "the registries' shape has changed: mend PluginLists() above";
  std::set<std::string> macros;
  for (const PluginList& list : lists) {
    macros.insert(list.macro);
    const re2::RE2 line(absl::StrCat("(?m)^", list.macro, "\\((\\w+)\\)"));
    std::set<std::string> listed, defined;
    for (const SourceFile& file : AllFiles()) {
      if (absl::EndsWith(file.path, ".inc")) listed.merge(Matches(file.text, line));
      if (absl::EndsWith(file.path, ".cc") && !IsTest(file)) defined.merge(Defined(file, list));
    }
    EXPECT_EQ(listed, defined) << list.macro << ": lines of the list against `extern const " << list.type
                               << " k...` of the sources";
  }
  for (const SourceFile& file : AllFiles()) {
    // The list of calls is of no plug-ins: what misses there does not compile.
    if (!absl::EndsWith(file.path, ".inc") || TopFolder(file.path) == "proto") continue;
    static const re2::RE2 kAnyLine("(?m)^(PARITECT_[A-Z_]+)\\(");
    for (const std::string& macro : Matches(file.text, kAnyLine)) {
      EXPECT_TRUE(macros.contains(macro)) << file.path << ": no registry declares " << macro;
    }
  }
}

TEST(Tidy, EveryCheckStandsInTheCatalogueOnce) {
  std::set<std::string> known;
  for (const CatalogueItem& item : BuiltInRules().catalogue.items) {
    for (const CatalogueCheck& check : item.checks) known.insert(check.id);
  }
  std::set<absl::string_view> seen;
  for (const Check* check : AllChecks()) {
    EXPECT_TRUE(known.contains(std::string(check->id))) << check->id << " is not in rules/data/catalogue.yaml";
    EXPECT_TRUE(seen.insert(check->id).second) << check->id << " is answered by two checks";
  }
}

// clang sees what a lock guards only where the lock is one that it knows (tests/thread-safety).
TEST(Tidy, LocksAreOnesThatTheAnalysisSees) {
  for (const SourceFile& file : AllFiles()) {
    if (!IsCpp(file) || IsTest(file) || TopFolder(file.path) == "tests") continue;
    EXPECT_FALSE(absl::StrContains(WithoutComments(file.text), "std::mutex")) << file.path << ": absl::Mutex";
  }
}

// A name that the profile does not have is no number, and nothing is ever beyond it.
TEST(Tidy, ThresholdsOfTheCodeAreThoseOfTheProfile) {
  static const re2::RE2 kUse("threshold\\(\\s*\"([a-z_]+)\"");
  static const re2::RE2 kLiteral("\"([a-z_]+)\"");
  const std::map<std::string, double>& known = BuiltInRules().profile.thresholds;
  std::set<std::string> used;
  for (const SourceFile& file : AllFiles()) {
    if (!IsCpp(file) || IsTest(file)) continue;
    const std::string code = WithoutComments(file.text);
    re2::StringPiece rest(code);
    std::string name;
    while (re2::RE2::FindAndConsume(&rest, kUse, &name)) {
      EXPECT_TRUE(known.contains(name)) << file.path << ": threshold " << name << " is not in the built-in profile";
    }
    // Some names are made of two: "update_signs" with "_pass", with "_narrow" (16 bits), or both.
    for (rest = code; re2::RE2::FindAndConsume(&rest, kLiteral, &name);) {
      for (const char* ending : {"", "_pass", "_narrow", "_pass_narrow"}) used.insert(absl::StrCat(name, ending));
    }
  }
  for (const auto& [name, value] : known) {
    EXPECT_TRUE(used.contains(name)) << "threshold " << name << " is used by nothing";
    for (const char* document : {"docs/profiles.md", "docs/thresholds.md"}) {
      EXPECT_THAT(TextOf(document), testing::HasSubstr(absl::StrCat("`", name, "`"))) << document;
    }
  }
}

// A number that decides a verdict is the profile's, with its source. What stays in the code is arithmetic, a format's
// precision, or a law of nature; each by name, so that the next one is asked for.
TEST(Tidy, ThresholdsDoNotStandInTheCode) {
  static const std::set<std::string> kArithmetic = {
      "checks/pictures/curves.cc kNone",                 // not a number
      "checks/runs/learning_rate_curve.cc kOfLargest",   // printed digits of a rate near 0
      "checks/runs/run_pairs.cc kTwoDigits",             // printed digits of an epoch
      "checks/runs/scale_bound.cc kPrintedDigits",       // printed digits of a scale
      "checks/scripts/pipeline_meanings.cc kNone",       //
      "checks/scripts/pipeline_meanings.cc kPixelMax",   // eight bits
      "checks/series/curve_figures.cc kSigmaOfMad",      // of a normal distribution
      "checks/series/curves.cc kLargest",                // keeps a loss that explodes out of a variance
      "checks/series/gradient_ratio.cc kLastBit",        // of a sum in binary
      "checks/series/gradient_ratio.cc kNormPrinted",    // three places behind the point
      "checks/series/overflow.cc kFalls",                // printed digits of a scale
      "checks/series/overflow.cc kLargestHalf",          // IEEE 754
      "checks/series/repeats.cc kTold",                  // how a figure is printed
      "checks/settings/hyperparameters_batch.cc kSame",  // the last bit of a quotient
      "checks/settings/hyperparameters_rate.cc kRoundedStep",
      "checks/settings/hyperparameters_rate.cc kSame",  // the last bit
      "checks/weights/dumps.cc kApart",                 // without end
  };
  static const re2::RE2 kConstant("constexpr (?:double|float) (k[A-Za-z0-9]+)");
  for (const SourceFile& file : AllFiles()) {
    if (!IsCpp(file) || IsTest(file) || !absl::StartsWith(file.path, "checks/")) continue;
    if (absl::StartsWith(file.path, "checks/numbers/")) continue;  // tables and formulas
    const std::string code = WithoutComments(file.text);
    re2::StringPiece rest(code);
    std::string name;
    while (re2::RE2::FindAndConsume(&rest, kConstant, &name)) {
      EXPECT_TRUE(kArithmetic.contains(absl::StrCat(file.path, " ", name)))
          << file.path << ": " << name << " decides something: a threshold of rules/data/profiles/ with its source";
    }
  }
}

// The same without a name: what stands beside a comparison or scales what is compared.
TEST(Tidy, ThresholdsDoNotStandInTheCodeWithoutAName) {
  static const std::set<std::string> kArithmetic = {
      "checks/runs/ratio_cause.cc 1.5",          // a whole number from 2 on
      "checks/series/curve_progress.cc 0.99",    // the last step of what is expected, whatever it is counted from
      "checks/series/gradient_ratio.cc 1.2533",  // the error of a median over that of a mean
      "checks/series/gradient_ratio.cc 1.4826",  // of a normal distribution
      "checks/series/rank_curves.cc 1.4826",     //
      "checks/series/run_series.cc 1.01",        // printed digits
  };
  static const re2::RE2 kCompared("[<>]=?\\s*-?(\\d+\\.\\d+)");
  static const re2::RE2 kScaled("[^\\w.](\\d+\\.\\d+)\\s*\\*");
  static const re2::RE2 kScaling("\\*\\s*(\\d+\\.\\d+)");
  for (const SourceFile& file : AllFiles()) {
    if (!IsCpp(file) || IsTest(file) || !absl::StartsWith(file.path, "checks/")) continue;
    if (absl::StartsWith(file.path, "checks/numbers/") || absl::EndsWith(file.path, "fixture.h")) continue;
    const std::string code = CodeOnly(file.text);
    for (const re2::RE2* pattern : {&kCompared, &kScaled, &kScaling}) {
      for (const std::string& number : Matches(code, *pattern)) {
        EXPECT_TRUE(kArithmetic.contains(absl::StrCat(file.path, " ", number)))
            << file.path << ": " << number << " decides something: a threshold of rules/data/profiles/ with its source";
      }
    }
  }
}

// What a check itself asks of the profile is shown with it (`explain`, `why`); what the rooms below it ask stands in
// docs/thresholds.md.
TEST(Tidy, ThresholdsOfACheckAreItsLimits) {
  static const re2::RE2 kCheck("const Check k\\w+ = \\{\\s*\"([a-z0-9.-]+)\"");
  static const re2::RE2 kUse("threshold\\(\\s*\"([a-z_]+)\"");
  std::map<std::string, std::set<std::string>> limits;
  for (const CatalogueItem& item : BuiltInRules().catalogue.items) {
    for (const CatalogueCheck& check : item.checks) limits[check.id].insert(check.limits.begin(), check.limits.end());
  }
  for (const SourceFile& file : AllFiles()) {
    if (!IsCpp(file) || IsTest(file) || !absl::StartsWith(file.path, "checks/")) continue;
    const std::string code = WithoutComments(file.text);
    std::set<std::string> shown;
    const auto checks = Matches(code, kCheck);
    for (const std::string& id : checks) shown.insert(limits[id].begin(), limits[id].end());
    for (const std::string& name : Matches(code, kUse)) {
      EXPECT_TRUE(checks.empty() || shown.contains(name))
          << file.path << ": " << name << " is no limit of " << absl::StrJoin(checks, ", ") << " in the catalogue";
    }
  }
}

// Of equal file lists an audit keeps one; the others are empty, and empty lists agree. So whoever has evidence of an
// audit asks EvidenceSet::FilesOf, and the size of what it gives.
TEST(Tidy, FilesOfAnAuditsListsAreAskedOfItsEvidence) {
  static const re2::RE2 kList("\\bFileList[&*]? (\\w+)\\b");
  static const std::set<std::string> kAllowed = {
      "checks/evidence_set.h",       // where it is asked
      "checks/shared_lists.cc",      //
      "server/audits/follow_up.cc",  // of an answer, and of a list that has its own
  };
  for (const SourceFile& file : AllFiles()) {
    const bool sees_audits = TopFolder(file.path) == "checks" || TopFolder(file.path) == "report" ||
                             TopFolder(file.path) == "server" || absl::StartsWith(file.path, "client/report/");
    if (!IsCpp(file) || IsTest(file) || !sees_audits || kAllowed.contains(file.path)) continue;
    if (absl::EndsWith(file.path, "fixture.h") || absl::EndsWith(file.path, "test_util.h")) continue;
    const std::string code = CodeOnly(file.text);
    std::string names = "files\\(\\)|list|list\\(\\)";
    for (const std::string& name : Matches(code, kList)) absl::StrAppend(&names, "|", name);
    const re2::RE2 own(absl::StrCat("(\\b(?:", names, ")(?:\\.|->)(?:mutable_)?files(?:_size)?\\()"));
    std::string use;
    EXPECT_FALSE(re2::RE2::PartialMatch(code, own, &use))
        << file.path << ": " << use << "...): the list may stand for another: FilesOf (checks/evidence_set.h)";
  }
}

// A name put into a key as it is reads as two where it holds a '/': one run would be taken for another's.
TEST(Tidy, KeysOfDocumentsAreMadeInOnePlace) {
  static const re2::RE2 kPrefix("StrCat\\([^;]*?, \"/\"\\)");
  static const re2::RE2 kKey("documents\\.push_back\\(\\{[^,;]*,\\s*absl::StrCat\\(");
  for (const SourceFile& file : AllFiles()) {
    if (!IsCpp(file) || TopFolder(file.path) != "server" || IsTest(file)) continue;
    const std::string code = WithoutComments(file.text);
    EXPECT_FALSE(re2::RE2::PartialMatch(code, kPrefix)) << file.path << " makes a prefix: GroupPrefix of fleet_keys.h";
    EXPECT_FALSE(re2::RE2::PartialMatch(code, kKey)) << file.path << " makes a key: storage/fleet_keys.h";
  }
}

TEST(Tidy, VersionsAgree) {
  EXPECT_THAT(TextOf("CMakeLists.txt"), testing::HasSubstr(absl::StrCat("project(paritect VERSION ", kProgramVersion)));
  EXPECT_THAT(TextOf("CHANGELOG.md"), testing::HasSubstr(absl::StrCat("## ", kProgramVersion)));
}

TEST(Tidy, HeaderGuardsFollowThePath) {
  for (const SourceFile& file : AllFiles()) {
    if (!absl::EndsWith(file.path, ".h")) continue;
    std::string guard = absl::StrCat("PARITECT_", file.path, "_");
    for (char& c : guard)
      c = absl::ascii_isalnum(static_cast<unsigned char>(c)) ? absl::ascii_toupper(static_cast<unsigned char>(c)) : '_';
    EXPECT_THAT(file.text, testing::HasSubstr(absl::StrCat("#ifndef ", guard))) << file.path;
  }
}

// The repository speaks of the product alone. The words are put together here so that this file is clean.
TEST(Tidy, NoForbiddenWords) {
  const std::vector<std::string> patterns = {
      absl::StrCat("/wo", "rk/"),
      absl::StrCat("(?i)\\bclau", "de\\b"),
      absl::StrCat("(?i)\\banthro", "pic\\b"),
      absl::StrCat("(?i)chat", "gpt"),
      absl::StrCat("pkg\\.", "dev\\b"),
      absl::StrCat("artifact-", "registry"),
      absl::StrCat("(?i)\\biss", "ue #?[0-9]{1,2}\\b"),
      absl::StrCat("\\(", "#[0-9]+\\)"),
      absl::StrCat("TO", "DO(?:[^:(]|$)"),
      absl::StrCat("FIX", "ME"),
      absl::StrCat("\\bX", "XX\\b"),
  };
  for (const std::string& pattern : patterns) {
    const re2::RE2 forbidden(absl::StrCat("(?m)(", pattern, ")"));
    ASSERT_TRUE(forbidden.ok()) << pattern;
    for (const SourceFile& file : AllFiles()) {
      if (absl::StrContains(file.path, "/golden/") || file.path == "LICENSE") continue;
      std::string word;
      EXPECT_FALSE(re2::RE2::PartialMatch(file.text, forbidden, &word)) << file.path << " says \"" << word << "\"";
    }
  }
}

// A recipe that names a file which is gone is worse than none.
TEST(Tidy, DocumentsNameFilesThatExist) {
  static const re2::RE2 kPath("`([a-z_.]+/[a-z0-9_./-]+)`");
  for (const SourceFile& file : AllFiles()) {
    if (!absl::EndsWith(file.path, ".md")) continue;
    for (std::string path : Matches(file.text, kPath)) {
      if (!MayInclude().contains(TopFolder(path)) &&
          !Folders{"tests", "docs", "deploy", "cmake", "proto"}.contains(TopFolder(path)))
        continue;
      if (absl::EndsWith(path, "/")) path.pop_back();
      bool there = false;
      for (const SourceFile& other : AllFiles()) {
        there = there || other.path == path || absl::StartsWith(other.path, absl::StrCat(path, "/"));
      }
      EXPECT_TRUE(there) << file.path << " names `" << path << "`, which is not there";
    }
  }
}

}  // namespace
}  // namespace paritect::tidy
