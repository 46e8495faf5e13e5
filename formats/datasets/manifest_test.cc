#include "formats/datasets/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/digest.h"
#include "common/status_testing.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr char kA[] = "0cc175b9c0f1b6a831c399e269772661";  // "a"
constexpr char kB[] = "92eb5ffee6ae2fec3ad71c777531578f";  // "b"

// $A and $B stand for the digests.
v1::FileList Read(absl::string_view text, absl::string_view name = "list.md5") {
  auto list = ParseManifest(absl::StrReplaceAll(text, {{"$A", kA}, {"$B", kB}}), name);
  EXPECT_TRUE(list.ok()) << list.status();
  return list.ok() ? *list : v1::FileList();
}

std::vector<std::string> Names(const v1::FileList& list) {
  std::vector<std::string> names;
  for (const v1::FileEntry& file : list.files()) names.push_back(file.path());
  return names;
}

TEST(ParseManifest, ReadsEveryFormAsTheSameList) {
  const std::pair<const char*, const char*> forms[] = {
      {"$A  s/1\n$B *s/2 x\n", "manifest-md5sum"},
      {"$A s/1\n$B s/2 x\n", "manifest-md5sum"},
      {"MD5 (s/1) = $A\nMD5(s/2 x)= $B\n", "manifest-bsd"},
      {"%%%% HASHDEEP-1.0\n%%%% size,md5,filename\n## c\n1,$A,/d/s/1\n1,$B,/d/s/2 x\n", "manifest-hashdeep"},
      {"#mtree\n/set type=file\n. type=dir\ns type=dir\n 1 md5digest=$A\n 2\\040x md5=$B\n..\n", "manifest-mtree"},
      {"path,size,md5\ns/1,1,$A\n\"s/2 x\",1,$B\n", "manifest-csv"},
      {"name;md5\ns/1;$A\ns/2 x;$B\n", "manifest-csv"},
      {"[{\"md5\":\"$A\",\"relpath\":\"s/1\"},{\"md5\":\"$B\",\"relpath\":\"s/2 x\"}]", "manifest-json"},
      {"{\"s/1\":\"$A\",\"s/2 x\":\"$B\"}", "manifest-json"},
      {"{\"Path\":\"s/1\",\"Hashes\":{\"md5\":\"$A\"}}\n{\"Path\":\"s/2 x\",\"Hashes\":{\"md5\":\"$B\"}}\n",
       "manifest-json"},
  };
  for (const auto& [text, format] : forms) {
    const v1::FileList list = Read(text);
    EXPECT_EQ(list.format(), format) << text;
    EXPECT_EQ(list.incomplete_size(), 0) << text;
    ASSERT_EQ(list.files_size(), 2) << text;
    // A list of absolute names loses its root, which may be deeper than the data set's.
    EXPECT_THAT(list.files(1).path(), ::testing::EndsWith("2 x")) << text;
    EXPECT_EQ(ToHex(list.files(0).md5()), kA) << text;
    EXPECT_EQ(ToHex(list.files(1).md5()), kB) << text;
  }
}

TEST(ParseManifest, TakesRootsPrefixesMarksAndLineEndsAway) {
  EXPECT_THAT(Names(Read("\xEF\xBB\xBF# list\r\n$A *a\\1\r\n$B *b\r\n")), ElementsAre("a/1", "b"));
  EXPECT_THAT(Names(Read("$A  ./b\n$B  ./a\n")), ElementsAre("a", "b"));
  const v1::FileList rooted = Read("$A  /data/ds/a/1\n$B  /data/ds/b\n");
  EXPECT_THAT(Names(rooted), ElementsAre("a/1", "b"));
  EXPECT_EQ(rooted.root(), "/data/ds");
  EXPECT_THAT(Names(Read("$A  D:\\ds\\a\\1\n$B  D:\\ds\\b\n")), ElementsAre("a/1", "b"));
}

TEST(ParseManifest, ABackslashSeparatesOnlyWhereTheWholeListUsesIt) {
  EXPECT_THAT(Names(Read("$A  a\\1\n$B  b/2\n")), ElementsAre("a\\1", "b/2"));
  EXPECT_THAT(Names(Read("\\$A  a\\\\1\n$B  b\n")), ElementsAre("a\\1", "b"));
}

TEST(ParseManifest, UnescapesNames) {
  EXPECT_THAT(Names(Read("\\$A  new\\nline\n")), ElementsAre("new\nline"));
  std::string nul = absl::StrCat(kA, "  new\nline", std::string(1, '\0'), kB, "  x", std::string(1, '\0'));
  EXPECT_THAT(Names(Read(nul)), ElementsAre("new\nline", "x"));
  EXPECT_THAT(Names(Read("$A  data/a%0Ab\n", "bag/manifest-md5.txt")), ElementsAre("data/a\nb"));
}

