// Why contents differ, gaps in numbered names, records.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "checks/dataset_follow_up.h"
#include "checks/dataset_test_util.h"

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
  EXPECT_THAT(Found(Judge("records", a, a)), ElementsAre("error record_damaged t"));
  // What is known by its text alone may be another dialect.
  look.set_format("csv");
  EXPECT_THAT(Found(Judge("records", a, a)), ElementsAre("warning record_damaged t"));
}

}  // namespace
}  // namespace paritect
