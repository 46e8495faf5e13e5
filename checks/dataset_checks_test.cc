// The data.dataset checks: a pass, a fail and a not_performed of each, and what may never happen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "checks/dataset_follow_up.h"
#include "checks/runner.h"
#include "common/digest.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class OneSide {
 public:
  explicit OneSide(absl::string_view node, absl::string_view format = "tree") {
    bundle_.mutable_plan()->set_run("run");
    bundle_.mutable_plan()->set_node(std::string(node));
    bundle_.mutable_plan()->set_role(v1::ROLE_RUN);
    v1::Evidence& evidence = *bundle_.add_evidence();
    evidence.set_kind(v1::EVIDENCE_KIND_DATASET_FILES);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_source("data");
    evidence.mutable_files()->set_dataset("train");
    evidence.mutable_files()->set_format(std::string(format));
  }
  // In byte order, as a collector gives them.
  OneSide& File(absl::string_view path, absl::string_view content) {
    v1::FileEntry& file = *list().add_files();
    file.set_path(std::string(path));
    file.set_type(v1::FILE_TYPE_REGULAR);
    file.set_size_bytes(content.size());
    file.set_md5(Md5(content));
    return *this;
  }
  v1::FileEntry& last() { return *list().mutable_files(list().files_size() - 1); }
  v1::FileList& list() { return *bundle_.mutable_evidence(0)->mutable_files(); }
  v1::Bundle bundle() const { return bundle_; }

 private:
  v1::Bundle bundle_;
};

v1::CheckResult Judge(absl::string_view id, std::vector<v1::Bundle> baseline, std::vector<v1::Bundle> migrated) {
  const EvidenceSet evidence(std::move(baseline), std::move(migrated));
  const v1::Report report = RunAudit(evidence, BuiltInRules().profile, BuiltInRules(), {.today = "2026-06-01"});
  for (const auto& item : report.items()) {
    for (const auto& check : item.checks()) {
      if (check.id() == absl::StrCat("data.dataset.", id)) return check;
    }
  }
  ADD_FAILURE() << "no check " << id;
  return {};
}

v1::CheckResult Judge(absl::string_view id, const OneSide& baseline, const OneSide& migrated) {
  return Judge(id, {baseline.bundle()}, {migrated.bundle()});
}

// "error kind subject", in order.
std::vector<std::string> Found(const v1::CheckResult& result) {
  static constexpr const char* kWords[] = {"?", "error", "warning", "note"};
  std::vector<std::string> out;
  for (const v1::Finding& f : result.findings())
    out.push_back(absl::StrCat(kWords[f.severity()], " ", f.kind(), " ", f.subject()));
  return out;
}

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
  EXPECT_THAT(Found(Judge("files", baseline, migrated)), ElementsAre("error class_folders_differ ."));
  EXPECT_EQ(Judge("files", migrated, migrated).verdict(), v1::VERDICT_PASS);
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
  // Under another name it is a file like any other.
  EXPECT_EQ(Judge("files", {list.bundle()}, {tree}).verdict(), v1::VERDICT_FAIL);
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
  const std::vector<DatasetQuestion> questions = DatasetQuestions(evidence);
  ASSERT_EQ(questions.size(), 2u);
  EXPECT_EQ(questions[0].path, "a");
  EXPECT_THAT(questions[0].laws, ::testing::Contains("prefix:3"));
  EXPECT_EQ(DatasetQuestions(evidence, {.pairs_max = 0}).size(), 0u);
  EXPECT_EQ(DatasetQuestions(evidence, {.bytes_max = 2}).size(), 0u);
  const EvidenceSet lists({OneSide("g", "manifest-csv").File("a", "12").bundle()},
                          {OneSide("n", "manifest-csv").File("a", "1").bundle()});
  EXPECT_EQ(DatasetQuestions(lists).size(), 0u);
}

}  // namespace
}  // namespace paritect
