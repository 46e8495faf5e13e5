// Lists in the forms that people's tools print, whole and cut.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/digest.h"
#include "common/status_testing.h"
#include "common/utf8.h"
#include "formats/archives/gzip_fixture.h"
#include "formats/datasets/list_fields.h"
#include "formats/datasets/manifest.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;

constexpr char kA[] = "0cc175b9c0f1b6a831c399e269772661";
constexpr char kB[] = "92eb5ffee6ae2fec3ad71c777531578f";

std::string Base64Of(absl::string_view hex) {
  return absl::Base64Escape(*FromHex(hex));
}

std::string Fill(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"$A64", Base64Of(kA)}, {"$B64", Base64Of(kB)}, {"$A", kA}, {"$B", kB}});
}

v1::FileList Read(absl::string_view text, absl::string_view name = "list.txt") {
  auto list = ParseManifest(Fill(text), name);
  EXPECT_TRUE(list.ok()) << list.status() << "\n" << text;
  return list.ok() ? *list : v1::FileList();
}

std::vector<std::string> Names(const v1::FileList& list) {
  std::vector<std::string> names;
  for (const v1::FileEntry& file : list.files()) names.push_back(file.path());
  return names;
}

std::string Utf16(absl::string_view ascii, bool mark) {
  std::string out = mark ? "\xFF\xFE" : "";
  for (const char c : ascii) {
    out.push_back(c);
    out.push_back('\0');
  }
  return out;
}

// The file "s/1" with $A, of 1 byte where the form states sizes, and "s/2 x" with $B.
constexpr absl::string_view kForms[] = {
    "$A,./s/1\n$B,./s/2 x\n",                            // md5deep -c
    "s/1,$A\ns/2 x,$B\n",                                // no header
    "s/1\t1\t$A\ns/2 x\t2\t$B\n",                        //
    "$A;s/1\n$B;s/2 x\n",                                // rclone lsf -F hp
    "         1  $A  ./s/1\n         2  $B  ./s/2 x\n",  // md5deep -z
    "$A64  s/1\n$B64  s/2 x\n",                          // rclone hashsum --base64
    "文件名,大小,MD5\ns/1,1,$A\ns/2 x,2,$B\n",           // spreadsheets
    "序号;路径;MD5校验值\n1;s/1;$A\n2;s/2 x;$B\n",       //
    "样本,指纹\ns/1,$A\ns/2 x,$B\n",                     // words that nobody knows
    "sep=;\nname;md5\ns/1;$A\ns/2 x;$B\n",               //
    "目录,文件名,MD5\ns,1,$A\ns,2 x,$B\n",               //
    "#TYPE X\n\"Algorithm\",\"Hash\",\"Path\"\n\"MD5\",\"$A\",\"D:\\d\\s\\1\"\n\"MD5\",\"$B\",\"D:\\d\\s\\2 x\"\n",
    "Algorithm : MD5\nHash      : $A\nPath      : D:\\d\\s\\1\n\nAlgorithm : MD5\nHash      : $B\n"
    "Path      : D:\\d\\s\\2 x\n",
    "\nAlgorithm       Hash         Path\n---------       ----         ----\nMD5   $A    D:\\d\\s\\1\nMD5   $B    "
    "D:\\d\\s\\2 x\n",
    "MD5 hash of D:\\d\\s\\1:\n$A\nCertUtil: -hashfile command completed successfully.\nMD5 hash of D:\\d\\s\\2 "
    "x:\n$B\n"
    "CertUtil: -hashfile command completed successfully.\n",
    "//\n// File Checksum Integrity Verifier version 2.05.\n//\n$A d:\\d\\s\\1\n$B d:\\d\\s\\2 x\n",
    "Object list:\nkey   LastModified   Size   StorageClass   ETag\nobs://b/s/1\n      2024-01-01T00:00:00Z  1B  "
    "standard "
    " \"$A\"\n\nobs://b/s/2 x\n      2024-01-01T00:00:00Z  2B  standard  \"$B\"\n\nTotal size of bucket: 3B\n",
    "LastModifiedTime  Size(B)  StorageClass  ETAG  ObjectName\n2024-01-01 00:00:00 +0800 CST  1  Standard  $A  "
    "oss://b/s/1\n2024-01-01 00:00:00 +0800 CST  2  Standard  $B  oss://b/s/2 x\nObject Number is: 2\n\n0.1(s) "
    "elapsed\n",
    "2024-01-01 00:00  1  $A  s3://b/s/1\n2024-01-01 00:00  2  $B  s3://b/s/2 x\n",  // s3cmd ls --list-md5
    "Hashes [base64] for s/1:\n\tHash (crc32c):\t\tqpT1kQ==\n\tHash (md5):\t\t$A64\nHashes [base64] for s/2 x:\n\tHash "
    "(md5):\t\t$B64\n",
    "gs://b/s/1:\n    Content-Length:   1\n    Hash (md5):   $A64\n    ETag:   CJDs6t2Tv4MDEAE=\ngs://b/s/2 x:\n"
    "    Hash (md5):   $B64\nTOTAL: 2 objects, 3 bytes (3 B)\n",
    "---\ndigest_format: base64\nmd5_hash: $A64\nurl: s/1\n---\ndigest_format: base64\nmd5_hash: $B64\nurl: s/2 x\n",
    "{\"key\":\"s/1\",\"type\":\"file\",\"size\":1,\"etag\":\"$A\"}\n{\"key\":\"s/2 x\",\"size\":2,\"etag\":\"$B\"}\n",
    "[{\"name\":\"s/1\",\"properties\":{\"contentLength\":1,\"etag\":\"0x8DC1\",\"contentSettings\":{\"contentMd5\":"
    "\"$A64\"}}},{\"name\":\"s/2 x\",\"properties\":{\"contentSettings\":{\"contentMd5\":\"$B64\"}}}]",
    "{\"id\":1,\"files\":[{\"key\":\"s/1\",\"size\":1,\"checksum\":\"md5:$A\"},{\"key\":\"s/2 "
    "x\",\"checksum\":\"md5:$B\"}]}",
    "{\"items\":[{\"name\":\"s/1\",\"md5Hash\":\"$A64\",\"size\":\"1\"},{\"name\":\"s/2 x\",\"md5Hash\":\"$B64\"}]}",
};