TEST(ParseManifest, ANameWithANulIsDamage) {
  const std::string text =
      absl::StrCat("%%%% HASHDEEP-1.0\n%%%% size,md5,filename\n1,$A,a\n1,$B,", std::string(1, '\0'), "b\n");
  const v1::FileList list = Read(text);
  EXPECT_THAT(Names(list), ElementsAre("a"));
  ASSERT_EQ(list.incomplete_size(), 1);
  EXPECT_EQ(list.incomplete(0).id(), "manifest_name_impossible");
}

TEST(ParseManifest, NamesAreBytes) {
  EXPECT_THAT(Names(Read("$A  \xD6\xD0.txt\n")), ElementsAre("\xD6\xD0.txt"));
}

TEST(ParseManifest, ACutLineMakesTheListIncomplete) {
  for (const char* text :
       {"$A  a\n92eb5ffee6ae2f", "$A  a\n$B", "$A  a\n$B  ", "$A  a\nmd5sum: b: Permission denied\n$B  c\n"}) {
    const v1::FileList list = Read(text);
    EXPECT_GE(list.incomplete_size(), 1) << text;
  }
  EXPECT_EQ(Read("$A  a\n92eb").incomplete(0).id(), "manifest_incomplete");
}

TEST(ParseManifest, AnOpenLastNameIsMarked) {
  const v1::FileList list = Read("$A  a\n$B  b/2.b");
  EXPECT_EQ(list.incomplete_size(), 0);
  EXPECT_THAT(list.files(1).hints(), ElementsAre(v1::FILE_HINT_LAST_LINE_OPEN));
}

TEST(ParseManifest, TwoDigestsOfOneNameAreNoDigest) {
  const v1::FileList list = Read("$A  a\n$B  a\n");
  ASSERT_EQ(list.files_size(), 1);
  EXPECT_EQ(list.files(0).md5(), "");
  EXPECT_EQ(list.files(0).error().id(), "manifest_name_twice");
}

TEST(ParseManifest, OtherDigestsGiveNamesWithoutMd5) {
  const v1::FileList list = Read(absl::StrCat(std::string(64, 'a'), "  x\n"));
  ASSERT_EQ(list.files_size(), 1);
  EXPECT_EQ(list.files(0).md5(), "");
  EXPECT_EQ(list.notes(0).kind(), "no_md5");
}

