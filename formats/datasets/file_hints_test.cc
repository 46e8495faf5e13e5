#include "formats/datasets/file_hints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/digest.h"
#include "formats/archives/tar_fixture.h"
#include "formats/datasets/alternates.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::FileEntry Hints(absl::string_view path, absl::string_view content) {
  v1::FileEntry entry;
  entry.set_path(std::string(path));
  AddNameHints(path, entry);
  AddContentHints(content.substr(0, kHintHeadBytes), content, content.size(), entry);
  return entry;
}

const std::string kOid(64, 'a');

TEST(FileHints, TellsPointersFromTextsAboutThem) {
  const std::string pointer =
      absl::StrCat("version https://git-lfs.github.com/spec/v1\noid sha256:", kOid, "\nsize 12\n");
  const v1::FileEntry whole = Hints("m.bin", pointer);
  EXPECT_THAT(whole.hints(), ElementsAre(v1::FILE_HINT_LFS_POINTER));
  EXPECT_EQ(whole.lfs_size_bytes(), 12);
  EXPECT_EQ(ToHex(whole.lfs_oid_sha256()), kOid);
  EXPECT_THAT(Hints("m.bin", absl::StrCat("<<<<<<< HEAD\n", pointer, "=======\n>>>>>>> x\n")).hints(),
              ElementsAre(v1::FILE_HINT_LFS_POINTER_DAMAGED));
  EXPECT_THAT(Hints("m.bin", pointer.substr(0, 70)).hints(), ElementsAre(v1::FILE_HINT_LFS_POINTER_DAMAGED));
  EXPECT_THAT(Hints(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n").hints(), IsEmpty());
  EXPECT_THAT(Hints("README", absl::StrCat("A pointer looks so:\n", pointer)).hints(), IsEmpty());
}

TEST(FileHints, KnowsWhatGitAnnexLeaves) {
  const v1::FileEntry annex = Hints("m.bin", absl::StrCat("/annex/objects/SHA256E-s123--", kOid, ".bin\n"));
  EXPECT_THAT(annex.hints(), ElementsAre(v1::FILE_HINT_LFS_POINTER));
  EXPECT_EQ(annex.lfs_size_bytes(), 123);
  EXPECT_EQ(ToHex(annex.lfs_oid_sha256()), kOid);
  EXPECT_THAT(Hints("m.bin", "/annex/objects/MD5-s5--5d41402abc4b2a76b9719d911017c592\n").hints(),
              ElementsAre(v1::FILE_HINT_LFS_POINTER));
  EXPECT_THAT(Hints("m.txt", "/annex/objects/ is a folder\n").hints(), IsEmpty());
}

TEST(FileHints, TellsPagesEmptyAndCutFiles) {
  EXPECT_THAT(Hints("x.parquet", "\n<!DOCTYPE html><html>").hints(), ElementsAre(v1::FILE_HINT_HTML_PAGE));
  EXPECT_THAT(Hints("x.html", "<!DOCTYPE html><html>").hints(), IsEmpty());
  EXPECT_THAT(Hints("x.bin", "").hints(), ElementsAre(v1::FILE_HINT_EMPTY));
  EXPECT_THAT(Hints("x.tar", std::string(10240, '\0')).hints(), ElementsAre(v1::FILE_HINT_EMPTY_ARCHIVE));
  EXPECT_THAT(Hints("x.bin", std::string(10240, '\0')).hints(), IsEmpty());
  EXPECT_THAT(Hints("x.zip", absl::StrCat("PK\x05\x06", std::string(18, '\0'))).hints(),
              ElementsAre(v1::FILE_HINT_EMPTY_ARCHIVE));
  EXPECT_THAT(Hints("x.parquet", absl::StrCat("PAR1", std::string(100, 'x'))).hints(),
              ElementsAre(v1::FILE_HINT_PARTIAL_ARCHIVE));
}

TEST(FileHints, KnowsTransfersAndJunkByName) {
  EXPECT_EQ(FinalNameOfTransfer("a/.x.bin.7Kq2Zf"), "a/x.bin");
  EXPECT_EQ(FinalNameOfTransfer("a/x.bin.crdownload"), "a/x.bin");
  EXPECT_EQ(FinalNameOfTransfer("a/.rsync-partial/x.bin"), "a/x.bin");
  EXPECT_EQ(FinalNameOfTransfer(".foo.sqlite"), std::nullopt);
  EXPECT_EQ(FinalNameOfTransfer("yarn.lock"), std::nullopt);
  for (const char* junk : {"a/.DS_Store", "a/._x.jpg", "__MACOSX/a/x", "Thumbs.db", "a/DESKTOP.INI"}) {
    EXPECT_THAT(Hints(junk, "x").hints(), ElementsAre(v1::FILE_HINT_OS_JUNK)) << junk;
  }
  EXPECT_THAT(Hints("a/_x.jpg", "x").hints(), IsEmpty());
}

TEST(Alternates, ApplyTheirLaws) {
  EXPECT_EQ(AlternateMd5("lf", "x",
                         "\xEF\xBB\xBF"
                         "a\r\nb\r\n"),
            Md5("a\nb\n"));
  EXPECT_EQ(AlternateMd5("no-bom", "x",
                         "\xEF\xBB\xBF"
                         "a\r\n"),
            Md5("a\r\n"));
  EXPECT_EQ(AlternateMd5("sorted-lines", "x", "b\na\n"), AlternateMd5("sorted-lines", "x", "a\nb\n"));
  EXPECT_NE(AlternateMd5("sorted-lines", "x", "b\na"), AlternateMd5("sorted-lines", "x", "a\nb\n"));
  EXPECT_EQ(AlternateMd5("lf", "x", absl::string_view("a\0b", 3)), "");
  EXPECT_EQ(AlternateMd5("members", "x.tar", "no archive"), "");
  EXPECT_EQ(PrefixOfLaw("prefix:12"), 12u);
  EXPECT_EQ(PrefixOfLaw("prefix:x"), std::nullopt);
}

TEST(Alternates, MembersAreTheSameInAnyOrder) {
  const std::string end(1024, '\0');
  const std::string ab = TarFile("a", "1") + TarFile("b", "2") + end;
  const std::string ba = TarFile("b", "2") + TarFile("a", "1") + end;
  const std::string ac = TarFile("a", "1") + TarFile("b", "3") + end;
  EXPECT_NE(AlternateMd5("members", "x.tar", ab), "");
  EXPECT_EQ(AlternateMd5("members", "x.tar", ab), AlternateMd5("members", "x.tar", ba));
  EXPECT_NE(AlternateMd5("members", "x.tar", ab), AlternateMd5("members", "x.tar", ac));
  EXPECT_NE(AlternateMd5("members-in-order", "x.tar", ab), AlternateMd5("members-in-order", "x.tar", ba));
  EXPECT_EQ(AlternateMd5("members", "x.tar", ab.substr(0, 1100)), "") << "a cut archive has no members";
}

}  // namespace
}  // namespace paritect
