#include "formats/shards/shard_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/status_testing.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ShardLists Lists(absl::string_view bytes) {
  auto lists = ReadShardFile(bytes);
  EXPECT_TRUE(lists.ok()) << lists.status();
  return lists.ok() ? *lists : ShardLists{};
}

v1::ShardList One(absl::string_view bytes) {
  ShardLists lists = Lists(bytes);
  EXPECT_EQ(lists.size(), 1u);
  return lists.empty() ? v1::ShardList() : lists[0];
}

TEST(PlainList, PathsAreBytes) {
  const v1::ShardList list = One("/d/a b.tar\n/d/caf\xe9\n\n# made by hand\n#recycle\n/d/run[1]/x\n");
  EXPECT_THAT(list.items(), ElementsAre("/d/a b.tar", "/d/caf\xe9", "#recycle", "/d/run[1]/x"));
  EXPECT_FALSE(list.sample_numbers());
  EXPECT_THAT(list.notes(), IsEmpty());
}

TEST(PlainList, BracketsInNamesAreNoLists) {
  EXPECT_THAT(One("my files [1]/a.tar\nshards [2].tar\n").items(), ElementsAre("my files [1]/a.tar", "shards [2].tar"));
}

TEST(PlainList, DialectsOfLineEnds) {
  EXPECT_THAT(One("\xef\xbb\xbf"
                  "a\r\nb\r\n")
                  .items(),
              ElementsAre("a", "b"));
  EXPECT_THAT(One(absl::string_view("a\nb\0c\0", 6)).items(), ElementsAre("a\nb", "c"));
  const v1::ShardList list = One("a\nb");
  EXPECT_THAT(list.items(), ElementsAre("a", "b"));
  EXPECT_EQ(list.notes(0).kind(), "no_final_line_end");
}

TEST(PlainList, NumbersAndMixtures) {
  EXPECT_TRUE(One("0\n4\n8\n").sample_numbers());
  const v1::ShardList mixed = One("0\n4\na/b.tar\n");
  EXPECT_FALSE(mixed.sample_numbers());
  EXPECT_EQ(mixed.notes(0).kind(), "numbers_and_paths");
  EXPECT_FALSE(One("-1\n2\n").sample_numbers());
}

TEST(PlainList, AnEmptyFileIsAnEmptyList) {
  EXPECT_THAT(One("").items(), IsEmpty());
}

TEST(ShardFile, RefusesWhatIsNoList) {
  EXPECT_EQ(ReadShardFile("version https://git-lfs.github.com/spec/v1\n").status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReadShardFile("<!DOCTYPE html><p>x").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReadShardFile(absl::string_view("\x7f\x45LF\0\0\0\1", 8)).status().code(),
            absl::StatusCode::kUnimplemented);
  EXPECT_EQ(ReadShardFile(std::string(200000, 'x')).status().code(), absl::StatusCode::kUnimplemented);
}

TEST(JsonList, OneObjectALine) {
  const ShardLists lists = Lists(
      "{\"rank\": 1, \"world_size\": 2, \"files\": [\"b\", \"d\\u00e9\"]}\n{\"rank\": 0, \"world_size\": 2, \"files\": "
      "[\"a\"]}\n");
  ASSERT_EQ(lists.size(), 2u);
  EXPECT_EQ(lists[0].rank(), 0);
  EXPECT_EQ(lists[1].world_size(), 2);
  EXPECT_THAT(lists[1].items(), ElementsAre("b", "d\xc3\xa9"));
}

TEST(JsonList, OtherShapes) {
  EXPECT_THAT(One("[\"a\", \"b\"]").items(), ElementsAre("a", "b"));
  EXPECT_TRUE(One("[3, 1]").sample_numbers());
  EXPECT_EQ(Lists("{\n \"0\": [1, 2],\n \"1\": [3]\n}\n").size(), 2u);
  EXPECT_EQ(Lists("[{\"rank\": 0, \"files\": []}, {\"rank\": 1, \"files\": [\"x\"]}]").size(), 2u);
  EXPECT_EQ(One("{\n\"rank\": 5,\n\"samples\": [1]}").rank(), 5);
}

