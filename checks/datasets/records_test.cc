// Why contents differ, gaps in numbered names, records.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "checks/datasets/follow_up.h"
#include "checks/datasets/test_util.h"
#include "common/md5/md5_lanes.h"

namespace paritect {
namespace {

using dataset_test::Found;
using dataset_test::Judge;
using dataset_test::OneSide;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

void AddLaw(absl::string_view law, std::string answer, v1::FileEntry& entry) {
  v1::AlternateDigest& alternate = *entry.add_alternates();
  alternate.set_law(std::string(law));
  alternate.set_md5(std::move(answer));
}

TEST(DatasetContent, WhereTheDifferenceBegins) {
  OneSide a("g"), b("n");
  a.File("a", std::string(20'000, 'x'));
  b.File("a", absl::StrCat(std::string(19'999, 'x'), "y"));
  const std::string same = Md5("same");
  AddLaw("blocks:4096", same + same + Md5("1") + same + Md5("2"), a.last());
  AddLaw("blocks:4096", same + same + Md5("3") + same + Md5("4"), b.last());
  const v1::CheckResult blocks = Judge("content", a, b);
  ASSERT_THAT(Found(blocks), ElementsAre("error content_differs a"));
  EXPECT_THAT(blocks.findings(0).message().en(), ::testing::HasSubstr("between bytes 8192 and 12288; 2 of 5 blocks"));
  AddLaw("zeros", std::string("\x20\x4e\0\0\0\0\0\0", 8), a.last());  // 20000: none
  AddLaw("zeros", std::string("\x10\x27\0\0\0\0\0\0", 8), b.last());  // from 10000 on
  EXPECT_THAT(Judge("content", a, b).findings(0).message().en(),
              ::testing::HasSubstr("10000 zeros at the end, from byte 10000"));
  EXPECT_THAT(Judge("content", b, a).findings(0).message().en(), ::testing::HasSubstr("on the baseline side"));
}

// A file with its chaining states after each `block` bytes.
void AddWithStates(absl::string_view content, std::uint64_t block, OneSide& side) {
  side.File("big", content);
  v1::FileStates& states = *side.list().add_states();
  states.set_path("big");
  states.set_block_bytes(block);
  Md5Lane lane;
  lane.data = reinterpret_cast<const unsigned char*>(content.data());
  for (std::size_t at = block; at <= content.size(); at += block) {
    Md5RunScalar(lane, block / kMd5BlockBytes);
    unsigned char bytes[kMd5Bytes];
    Md5Digest(lane.state, bytes);
    states.mutable_states()->append(reinterpret_cast<const char*>(bytes), kMd5Bytes);
  }
}

std::string CauseByStates(const std::string& a, const std::string& b, std::uint64_t a_block = 256,
                          std::uint64_t b_block = 256) {
  OneSide baseline("g"), migrated("n");
  AddWithStates(a, a_block, baseline);
  AddWithStates(b, b_block, migrated);
  const v1::CheckResult result = Judge("content", baseline, migrated);
  return result.findings_size() == 1 ? absl::StrCat(result.findings(0).kind(), ": ", result.findings(0).message().en())
                                     : "?";
}

TEST(DatasetContent, SavedStatesTellWhereLargeFilesBeginToDiffer) {
  std::string content(4096, 'x');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7 + i / 256);
  for (std::size_t at : {0u, 700u, 2048u, 3839u}) {
    std::string other = content;
    other[at] ^= 1;
    EXPECT_THAT(CauseByStates(content, other),
                ::testing::HasSubstr(absl::StrCat("equal up to byte ", at / 256 * 256, "; first differs before byte ",
                                                  at / 256 * 256 + 256)));
    EXPECT_THAT(CauseByStates(content, other, 256, 1024),
                ::testing::HasSubstr(absl::StrCat("equal up to byte ", at / 1024 * 1024)));
  }
  // Behind the last state.
  std::string end = content + "tail", other_end = content + "tail";
  other_end.back() = '!';
  EXPECT_THAT(CauseByStates(end, other_end), ::testing::HasSubstr("equal up to byte 4096"));
  // To the byte where the shorter one ends where a state was saved; a smaller claim elsewhere.
  EXPECT_THAT(CauseByStates(content, content.substr(0, 1024)), ::testing::StartsWith("truncated:"));
  EXPECT_THAT(CauseByStates(content.substr(0, 1024), content), ::testing::HasSubstr("1024"));
  EXPECT_THAT(CauseByStates(content, content.substr(0, 1100)),
              ::testing::StartsWith("content_differs: shorter; equal up to byte 1024 at least"));
  std::string cut = content.substr(0, 1024);
  cut[1000] ^= 1;
  EXPECT_THAT(CauseByStates(content, cut), ::testing::HasSubstr("equal up to byte 768"));
}

TEST(DatasetContent, ImpossibleStatesAreLeftOut) {
  OneSide a("g"), b("n");
  for (OneSide* side : {&a, &b}) {
    side->File("big", side == &a ? "1" : "2");
    v1::FileStates& states = *side->list().add_states();
    states.set_path("big");
    states.set_block_bytes(side == &a ? 0 : 100);
    states.set_states("odd");
  }
  EXPECT_THAT(Found(Judge("content", a, b)), ElementsAre("error content_differs big"));
}

TEST(DatasetContent, SaysWhatWasHashedNowAndWhatIsFromTheCache) {
  OneSide a("g"), b("n");
  a.File("x", "1").list().mutable_digests()->set_files_now(1);
  b.File("x", "1");
  b.list().mutable_digests()->set_files_cached(1);
  b.list().mutable_digests()->set_oldest_unix_ms(1'700'000'000'000);
  const v1::CheckResult result = Judge("content", a, b);
  EXPECT_EQ(result.verdict(), v1::VERDICT_PASS);
  ASSERT_EQ(result.findings_size(), 2);
  EXPECT_THAT(result.findings(0).message().en(), ::testing::HasSubstr("1 files hashed now"));
  EXPECT_THAT(result.findings(1).message().en(), ::testing::HasSubstr("1 from cache of 2023-11-14T22:13:20Z"));
}

TEST(DatasetContent, Sha256AloneIsCompared) {
  OneSide list("g", "manifest-md5sum");
  list.File("a", "1").last().clear_md5();
  AddLaw("sha256", Sha256("1"), list.last());
  OneSide tree = OneSide("n").File("a", "1");
  EXPECT_EQ(Judge("content", list, tree).verdict(), v1::VERDICT_NOT_PERFORMED);
  const EvidenceSet evidence({list.bundle()}, {tree.bundle()});
  const std::vector<DatasetQuestion> questions = DatasetQuestions(evidence, {.record_files_max = 0});
  ASSERT_EQ(questions.size(), 1u);
  EXPECT_THAT(questions[0].laws, ElementsAre("sha256"));
  AddLaw("sha256", Sha256("1"), tree.last());
  EXPECT_EQ(Judge("content", list, tree).verdict(), v1::VERDICT_PASS);
  tree.last().mutable_alternates(0)->set_md5(Sha256("2"));
  EXPECT_THAT(Found(Judge("content", list, tree)), ElementsAre("error content_differs a"));
}

TEST(DatasetContent, Crc32ShowsDamageAndProvesNothing) {
  OneSide list("g", "manifest-sfv"), tree("n");
  list.File("a", "1").last().clear_md5();
  tree.File("a", "1");
  AddLaw("crc32", "abcd", list.last());
  AddLaw("crc32", "abcd", tree.last());
  EXPECT_EQ(Judge("content", list, tree).verdict(), v1::VERDICT_NOT_PERFORMED);
  tree.last().mutable_alternates(0)->set_md5("abce");
  EXPECT_EQ(Judge("content", list, tree).verdict(), v1::VERDICT_FAIL);
}

TEST(DatasetFiles, NumbersThatBothSidesLack) {
  OneSide a("g");
  for (int i : {0, 1, 2, 4}) a.File(absl::StrCat("t-0000", i, "-of-00005.tar"), absl::StrCat(i));
  const v1::CheckResult both = Judge("files", a, a);
  EXPECT_THAT(Found(both), ElementsAre("warning shard_numbers_missing t-#-of-00005.tar"));
  EXPECT_EQ(both.verdict(), v1::VERDICT_PASS);
  // Counted from 1.
  OneSide one("g");
  for (int i : {1, 2, 3}) one.File(absl::StrCat("model-0000", i, "-of-00003.bin"), absl::StrCat(i));
  EXPECT_THAT(Found(Judge("files", one, one)), IsEmpty());
}

v1::FileEntry& Looked(OneSide& side, absl::string_view format, std::uint64_t records) {
  side.last().mutable_record_look()->set_format(std::string(format));
  side.last().mutable_record_look()->set_whole(true);
  side.last().set_records(records);
  return side.last();
}

TEST(DatasetRecords, PassFailNotPerformed) {
  OneSide a("g"), b("n");
  a.File("t.tfrecord", "12");
  b.File("t.tfrecord", "12");
  EXPECT_EQ(Judge("records", a, b).verdict(), v1::VERDICT_NOT_PERFORMED);  // nobody looked
  Looked(b, "tfrecord", 7);
  EXPECT_EQ(Judge("records", a, b).verdict(), v1::VERDICT_PASS);  // equal content: one look is enough
  a.last().set_md5(Md5("3"));
  EXPECT_EQ(Judge("records", a, b).verdict(), v1::VERDICT_NOT_PERFORMED);
  Looked(a, "tfrecord", 9);
  EXPECT_THAT(Found(Judge("records", a, b)),
              ElementsAre("error record_count_differs t.tfrecord", "note measured train"));
  a.last().mutable_record_look()->clear_format();
  EXPECT_EQ(Judge("records", a, a).verdict(), v1::VERDICT_NOT_PERFORMED);  // counted, not passed
}

TEST(DatasetRecords, DamageThatBothSidesHoldFails) {
  OneSide a("g");
  a.File("t", "12");
  v1::RecordLook& look = *a.last().mutable_record_look();
  look.set_format("tfrecord");
  look.mutable_damage()->set_id("record_damaged/checksum");
  (*look.mutable_damage()->mutable_args())["at"] = "12";
  (*look.mutable_damage()->mutable_args())["what"] = "record 0";
  (*look.mutable_damage()->mutable_args())["format"] = "tfrecord";
  const v1::CheckResult result = Judge("records", a, a);
  EXPECT_THAT(Found(result), ElementsAre("error record_damaged t"));
  // The words of readers are said in Chinese too.
  EXPECT_THAT(result.findings(0).message().en(), testing::HasSubstr("record 0"));
  EXPECT_THAT(result.findings(0).message().zh(), testing::HasSubstr("第 0 条记录"));
  // What is known by its text alone may be another dialect.
  look.set_format("csv");
  EXPECT_THAT(Found(Judge("records", a, a)), ElementsAre("warning record_damaged t"));
}

void SetLook(absl::string_view format, std::uint64_t records, v1::FileEntry& entry) {
  entry.mutable_record_look()->set_format(std::string(format));
  entry.mutable_record_look()->set_whole(true);
  entry.set_records(records);
}

TEST(DatasetRecords, AnIndexAnswersForTheDataBesideIt) {
  OneSide side("g");
  side.File("c.bin", "data");
  side.last().mutable_record_look();
  SetLook("megatron-idx", 3, side.File("c.idx", "index").last());
  EXPECT_EQ(Judge("records", side, side).verdict(), v1::VERDICT_PASS);
  OneSide alone("g");
  alone.File("c.bin", "data").last().mutable_record_look();
  EXPECT_EQ(Judge("records", alone, alone).verdict(), v1::VERDICT_NOT_PERFORMED);
}

TEST(DatasetRecords, WhatIsMissingIsToldAsItIs) {
  OneSide pointer("g");
  pointer.File("l.bin", "1").last().add_hints(v1::FILE_HINT_LFS_POINTER);
  const v1::CheckResult result = Judge("records", pointer, pointer);
  ASSERT_EQ(result.missing_size(), 1);
  EXPECT_THAT(result.missing(0).what().en(), ::testing::HasSubstr("l.bin: a pointer"));
  // One file is one file, whichever side nobody looked at.
  OneSide other("n");
  other.File("a", "22");
  const v1::CheckResult unseen = Judge("records", OneSide("g").File("a", "1"), other);
  ASSERT_EQ(unseen.missing_size(), 1);
  EXPECT_THAT(unseen.missing(0).what().en(), ::testing::HasSubstr("of 1 files"));
}

TEST(DatasetRecords, LinesOfTextAreLines) {
  OneSide side("g");
  SetLook("text", 1000, side.File("wiki.txt", "1").last());
  const v1::CheckResult result = Judge("records", side, side);
  EXPECT_EQ(result.verdict(), v1::VERDICT_PASS);
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_THAT(result.findings(0).message().en(), ::testing::HasSubstr("1000 lines in 1 text files"));
}

}  // namespace
}  // namespace paritect
