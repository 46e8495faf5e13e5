// Numbers that are none, in parts of the loss and in norms by other names; skipped steps beside what they are counted
// of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "checks/series/fixture.h"
#include "checks/series/overflow.h"

namespace paritect {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kCurve[] = "training.flow.loss-curve";
const double kNan = std::numeric_limits<double>::quiet_NaN();

// 200 steps whose metric `name` is no number from `first` on.
RunFixture Printing(const std::string& run, const std::string& name, std::int64_t first, double value = kNan) {
  RunFixture fixture(run);
  for (std::int64_t step = 1; step <= 200; ++step) {
    v1::StepRecord& record = fixture.Record(step);
    record.set_loss(2 + std::exp(-static_cast<double>(step) / 50) * (1 + 0.1 * Jitter(1, step)));
    (*record.mutable_metrics())[name] = step >= first ? value : 1.5;
  }
  fixture.log().set_skipped_counted(true);
  return fixture;
}

TEST(NonFiniteFigures, APartOfTheLossFailsWithoutTheOtherSide) {
  for (const char* name : {"loss_bbox", "mtp_1 loss", "train/box_loss", "critic/vf_loss", "分类损失", "lobj"}) {
    for (const std::int64_t first : {1, 101, 200}) {
      EXPECT_THAT(Kinds(RunOne(kCurve, {}, {Printing("n", name, first)})), ElementsAre("nan_loss")) << name;
      EXPECT_THAT(Kinds(RunOne(kCurve, {Printing("g", name, 999)}, {Printing("n", name, first)})),
                  ElementsAre("nan_loss"));
    }
    EXPECT_THAT(Kinds(RunOne(kCurve, {}, {Printing("n", name, 999)})), IsEmpty()) << name;
  }
  EXPECT_THAT(Kinds(RunOne(kCurve, {}, {Printing("n", "loss_cls", 101, std::numeric_limits<double>::infinity())})),
              ElementsAre("nan_loss"));
  EXPECT_THAT(Kinds(RunOne(kCurve, {}, {Printing("n", "val/box_loss", 101)})), ElementsAre("nan_loss"));
}

TEST(NonFiniteFigures, OtherNamesAndBothSidesAlike) {
  for (const char* name : {"perplexity_x", "loss_scale", "accuracy", "loss_std"}) {
    EXPECT_THAT(Kinds(RunOne(kCurve, {}, {Printing("n", name, 101)})), IsEmpty()) << name;
  }
  const v1::CheckResult both =
      RunOne(kCurve, {Printing("g", "loss_mask_head_loss", 1)}, {Printing("n", "loss_mask_head_loss", 1)});
  EXPECT_THAT(Kinds(both), IsEmpty());
  const v1::CheckResult alike = RunOne(kCurve, {Printing("g", "aux_loss", 1)}, {Printing("n", "aux_loss", 1)});
  EXPECT_THAT(Kinds(alike), IsEmpty());
  EXPECT_THAT(Kinds(alike, v1::SEVERITY_WARNING), Contains("nan_on_both_sides"));
  // From the beginning on one side only.
  EXPECT_THAT(Kinds(RunOne(kCurve, {Printing("g", "aux_loss", 150)}, {Printing("n", "aux_loss", 1)})),
              Contains("nan_loss"));
}

TEST(NonFiniteFigures, NamedNorms) {
  for (const char* name : {"critic/grad_norm", "grad_norm.0_default", "grad_2.0_norm_total"}) {
    EXPECT_THAT(Kinds(RunOne(kCurve, {}, {Printing("n", name, 101)})), ElementsAre("nan_grad_norm")) << name;
    EXPECT_THAT(Kinds(RunOne(kCurve, {}, {Printing("n", name, 200)})), IsEmpty()) << name;
  }
  EXPECT_THAT(Kinds(RunOne(kCurve, {}, {Printing("n", "max_grad_norm", 101)})), IsEmpty());
}

TEST(NonFiniteFigures, SkippedStepsExcuseTheirParts) {
  RunFixture run = Printing("n", "aux_loss", 200);
  run.log().mutable_records(199)->set_skipped(1);
  EXPECT_THAT(Kinds(RunOne(kCurve, {}, {run})), IsEmpty());
}

std::vector<OverflowCount> Count(RunFixture run) {
  std::vector<RunFixture> runs;
  runs.push_back(std::move(run));
  const EvidenceSet evidence({}, Bundles(std::move(runs)));
  return CountOverflows(MakeSeries(evidence, Side::kMigrated).front());
}

TEST(OverflowCounts, StepsThatLeaveSkippedOnesOut) {
  for (const char* format : {"fairseq", "text"}) {
    RunFixture run("n", format);
    for (std::int64_t step = 1; step <= 995; ++step) {
      run.Record(step).set_loss(2);
      if (step % 199 != 0) continue;
      v1::StepRecord& overflow = run.Record(step);
      overflow.set_step_unknown(true);
      overflow.set_overflow(true);
    }
    const std::vector<OverflowCount> counts = Count(std::move(run));
    ASSERT_EQ(counts.size(), 1u);
    EXPECT_EQ(counts[0].skipped, 5) << format;
    EXPECT_EQ(counts[0].steps, format[0] == 'f' ? 1000 : 995) << format;
  }
}

TEST(OverflowCounts, AMessageBesideAnInfiniteNormIsOneOverflow) {
  for (const bool told : {false, true}) {
    RunFixture run("n");
    for (std::int64_t step = 1; step <= 100; ++step) {
      if (told && step == 50) {
        v1::StepRecord& overflow = run.Record(step - 1);
        overflow.set_step_unknown(true);
        overflow.set_overflow(true);
      }
      v1::StepRecord& record = run.Record(step);
      record.set_loss(2);
      record.set_grad_norm(step == 50 ? std::numeric_limits<double>::infinity() : 1.5);
      record.set_loss_scale(step < 50 ? 65536 : 32768);
    }
    EXPECT_EQ(Count(std::move(run))[0].skipped, 1) << told;
  }
}

}  // namespace
}  // namespace paritect
