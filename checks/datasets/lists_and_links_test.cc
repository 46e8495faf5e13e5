// The data.dataset checks where a list lies in its own set, links stand for folders, and where no byte was read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "checks/datasets/test_util.h"
#include "common/digest.h"

namespace paritect {
namespace {

using dataset_test::Found;
using dataset_test::Judge;
using dataset_test::OneSide;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::FileEntry& Link(OneSide& side, absl::string_view path, absl::string_view target) {
  v1::FileEntry& link = *side.list().add_files();
  link.set_path(std::string(path));
  link.set_type(v1::FILE_TYPE_SYMLINK);
  link.set_link_target(std::string(target));
  return link;
}

OneSide ListOf(absl::string_view bytes) {
  OneSide list("g", "manifest-md5sum");
  v1::Note& own = *list.list().add_notes();
  own.set_kind("list_md5");
  own.set_message(ToHex(Md5(bytes)));
  return list;
}

TEST(ListInItsSet, IsNoDataUnderWhateverName) {
  const OneSide tree = OneSide("n").File("a", "1").File("sums.txt", "the list");
  for (const char* id : {"files", "content"}) {
    EXPECT_EQ(Judge(id, ListOf("the list").File("a", "1"), tree).verdict(), v1::VERDICT_PASS) << id;
    EXPECT_EQ(Judge(id, tree, ListOf("the list").File("a", "1")).verdict(), v1::VERDICT_PASS) << id;
  }
  // Another file of that place is data.
  EXPECT_THAT(Found(Judge("files", ListOf("another list").File("a", "1"), tree)), ElementsAre("error extra sums.txt"));
}

TEST(ListInItsSet, ThatNamesItselfWithTheDigestOfNothing) {
  const OneSide list = ListOf("x").File("MD5SUMS", "").File("a", "1");
  for (const char* id : {"files", "content"}) {
    EXPECT_EQ(Judge(id, list, OneSide("n").File("MD5SUMS", "x").File("a", "1")).verdict(), v1::VERDICT_PASS) << id;
    EXPECT_EQ(Judge(id, list, OneSide("n").File("a", "1")).verdict(), v1::VERDICT_PASS) << id;
  }
  EXPECT_EQ(Judge("content", list, OneSide("n").File("MD5SUMS", "x").File("a", "2")).verdict(), v1::VERDICT_FAIL);
  // An empty file of the data stays one, whatever is in its name.
  const OneSide empty = ListOf("x").File("a", "1").File("shards.json", "");
  EXPECT_EQ(Judge("content", empty, OneSide("n").File("a", "1").File("shards.json", "y")).verdict(), v1::VERDICT_FAIL);
  EXPECT_EQ(Judge("files", empty, OneSide("n").File("a", "1")).verdict(), v1::VERDICT_FAIL);
}

TEST(LowerCaseLists, AreHeldAgainstTheNamesOfTheDisk) {
  OneSide list("g", "manifest-md5sum");
  list.File("a/img_1.jpg", "1").File("b", "2").list().add_notes()->set_kind("names_lower_case");
  const OneSide tree = OneSide("n").File("A/IMG_1.JPG", "1").File("b", "2");
  EXPECT_THAT(Found(Judge("files", list, tree)), IsEmpty());
  EXPECT_EQ(Judge("content", list, OneSide("n").File("A/IMG_1.JPG", "x").File("b", "2")).verdict(), v1::VERDICT_FAIL);
  OneSide other("g", "manifest-md5sum");
  other.File("a/img_1.jpg", "1").File("b", "2");
  EXPECT_EQ(Judge("files", other, tree).verdict(), v1::VERDICT_FAIL);
}

TEST(FolderLinks, OutOfTheSetAreFoldersOfUnknownContent) {
  const OneSide copies = OneSide("g").File("t/a/0", "1").File("t/b/0", "2");
  OneSide links("n");
  links.File("t/a/0", "1");
  Link(links, "t/b", "../../store/b").mutable_error()->set_id("folder_link_not_entered");
  for (const char* id : {"files", "content"}) {
    EXPECT_THAT(Found(Judge(id, copies, links)), IsEmpty()) << id;
    EXPECT_EQ(Judge(id, copies, links).verdict(), v1::VERDICT_NOT_PERFORMED) << id;
    EXPECT_EQ(Judge(id, links, copies).verdict(), v1::VERDICT_NOT_PERFORMED) << id;
  }
}

TEST(FolderLinks, WithinTheSetNameItsFilesOnceMore) {
  const OneSide copies = OneSide("g").File("all/b/0", "2").File("t/a/0", "1").File("t/b/0", "2");
  for (const char* target : {"../all/b", "./.././all//b", "/data/npu/all/b"}) {
    OneSide links("n");
    links.File("all/b/0", "2").File("t/a/0", "1");
    Link(links, "t/b", target);
    links.list().set_root("/data/npu");
    EXPECT_EQ(Judge("files", copies, links).verdict(), v1::VERDICT_PASS) << target;
    EXPECT_EQ(Judge("content", copies, links).verdict(), v1::VERDICT_PASS) << target;
    EXPECT_EQ(Judge("files", links, copies).verdict(), v1::VERDICT_PASS) << target;
    EXPECT_EQ(Judge("files", links, links).verdict(), v1::VERDICT_PASS) << target;
  }
  // What is behind the link is compared.
  OneSide other("n");
  other.File("all/b/0", "x").File("t/a/0", "1");
  Link(other, "t/b", "../all/b");
  EXPECT_THAT(Found(Judge("content", copies, other)),
              ElementsAre("error content_differs all/b/0", "error content_differs t/b/0"));
  OneSide less("n");
  less.File("t/a/0", "1");
  Link(less, "t/b", "../t/a");
  EXPECT_THAT(Found(Judge("files", OneSide("g").File("t/a/0", "1").File("t/b/9", "2"), less)),
              Contains("error missing t/b/9"));
}

TEST(DanglingLinks, GiveNoContentToPassOn) {
  OneSide migrated("n");
  Link(migrated, "a", "../blobs/1").add_hints(v1::FILE_HINT_DANGLING_LINK);
  const OneSide baseline = OneSide("g").File("a", "1");
  EXPECT_EQ(Judge("files", baseline, migrated).verdict(), v1::VERDICT_FAIL);
  EXPECT_EQ(Judge("content", baseline, migrated).verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_EQ(Judge("content", migrated, baseline).verdict(), v1::VERDICT_NOT_PERFORMED);
}

TEST(EmptyFolders, AmongClassesAreAWarning) {
  const auto with = [](absl::string_view folder) {
    OneSide side("n");
    side.File("t/a/0", "1").File("t/b/0", "2");
    v1::FileEntry& empty = *side.list().add_files();
    empty.set_path(std::string(folder));
    empty.set_type(v1::FILE_TYPE_DIRECTORY);
    return side;
  };
  const OneSide plain = OneSide("g").File("t/a/0", "1").File("t/b/0", "2");
  EXPECT_THAT(Found(Judge("files", plain, with("t/aa"))), ElementsAre("warning empty_folders_differ train"));
  EXPECT_THAT(Found(Judge("files", with("t/.ipynb_checkpoints"), plain)),
              ElementsAre("warning empty_folders_differ train"));
  // Beside no classes it is a note.
  EXPECT_THAT(Found(Judge("files", plain, with("logs"))), ElementsAre("note empty_folders_differ train"));
  EXPECT_THAT(Found(Judge("files", with("t/aa"), with("t/aa"))), IsEmpty());
}

TEST(LineEnds, NameAMarkThatStandsBeside) {
  const auto text = [](absl::string_view node, absl::string_view content, absl::string_view without_mark) {
    OneSide side(node);
    v1::FileEntry& file = side.File("dev.tsv", content).last();
    for (const auto& [law, bytes] :
         {std::make_pair("lf", absl::string_view("a\nb\n")), std::make_pair("no-bom", without_mark)}) {
      v1::AlternateDigest& alternate = *file.add_alternates();
      alternate.set_law(law);
      alternate.set_md5(Md5(bytes));
    }
    return side;
  };
  const OneSide plain = text("g", "a\nb\n", "a\nb\n");
  const OneSide marked = text("n",
                              "\xEF\xBB\xBF"
                              "a\r\nb\r\n",
                              "a\r\nb\r\n");
  const OneSide crlf = text("n", "a\r\nb\r\n", "a\r\nb\r\n");
  const auto said = [](const OneSide& baseline, const OneSide& migrated) {
    const v1::CheckResult result = Judge("content", baseline, migrated);
    EXPECT_THAT(Found(result), ElementsAre("error line_ends dev.tsv"));
    return result.findings_size() == 1 ? result.findings(0).message().en() : "";
  };
  EXPECT_THAT(said(plain, marked), HasSubstr("(BOM) on the migrated side"));
  EXPECT_THAT(said(marked, plain), HasSubstr("(BOM) on the baseline side"));
  EXPECT_THAT(said(plain, crlf), ::testing::Not(HasSubstr("BOM")));
}

TEST(ManyDifferences, AreCountedWithoutTheNotes) {
  OneSide gpu("g");
  OneSide npu("n");
  for (int i = 0; i < 250; ++i) {
    gpu.File(absl::StrCat(100 + i), "1");
    npu.File(absl::StrCat(100 + i), "2");
  }
  for (OneSide* side : {&gpu, &npu}) side->list().mutable_digests()->set_files_now(250);
  const v1::CheckResult result = Judge("content", gpu, npu);
  EXPECT_EQ(result.findings(0).facts().fields().at("total").number_value(), 250);
}

}  // namespace
}  // namespace paritect
