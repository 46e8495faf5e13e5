// The data.dataset checks: a pass, a fail and a not_performed of each, and what may never happen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "checks/datasets/follow_up.h"
#include "checks/datasets/test_util.h"

namespace paritect {
namespace {

using dataset_test::Found;
using dataset_test::Judge;
using dataset_test::OneSide;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(DatasetFiles, PassFailNotPerformed) {
  EXPECT_EQ(Judge("files", OneSide("g").File("a", "1"), OneSide("n").File("a", "1")).verdict(), v1::VERDICT_PASS);
  EXPECT_THAT(
      Found(Judge("files", OneSide("g").File("a", "1").File("b", "2"), OneSide("n").File("a", "1").File("c", "3"))),
      ElementsAre("error missing b", "error extra c"));
  EXPECT_EQ(Judge("files", {OneSide("g").File("a", "1").bundle()}, {}).verdict(), v1::VERDICT_NOT_PERFORMED);
}

TEST(DatasetFiles, EmptyOnBothSidesNeverPasses) {
  for (const char* id : {"files", "content", "duplicates", "nodes"}) {
    EXPECT_EQ(Judge(id, OneSide("g"), OneSide("n")).verdict(), v1::VERDICT_NOT_PERFORMED) << id;
  }
  EXPECT_EQ(Judge("files", OneSide("g").File("a", "1"), OneSide("n")).verdict(), v1::VERDICT_FAIL);
  EXPECT_EQ(Judge("content", OneSide("g").File("a", "1"), OneSide("n")).verdict(), v1::VERDICT_NOT_PERFORMED);
}

TEST(DatasetFiles, ANameWithoutPartnerIsNotPerformed) {
  OneSide other("n");
  other.File("a", "1").list().set_dataset("val");
  EXPECT_EQ(Judge("files", OneSide("g").File("a", "1"), other).verdict(), v1::VERDICT_NOT_PERFORMED);
}

TEST(DatasetFiles, OneFileUnderTwoNames) {
  EXPECT_THAT(Found(Judge("files", OneSide("g").File("caf\xC3\xA9", "1"), OneSide("n").File("cafe\xCC\x81", "1"))),
              ElementsAre("error unicode_form caf\xC3\xA9"));
  OneSide gbk("n");
  gbk.File("\xD6\xD0", "1").last().add_readings()->set_name("中");
  gbk.last().mutable_readings(0)->set_charset("GBK");
  const v1::CheckResult encoding = Judge("files", OneSide("g").File("中", "1"), gbk);
  EXPECT_THAT(Found(encoding), ElementsAre("error other_encoding 中"));
  EXPECT_THAT(encoding.findings(0).message().en(), ::testing::HasSubstr("GBK"));
  EXPECT_THAT(Found(Judge("files", OneSide("g").File("x/a", "1"), OneSide("n").File("y/a", "1"))),
              ElementsAre("error moved x/a"));
  EXPECT_THAT(Found(Judge("files", OneSide("g").File("a", "1"), OneSide("n").File("b", "1"))),
              ElementsAre("error renamed a"));
  EXPECT_THAT(Found(Judge("files", OneSide("g").File("A", "1"), OneSide("n").File("a", "1"))),
              ElementsAre("error renamed A"));
  // Empty files are alike without being the same.
  EXPECT_THAT(Found(Judge("files", OneSide("g").File("a", ""), OneSide("n").File("b", ""))),
              ElementsAre("error missing a", "error extra b"));
}

TEST(DatasetFiles, CaseCollision) {
  const OneSide baseline = OneSide("g").File("C1", "1").File("c1", "2");
  EXPECT_THAT(Found(Judge("files", baseline, OneSide("n").File("C1", "2"))), ElementsAre("error case_collision c1"));
  EXPECT_THAT(Found(Judge("content", baseline, OneSide("n").File("C1", "2"))), ElementsAre("error case_collision C1"));
}

TEST(DatasetFiles, AnIncompleteListMakesNoExtras) {
  OneSide list("g", "manifest-md5sum");
  list.File("a", "1").list().add_incomplete()->set_id("manifest_incomplete");
  const v1::CheckResult cut = Judge("files", list, OneSide("n").File("a", "1").File("b", "2"));
  EXPECT_THAT(Found(cut), IsEmpty());
  EXPECT_EQ(cut.verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_EQ(Judge("content", list, OneSide("n").File("a", "x")).verdict(), v1::VERDICT_FAIL);
  // What it does name must still be there.
  EXPECT_THAT(Found(Judge("files", list, OneSide("n").File("b", "2"))), ElementsAre("error missing a"));
}

TEST(DatasetFiles, AnOpenLastNameCountsOnlyWhereItFits) {
  OneSide list("g", "manifest-md5sum");
  list.File("a", "1").File("b/2.b", "2").last().add_hints(v1::FILE_HINT_LAST_LINE_OPEN);
  const v1::CheckResult cut = Judge("files", list, OneSide("n").File("a", "1").File("b/2.bin", "2"));
  EXPECT_THAT(Found(cut), IsEmpty());
  EXPECT_EQ(cut.verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_EQ(Judge("files", list, OneSide("n").File("a", "1").File("b/2.b", "2")).verdict(), v1::VERDICT_PASS);
}

TEST(DatasetFiles, UnreadFoldersAreSilentBelowThemOnly) {
  OneSide migrated("n");
  migrated.File("a", "1").list().add_unread_folders()->set_path("s");
  migrated.list().mutable_unread_folders(0)->mutable_problem()->set_id("source_unreadable");
  const v1::CheckResult result = Judge("files", OneSide("g").File("a", "1").File("b", "2").File("s/c", "3"), migrated);
  EXPECT_THAT(Found(result), ElementsAre("error missing b"));
  EXPECT_GE(result.missing_size(), 1);
}

TEST(DatasetFiles, AnUnreadFolderIsAClassAllTheSame) {
  const auto two = [](absl::string_view name) {
    return OneSide(std::string(name)).File("a/1", "1").File("a/2", "2").File("b/1", "3").File("b/2", "4");
  };
  EXPECT_EQ(Judge("files", two("g"), two("n")).verdict(), v1::VERDICT_PASS);
  OneSide blind("n");
  blind.File("a/1", "1").File("a/2", "2").list().add_unread_folders()->set_path("b");
  blind.list().mutable_unread_folders(0)->mutable_problem()->set_id("source_unreadable");
  const v1::CheckResult result = Judge("files", two("g"), blind);
  EXPECT_THAT(Found(result), IsEmpty());
  EXPECT_EQ(result.verdict(), v1::VERDICT_NOT_PERFORMED);
}

// A node that could not look everywhere is not one with those that could, though it holds what they hold.
TEST(DatasetFiles, WhatOneNodeCouldNotSeeAnotherDoesNotAnswerFor) {
  OneSide blind("n2");
  blind.File("a", "1").list().add_unread_folders()->set_path("s");
  blind.list().mutable_unread_folders(0)->mutable_problem()->set_id("source_unreadable");
  const OneSide whole = OneSide("n1").File("a", "1");
  for (const bool blind_first : {false, true}) {
    std::vector<v1::Bundle> migrated = {whole.bundle(), blind.bundle()};
    if (blind_first) std::swap(migrated[0], migrated[1]);
    for (const char* id : {"files", "content"}) {
      EXPECT_EQ(Judge(id, {OneSide("g").File("a", "1").bundle()}, migrated).verdict(), v1::VERDICT_NOT_PERFORMED)
          << id << " " << blind_first;
    }
  }
}

TEST(DatasetFiles, AListIsAlignedToTheOtherRoot) {
  OneSide list("g", "manifest-md5sum");
  list.File("1", "x").File("2", "y").list().set_root("/data/ds/a");
  EXPECT_EQ(Judge("files", list, OneSide("n").File("a/1", "x").File("a/2", "y")).verdict(), v1::VERDICT_PASS);
  const OneSide parent = OneSide("g", "manifest-bagit").File("data/1", "x").File("data/2", "y");
  EXPECT_EQ(Judge("content", parent, OneSide("n").File("1", "x").File("2", "y")).verdict(), v1::VERDICT_PASS);
  // Two trees stand where the plans say.
  EXPECT_EQ(Judge("files", OneSide("g").File("d/1", "x"), OneSide("n").File("1", "x")).verdict(), v1::VERDICT_FAIL);
}

TEST(DatasetFiles, LinksThatLeadNowhere) {
  OneSide migrated("n");
  migrated.File("a", "1");
  v1::FileEntry& link = *migrated.list().add_files();
  link.set_path("b");
  link.set_type(v1::FILE_TYPE_SYMLINK);
  link.add_hints(v1::FILE_HINT_DANGLING_LINK);
  EXPECT_THAT(Found(Judge("files", OneSide("g").File("a", "1").File("b", "2"), migrated)),
              ElementsAre("error dangling_link b"));
  // Lists of other tools cannot name it.
  EXPECT_THAT(Found(Judge("files", OneSide("g", "manifest-md5sum").File("a", "1"), migrated)),
              ElementsAre("warning dangling_link b"));
  EXPECT_EQ(Judge("content", migrated, migrated).verdict(), v1::VERDICT_NOT_PERFORMED);
}

TEST(DatasetFiles, ClassFolders) {
  OneSide baseline("g");
  baseline.File("cat/1", "1").File("dog/1", "2");
  OneSide migrated = baseline;
  v1::FileEntry& folder = *migrated.list().add_files();
  folder.set_path("emu");
  folder.set_type(v1::FILE_TYPE_DIRECTORY);
  EXPECT_THAT(Found(Judge("files", baseline, migrated)), ElementsAre("warning empty_folders_differ train"));
  // Whether folders are classes the data does not tell: no pass.
  EXPECT_EQ(Judge("files", baseline, migrated).verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_EQ(Judge("files", migrated, migrated).findings_size(), 0);
  migrated.File("emu/1", "3");
  EXPECT_THAT(Found(Judge("files", baseline, migrated)), testing::Contains("error class_folders_differ ."));
}

// The content check's one finding for two contents, with what the files say about themselves.
std::string Cause(OneSide baseline, OneSide migrated) {
  const v1::CheckResult result = Judge("content", baseline, migrated);
  EXPECT_EQ(result.findings_size(), 1);
  return result.findings_size() == 1 ? result.findings(0).kind() : "";
}

void Alternate(absl::string_view law, absl::string_view content, v1::FileEntry& entry) {
  entry.add_alternates()->set_law(std::string(law));
  entry.mutable_alternates(entry.alternates_size() - 1)->set_md5(Md5(content));
}

TEST(DatasetContent, PassFailNotPerformed) {
  EXPECT_EQ(Judge("content", OneSide("g").File("a", "1"), OneSide("n").File("a", "1")).verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(Cause(OneSide("g").File("a", "1"), OneSide("n").File("a", "2")), "content_differs");
  OneSide unread("n");
  unread.File("a", "1").last().clear_md5();
  EXPECT_EQ(Judge("content", OneSide("g").File("a", "1"), unread).verdict(), v1::VERDICT_NOT_PERFORMED);
  unread.last().set_size_bytes(7);
  EXPECT_EQ(Judge("content", OneSide("g").File("a", "1"), unread).verdict(), v1::VERDICT_FAIL)
      << "sizes that differ decide";
  unread.last().add_hints(v1::FILE_HINT_CHANGED_WHILE_READ);
  EXPECT_EQ(Judge("content", OneSide("g").File("a", "1"), unread).verdict(), v1::VERDICT_NOT_PERFORMED);
}

TEST(DatasetContent, TellsTheCauseThatIsProven) {
  OneSide baseline("g");
  baseline.File("a", "12345");
  Alternate("prefix:3", "123", baseline.last());
  EXPECT_EQ(Cause(baseline, OneSide("n").File("a", "123")), "truncated");
  EXPECT_EQ(Cause(baseline, OneSide("n").File("a", "124")), "content_differs");
  EXPECT_EQ(Cause(baseline, OneSide("n").File("a", "")), "empty_file");
  OneSide crlf("n");
  Alternate("lf", "1\n2\n", crlf.File("a", "1\r\n2\r\n").last());
  EXPECT_EQ(Cause(OneSide("g", "manifest-md5sum").File("a", "1\n2\n"), crlf), "line_ends");
  OneSide x("g");
  OneSide y("n");
  Alternate("sorted-lines", "1\n2\n", x.File("a", "1\n2\n").last());
  Alternate("sorted-lines", "1\n2\n", y.File("a", "2\n1\n").last());
  EXPECT_EQ(Cause(x, y), "lines_reordered");
  OneSide page("n");
  page.File("a", "<html>").last().add_hints(v1::FILE_HINT_HTML_PAGE);
  EXPECT_EQ(Cause(baseline, page), "html_page");
}

TEST(DatasetContent, EqualPointersAreNoContent) {
  OneSide side("g");
  side.File("a", "version ...").last().add_hints(v1::FILE_HINT_LFS_POINTER);
  EXPECT_EQ(Judge("content", side, side).verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_THAT(Found(Judge("kind", side, side)), ElementsAre("warning lfs_pointer a"));
}

TEST(DatasetContent, EveryNodeIsComparedWithTheBaseline) {
  const OneSide baseline = OneSide("g").File("a", "1");
  const v1::CheckResult result = Judge("content", {baseline.bundle()},
                                       {OneSide("n0").File("a", "1").bundle(), OneSide("n1").File("a", "2").bundle()});
  EXPECT_THAT(Found(result), ElementsAre("error content_differs a"));
  EXPECT_EQ(result.findings(0).facts().fields().at("node").string_value(), "n1");
}

TEST(DatasetContent, MillionsOfDifferencesAreCountedNotListed) {
  OneSide baseline("g");
  OneSide migrated("n");
  for (int i = 100000; i < 107000; ++i) {
    baseline.File(absl::StrCat(i), "1");
    migrated.File(absl::StrCat(i), "2");
  }
  const v1::CheckResult result = Judge("content", baseline, migrated);
  EXPECT_EQ(result.findings_total(), 7000);
  EXPECT_LE(result.findings_size(), 200);
}

TEST(DatasetNodes, NamesTheOddOnesOut) {
  const v1::Bundle g = OneSide("g").File("a", "1").bundle();
  const v1::Bundle right = OneSide("n0").File("a", "1").bundle();
  const v1::CheckResult odd =
      Judge("nodes", {g}, {right, OneSide("n1").File("a", "2").bundle(), OneSide("n2").File("a", "1").bundle()});
  ASSERT_THAT(odd.findings_size(), ::testing::Ge(1));
  EXPECT_EQ(odd.findings(0).kind(), "content_differs");
  EXPECT_THAT(odd.findings(0).message().en(), ::testing::HasSubstr("n1"));
  EXPECT_EQ(Judge("nodes", {g}, {right, OneSide("n1").File("a", "1").bundle()}).verdict(), v1::VERDICT_PASS);
  v1::Bundle silent;
  silent.mutable_plan()->set_run("run");
  silent.mutable_plan()->set_node("n3");
  silent.mutable_plan()->set_role(v1::ROLE_RUN);
  EXPECT_EQ(Judge("nodes", {g}, {right, silent}).verdict(), v1::VERDICT_NOT_PERFORMED);
}

TEST(DatasetNodes, PartsAreUnitedAndMustNotContradict) {
  OneSide n0("n0");
  OneSide n1("n1");
  n0.File("a", "1").File("s", "x").list().set_part(true);
  n1.File("b", "2").File("s", "x").list().set_part(true);
  const OneSide baseline = OneSide("g").File("a", "1").File("b", "2").File("s", "x");
  for (const char* id : {"files", "content", "nodes"}) {
    EXPECT_EQ(Judge(id, {baseline.bundle()}, {n0.bundle(), n1.bundle()}).verdict(), v1::VERDICT_PASS) << id;
  }
  n1.last().set_md5(Md5("y"));
  EXPECT_EQ(Judge("nodes", {baseline.bundle()}, {n0.bundle(), n1.bundle()}).verdict(), v1::VERDICT_FAIL);
}

TEST(DatasetNodes, APartBesideTheWholeSet) {
  OneSide part("n0");
  part.File("a", "1").list().set_part(true);
  const OneSide whole = OneSide("n1").File("a", "1").File("b", "2");
  const v1::Bundle g = OneSide("g").File("a", "1").File("b", "2").bundle();
  for (const char* id : {"files", "content", "nodes"}) {
    EXPECT_EQ(Judge(id, {g}, {part.bundle(), whole.bundle()}).verdict(), v1::VERDICT_PASS) << id;
    EXPECT_EQ(Judge(id, {part.bundle(), whole.bundle()}, {g}).verdict(), v1::VERDICT_PASS) << id;
  }
  OneSide stale("n0");
  stale.File("a", "x").File("c", "3").list().set_part(true);
  EXPECT_THAT(Found(Judge("nodes", {g}, {stale.bundle(), whole.bundle()})),
              ElementsAre("error content_differs a", "error extra c", "note not_applicable baseline"));
  // One part alone: nobody showed the rest, so nothing is missing and nothing passes.
  const v1::CheckResult alone = Judge("files", {g}, {part.bundle()});
  EXPECT_THAT(Found(alone), IsEmpty());
  EXPECT_EQ(alone.verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_EQ(Judge("content", {g}, {stale.bundle()}).verdict(), v1::VERDICT_FAIL);
}

TEST(DatasetFiles, TwoFoldersOfOneNameInOnePlan) {
  v1::Bundle two = OneSide("n").File("a", "1").bundle();
  *two.add_evidence() = OneSide("n").File("b", "2").bundle().evidence(0);
  const v1::Bundle g = OneSide("g").File("a", "1").File("b", "2").bundle();
  EXPECT_EQ(Judge("files", {g}, {two}).verdict(), v1::VERDICT_NOT_PERFORMED);
  for (v1::Evidence& one : *two.mutable_evidence()) one.mutable_files()->set_part(true);
  EXPECT_EQ(Judge("files", {g}, {two}).verdict(), v1::VERDICT_PASS);
}

TEST(DatasetFiles, WhatOnlyOneNodeLacks) {
  const OneSide right = OneSide("n1").File("a", "1").File("b", "2");
  const OneSide lacks = OneSide("n0").File("a", "1");
  const v1::CheckResult one = Judge("files", {right.bundle()}, {lacks.bundle(), right.bundle()});
  ASSERT_THAT(Found(one), ElementsAre("error missing b"));
  EXPECT_THAT(one.findings(0).message().en(), ::testing::HasSubstr("not on n0, but on other nodes"));
  const v1::CheckResult all = Judge("files", {right.bundle()}, {lacks.bundle()});
  EXPECT_THAT(all.findings(0).message().en(), ::testing::HasSubstr("not on the migrated side"));
}

TEST(DatasetContent, OneMd5WithTwoSizesDoesNotPass) {
  OneSide a("g", "manifest-csv"), b("n", "manifest-hashdeep");
  a.File("a", "1").last().set_size_bytes(2364);
  b.File("a", "1").last().set_size_bytes(1442);
  EXPECT_THAT(Found(Judge("content", a, b)), ElementsAre("error content_differs a"));
}

TEST(DatasetKind, StandInsDoNotPass) {
  OneSide pointer = OneSide("n").File("a", "pointer");
  pointer.last().add_hints(v1::FILE_HINT_LFS_POINTER);
  const OneSide data = OneSide("g").File("a", "data");
  EXPECT_THAT(Found(Judge("kind", data, pointer)), ElementsAre("error stand_ins train"));
  EXPECT_EQ(Judge("kind", pointer, pointer).verdict(), v1::VERDICT_NOT_PERFORMED);
  EXPECT_EQ(Judge("kind", data, data).verdict(), v1::VERDICT_PASS);
  // A list without digests: the other side may hold the same pointer.
  OneSide list("g", "manifest-md5sum");
  list.File("a", "pointer").last().clear_md5();
  EXPECT_EQ(Judge("kind", list, pointer).verdict(), v1::VERDICT_NOT_PERFORMED);
  // A data set of pages is no heap of error messages.
  OneSide pages("g");
  for (int i = 0; i < 20; ++i) {
    pages.File(absl::StrCat("p", i + 10), absl::StrCat(i)).last().add_hints(v1::FILE_HINT_HTML_PAGE);
  }
  EXPECT_EQ(Judge("kind", pages, pages).verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(Judge("content", pages, pages).verdict(), v1::VERDICT_PASS);
  // One page among data, the same on both sides: what should stand there was not compared.
  OneSide page = OneSide("n").File("a", "data").File("b", "<html>");
  page.last().add_hints(v1::FILE_HINT_HTML_PAGE);
  EXPECT_EQ(Judge("content", page, page).verdict(), v1::VERDICT_NOT_PERFORMED);
}

TEST(DatasetDuplicates, AnUnreadFolderDoesNotPass) {
  OneSide unread = OneSide("n").File("a", "1");
  v1::UnreadFolder& folder = *unread.list().add_unread_folders();
  folder.set_path("b");
  folder.mutable_problem()->set_id("source_unreadable");
  EXPECT_EQ(Judge("duplicates", OneSide("g").File("a", "1"), unread).verdict(), v1::VERDICT_NOT_PERFORMED);
}

TEST(DatasetNodes, WithoutADigestNothingIsTheSame) {
  const v1::Bundle g = OneSide("g").File("a", "1").bundle();
  OneSide n0("n0", "manifest-md5sum"), n1("n1", "manifest-md5sum");
  n0.File("a", "1").last().clear_md5();
  n1.File("a", "1").last().clear_md5();
  EXPECT_EQ(Judge("nodes", {g}, {n0.bundle(), n1.bundle()}).verdict(), v1::VERDICT_NOT_PERFORMED);
}

TEST(DatasetFiles, AListBesideAFolderAddsNoFiles) {
  const v1::Bundle g = OneSide("g").File("a", "1").File("b", "2").bundle();
  for (const bool list_first : {false, true}) {
    OneSide tree("n"), list("n", "manifest-md5sum");
    tree.File("a", "1");
    list.File("a", "1").File("b", "2");
    v1::Bundle both = list_first ? list.bundle() : tree.bundle();
    *both.add_evidence() = (list_first ? tree : list).bundle().evidence(0);
    EXPECT_THAT(Found(Judge("files", {g}, {both})), ElementsAre("error missing b"));
    // What the folder holds counts, not what the list states of it.
    v1::Bundle stale = both;
    stale.mutable_evidence(list_first ? 1 : 0)->mutable_files()->mutable_files(0)->set_md5(Md5("x"));
    EXPECT_THAT(Found(Judge("content", {g}, {stale})), ElementsAre("error content_differs a"));
    v1::Bundle unread = both;
    v1::FileEntry& file = *unread.mutable_evidence(list_first ? 1 : 0)->mutable_files()->mutable_files(0);
    file.clear_md5();
    file.mutable_error()->set_id("source_unreadable");
    EXPECT_EQ(Judge("content", {g}, {unread}).verdict(), v1::VERDICT_NOT_PERFORMED);
  }
}

TEST(DatasetFiles, TwoFormsOfOneNameThatBecameOne) {
  const v1::CheckResult result = Judge("files", OneSide("g").File("cafe\xCC\x81", "1").File("caf\xC3\xA9", "2"),
                                       OneSide("n").File("caf\xC3\xA9", "2"));
  EXPECT_THAT(Found(result), ElementsAre("error unicode_form cafe\xCC\x81"));
}

TEST(DatasetFiles, ALostPartIsNotMissing) {
  OneSide n0("n0");
  n0.File("a", "1").list().set_part(true);
  v1::Bundle n1 = OneSide("n1").bundle();
  v1::Evidence& lost = *n1.mutable_evidence(0);
  lost.clear_files();
  lost.set_outcome(v1::OUTCOME_ABSENT);
  lost.set_subject("train");
  lost.mutable_problem()->set_id("source_unreadable");
  const v1::Bundle g = OneSide("g").File("a", "1").File("b", "2").bundle();
  const v1::CheckResult result = Judge("files", {g}, {n0.bundle(), n1});
  EXPECT_THAT(Found(result), IsEmpty());
  EXPECT_EQ(result.verdict(), v1::VERDICT_NOT_PERFORMED);
}

TEST(DatasetFiles, AListThatNamesItself) {
  OneSide list("n", "manifest-md5sum");
  list.File("a", "1").File("train.md5", "");
  v1::Bundle named = list.bundle();
  named.mutable_evidence(0)->set_source("lists/train.md5");
  const v1::Bundle tree = OneSide("g").File("a", "1").bundle();
  EXPECT_EQ(Judge("files", {tree}, {named}).verdict(), v1::VERDICT_PASS);
  EXPECT_EQ(Judge("files", {named}, {tree}).verdict(), v1::VERDICT_PASS);
  // It may have been renamed since: it names itself with the digest of nothing. One with content is a file like any
  // other.
  EXPECT_EQ(Judge("files", {list.bundle()}, {tree}).verdict(), v1::VERDICT_PASS);
  OneSide held("n", "manifest-md5sum");
  held.File("a", "1").File("train.md5", "x");
  EXPECT_EQ(Judge("files", {held.bundle()}, {tree}).verdict(), v1::VERDICT_FAIL);
}

TEST(DatasetFiles, ManyFilesOfOneContentRenamed) {
  OneSide g("g"), n("n");
  for (int i = 0; i < 40000; ++i) {
    g.File(absl::StrCat("x", 100000 + i), "same");
    n.File(absl::StrCat("y", 100000 + i), "same");
  }
  EXPECT_EQ(Judge("files", g, n).verdict(), v1::VERDICT_FAIL);  // in time in proportion to their number
}

TEST(DatasetDuplicates, AreNotes) {
  const OneSide side = OneSide("g").File("a", "1").File("b", "1").File("c", "").File("d", "");
  const v1::CheckResult result = Judge("duplicates", side, side);
  EXPECT_THAT(Found(result), ElementsAre("note duplicate_content a"));
  EXPECT_EQ(result.verdict(), v1::VERDICT_PASS);
}

TEST(DatasetQuestions, AskOnlyOfDifferingFilesInTrees) {
  const EvidenceSet evidence({OneSide("g").File("a", "12345").File("b", "1").bundle()},
                             {OneSide("n").File("a", "123").File("b", "1").bundle()});
  const std::vector<DatasetQuestion> questions = DatasetQuestions(evidence, {.record_files_max = 0});
  ASSERT_EQ(questions.size(), 2u);
  EXPECT_EQ(questions[0].path, "a");
  EXPECT_THAT(questions[0].laws, ::testing::Contains("prefix:3"));
  EXPECT_EQ(DatasetQuestions(evidence, {.pairs_max = 0, .record_files_max = 0}).size(), 0u);
  EXPECT_EQ(DatasetQuestions(evidence, {.bytes_max = 2, .record_files_max = 0}).size(), 0u);
  // Records are asked of equal files too, once a content.
  const std::vector<DatasetQuestion> records = DatasetQuestions(evidence, {.pairs_max = 0});
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[2].path, "b");
  EXPECT_EQ(records[2].side, Side::kMigrated);
  const EvidenceSet lists({OneSide("g", "manifest-csv").File("a", "12").bundle()},
                          {OneSide("n", "manifest-csv").File("a", "1").bundle()});
  EXPECT_EQ(DatasetQuestions(lists).size(), 0u);
}

// --- partial evidence never passes, whichever check looks ----------------------------------------

OneSide WithUnseenLink() {
  OneSide side("g");
  side.File("a", "1");
  v1::FileEntry& link = *side.list().add_files();
  link.set_path("train");
  link.set_type(v1::FILE_TYPE_SYMLINK);
  link.set_link_target("reala");
  link.mutable_error()->set_id("folder_link_not_entered");
  return side;
}

TEST(DatasetChecks, AFolderLinkThatWasNotEnteredHidesItsFiles) {
  for (const char* check : {"files", "content", "records", "kind", "duplicates", "nodes"}) {
    EXPECT_EQ(Judge(check, WithUnseenLink(), WithUnseenLink()).verdict(), v1::VERDICT_NOT_PERFORMED) << check;
  }
}

TEST(DatasetChecks, AFileThatCannotBeReadHidesItsKind) {
  OneSide migrated("n");
  migrated.File("a", "1").last().clear_md5();
  migrated.last().mutable_error()->set_id("source_unreadable");
  for (const char* check : {"content", "records", "kind", "duplicates"}) {
    EXPECT_EQ(Judge(check, OneSide("g").File("a", "1"), migrated).verdict(), v1::VERDICT_NOT_PERFORMED) << check;
  }
}

// Every copy counts, in whatever order the parts are given.
TEST(DatasetContent, PartsThatContradictEachOther) {
  OneSide right("n1"), wrong("n2");
  right.File("f0", "0").File("f1", "1").list().set_part(true);
  wrong.File("f1", "BAD").File("f2", "2").list().set_part(true);
  const OneSide whole = OneSide("g").File("f0", "0").File("f1", "1").File("f2", "2");
  for (const auto& parts : {std::vector<v1::Bundle>{right.bundle(), wrong.bundle()},
                            std::vector<v1::Bundle>{wrong.bundle(), right.bundle()}}) {
    EXPECT_THAT(Found(Judge("content", {whole.bundle()}, parts)), ElementsAre("error content_differs f1"));
    EXPECT_EQ(Judge("content", parts, {whole.bundle()}).verdict(), v1::VERDICT_FAIL);
  }
}

TEST(DatasetFiles, GapsInPlainShardNumbers) {
  OneSide side("g");
  for (const char* name : {"s-000000.tar", "s-000001.tar", "s-000002.tar", "s-000004.tar"}) side.File(name, name);
  const v1::CheckResult gaps = Judge("files", side, side);
  EXPECT_THAT(Found(gaps), ElementsAre("warning shard_numbers_missing s-######.tar"));
  OneSide pictures("g");
  for (const char* name : {"000000.jpg", "000001.jpg", "000002.jpg", "000004.jpg"}) pictures.File(name, name);
  EXPECT_EQ(Judge("files", pictures, pictures).findings_size(), 0);
  OneSide years("g");
  for (const char* name : {"y-2019.tar", "y-2020.tar", "y-2022.tar"}) years.File(name, name);
  EXPECT_EQ(Judge("files", years, years).findings_size(), 0);
}

}  // namespace
}  // namespace paritect
