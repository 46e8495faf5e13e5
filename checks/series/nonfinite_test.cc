// Numbers that are none, in parts of the loss and in norms by other names; skipped steps beside what they are counted
// of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
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

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// 200 steps, the norm of step 150 is `norm`; `type`: "fp16", "bf16" or "". `more` changes the record of that step.
RunFixture WithNorm(double norm, const std::string& type, const std::function<void(v1::RunLog&)>& more = {},
                    const std::string& format = "text") {
  RunFixture run("n", format);
  if (!type.empty()) run.Flag(type, true);
  for (std::int64_t step = 1; step <= 200; ++step) {
    v1::StepRecord& record = run.Record(step);
    record.set_loss(2 + std::exp(-static_cast<double>(step) / 50) * (1 + 0.1 * Jitter(1, step)));
    record.set_grad_norm(step == 150 ? norm : 1.5);
  }
  if (more) more(run.log());
  return run;
}

v1::Verdict VerdictOf(const RunFixture& run) {
  const v1::CheckResult result = RunOne(kCurve, {WithNorm(1.5, "bf16")}, {run});
  const bool told = result.missing_size() > 0 && result.missing(0).what().en().find("step 150") != std::string::npos;
  if (!Kinds(result).empty()) {
    EXPECT_THAT(Kinds(result), ElementsAre("nan_grad_norm"));
    return v1::VERDICT_FAIL;
  }
  return told ? v1::VERDICT_NOT_PERFORMED : v1::VERDICT_PASS;
}

TEST(NonFiniteNorms, NothingSkipsAStepOfBf16) {
  EXPECT_EQ(VerdictOf(WithNorm(kNan, "bf16")), v1::VERDICT_FAIL);
  EXPECT_EQ(VerdictOf(WithNorm(kInfinity, "bf16")), v1::VERDICT_FAIL);
  EXPECT_EQ(VerdictOf(WithNorm(1e9, "bf16")), v1::VERDICT_PASS);
}

TEST(NonFiniteNorms, WithoutATypeItIsNotKnown) {
  EXPECT_EQ(VerdictOf(WithNorm(kNan, "")), v1::VERDICT_NOT_PERFORMED);
  EXPECT_EQ(VerdictOf(WithNorm(kNan, "fp16")), v1::VERDICT_NOT_PERFORMED);
}

TEST(NonFiniteNorms, ACounterOrAFlagThatDeniesTheSkip) {
  const auto counted = [](v1::RunLog& log) {
    log.set_skipped_counted(true);
    for (v1::StepRecord& record : *log.mutable_records()) record.set_skipped(0);
  };
  const auto flagged = [](v1::RunLog& log) {
    for (v1::StepRecord& record : *log.mutable_records()) record.set_overflow(false);
  };
  for (const char* type : {"fp16", "bf16", ""}) {
    EXPECT_EQ(VerdictOf(WithNorm(kNan, type, counted)), v1::VERDICT_FAIL) << type;
    EXPECT_EQ(VerdictOf(WithNorm(kNan, type, flagged)), v1::VERDICT_FAIL) << type;
  }
}

TEST(NonFiniteNorms, SkippedStepsAreInnocent) {
  const std::function<void(v1::RunLog&)> told[] = {
      [](v1::RunLog& log) { log.mutable_records(149)->set_skipped(1); },
      [](v1::RunLog& log) { log.mutable_records(149)->set_overflow(true); },
      [](v1::RunLog& log) {  // a counter that tells with the next line
        for (v1::StepRecord& record : *log.mutable_records()) record.set_skipped(record.step() == 151 ? 1 : 0);
      },
      [](v1::RunLog& log) {  // a scaler that backs off
        for (v1::StepRecord& record : *log.mutable_records())
          record.set_loss_scale(record.step() <= 150 ? 65536 : 32768);
      },
      [](v1::RunLog& log) {  // a message of its own, before the line
        v1::StepRecord message;
        message.set_step(149);
        message.set_step_unknown(true);
        message.set_overflow(true);
        v1::RunLog parted = log;
        log.clear_records();
        for (const v1::StepRecord& record : parted.records()) {
          if (record.step() == 150) *log.add_records() = message;
          *log.add_records() = record;
        }
      },
  };
  for (const auto& more : told) {
    for (const double norm : {kNan, kInfinity}) {
      EXPECT_EQ(VerdictOf(WithNorm(norm, "fp16", more)), v1::VERDICT_PASS) << norm << " " << &more - told;
    }
  }
}

TEST(NonFiniteNorms, AScheduleThatStoodStill) {
  const auto held = [](std::int64_t at) {
    return [at](v1::RunLog& log) {
      for (v1::StepRecord& record : *log.mutable_records()) {
        record.set_lr(1e-4 - 1e-7 * static_cast<double>(record.step() > at ? record.step() - 1 : record.step()));
      }
    };
  };
  EXPECT_EQ(VerdictOf(WithNorm(kNan, "fp16", held(150), "hf-trainer-state")), v1::VERDICT_PASS);
  EXPECT_EQ(VerdictOf(WithNorm(kNan, "fp16", held(20), "hf-trainer-state")), v1::VERDICT_NOT_PERFORMED);
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
