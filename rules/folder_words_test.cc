#include "rules/folder_words.h"

#include <gtest/gtest.h>

namespace paritect {
namespace {

TEST(FolderWords, WordsAreWhole) {
  const std::vector<std::string> data = {"data"};
  for (const char* name : {"data", "train_data", "TrainData", "data2", "my-data.v1", "DATA"}) {
    EXPECT_TRUE(HasWord(name, data)) << name;
  }
  for (const char* name : {"database", "metadata", "dat", ""}) EXPECT_FALSE(HasWord(name, data)) << name;
}

TEST(FolderWords, NumbersStandBehindTheirWord) {
  const std::vector<std::string> ranks = {"rank", "worker"};
  for (const char* name : {"rank3", "log_rank-03.txt", "worker_3.log", "rank=3", "Rank.3"}) {
    const auto number = NumberBehind(name, ranks);
    ASSERT_TRUE(number.has_value()) << name;
    EXPECT_EQ(number->number, 3) << name;
  }
  for (const char* name : {"rank", "rank--3", "crank3", "3rank", "rank_a3", "rank99999999999999999999"}) {
    EXPECT_FALSE(NumberBehind(name, ranks).has_value()) << name;
  }
  const auto last = NumberBehind("rank1/rank_12", ranks);
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->number, 12);
  EXPECT_EQ(last->begin, 11u);
  EXPECT_EQ(last->end, 13u);
}

TEST(FolderWords, CodeOfOthersIsToldByTheNameOfItsFolder) {
  for (const char* name : {".git", ".venv", "__pycache__", "site-packages", "dist-packages", "node_modules", "venv",
                           "train.egg-info", "torch-2.1.0.dist-info"}) {
    EXPECT_TRUE(IsForeignCode(name)) << name;
  }
  // The last three are packages of some projects: whoever looks decides by what is in them.
  for (const char* name : {"src", "egg-info", "venv2", "", "env", "build", "dist"}) {
    EXPECT_FALSE(IsForeignCode(name)) << name;
  }
}

TEST(FolderWords, TheEmbeddedListsLoad) {
  EXPECT_TRUE(HasWord("checkpoint-500", BuiltInFolderWords().steps));
  EXPECT_EQ(ReadFolderWords(*ParseDocument("data: [Data]")).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadFolderWords(*ParseDocument("date: [data]")).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace paritect
