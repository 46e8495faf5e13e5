// `paritect diff shards`: two sides of shard lists side by side.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/command.h"
#include "common/memory_file_system.h"

namespace paritect {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

class DiffShardsTest : public testing::Test {
 protected:
  // Lists of the ranks in turn; "-": the rank has none.
  void Add(const std::string& folder, const std::vector<std::string>& lists) {
    for (std::size_t rank = 0; rank < lists.size(); ++rank) {
      if (lists[rank] == "-") continue;
      std::string text;
      for (absl::string_view name : absl::StrSplit(lists[rank], ' ', absl::SkipEmpty())) {
        absl::StrAppend(&text, "/d/", name, "\n");
      }
      fs_.AddFile(absl::StrCat(folder, "/rank_", rank, ".txt"), text);
    }
  }

  ExitCode Diff(std::vector<std::string> args, int columns = 100) {
    out_.str("");
    err_.str("");
    CommandEnv env = {.fs = fs_,
                      .out = out_,
                      .err = err_,
                      .rules = BuiltInRules(),
                      .terminal_columns = columns,
                      .host_name = "here",
                      .today = "2026-06-15",
                      .getenv = [](absl::string_view) { return std::string(); },
                      .working_directory = "/"};
    args.insert(args.begin(), {"diff", "shards"});
    return RunCommandLine(env, args);
  }

  MemoryFileSystem fs_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(DiffShardsTest, TheSameOnBothSidesIsEqualWhateverItIs) {
  Add("/pad", {"f0 f2", "f1 f0"});
  EXPECT_EQ(Diff({"/pad", "/pad"}), kExitOk) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("read_twice ax2 bx2"));
  EXPECT_THAT(out_.str(), HasSubstr("##"));
}

TEST_F(DiffShardsTest, AnotherReaderOfAFileThatSeveralReadIsADifference) {
  Add("/a", {"f0", "f0", "f1"});
  Add("/b", {"f0", "f1", "f0"});
  EXPECT_EQ(Diff({"/a", "/b", "-o", "json"}), kExitFailed);
  const Json json = Json::parse(out_.str());
  EXPECT_EQ(json["equal"], false);
  EXPECT_EQ(json["lists"][0]["files"][0]["a"]["ranks"], Json({0, 1}));
  EXPECT_EQ(json["lists"][0]["files"][0]["b"]["ranks"], Json({0, 2}));
}

TEST_F(DiffShardsTest, ARankWithoutAListLeavesItOpen) {
  Add("/a", {"f0", "-", "f2"});
  EXPECT_EQ(Diff({"/a", "/a"}), kExitUsage);
  EXPECT_THAT(out_.str(), HasSubstr("no list of rank 1 of a"));
  EXPECT_THAT(err_.str(), HasSubstr("cannot be told"));
  EXPECT_EQ(Diff({"/a", "/a", "-o", "json"}), kExitUsage);
  EXPECT_TRUE(Json::parse(out_.str())["equal"].is_null());
  // A difference stands, whatever is missing.
  Add("/b", {"f0", "-", "f3"});
  EXPECT_EQ(Diff({"/a", "/b"}), kExitFailed);
}

TEST_F(DiffShardsTest, TheOrderOfARankCounts) {
  Add("/a", {"f0 f2", "f1 f3"});
  Add("/b", {"f2 f0", "f1 f3"});
  EXPECT_EQ(Diff({"/a", "/b"}), kExitFailed);
  EXPECT_THAT(out_.str(), HasSubstr("another order: rank 0"));
}

// Records of two ranks that open an index beside their share; of rank 0, two workers that read side by side.
std::string Trace(int pid, int rank, const std::vector<std::string>& names) {
  const std::string nul(1, '\0');
  std::string bytes = absl::StrCat("paritect-trace 1 ", pid, " 1 ", pid, nul, "h host", nul, "v RANK=", rank, nul,
                                   "v WORLD_SIZE=2", nul);
  for (const std::string& name : names) absl::StrAppend(&bytes, "o 5 /d/", name, nul);
  return bytes;
}

TEST_F(DiffShardsTest, WorkersHideTheOrderAndNothingElse) {
  fs_.AddFile("/a/1.ptrace", Trace(1, 0, {"index.json", "f0.bin"}));
  fs_.AddFile("/a/2.ptrace", Trace(2, 0, {"f2.bin"}));
  fs_.AddFile("/a/3.ptrace", Trace(3, 1, {"index.json", "f1.bin", "f3.bin"}));
  fs_.AddFile("/b/1.ptrace", Trace(1, 0, {"index.json", "f2.bin", "f0.bin"}));
  fs_.AddFile("/b/3.ptrace", Trace(3, 1, {"index.json", "f1.bin", "f3.bin"}));
  EXPECT_EQ(Diff({"/a", "/a"}), kExitOk) << err_.str() << out_.str();
  EXPECT_EQ(Diff({"/a", "/b"}), kExitUsage) << out_.str();
  EXPECT_THAT(err_.str(), HasSubstr("in which order is not known"));
  EXPECT_THAT(out_.str(), HasSubstr("beside"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("another order")));
  EXPECT_THAT(out_.str(), Not(HasSubstr("not_read")));
}

TEST_F(DiffShardsTest, ANarrowTerminalGetsNoLongerLines) {
  std::vector<std::string> lists;
  for (int rank = 0; rank < 200; ++rank) lists.push_back(absl::StrCat("a-very-long-name-of-a-shard-number-", rank));
  Add("/a", lists);
  lists[7] = lists[8];
  Add("/b", lists);
  for (int columns : {60, 80, 100, 250}) {
    EXPECT_EQ(Diff({"/a", "/b"}, columns), kExitFailed);
    for (absl::string_view line : absl::StrSplit(out_.str(), '\n')) {
      EXPECT_LE(line.size(), static_cast<std::size_t>(columns)) << line;
      for (char c : line) EXPECT_TRUE(c >= ' ' && c <= '~') << line;  // no UTF-8 here
    }
  }
}

}  // namespace
}  // namespace paritect