void ExpectWhole(const std::string& bytes) {
  auto list = ParseManifest(bytes, "list.txt");
  ASSERT_TRUE(list.ok()) << list.status() << "\n" << bytes;
  EXPECT_EQ(list->incomplete_size(), 0) << list->DebugString() << bytes;
  ASSERT_EQ(list->files_size(), 2) << bytes;
  EXPECT_THAT(list->files(0).path(), ::testing::EndsWith("1")) << bytes;
  EXPECT_THAT(list->files(1).path(), ::testing::EndsWith("2 x")) << bytes;
  EXPECT_EQ(ToHex(list->files(0).md5()), kA) << bytes;
  EXPECT_EQ(ToHex(list->files(1).md5()), kB) << bytes;
  EXPECT_TRUE(!list->files(0).has_size_bytes() || list->files(0).size_bytes() == 1) << bytes;
}

TEST(ManifestForms, EachIsReadAsTheSameList) {
  for (const absl::string_view form : kForms) ExpectWhole(Fill(form));
}

TEST(ManifestForms, InOtherLineEndsAndEncodings) {
  for (const absl::string_view form : kForms) {
    const std::string text = Fill(form);
    ExpectWhole(absl::StrReplaceAll(text, {{"\n", "\r\n"}}));
    ExpectWhole(absl::StrCat("\xEF\xBB\xBF", text));
    const bool ascii = text.find_first_of("\xE5\xE6\xE7\xE8") == std::string::npos;
    if (ascii) {
      ExpectWhole(Utf16(absl::StrReplaceAll(text, {{"\n", "\r\n"}}), true));
    } else if (const auto gbk = EncodeCharset(text, "GBK"); text.find("指纹") == std::string::npos) {
      ASSERT_TRUE(gbk.has_value());
      ExpectWhole(*gbk);
    }
  }
  ExpectWhole(Utf16(Fill("$A *D:\\d\\s\\1\r\n$B *D:\\d\\s\\2 x\r\n"), false));
}

// Wherever it is cut: what is named stays right, and nothing that is not named goes unsaid, but at the border of two
// records of forms that have no end.
TEST(ManifestForms, WhatIsCutIsNeverAnotherList) {
  for (const absl::string_view form : kForms) {
    const std::string text = Fill(form);
    for (std::size_t n = 1; n < text.size(); ++n) {
      auto list = ParseManifest(text.substr(0, n), "list.txt");
      if (!list.ok()) continue;
      for (const v1::FileEntry& file : list->files()) {
        const bool open = file.hints_size() > 0;  // its name may be cut
        if (open || file.md5().empty()) continue;
        EXPECT_TRUE(ToHex(file.md5()) == kA || ToHex(file.md5()) == kB) << text.substr(0, n);
      }
      const bool border = text[n - 1] == '\n' || text[n] == '\n' || text[n] == '\r' || text[n - 1] == '}';
      const bool open = list->files_size() > 0 && list->files(list->files_size() - 1).hints_size() > 0;
      const bool all = list->files_size() == 2;
      EXPECT_TRUE(border || open || all || list->incomplete_size() > 0) << form << "\n--- cut:\n" << text.substr(0, n);
    }
  }
}