TEST(JsonList, ADamagedLineMakesTheListIncomplete) {
  const v1::ShardList list = One("{\"rank\": 0, \"files\": [\"a\"]}\n{\"rank\": 1, \"fil");
  EXPECT_EQ(list.incomplete(0).args().at("line"), "2");
  EXPECT_EQ(CodeOf(ReadShardFile("{\"rank\": 0, \"loss\": 1}\n")), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(CodeOf(ReadShardFile("{\"rank\": 0, \"files\": [[1]]}\n")), absl::StatusCode::kUnimplemented);
}

TEST(PrintedList, IndexLogWithResume) {
  const ShardLists lists = Lists(
      "step=0 rank=0 world=1 idx=[0, 1]\n# saved\nstep=1 rank=0 world=2 idx=[4, 5]\nstep=1 rank=1 world=2 idx=[6, "
      "7]\n");
  ASSERT_EQ(lists.size(), 3u);
  EXPECT_EQ(lists[0].format(), "index-log");
  EXPECT_EQ(lists[0].world_size(), 1);
  EXPECT_EQ(lists[1].segment(), 1);
  EXPECT_EQ(lists[2].rank(), 1);
  EXPECT_EQ(lists[2].first_sample(), 2);
  EXPECT_THAT(lists[2].items(), ElementsAre("6", "7"));
}

TEST(PrintedList, StepsMadeAgainReplaceTheOldOnes) {
  const ShardLists lists = Lists(
      "step 0 rank 0 idx=[0]\nstep 1 rank 0 idx=[1]\nstep 2 rank 0 idx=[9]\nstep 2 rank 0 idx=[8]\n"
      "step 1 rank 0 idx=[1]\nstep 2 rank 0 idx=[2]\n");
  ASSERT_EQ(lists.size(), 2u);
  EXPECT_THAT(lists[0].items(), ElementsAre("0"));
  EXPECT_THAT(lists[1].items(), ElementsAre("1", "2"));
  EXPECT_EQ(lists[0].notes(0).kind(), "steps_replaced");
}

TEST(PrintedList, StepsThatStartAgainWithTheEpochAreNoResume) {
  const ShardLists lists = Lists("epoch 0 step 0 idx=[0]\nepoch 0 step 1 idx=[1]\nepoch 1 step 0 idx=[1]\n");
  ASSERT_EQ(lists.size(), 2u);
  EXPECT_EQ(lists[1].epoch(), 1);
  EXPECT_EQ(lists[1].segment(), 0);
}

TEST(PrintedList, PythonAndNumpySpellings) {
  EXPECT_THAT(One("INFO [0] local_rank 7 rank 3/8 files: ['a/b', \"it's\", 'x\\\\y']\n").items(),
              ElementsAre("a/b", "it's", "x\\y"));
  EXPECT_EQ(One("INFO [0] local_rank 7 rank 3/8 files: ['a/b']\n").rank(), 3);
  EXPECT_EQ(One("INFO [0] local_rank 7 rank 3/8 files: ['a/b']\n").world_size(), 8);
  EXPECT_THAT(One("2024 [rank3]: indices [ 4  5\n   6]\n").items(), ElementsAre("4", "5", "6"));
  EXPECT_THAT(One("shards=[PosixPath('/d/a'), PosixPath('/d/b')]\n").items(), ElementsAre("/d/a", "/d/b"));
  EXPECT_THAT(One("idx=tensor([3, 4])\n").items(), ElementsAre("3", "4"));
  EXPECT_THAT(One("files: [b'caf\\xe9']\n").items(), ElementsAre("caf\xe9"));
  EXPECT_THAT(One("files: ['caf\\udce9']\n").items(), ElementsAre("caf\xe9"));
}

TEST(PrintedList, OtherListsOfALogAreNotTaken) {
  const v1::ShardList list =
      One("loss=[0.1, 0.2] [1/100] shape=[3, 4]\ntarget_modules ['q_proj']\nrank 0 files: ['a.tar']\n");
  EXPECT_THAT(list.items(), ElementsAre("a.tar"));
}

TEST(PrintedList, CutAndShortenedListsAreIncomplete) {
  EXPECT_EQ(One("rank=0 idx=[0, 1, 2").incomplete_size(), 1);
  EXPECT_EQ(One("rank=0 files=['a', 'b").incomplete_size(), 1);
  const v1::ShardList list = One("rank=0 idx=[0 1 2 ... 97 98]\n");
  EXPECT_EQ(list.incomplete_size(), 1);
  EXPECT_EQ(list.items_size(), 5);
}

TEST(ShardFile, HostileInputEnds) {
  for (const std::string& bytes :
       {std::string(300000, '['), std::string(300000, '{'), std::string("idx=["),
        std::string("[\"") + std::string(100000, '\\'), std::string("{\"0\":[") + std::string(50000, ','),
        std::string("rank=99999999999999999999 idx=[99999999999999999999999]\n"), std::string(1, '\0')}) {
    (void)ReadShardFile(bytes);
  }
  std::string many;
  for (int i = 0; i < 20000; ++i) absl::StrAppend(&many, "idx=[1\n");
  (void)ReadShardFile(many);
}

TEST(JsonList, TwoWorldSizesInOneWorldAreNoResume) {
  const ShardLists lists = Lists(
      "{\"rank\":0,\"world_size\":3,\"files\":[\"a\"]}\n{\"rank\":1,\"world_size\":6,\"files\":[\"b\"]}\n"
      "{\"rank\":2,\"world_size\":3,\"files\":[\"c\"]}\n");
  ASSERT_EQ(lists.size(), 3u);
  for (const v1::ShardList& list : lists) EXPECT_EQ(list.segment(), 0);
  // A rank that the old world has no place for, or that comes again, begins a new segment where a step or an epoch puts
  // the lists in an order in time; the order of lines does not.
  for (const char* rank : {"0", "5"}) {
    for (const bool in_time : {true, false}) {
      const ShardLists resumed = Lists(absl::StrCat("{\"rank\":0,\"world_size\":3,", in_time ? "\"epoch\":0," : "",
                                                    "\"files\":[\"a\"]}\n{\"rank\":", rank, ",\"world_size\":6,",
                                                    in_time ? "\"epoch\":1," : "", "\"files\":[\"b\"]}\n"));
      ASSERT_EQ(resumed.size(), 2u);
      EXPECT_EQ(resumed[1].segment(), in_time ? 1 : 0) << rank;
    }
  }
  // Nor is a rank that the old world has no place for, or that comes again: whole lists without a step or an epoch tell
  // of no resume, and the order of the lines decides nothing. With steps a new segment begins.
  for (const char* rank : {"0", "5"}) {
    const std::string old_world = "{\"rank\":0,\"world_size\":3,\"files\":[\"a\"]}\n";
    const std::string new_world = absl::StrCat("{\"rank\":", rank, ",\"world_size\":6,\"files\":[\"b\"]}\n");
    for (const std::string& text : {old_world + new_world, new_world + old_world}) {
      for (const v1::ShardList& list : Lists(text)) EXPECT_EQ(list.segment(), 0) << text;
    }
    const ShardLists resumed =
        Lists(absl::StrCat("{\"step\":1,\"rank\":0,\"world_size\":3,\"indices\":[1]}\n{\"step\":2,\"rank\":", rank,
                           ",\"world_size\":6,\"indices\":[2]}\n"));
    ASSERT_EQ(resumed.size(), 2u);
    EXPECT_EQ(resumed[1].segment(), 1) << rank;
  }
}

TEST(PlainList, AShardThatIsReadThroughACommandIsTheOneInIt) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"pipe:curl -s -L https://h/d/s-0.tar || true", "https://h/d/s-0.tar"},
      {"pipe:curl -s 'https://h/d/s-0.tar?X-Signature=12&e=3'", "https://h/d/s-0.tar"},
      {"pipe:aws s3 cp s3://b/d/s-0.tar -", "s3://b/d/s-0.tar"},
      {"pipe:aws --endpoint-url https://obs.example s3 cp s3://b/d/s-0.tar - 2>/dev/null", "s3://b/d/s-0.tar"},
      {"pipe:cat /d/s-0.tar", "/d/s-0.tar"},
      {"pipe:cat /d/s-0.tar.gz | gzip -dc", "/d/s-0.tar.gz"}};
  for (const auto& [line, name] : cases) {
    const v1::ShardList list = One(line + "\n");
    ASSERT_EQ(list.items_size(), 1) << line;
    EXPECT_EQ(list.items(0), name);
  }
  for (const char* line : {"pipe:cat /d/a.tar /d/b.tar\n", "pipe:false\n"}) {
    EXPECT_EQ(CodeOf(ReadShardFile(line)), absl::StatusCode::kUnimplemented) << line;
  }
  const v1::ShardList json = One("{\"rank\":0,\"files\":[\"pipe:cat /d/a /d/b\"]}\n");
  EXPECT_EQ(json.incomplete_size(), 1);
}