TEST(ParseManifest, RefusesWhatIsNoList) {
  for (absl::string_view text : {"", "hello\nworld\n", "{\"lr\": 0.1}",
                                 "\x7F"
                                 "ELF\x01\x02",
                                 "step 1 loss 2.0\n"}) {
    EXPECT_EQ(CodeOf(ParseManifest(text, "x")), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(ParseManifest, SurvivesHostileLists) {
  EXPECT_EQ(CodeOf(ParseManifest(std::string(4 << 20, 'a'), "x")), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(ParseManifest(absl::StrCat(kA, "  ", std::string(4 << 20, 'a'), "\n"), "x")),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(ParseManifest(std::string(1 << 20, '['), "x")), absl::StatusCode::kInvalidArgument);
  (void)ParseManifest("path,md5\n\"" + std::string(1 << 20, 'x'), "x");
}

TEST(WriteManifest, IsReadBackInEveryForm) {
  v1::FileList list = Read("$A  a,\"1\n$B  b%\\\n");
  for (v1::FileEntry& file : *list.mutable_files()) file.set_size_bytes(1);
  for (const char* format : {"md5sum", "bsd", "hashdeep", "csv", "json"}) {
    auto text = WriteManifest(list, format);
    ASSERT_TRUE(text.ok()) << text.status();
    const v1::FileList again = Read(*text);
    EXPECT_THAT(Names(again), ::testing::ElementsAreArray(Names(list))) << *text;
    EXPECT_EQ(again.files(1).md5(), list.files(1).md5());
  }
  EXPECT_EQ(CodeOf(WriteManifest(list, "sfv")), absl::StatusCode::kInvalidArgument);
  list.mutable_files(0)->clear_md5();
  EXPECT_EQ(CodeOf(WriteManifest(list, "md5sum")), absl::StatusCode::kInvalidArgument);
}

// Digests of one length are not one digest.
TEST(ParseManifest, ABsdTagSaysWhichDigestItIs) {
  for (const char* tag : {"BLAKE2b-128", "MD4", "RIPEMD128"}) {
    const v1::FileList list = Read(absl::StrCat(tag, " (a) = $A\n"));
    ASSERT_EQ(list.files_size(), 1) << tag;
    EXPECT_EQ(list.files(0).md5(), "") << tag;
  }
  EXPECT_EQ(Read("SM3 (a) = $A$A\n").files(0).alternates_size(), 0);
  EXPECT_EQ(Read("SHA256 (a) = $A$A\n").files(0).alternates(0).law(), "sha256");
}

TEST(ListingDigest, IsTheMd5OfTheSortedMd5sumListing) {
  EXPECT_EQ(ListingDigest(Read("$B  b\n$A  a\n")), Md5(absl::StrCat(kA, "  ./a\n", kB, "  ./b\n")));
}

TEST(ParseListing, KeepsTheOrder) {
  const v1::DirectoryListing listing = ParseListing("./b\n./a\r\n./c\n");
  EXPECT_THAT(listing.names(), ElementsAre("b", "a", "c"));
}

TEST(ParseManifest, OneMd5WithTwoSizesIsAContradiction) {
  const v1::FileList list = Read("path,size,md5\nx,10,$A\nx,20,$A\n");
  ASSERT_EQ(list.files_size(), 1);
  EXPECT_EQ(list.files(0).error().id(), "manifest_name_twice");
  EXPECT_FALSE(list.files(0).has_size_bytes());
}

TEST(ParseManifest, SfvStatesCrc32AndNoMd5) {
  const v1::FileList list = Read("; made by cksfv\ns/a file.bin 352441C2\nb 0000000F\n", "list.sfv");
  EXPECT_EQ(list.format(), "manifest-sfv");
  EXPECT_THAT(Names(list), ElementsAre("b", "s/a file.bin"));
  ASSERT_EQ(list.files(1).alternates_size(), 1);
  EXPECT_EQ(list.files(1).alternates(0).law(), "crc32");
  EXPECT_EQ(ToHex(list.files(1).alternates(0).md5()), "352441c2");
  EXPECT_EQ(list.files(1).md5(), "");
  EXPECT_EQ(CodeOf(ParseManifest("some prose\nthat ends in deadbeef\nbut not always\n", "x.txt")),
            absl::StatusCode::kInvalidArgument);
}

TEST(ParseManifest, BucketListingsAndTheirEtags) {
  const v1::FileList list =
      Read(R"({"Contents": [{"Key": "train/a", "Size": 1, "ETag": "\"$A\""}, {"Key": "train/", "Size": 0, "ETag": ""},)"
           R"( {"Key": "train/big", "Size": 99, "ETag": "\"$B-12\""}], "IsTruncated": false})");
  EXPECT_THAT(Names(list), ElementsAre("train/a", "train/big"));
  EXPECT_EQ(ToHex(list.files(0).md5()), kA);
  EXPECT_EQ(list.files(1).md5(), "");  // of the parts' MD5s, not of the content
  EXPECT_EQ(list.files(1).size_bytes(), 99u);
  std::vector<std::string> notes;
  for (const v1::Note& note : list.notes()) notes.push_back(note.kind());
  EXPECT_THAT(notes, ElementsAre("etag_multipart", "etag", "no_md5"));
  EXPECT_EQ(Read(R"({"Contents": [{"Key": "a", "Size": 1, "ETag": "$A"}], "IsTruncated": true})").incomplete_size(), 1);
  const v1::FileList kms =
      Read(R"({"Contents": [{"Key": "a", "Size": 1, "ETag": "$A", "ServerSideEncryption": "aws:kms"}]})");
  ASSERT_EQ(kms.files_size(), 1);
  EXPECT_TRUE(kms.files(0).md5().empty()) << "under KMS the ETag is no MD5";
  EXPECT_THAT(Read("key,size,etag\na,1,\"$A\"\nb,2,$B-3\n").notes(), SizeIs(3));
}

TEST(ParseManifest, ANameThatWasContradictedStaysSo) {
  for (const char* text : {"$A  x\n$B  x\n$A  x\n", "$B  x\n$A  x\n$A  x\n", "$A  x\n$B  x\n"}) {
    const v1::FileList list = Read(text);
    ASSERT_EQ(list.files_size(), 1) << text;
    EXPECT_EQ(list.files(0).md5(), "") << text;
    EXPECT_EQ(list.files(0).error().id(), "manifest_name_twice") << text;
  }
}

TEST(ParseManifest, ANameLongerThanAnyPathMakesTheListIncomplete) {
  const v1::FileList list = Read(absl::StrCat("$A  x\n$B  ", std::string(1 << 20, 'y'), "\n"));
  EXPECT_EQ(list.files_size(), 1);
  ASSERT_EQ(list.incomplete_size(), 1);
  EXPECT_EQ(list.incomplete(0).id(), "manifest_name_too_long");
}

// --- what is no MD5, no file, not whole -------------------------------------------------------------

