#include "checks/pictures/pictures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "checks/series/fixture.h"

namespace paritect {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

TEST(DrawnPoints, LosesNoSpike) {
  std::vector<double> values(100'000, 1.0);
  values[31'415] = 50;
  values[92'653] = -50;
  const std::vector<double> series[] = {values};
  const std::vector<std::size_t> drawn = DrawnPoints(series, 300);
  EXPECT_LE(drawn.size(), 310u);
  EXPECT_TRUE(std::is_sorted(drawn.begin(), drawn.end()));
  EXPECT_EQ(drawn.front(), 0u);
  EXPECT_EQ(drawn.back(), values.size() - 1);
  for (const std::size_t spike : {31'415u, 92'653u}) {
    EXPECT_TRUE(std::binary_search(drawn.begin(), drawn.end(), spike)) << spike;
  }
}

TEST(DrawnPoints, GapsAreNoValues) {
  const std::vector<double> series[] = {{kNone, kNone, 3, kNone}, {1, kNone, kNone, kNone}};
  EXPECT_EQ(DrawnPoints(series, 100).size(), 4u);
  std::vector<double> gap(1000, kNone);
  const std::vector<double> none[] = {gap};
  EXPECT_LE(DrawnPoints(none, 30).size(), 12u);
  EXPECT_TRUE(DrawnPoints({}, 10).empty());
}

v1::ReportPictures Pictures(std::vector<RunFixture> baseline, std::vector<RunFixture> migrated,
                            const PictureBounds& bounds = {}) {
  const EvidenceSet evidence(Bundles(std::move(baseline)), Bundles(std::move(migrated)));
  return MakePictures({evidence, BuiltInRules().profile, BuiltInRules()}, bounds);
}

RunFixture Trained(const std::string& name, double factor) {
  RunFixture run(name);
  run.Losses(1, 400, [factor](std::int64_t step) {
    return (2 + 5 * std::exp(-static_cast<double>(step) / 100)) * (step > 200 ? factor : 1);
  });
  return run.End(v1::RunEnd::STATE_FINISHED, 400, 400);
}

TEST(CurvePictures, ShowBothSidesAndWhereTheyPart) {
  RunFixture odd = Trained("npu", 1.2);
  odd.log().mutable_records(49)->set_overflow(true);
  odd.log().mutable_records(99)->set_loss(kNone);
  const v1::ReportPictures pictures = Pictures({Trained("gpu", 1)}, {odd});
  ASSERT_EQ(pictures.curves_size(), 1);
  const v1::CurvePicture& curve = pictures.curves(0);
  EXPECT_EQ(curve.metric(), "loss");
  EXPECT_EQ(curve.baseline_run(), "gpu");
  EXPECT_EQ(curve.migrated_run(), "npu");
  EXPECT_EQ(curve.points_total(), 400);
  EXPECT_EQ(curve.at_size(), curve.baseline_size());
  EXPECT_EQ(curve.at_size(), curve.migrated_size());
  EXPECT_THAT(curve.migrated_overflows(), testing::ElementsAre(50));
  EXPECT_THAT(curve.migrated_nonfinite(), testing::ElementsAre(100));
  EXPECT_TRUE(std::isnan(curve.migrated(99)));
  ASSERT_TRUE(curve.has_first_divergent());
  EXPECT_NEAR(curve.first_divergent(), 201, 10);
  EXPECT_NEAR(curve.difference(curve.difference_size() - 1), 0.2, 1e-9);
  EXPECT_EQ(curve.limit(), BuiltInRules().profile.threshold("loss_mean_relative_error"));
}

TEST(CurvePictures, AreBounded) {
  PictureBounds bounds;
  bounds.curve_points_max = 100;
  bounds.curves_max = 2;
  const v1::ReportPictures pictures =
      Pictures({Trained("gpu", 1)}, {Trained("a", 1), Trained("b", 1), Trained("c", 1)}, bounds);
  ASSERT_EQ(pictures.curves_size(), 2);
  EXPECT_LE(pictures.curves(0).at_size(), 110);
  EXPECT_EQ(pictures.curves(0).points_total(), 400);
  EXPECT_LE(pictures.curves(0).difference_size(), 110);
}

TEST(CurvePictures, OneSideAloneIsNoPicture) {
  EXPECT_EQ(Pictures({Trained("gpu", 1)}, {}).curves_size(), 0);
  EXPECT_EQ(Pictures({}, {Trained("npu", 1)}).curves_size(), 0);
  EXPECT_EQ(Pictures({}, {}).evidence_total(), 0);
}

v1::Bundle FilesOf(const std::string& run, const std::vector<std::pair<std::string, std::string>>& files) {
  v1::Bundle bundle;
  bundle.mutable_plan()->set_run(run);
  bundle.mutable_plan()->set_node(run);
  bundle.mutable_plan()->set_role(v1::ROLE_RUN);
  v1::Evidence& evidence = *bundle.add_evidence();
  evidence.set_kind(v1::EVIDENCE_KIND_DATASET_FILES);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.set_source("data");
  evidence.mutable_files()->set_dataset("train");
  evidence.mutable_files()->set_format("tree");
  for (const auto& [path, content] : files) {
    v1::FileEntry& entry = *evidence.mutable_files()->add_files();
    entry.set_path(path);
    entry.set_type(v1::FILE_TYPE_REGULAR);
    entry.set_size_bytes(content.size());
    entry.set_md5(std::string(15, 'x') + content.substr(0, 1));
  }
  return bundle;
}

TEST(TreePictures, RollUpIntoEveryFolderAbove) {
  const EvidenceSet evidence(
      {FilesOf("gpu", {{"a/b/1", "one"}, {"a/b/2", "two"}, {"a/only", "gone"}, {"c/same", "same"}})},
      {FilesOf("npu", {{"a/b/1", "one"}, {"a/b/2", "changed"}, {"c/new", "fresh"}, {"c/same", "same"}})});
  const v1::ReportPictures pictures = MakePictures({evidence, BuiltInRules().profile, BuiltInRules()});
  ASSERT_EQ(pictures.trees_size(), 1);
  const v1::TreePicture& tree = pictures.trees(0);
  EXPECT_EQ(tree.dataset(), "train");
  ASSERT_EQ(tree.folders_size(), 4);  // "", a, a/b, c
  const v1::FolderCounts& root = tree.folders(0);
  EXPECT_EQ(root.path(), "");
  EXPECT_EQ(root.same(), 2);
  EXPECT_EQ(root.different(), 1);
  EXPECT_EQ(root.only_baseline(), 1);
  EXPECT_EQ(root.only_migrated(), 1);
  EXPECT_EQ(tree.folders(2).path(), "a/b");
  EXPECT_EQ(tree.folders(2).different(), 1);
  EXPECT_EQ(tree.folders(3).only_migrated(), 1);
  ASSERT_EQ(tree.files_size(), 3);
  EXPECT_EQ(tree.files(0).path(), "a/b/2");
  EXPECT_EQ(tree.files(0).state(), "different");
}

TEST(TreePictures, WhatDiffersIsKeptWhereThereIsTooMuch) {
  std::vector<std::pair<std::string, std::string>> files;
  for (int i = 0; i < 50; ++i) files.emplace_back(absl::StrCat("f", 10 + i, "/x"), "same");
  const v1::Bundle gpu = FilesOf("gpu", files);
  files.back().second = "other";
  const EvidenceSet evidence({gpu}, {FilesOf("npu", files)});
  PictureBounds bounds;
  bounds.folders_max = 5;
  const v1::TreePicture tree = MakePictures({evidence, BuiltInRules().profile, BuiltInRules()}, bounds).trees(0);
  EXPECT_EQ(tree.folders_total(), 51);
  ASSERT_EQ(tree.folders_size(), 5);
  EXPECT_EQ(tree.folders(4).path(), "f59");
}

TEST(EvidenceRows, NameEverySourceAndWhyItWasNotRead) {
  RunFixture run = Trained("gpu", 1);
  v1::Evidence& lost = *run.bundle().add_evidence();
  lost.set_kind(v1::EVIDENCE_KIND_SETTINGS);
  lost.set_outcome(v1::OUTCOME_FAILED);
  lost.set_source("bad\xffname");
  lost.mutable_problem()->set_id("unreadable");
  const v1::ReportPictures pictures = Pictures({run}, {});
  ASSERT_EQ(pictures.evidence_size(), 2);
  EXPECT_EQ(pictures.evidence_total(), 2);
  EXPECT_EQ(pictures.evidence(0).kind(), "run_log");
  EXPECT_EQ(pictures.evidence(0).entries(), 400);
  EXPECT_EQ(pictures.evidence(1).outcome(), "failed");
  EXPECT_EQ(pictures.evidence(1).source(), "bad\\xFFname");
  EXPECT_FALSE(pictures.evidence(1).problem().en().empty());
}

}  // namespace
}  // namespace paritect