TEST(JsonList, ARankBelowZeroIsKeptAsWrong) {
  const v1::ShardList list = One("{\"-4294967296\":[\"a\"]}");
  EXPECT_EQ(list.rank(), -1);
}

TEST(PlainList, LinesOfSeveralEntriesAreTakenApart) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"[0, 4]\n[8, 12]\n", {"0", "4", "8", "12"}},
      {"[ 0  4  8]\n", {"0", "4", "8"}},
      {"0, 4\n8 12\n", {"0", "4", "8", "12"}},
      {"  5\n6\n", {"5", "6"}},
      {"\"/d/f0.bin\",\n'/d/f1.bin'\n", {"/d/f0.bin", "/d/f1.bin"}},
      {"/d/my file.bin\n", {"/d/my file.bin"}},
  };
  for (const auto& [text, items] : cases) {
    auto lists = ReadShardFile(text);
    ASSERT_TRUE(lists.ok()) << text;
    ASSERT_EQ(lists->size(), 1u) << text;
    EXPECT_EQ(std::vector<std::string>((*lists)[0].items().begin(), (*lists)[0].items().end()), items) << text;
  }
  for (const char* text : {"rank 0 reads /d/f0.bin\n", "0 /d/f0.bin\n"})
    EXPECT_EQ(CodeOf(ReadShardFile(text)), absl::StatusCode::kUnimplemented) << text;
  EXPECT_EQ(CodeOf(ReadShardFile(std::string("\xff\xfe/\0d\0\n\0", 8))), absl::StatusCode::kUnimplemented);
}