TEST(ParseManifest, OtherDigestsOfTheSameLengthAreNoMd5) {
  for (const char* text : {"BLAKE2b-128 (a) = $A\n", "MD4 (a) = $A\n", "MD4(a)= $A\n", "RIPEMD-128 (a) = $A\n",
                           "%%%% HASHDEEP-1.0\n%%%% size,md4,filename\n1,$A,a\n"}) {
    const v1::FileList list = Read(text, "sums");
    ASSERT_EQ(list.files_size(), 1) << text;
    EXPECT_EQ(list.files(0).md5(), "") << text;
  }
  EXPECT_EQ(Read("$A  a\n", "MD4SUMS").files(0).md5(), "");
  EXPECT_EQ(Read("$A  a\n", "data.b2").files(0).md5(), "");
  EXPECT_NE(Read("$A  a\n", "SUMS").files(0).md5(), "");
}

TEST(ParseManifest, OwnListsKeepBackslashesInNames) {
  v1::FileList list = Read("\\$A  back\\\\slash\n$B  x.bin\n");
  ASSERT_THAT(Names(list), ElementsAre("back\\slash", "x.bin"));
  for (const char* format : {"md5sum", "bsd", "csv", "json"}) {
    const auto text = WriteManifest(list, format);
    ASSERT_TRUE(text.ok());
    EXPECT_THAT(Names(Read(*text)), ElementsAre("back\\slash", "x.bin")) << format;
  }
}

TEST(ParseManifest, FoldersOfAListingAreNoFiles) {
  const v1::FileList list = Read(
      "[\n{\"Path\":\"a\",\"Size\":-1,\"IsDir\":true},\n{\"Path\":\"a/x\",\"Size\":1,\"Hashes\":{\"md5\":\"$A\"},"
      "\"IsDir\":false}\n]\n");
  EXPECT_THAT(Names(list), ElementsAre("a/x"));
  EXPECT_EQ(list.incomplete_size(), 0);
}

TEST(ParseManifest, AListingOfWhichMoreFollowsIsIncomplete) {
  const std::string one = "\"Contents\":[{\"Key\":\"x\",\"Size\":1,\"ETag\":\"\\\"$A\\\"\"}]";
  EXPECT_EQ(Read("{" + one + "}").incomplete_size(), 0);
  for (const char* key : {"NextToken", "NextContinuationToken", "NextMarker"}) {
    const v1::FileList list = Read(absl::StrCat("{", one, ",\"", key, "\":\"abc\"}"));
    EXPECT_EQ(list.incomplete_size(), 1) << key;
    EXPECT_THAT(Names(list), ElementsAre("x"));
  }
  const v1::FileList url =
      Read("{\"EncodingType\":\"url\",\"Contents\":[{\"Key\":\"b/3+%E6%95%B0.bin\",\"Size\":1,\"ETag\":\"$A\"}]}");
  EXPECT_THAT(Names(url), ElementsAre("b/3 \xE6\x95\xB0.bin"));
}

TEST(ParseManifest, ACutJsonListNamesWhatItStillNames) {
  const v1::FileList list = Read("{\"files\":[\n{\"path\":\"a\",\"md5\":\"$A\"},\n{\"path\":\"b\",\"md");
  EXPECT_THAT(Names(list), ElementsAre("a"));
  ASSERT_EQ(list.incomplete_size(), 1);
  EXPECT_EQ(list.incomplete(0).id(), "manifest_incomplete");
}

TEST(ParseManifest, NulsSeparateOnlyWhereTheyEndNames) {
  EXPECT_THAT(Names(Read(std::string("$A  a\nb") + '\0' + "$B  c" + '\0')), ElementsAre("a\nb", "c"));
  const v1::FileList cut = Read(std::string("$A  a") + '\0' + "$B  c.t");
  EXPECT_TRUE(cut.files(1).hints_size() == 1 && cut.files(1).hints(0) == v1::FILE_HINT_LAST_LINE_OPEN);
  // A list of lines whose end a crash turned into zeros.
  const v1::FileList torn = Read(absl::string_view("$A  a\n$B  b\n\0\0\0\0", 16));
  EXPECT_THAT(Names(torn), ElementsAre("a", "b"));
  EXPECT_EQ(torn.incomplete_size(), 1);
}

TEST(ParseManifest, OnlyALineWithoutItsEndIsCutOff) {
  EXPECT_EQ(Read("$A  a\nmd5sum: q: Permission denied\n").incomplete(0).id(), "manifest_line_unknown");
  EXPECT_EQ(Read("$A  a\n0cc175b9").incomplete(0).id(), "manifest_incomplete");
}

}  // namespace
}  // namespace paritect
