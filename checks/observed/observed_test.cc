// Trainings judged by what was observed in them: each fault by its cause, the healthy pair without a finding, and
// nothing passes on a record that lacks something.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/settings/fixture.h"

namespace paritect {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Fact {
  std::string key, value, scope;
};
using Facts = std::vector<Fact>;

v1::Evidence ObservedFacts(const Facts& facts, std::int32_t rank) {
  v1::Evidence evidence;
  evidence.set_kind(v1::EVIDENCE_KIND_SETTINGS);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.set_source("observe/a.jsonl");
  evidence.set_rank(rank);
  evidence.mutable_settings()->set_format("observed");
  evidence.mutable_settings()->set_kind("observed");
  int line = 0;
  for (const Fact& fact : facts) {
    v1::Setting& setting = *evidence.mutable_settings()->add_settings();
    setting.set_raw_key(fact.key);
    setting.set_raw_value(fact.value);
    setting.mutable_value()->set_text(fact.value);
    setting.set_scope(fact.scope);
    setting.set_origin(absl::StrCat("observe/a.jsonl:", ++line));
  }
  return evidence;
}

// What a healthy process tells, with more of it, or other values.
Facts Healthy(const Facts& more = {}) {
  Facts facts = {{"observed.process", "node-1-10-7", ""},
                 {"framework", "pytorch", ""},
                 {"world_size", "1", ""},
                 {"compute_dtype", "bfloat16", ""},
                 {"amp_wrapper", "amp", ""},
                 {"observed.steps", "16", ""},
                 {"observed.model.dropouts", "1", ""},
                 {"observed.model.batch_norms", "1", ""},
                 {"observed.kept.looked", "15", ""},
                 {"observed.kept.steps", "0", ""},
                 {"observed.loader", "train.py:9", "training"},
                 {"observed.pipeline.read-count.dataset.len", "64", "training"},
                 {"observed.pipeline.shuffle.shuffle", "true", "training"},
                 {"observed.pipeline.shuffle.generator_seed", "5", "training"},
                 {"observed.pipeline.padding.drop_last", "false", "training"},
                 {"observed.pipeline.transform.dataset.transform.1.mean", "0.5", "training"},
                 {"observed.pipeline.parallelism.workers", "2", "training"},
                 {"observed.indices.1.digest", "d1", "training"},
                 {"observed.batch.0.digest", "b0", "training"},
                 {"observed.phase.training", "true", "phase 0"},
                 {"observed.phase.grad", "true", "phase 0"},
                 {"observed.phase.forwards", "16", "phase 0"},
                 {"observed.phase.at", "0", "phase 0"},
                 {"observed.phase.active", "2", "phase 0"},
                 {"observed.phase.training", "false", "phase 1"},
                 {"observed.phase.grad", "false", "phase 1"},
                 {"observed.phase.forwards", "3", "phase 1"},
                 {"observed.phase.rows", "24", "phase 1"},
                 {"observed.phase.at", "16", "phase 1"},
                 {"observed.phase.active", "0", "phase 1"}};
  for (const Fact& fact : more) {
    const auto same = std::find_if(facts.begin(), facts.end(),
                                   [&](const Fact& one) { return one.key == fact.key && one.scope == fact.scope; });
    same == facts.end() ? facts.push_back(fact) : static_cast<void>(*same = fact);
  }
  return facts;
}

std::string Verdict(absl::string_view id, const Facts& migrated, const Facts& baseline = Healthy()) {
  std::vector<v1::Bundle> sides[2];
  sides[0].push_back(NodeOf("gpu", "gpu-1", "nvidia", "", {}));
  *sides[0][0].add_evidence() = ObservedFacts(baseline, 0);
  sides[1].push_back(NodeOf("npu", "npu-1", "atlas-a2", "", {}));
  *sides[1][0].add_evidence() = ObservedFacts(migrated, 0);
  return Told(ResultOf(id, sides[0], sides[1]));
}

TEST(Observed, HealthyPipelinePasses) {
  for (const char* part : {"read-count", "shuffle", "padding", "transform", "parallelism", "samples"}) {
    EXPECT_EQ(Verdict(absl::StrCat("data.preprocessing.", part), Healthy()), "pass") << part;
  }
}

TEST(Observed, PipelineFaultsByTheirCause) {
  EXPECT_EQ(
      Verdict("data.preprocessing.shuffle", Healthy({{"observed.pipeline.shuffle.shuffle", "false", "training"}})),
      "fail: shuffle_differs shuffle");
  EXPECT_EQ(
      Verdict("data.preprocessing.shuffle", Healthy({{"observed.pipeline.shuffle.generator_seed", "6", "training"}})),
      "fail: shuffle_differs generator_seed");
  EXPECT_EQ(
      Verdict("data.preprocessing.padding", Healthy({{"observed.pipeline.padding.drop_last", "true", "training"}})),
      "fail: padding_differs drop_last");
  EXPECT_THAT(Verdict("data.preprocessing.transform",
                      Healthy({{"observed.pipeline.transform.dataset.transform.1.mean", "0.4", "training"}})),
              HasSubstr("fail: transform_differs"));
  // A place where data lie is no transform.
  EXPECT_EQ(Verdict("data.preprocessing.transform",
                    Healthy({{"observed.pipeline.transform.dataset.root", "/data/npu", "training"}})),
            "pass");
  EXPECT_EQ(Verdict("data.preprocessing.samples", Healthy({{"observed.indices.1.digest", "d2", "training"}})),
            "fail: sample_order_differs rank 0 of npu-1");
}

TEST(Observed, GeneratorsThatMadeOtherSamples) {
  constexpr char kCheck[] = "data.preprocessing.samples";
  const auto with = [](const Facts& generator, const char* order = "d1") {
    Facts facts = Healthy(generator);
    facts.push_back({"observed.generator.digest", "s1", "torch"});  // drawn from alike
    facts.push_back({"observed.generator.drawn", "true", "torch"});
    for (Fact& one : facts) {
      if (one.key == "observed.indices.1.digest") one.value = order;
    }
    return facts;
  };
  const auto random = [&](const char* digest, const char* seed, const char* order) {
    Facts facts = {{"observed.generator.digest", digest, "random"},
                   {"observed.generator.drawn", "true", "random"},
                   {"observed.generator.seeded", *seed == 0 ? "false" : "true", "random"}};
    if (*seed != 0) facts.push_back({"observed.generator.seed", seed, "random"});
    return with(facts, order);
  };
  EXPECT_EQ(Verdict(kCheck, random("r2", "", "d2"), random("r1", "1", "d1")),
            "fail: generator_not_seeded random, sample_order_differs rank 0 of npu-1");
  EXPECT_EQ(Verdict(kCheck, random("r1", "1", "d2"), random("r2", "", "d1")),
            "fail: generator_not_seeded random, sample_order_differs rank 0 of npu-1");
  EXPECT_EQ(Verdict(kCheck, random("r2", "", "d2"), random("r1", "", "d1")),
            "fail: generator_not_seeded random, sample_order_differs rank 0 of npu-1");
  EXPECT_EQ(Verdict(kCheck, random("r2", "2", "d2"), random("r1", "1", "d1")),
            "fail: generator_seed_differs random, sample_order_differs rank 0 of npu-1");
  EXPECT_EQ(Verdict(kCheck, random("r2", "1", "d2"), random("r1", "1", "d1")),
            "fail: sample_order_differs rank 0 of npu-1, ~generator_state_differs random");
  // One that stands alike, or that nothing draws from, decides nothing; and where the samples agree it is none of this.
  EXPECT_EQ(Verdict(kCheck, random("r1", "", "d2"), random("r1", "", "d1")),
            "fail: sample_order_differs rank 0 of npu-1");
  Facts idle = random("r2", "", "d2");
  Facts idle_too = random("r1", "", "d1");
  for (Facts* facts : {&idle, &idle_too}) {
    for (Fact& one : *facts) {
      if (one.key == "observed.generator.drawn" && one.scope == "random") one.value = "false";
    }
  }
  EXPECT_EQ(Verdict(kCheck, idle, idle_too), "fail: sample_order_differs rank 0 of npu-1");
  EXPECT_EQ(Verdict(kCheck, random("r2", "", "d1"), random("r1", "", "d1")), "pass");
  // Generators of the program's own; and those of the workers.
  EXPECT_EQ(Verdict(kCheck, with({{"observed.generator.unseeded", "train.py:3", "numpy.random.default_rng"}}, "d2")),
            "fail: generator_not_seeded numpy.random.default_rng, sample_order_differs rank 0 of npu-1");
  const auto workers = [&](const char* digest, const char* batch) {
    return Healthy(
        {{"observed.workers.numpy_state.digest", digest, "training"}, {"observed.batch.0.digest", batch, "training"}});
  };
  EXPECT_THAT(Verdict(kCheck, workers("w2", "b2"), workers("w1", "b0")),
              HasSubstr("batch_differs rank 0 of npu-1, ~generator_state_differs rank 0 of npu-1"));
}

TEST(Observed, LoopsWithoutALoaderAreKnownByWhatTheModelWasGiven) {
  const auto fed = [](const char* digest) {
    Facts facts;
    for (const Fact& one : Healthy({{"observed.fed.0.digest", digest, "training"}})) {
      if (one.key != "observed.indices.1.digest" && one.key != "observed.batch.0.digest") facts.push_back(one);
    }
    return facts;
  };
  EXPECT_EQ(Verdict("data.preprocessing.samples", fed("f1"), fed("f1")), "pass");
  EXPECT_THAT(Verdict("data.preprocessing.samples", fed("f2"), fed("f1")), HasSubstr("not_performed: ~fed_differs"));
  // Where the loader's batches are the same, what was done to them on the device is no question of samples.
  EXPECT_EQ(Verdict("data.preprocessing.samples", Healthy({{"observed.fed.0.digest", "f2", "training"}}),
                    Healthy({{"observed.fed.0.digest", "f1", "training"}})),
            "pass");
}

// Processes that cannot be paired with those of the other side deal out what they like.
TEST(Observed, SamplesOfProcessesWithoutARankAreNotCompared) {
  const Facts unpaired = Healthy({{"observed.unpaired", "2"}, {"observed.indices.1.digest", "d2", "training"}});
  EXPECT_EQ(Verdict("data.preprocessing.samples", unpaired), "not_performed: !rank 0 of npu-1");
  EXPECT_EQ(Verdict("data.preprocessing.samples", Healthy(), unpaired), "not_performed: !rank 0 of gpu-1");
}

TEST(Observed, WorkersWithOneRandomState) {
  const Facts shared = Healthy({{"observed.workers.shared", "random_state", "training"},
                                {"observed.workers.seen", "2", "training"},
                                {"observed.workers.init", "true", "training"}});
  EXPECT_THAT(Verdict("data.preprocessing.parallelism", shared, shared), HasSubstr("fail: workers_share_random_state"));
  EXPECT_THAT(
      Verdict("data.preprocessing.parallelism", Healthy({{"observed.workers.shared", "numpy_state", "training"}})),
      HasSubstr("pass: ~workers_share_random_state"));
}

TEST(Observed, GapsLeaveChecksOpenAndErrorsStand) {
  const Fact gap = {"observed.gap", "DataLoader.__init__", "off"};
  EXPECT_THAT(Verdict("data.preprocessing.shuffle", Healthy({gap})), HasSubstr("not_performed"));
  EXPECT_THAT(
      Verdict("data.preprocessing.shuffle", Healthy({gap, {"observed.pipeline.shuffle.shuffle", "false", "training"}})),
      HasSubstr("fail: shuffle_differs"));
  // Killed: all until then was told.
  EXPECT_EQ(Verdict("data.preprocessing.shuffle", Healthy({{"observed.gap", "last line", "cut"}})), "pass");
}

TEST(Observed, ARecordThatContradictsItselfIsToldAndNothingPassesOnIt) {
  const auto with = [](const char* kind, const char* part) {
    return Healthy({{"observed.contradiction.kind", kind, "contradiction 0"},
                    {"observed.contradiction.part", part, "contradiction 0"},
                    {"observed.contradiction.told", "end.skipped=26", "contradiction 0"},
                    {"observed.contradiction.other", "scale=1", "contradiction 0"}});
  };
  EXPECT_EQ(Verdict("evidence.integrity.records", Healthy()), "pass");
  EXPECT_EQ(Verdict("evidence.integrity.records", with("skips_against_end", "steps")),
            "fail: record_contradiction rank 0 of npu-1");
  EXPECT_EQ(Verdict("evidence.integrity.records", with("seed_against_call", "seed")),
            "pass: ~record_contradiction rank 0 of npu-1");
  EXPECT_EQ(Verdict("evidence.integrity.records", with("of a later version", "")),
            "fail: record_contradiction rank 0 of npu-1");
  EXPECT_THAT(Verdict("data.preprocessing.shuffle", with("indices_against_digest", "samples")),
              HasSubstr("not_performed"));
  EXPECT_THAT(Verdict("training.flow.evaluation", with("list_overlaps", "model")), HasSubstr("not_performed"));
  // Of a part that it does not rest on nothing is lost; of the baseline's record as well.
  EXPECT_EQ(Verdict("data.preprocessing.transform", with("skips_against_end", "steps")), "pass");
  EXPECT_THAT(Verdict("data.preprocessing.samples", Healthy(), with("samples_exceed_requested", "samples")),
              HasSubstr("not_performed"));
}

TEST(Observed, ModesOfEvaluation) {
  constexpr char kCheck[] = "training.flow.evaluation";
  EXPECT_EQ(Verdict(kCheck, Healthy()), "pass");
  EXPECT_THAT(Verdict(kCheck, Healthy({{"observed.phase.training", "true", "phase 1"},
                                       {"observed.phase.active", "2", "phase 1"}})),
              HasSubstr("fail: train_mode_at_eval"));
  // A wrapper that stays in training mode around a model that is not: nothing drops.
  EXPECT_EQ(Verdict(kCheck,
                    Healthy({{"observed.phase.training", "true", "phase 1"},
                             {"observed.phase.other", "module.drop (Dropout), module.norm (BatchNorm2d)", "phase 1"}})),
            "pass");
  EXPECT_THAT(Verdict(kCheck, Healthy({{"observed.phase.other", "drop (Dropout)", "phase 1"},
                                       {"observed.phase.active", "1", "phase 1"}})),
              HasSubstr("fail: train_mode_at_eval"));
  const Facts on = {{"observed.phase.training", "false", "phase 2"},
                    {"observed.phase.grad", "true", "phase 2"},
                    {"observed.phase.forwards", "8", "phase 2"},
                    {"observed.phase.at", "8", "phase 2"},
                    {"observed.phase.active", "0", "phase 2"}};
  EXPECT_THAT(Verdict(kCheck, Healthy(on)), HasSubstr("fail: eval_mode_at_train"));
  // Batch statistics that are frozen from the start, on one side alone.
  Facts frozen = on;
  frozen.push_back({"observed.phase.active", "0", "phase 0"});
  EXPECT_THAT(Verdict(kCheck, Healthy(frozen)), HasSubstr("fail: eval_mode_at_train"));
  EXPECT_THAT(Verdict(kCheck, Healthy({{"observed.phase.rows", "16", "phase 1"}})),
              HasSubstr("fail: evaluation_samples_differ"));
  // A rank whose record does not count has evaluated something all the same.
  EXPECT_THAT(Verdict(kCheck, Healthy({{"observed.phase.rows", "16", "phase 1"},
                                       {"observed.contradiction.kind", "rank_twice", "contradiction 0"},
                                       {"observed.contradiction.part", "process", "contradiction 0"}})),
              ::testing::StartsWith("not_performed"));
}

TEST(Observed, StateLoadsExchangeAndSchedules) {
  EXPECT_THAT(Verdict("training.flow.state", Healthy({{"observed.kept.steps", "14", ""}})),
              HasSubstr("gradients_not_cleared"));
  EXPECT_THAT(Verdict("training.flow.state", Healthy({{"observed.kept.steps", "1", ""}})),
              Not(HasSubstr("gradients_not_cleared")));
  const auto load = [](const char* fitting) {
    return Healthy({{"observed.load.given", "11", "load 0"},
                    {"observed.load.expected", "11", "load 0"},
                    {"observed.load.fitting", fitting, "load 0"},
                    {"observed.load.missing", "11", "load 0"},
                    {"observed.load.strict", "false", "load 0"}});
  };
  EXPECT_THAT(Verdict("training.flow.initial-weights", load("0")), HasSubstr("fail: not_loaded"));
  EXPECT_THAT(Verdict("training.flow.initial-weights", load("9")), HasSubstr("~partly_loaded"));
  EXPECT_THAT(Verdict("training.flow.distributed", Healthy({{"world_size", "2", ""},
                                                            {"observed.collectives", "0", ""},
                                                            {"observed.collectives.steps", "7", ""}})),
              HasSubstr("gradients_not_synchronised"));
  const Fact twice = {"observed.schedule.steps", "2", "LambdaLR"};
  EXPECT_THAT(Verdict("model.hyperparameters.learning-rate-curve", Healthy({twice})),
              HasSubstr("fail: schedule_faster"));
  EXPECT_THAT(Verdict("model.hyperparameters.learning-rate-curve", Healthy({twice}), Healthy({twice})),
              HasSubstr("~schedule_faster"));
}

TEST(Observed, ASamplerThatIsNotToldItsEpoch) {
  EXPECT_THAT(Verdict("data.sharding.same-assignment", Healthy({{"observed.order_repeats", "true", "training"}})),
              HasSubstr("fail: epoch_not_set"));
}

TEST(Observed, DigestsThatWereWithheldAreNotEqual) {
  const Facts withheld =
      Healthy({{"observed.indices.1.digest", "", "training"}, {"observed.batch.0.digest", "", "training"}});
  EXPECT_THAT(Verdict("data.preprocessing.samples", withheld, withheld), HasSubstr("not_performed"));
  EXPECT_THAT(Verdict("data.preprocessing.samples", Healthy({{"observed.batch.0.digest", "b1", "training"}})),
              HasSubstr("batch_differs"));
}

TEST(Observed, AverageThatRunsInTrainingMode) {
  const Facts trains = Healthy({{"observed.copy.active", "2", "copy 0"}});
  const Facts evaluates = Healthy({{"observed.copy.active", "0", "copy 0"}});
  EXPECT_THAT(Verdict("training.flow.evaluation", trains, evaluates), HasSubstr("fail: train_mode_at_eval"));
  // A teacher may be meant to.
  EXPECT_THAT(Verdict("training.flow.evaluation", trains, trains), Not(HasSubstr("train_mode_at_eval")));
  EXPECT_THAT(Verdict("training.flow.evaluation", trains), Not(HasSubstr("train_mode_at_eval")));
}

TEST(Observed, ASamplerOfTheirOwnThatIsNotToldItsPass) {
  const Facts changes = Healthy({{"observed.order_changes", "true", "training"}});
  const Facts repeats = Healthy({{"observed.order_changes", "false", "training"}});
  EXPECT_THAT(Verdict("data.sharding.same-assignment", repeats, changes), HasSubstr("epoch_not_set"));
  EXPECT_THAT(Verdict("data.sharding.same-assignment", changes, repeats), HasSubstr("epoch_not_set"));
  // One order for all passes may be meant, where both have it.
  EXPECT_THAT(Verdict("data.sharding.same-assignment", repeats, repeats), Not(HasSubstr("epoch_not_set")));
  EXPECT_THAT(Verdict("data.sharding.same-assignment", repeats), Not(HasSubstr("epoch_not_set")));
}

TEST(Observed, WhatRanBeatsWhatWasAskedAndPrinted) {
  std::vector<v1::Bundle> baseline = {NodeOf("gpu", "gpu-1", "nvidia", "", {})};
  *baseline[0].add_evidence() = ObservedFacts(Healthy(), 0);
  std::vector<v1::Bundle> migrated = {
      NodeOf("npu", "npu-1", "atlas-a2", "", {Arguments("argparse-namespace", {{"clip_grad", "1.0"}})})};
  *migrated[0].add_evidence() = ObservedFacts(Healthy({{"clip_grad", "0", ""}}), 0);
  *baseline[0].mutable_evidence(0) = ObservedFacts(Healthy({{"clip_grad", "1.0", ""}}), 0);
  const std::string told = Told(ResultOf("model.hyperparameters.values", baseline, migrated));
  EXPECT_THAT(told, HasSubstr("value_differs clip_grad"));
  EXPECT_THAT(told, HasSubstr("~overridden migrated: clip_grad"));
}

TEST(Observed, MechanismsAndScaler) {
  EXPECT_EQ(Verdict("migrated.mixed-precision.single-mechanism", Healthy()), "pass");
  EXPECT_EQ(Verdict("migrated.mixed-precision.same-mechanism", Healthy()), "pass");
  EXPECT_THAT(Verdict("migrated.mixed-precision.single-mechanism", Healthy({{"manual_casts", "true", ""}})),
              HasSubstr("fail: two_mechanisms"));
  EXPECT_THAT(Verdict("migrated.loss-scale.enabled",
                      Healthy({{"compute_dtype", "float16", ""}, {"loss_scaler_enabled", "false", ""}})),
              HasSubstr("fail: loss_scale_off"));
}

TEST(Observed, TrainingsThatFellBackToTheProcessor) {
  constexpr char kCheck[] = "migrated.mixed-precision.runs";
  EXPECT_THAT(
      Verdict(kCheck, Healthy({{"observed.flag.device", "cpu", ""}, {"observed.flag.npu_available", "false", ""}})),
      HasSubstr("not_on_npu"));
  // An engine may keep the parameters in host memory.
  EXPECT_THAT(
      Verdict(kCheck, Healthy({{"observed.flag.device", "cpu", ""}, {"observed.flag.npu_available", "true", ""}})),
      Not(HasSubstr("not_on_npu")));
}

TEST(Observed, RanksThatWereNotSeen) {
  EXPECT_THAT(
      Verdict("data.preprocessing.shuffle", Healthy({{"world_size", "2", ""}}), Healthy({{"world_size", "2", ""}})),
      HasSubstr("not_performed"));
}

}  // namespace
}  // namespace paritect