TEST(JsonList, TwoWholeListsOfOneRankStaySideBySide) {
  auto lists = ReadShardFile(
      "{\"rank\":0,\"world_size\":1,\"files\":[\"a\"]}\n{\"rank\":0,\"world_size\":1,\"files\":[\"b\"]}\n");
  ASSERT_TRUE(lists.ok());
  ASSERT_EQ(lists->size(), 2u);
  EXPECT_EQ((*lists)[1].items(0), "b");
  // Samples may be printed batch by batch.
  auto batches = ReadShardFile("{\"rank\":0,\"idx\":[1]}\n{\"rank\":0,\"idx\":[2]}\n");
  ASSERT_TRUE(batches.ok());
  EXPECT_EQ(batches->size(), 1u);
}

TEST(PrintedList, TheGlobalRankIsTheOneThatCounts) {
  const std::vector<std::pair<std::string, int>> cases = {
      {"dp-rank 0, rank 3/4: files: ['/d/a']\n", 3},
      {"group rank 0 global rank 2 world size 4 files ['/d/a']\n", 2},
      {"data parallel rank 0 | rank 1 of 4 shard list: ['/d/a']\n", 1},
      {"local_rank=0 rank=3 files=['/d/a']\n", 3},
      {"rank 0: process rank=2 files=['/d/a']\n", -1},
  };
  for (const auto& [text, rank] : cases) {
    auto lists = ReadShardFile(text);
    ASSERT_TRUE(lists.ok()) << text;
    EXPECT_EQ((*lists)[0].has_rank() ? (*lists)[0].rank() : -1, rank) << text;
  }
}

TEST(IndexLog, TheLastStepMadeAgainIsAResume) {
  auto lists = ReadShardFile(
      "step=0 rank=0 world=1 idx=[0, 1]\nstep=1 rank=0 world=1 idx=[2, 3]\n"
      "step=1 rank=0 world=1 idx=[2, 3]\nstep=2 rank=0 world=1 idx=[4, 5]\n");
  ASSERT_TRUE(lists.ok());
  std::string items;
  for (const v1::ShardList& list : *lists) {
    for (const std::string& item : list.items()) items += item;
  }
  EXPECT_EQ(items, "012345");
}

}  // namespace
}  // namespace paritect