TEST(ManifestForms, AListThatEndsBeforeItsEndIsIncomplete) {
  // Cut at the border of two records.
  for (const absl::string_view text :
       {"Object list:\nobs://b/s/1\n   2024-01-01T00:00:00Z  1B  standard  \"$A\"\n\n",
        "LastModifiedTime  Size(B)  StorageClass  ETAG  ObjectName\n2024-01-01 00:00:00 +0800 CST  1  S  $A  "
        "oss://b/1\n",
        "LastModifiedTime  Size(B)  StorageClass  ETAG  ObjectName\n2024-01-01 00:00:00 +0800 CST  1  S  $A  "
        "oss://b/1\n"
        "Object Number is: 2\n",
        "MD5 hash of a:\n$A\nCertUtil: -hashfile command completed successfully.\nMD5 hash of b:\n$B\n",
        "MD5 hash of a:\n$A\nCertUtil: -hashfile command completed successfully.\nCertUtil: -hashfile command FAILED: "
        "0x8\n",
        "Object list:\nobs://b/1\n   2024-01-01T00:00:00Z  1B  standard  \"$A\"\nNext marker is: 1\nTotal size of b: "
        "1B\n",
        "Object list:\nobs://b/1\n   2024-01-01T00:00:00Z  1B  standard  \"$A\"\nobs://b/folder/\nTotal size of b: "
        "1B\n"}) {
    EXPECT_GE(Read(text).incomplete_size(), 1) << text;
  }
}

TEST(ManifestForms, ADamagedRecordIsNoHeader) {
  const v1::FileList list = Read("a/1.bin,4e15f1\na/2.bin,$A\na/3.bin,$B\n");
  EXPECT_THAT(Names(list), ElementsAre("a/2.bin", "a/3.bin"));
  EXPECT_EQ(list.incomplete_size(), 1);
  // The window of PowerShell cuts names.
  EXPECT_EQ(
      Read("Algorithm  Hash  Path\nMD5  $A  D:\\d\\a\nMD5  $A  D:\\d\\b\nMD5  $B  D:\\d\\c...\n").incomplete_size(), 1);
}

TEST(ManifestForms, EtagsAreMd5OnlyOfOnePart) {
  const v1::FileList list = Read(
      "LastModifiedTime  Size(B)  StorageClass  ETAG  ObjectName\n2024-01-01 00:00:00 +0800 CST  1  S  $A  oss://b/1\n"
      "2024-01-01 00:00:00 +0800 CST  2  S  $B-2  oss://b/2\nObject Number is: 2\n");
  EXPECT_THAT(Names(list), ElementsAre("1", "2"));
  EXPECT_EQ(ToHex(list.files(0).md5()), kA);
  EXPECT_EQ(list.files(1).md5(), "");
  EXPECT_EQ(Read("{\"key\":\"a\",\"etag\":\"$A-2\"}\n").files(0).md5(), "");
  // Other stores' are no digests at all, and no damage.
  const v1::FileList azure = Read("key,size,md5,etag\na,1,$A,0x8DC15\nb,2,,\"CJDs6t2Tv4MDEAE=\"\n");
  EXPECT_EQ(azure.incomplete_size(), 0);
  EXPECT_EQ(ToHex(azure.files(0).md5()), kA);
}

TEST(ManifestForms, AnAlgorithmThatIsStatedCounts) {
  EXPECT_EQ(Read("MD4 hash of a:\n$A\nCertUtil: -hashfile command completed successfully.\n").files(0).md5(), "");
  EXPECT_EQ(Read("Algorithm,Hash,Path\nMD4,$A,a\n").files(0).md5(), "");
  const v1::FileList sha = Read("Algorithm : SHA256\nHash      : $A$B\nPath      : D:\\d\\a\n");
  ASSERT_EQ(sha.files(0).alternates_size(), 1);
  EXPECT_EQ(sha.files(0).alternates(0).law(), "sha256");
}

TEST(ManifestForms, GitLfsNamesHaveNoBlankInFront) {
  const v1::FileList list = Read("$A$B * a/1.bin\n$B$A - a/2.bin\n");
  EXPECT_EQ(list.format(), "manifest-lfs");
  EXPECT_THAT(Names(list), ElementsAre("a/1.bin", "a/2.bin"));
  EXPECT_EQ(list.files(0).alternates(0).law(), "sha256");
  EXPECT_EQ(list.files(1).alternates_size(), 0) << "a pointer stood there";
  EXPECT_EQ(list.files(1).error().id(), "list_names_pointer");
  EXPECT_THAT(Names(Read("$A$B * a (1).bin (12 KB)\n$B$A * b (3 B)\n")), ElementsAre("a (1).bin", "b"));
  EXPECT_THAT(Names(Read("0123456789 * a\n")), ElementsAre("a"));
  // md5sum's binary mark stays what it is.
  EXPECT_EQ(Read("$A *a\n$B *b\n").format(), "manifest-md5sum");
  EXPECT_THAT(Names(Read("$A$B *a\n$B$A *b\n")), ElementsAre("a", "b"));
}

TEST(ManifestForms, FcivSaysNothingOfCase) {
  const v1::FileList list = Read(
      "//\n// File Checksum Integrity Verifier version 2.05.\n//\n\t\tMD5\t\t\t\tSHA-1\n-----\n"
      "$A 0123456789012345678901234567890123456789 d:\\d\\a b\n$B 0123456789012345678901234567890123456789 d:\\d\\c\n");
  EXPECT_THAT(Names(list), ElementsAre("a b", "c"));
  EXPECT_EQ(list.incomplete_size(), 0);
  EXPECT_EQ(list.notes(0).kind(), "names_lower_case");
}

TEST(ManifestForms, GbkIsReadOnlyWhereTheListItselfSpeaksIt) {
  // Names of a Linux disk are bytes.
  const std::string name = *EncodeCharset("猫/1.jpg", "GBK");
  EXPECT_THAT(Names(Read(absl::StrCat("$A  ", name, "\n"))), ElementsAre(name));
  const std::string table = *EncodeCharset("文件名,MD5\n猫/1.jpg,$A\n", "GBK");
  EXPECT_THAT(Names(Read(table)), ElementsAre("猫/1.jpg"));
  const std::string windows = *EncodeCharset("$A *D:\\数据\\猫.jpg\n$B *D:\\数据\\b\n", "GBK");
  EXPECT_THAT(Names(Read(windows)), ElementsAre("b", "猫.jpg"));
}

TEST(ManifestForms, GzipIsUnpackedAndACutOneIsIncomplete) {
  const std::string packed = MakeGzip(Fill("$A  a\n$B  b\n"));
  EXPECT_THAT(Names(Read(packed)), ElementsAre("a", "b"));
  EXPECT_THAT(Names(Read(absl::StrCat(MakeGzip(Fill("$A  a\n")), MakeGzip(Fill("$B  b\n"))))), ElementsAre("a", "b"));
  auto cut = ParseManifest(packed.substr(0, packed.size() - 6), "x");
  ASSERT_TRUE(cut.ok());
  EXPECT_GE(cut->incomplete_size(), 1);
}

TEST(ManifestForms, RefusesWhatIsNoList) {
  for (const absl::string_view text :
       {"2024-01-01 INFO commit e02127e0fd96964c001c93b51864e14715f4572b loaded\nstep 1 loss 2\nstep 2 loss 1\n",
        "path: /a/b\nlr: 0.1\nchecksum: $A\n", "model:\n  path: /a/b\n  name: x\nlr: 0.1\n", "a,b,c\n1,2,3\n",
        "step,loss\n1,2.0\n2,1.0\n", "文件名\n猫\n"}) {
    EXPECT_EQ(CodeOf(ParseManifest(Fill(text), "x")), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(ListFields, ReadsDigestsInEverySpelling) {
  for (const std::string& text : {std::string(kA), absl::StrCat("\"", kA, "\""), absl::StrCat("md5:", kA), Base64Of(kA),
                                  std::string("0C C1 75 B9 C0 F1 B6 A8 31 C3 99 E2 69 77 26 61")}) {
    ManifestFile file;
    EXPECT_TRUE(SetAnyDigest(text, "", file)) << text;
    EXPECT_EQ(ToHex(file.md5), kA) << text;
  }
  ManifestFile file;
  EXPECT_FALSE(SetAnyDigest("0cc175b9", "", file));
  EXPECT_FALSE(SetAnyDigest("", "MD5", file));
  EXPECT_TRUE(SetAnyDigest(kA, "MD4", file));
  EXPECT_EQ(file.md5, "");
}

TEST(ListFields, ASizeThatIsRoundedIsNone) {
  EXPECT_EQ(ReadSize("70B")->bytes, 70U);
  EXPECT_EQ(ReadSize("1,234")->bytes, 1234U);
  EXPECT_FALSE(ReadSize("1.20KB")->known);
  EXPECT_FALSE(ReadSize("1KB")->known);
  EXPECT_FALSE(ReadSize("7x").has_value());
  EXPECT_FALSE(ReadSize("2024-01-01").has_value());
}

}  // namespace
}  // namespace paritect
