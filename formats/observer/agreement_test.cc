// Records that contradict themselves or each other: what is told, which part counts for nothing, and what of a healthy
// record is no contradiction.
#include "formats/observer/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/observer/observed_run.h"
#include "formats/observer/record_fixture.h"
#include "rules/contradictions.h"

namespace paritect {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<v1::Evidence> Assemble(const std::vector<std::string>& texts) {
  std::vector<ObservedFile> files;
  for (const std::string& text : texts) {
    auto file = ReadObservedFile(text, absl::StrCat("observe/", files.size(), ".jsonl"));
    EXPECT_TRUE(file.ok()) << file.status();
    if (file.ok()) files.push_back(*std::move(file));
  }
  return AssembleObserved(files);
}

std::vector<std::string> FactsOf(const std::vector<v1::Evidence>& evidence, absl::string_view key) {
  std::vector<std::string> values;
  for (const v1::Evidence& one : evidence) {
    for (const v1::Setting& setting : one.settings().settings()) {
      if (setting.raw_key() == key) values.push_back(setting.raw_value());
    }
  }
  return values;
}

std::vector<std::string> Kinds(const std::vector<v1::Evidence>& evidence) {
  return FactsOf(evidence, "observed.contradiction.kind");
}

bool HasLog(const std::vector<v1::Evidence>& evidence) {
  return std::any_of(evidence.begin(), evidence.end(), [](const v1::Evidence& one) { return one.has_run_log(); });
}

bool HasLists(const std::vector<v1::Evidence>& evidence) {
  return std::any_of(evidence.begin(), evidence.end(), [](const v1::Evidence& one) { return one.has_shards(); });
}

std::string Indices(absl::string_view more) {
  return absl::StrCat("\"loader\": 0, \"pass\": 0, \"whole\": true, ", more);
}

// A run that holds everything that is compared, and agrees.
RecordFixture Healthy() {
  RecordFixture record;
  record.Add("seed", "\"call\": \"torch.manual_seed\", \"value\": 7")
      .Add("cast", "\"call\": \"half\", \"dtype\": \"F16\", \"class\": \"__main__.Net\", \"elements\": 12, \"at\": 0")
      .Add("cast", "\"call\": \"float\", \"dtype\": \"F32\", \"class\": \"__main__.Net\", \"elements\": 12, \"at\": 0")
      .Model()
      .Add("seeds", "\"torch\": 7")
      .Add("loader", "\"id\": 0, \"shuffle\": true, \"batch_size\": 2, \"len\": 2")
      .Add("pass", "\"loader\": 0, \"pass\": 0")
      .Add("indices", Indices("\"requested\": 4, \"batches\": 2, \"samples\": 4, \"digest\": "
                              "\"cb604fe9ee2fb98bef01ac86d3dec733\", \"at_batches\": {\"1\": "
                              "\"8a0338d88ae79cb25f576c132c7b6ed7\"}, \"first\": [2, 0, 3, 1], \"last\": [3, 1]"))
      .Add("scaler", "\"id\": 0, \"class\": \"GradScaler\", \"enabled\": true")
      .Optimizer()
      .Step(1)
      .Add("scale", "\"scaler\": 0, \"n\": 1, \"before\": 4, \"after\": 4, \"applied\": true, \"at\": 1")
      .Add("scale", "\"scaler\": 0, \"n\": 2, \"before\": 4, \"after\": 2, \"applied\": false, \"at\": 1")
      .Step(2);
  return record;
}

TEST(Agreement, AHealthyRecordAgrees) {
  RecordFixture record = Healthy();
  record.Add("end", "\"steps\": 2, \"skipped\": 1, \"why\": \"exit\"");
  const auto evidence = Assemble({record.text()});
  EXPECT_THAT(Kinds(evidence), IsEmpty());
  EXPECT_TRUE(HasLog(evidence));
  EXPECT_TRUE(HasLists(evidence));
  EXPECT_THAT(FactsOf(evidence, "seed"), ElementsAre("7"));
}

TEST(Agreement, WhatALossyRecordLacksIsNoContradiction) {
  RecordFixture record = Healthy();
  record.Add("lost", "\"count\": 3").Add("end", "\"steps\": 400, \"skipped\": 30, \"why\": \"exit\"");
  EXPECT_THAT(Kinds(Assemble({record.text()})), IsEmpty());
  // A pass from which samples are still to come; numbers that are texts; a tensor of which this rank holds a part.
  RecordFixture other;
  other.Add("loader", "\"id\": 0")
      .Add("indices",
           "\"loader\": 0, \"pass\": 0, \"requested\": 9, \"samples\": 2, \"first\": [1, 2], \"digest\": \"d\"")
      .Add("indices",
           "\"loader\": 0, \"pass\": 1, \"requested\": 1, \"samples\": 1, \"kind\": \"text\", \"digest\": "
           "\"cb604fe9ee2fb98bef01ac86d3dec733\"")
      .Model()
      .Add("weights",
           "\"root\": 0, \"at\": 0, \"role\": \"parameter\", \"from\": 0, \"total\": 1, \"of\": [{\"name\": "
           "\"a\", \"shape\": [8], \"finite\": 4, \"min\": \"nan\", \"max\": 1}]")
      .Step(1);
  EXPECT_THAT(Kinds(Assemble({other.text()})), IsEmpty());
}

struct Fault {
  const char* kind;
  std::string name, fields;  // of the record that is added
};

TEST(Agreement, EachFaultIsToldAndItsPartCountsForNothing) {
  const std::string list = "\"root\": 0, \"at\": 0, \"role\": \"parameter\", \"total\": 1, ";
  const Fault faults[] = {
      {"steps_against_end", "end", "\"steps\": 1, \"skipped\": 1"},
      {"skips_against_end", "end", "\"steps\": 2, \"skipped\": 26"},
      {"skips_against_end", "end", "\"steps\": 2, \"skipped\": 0"},
      {"steps_backwards", "step", "\"optimizer\": 0, \"n\": 1, \"lr\": [0.1]"},
      {"steps_backwards", "scale", "\"scaler\": 0, \"n\": 2, \"before\": 4, \"after\": 4, \"applied\": true"},
      {"negative_count", "step", "\"optimizer\": 0, \"n\": 3, \"backwards\": -1"},
      {"gradients_kept", "kept", "\"optimizer\": 0, \"n\": 1, \"looked\": 2, \"kept\": 3"},
      {"samples_exceed_requested", "indices", Indices("\"requested\": 4, \"samples\": 5, \"first\": [2, 0, 3, 1]")},
      {"indices_exceed_requested", "indices", Indices("\"requested\": 3, \"samples\": 3, \"first\": [2, 0, 3, 1]")},
      {"indices_against_digest", "indices",
       Indices("\"requested\": 4, \"samples\": 4, \"first\": [0, 1, 2, 3], \"digest\": "
               "\"cb604fe9ee2fb98bef01ac86d3dec733\"")},
      {"indices_against_digest", "indices",
       Indices("\"requested\": 9, \"samples\": 4, \"first\": [0, 2, 3, 1], \"at_batches\": {\"1\": "
               "\"8a0338d88ae79cb25f576c132c7b6ed7\"}")},
      {"indices_against_last", "indices",
       Indices("\"requested\": 4, \"samples\": 4, \"first\": [2, 0, 3, 1], \"last\": [3, 2]")},
      {"passes_backwards", "pass", "\"loader\": 0, \"pass\": 0"},
      {"worker_outside", "worker", "\"worker\": 2, \"workers\": 2"},
      {"list_overlaps", "weights", list + "\"from\": 0, \"of\": [{\"name\": \"a\"}, {\"name\": \"b\"}]"},
      {"elements_against_shape", "weights",
       list + "\"from\": 0, \"of\": [{\"name\": \"a\", \"shape\": [2, 3], \"finite\": 5, \"nan\": 2}]"},
      {"range_turned_round", "weights",
       list + "\"from\": 0, \"of\": [{\"name\": \"a\", \"shape\": [2], \"finite\": 2, \"min\": 3, \"max\": 1}]"},
      {"load_exceeds_keys", "load_state_dict", "\"what\": \"module\", \"given\": 3, \"expected\": 4, \"fitting\": 5"},
      {"rank_outside_world", "process_group", "\"backend\": \"gloo\", \"rank\": 4, \"world\": 4"},
      {"rank_outside_world", "process_group", "\"backend\": \"gloo\", \"rank\": -1, \"world\": 4"},
  };
  for (const Fault& fault : faults) {
    RecordFixture record = Healthy();
    record.Add(fault.name, fault.fields);
    const auto evidence = Assemble({record.text()});
    EXPECT_THAT(Kinds(evidence), ElementsAre(fault.kind)) << fault.name << " " << fault.fields;
    const std::vector<std::string> parts = BuiltInContradictions().PartsOf(fault.kind);
    ASSERT_EQ(parts.size(), 1u) << fault.kind;
    const std::string& part = parts[0];
    EXPECT_THAT(FactsOf(evidence, "observed.contradiction.part"), ElementsAre(part));
    EXPECT_EQ(HasLog(evidence), part != "steps" && part != "process") << fault.kind;
    EXPECT_EQ(HasLists(evidence), part != "samples" && part != "process") << fault.kind;
    EXPECT_EQ(FactsOf(evidence, "compute_dtype").empty(), part == "process") << fault.kind;
  }
}

TEST(Agreement, SeedsCastsAndScalersAgainstWhatWasCalled) {
  RecordFixture seeds;
  seeds.Add("seed", "\"call\": \"torch.manual_seed\", \"value\": 7").Model().Add("seeds", "\"torch\": 8").Step(1);
  auto evidence = Assemble({seeds.text()});
  EXPECT_THAT(Kinds(evidence), ElementsAre("seed_against_call"));
  EXPECT_THAT(FactsOf(evidence, "seed"), IsEmpty());
  // Only numpy's was set, torch's by an expression, or at one place with many values: nothing to hold against it.
  for (const char* call :
       {"\"call\": \"numpy.random.seed\", \"value\": 7", "\"call\": \"torch.manual_seed\", \"value\": -1",
        "\"call\": \"torch.manual_seed\", \"value\": 7, \"calls\": 2, \"varies\": true, \"last\": 9"}) {
    RecordFixture other;
    other.Add("seed", call).Model().Add("seeds", "\"torch\": 8").Step(1);
    EXPECT_THAT(Kinds(Assemble({other.text()})), IsEmpty()) << call;
  }
  const std::string cast =
      "\"call\": \"half\", \"dtype\": \"F16\", \"class\": \"__main__.Net\", \"elements\": 12, \"at\": ";
  RecordFixture casts;
  casts.Add("cast", cast + "0").Model().Step(1);
  evidence = Assemble({casts.text()});
  EXPECT_THAT(Kinds(evidence), ElementsAre("cast_against_parameters"));
  EXPECT_THAT(FactsOf(evidence, "compute_dtype"), IsEmpty());
  // A copy that was cast to be saved.
  RecordFixture saved;
  saved.Add("cast", cast + "3").Model().Step(1);
  EXPECT_THAT(Kinds(Assemble({saved.text()})), IsEmpty());
  RecordFixture scaler;
  scaler.Add("scaler", "\"id\": 0, \"enabled\": false").Model().Step(1);
  scaler.Add("scale", "\"scaler\": 0, \"n\": 1, \"before\": 4, \"after\": 2, \"applied\": false, \"at\": 1");
  evidence = Assemble({scaler.text()});
  EXPECT_THAT(Kinds(evidence), ElementsAre("disabled_scaler_skips"));
  EXPECT_THAT(FactsOf(evidence, "observed.contradiction.part"), ElementsAre("steps,scaler"));
  EXPECT_THAT(FactsOf(evidence, "loss_scaler_enabled"), IsEmpty());
}

TEST(Agreement, AfterTheEndAndTwoOfOneRank) {
  RecordFixture record = Healthy();
  record.Add("end", "\"steps\": 2, \"skipped\": 1").Add("end", "\"steps\": 2, \"skipped\": 1");
  EXPECT_THAT(Kinds(Assemble({record.text()})), ElementsAre("after_end"));
  // A second program in the same process begins anew.
  RecordFixture second;
  second.Model().Step(1);
  RecordFixture first = Healthy();
  first.Add("end", "\"steps\": 2, \"skipped\": 1, \"why\": \"exec\"");
  EXPECT_THAT(Kinds(Assemble({first.text() + second.text()})), IsEmpty());
  // Both fixtures begin at one time: neither waited for the other. A start after the end of the first is a restart.
  const auto rank = [](std::int64_t pid) {
    RecordFixture one(pid);
    one.Add("process_group", "\"backend\": \"gloo\", \"rank\": 0, \"world\": 2").Model().Step(1);
    return one.text();
  };
  EXPECT_THAT(Kinds(Assemble({rank(10), rank(11)})), ElementsAre("rank_twice"));
  std::string later = rank(11);
  for (std::size_t at = 0; (at = later.find("\"t\": 1", at)) != std::string::npos; ++at)
    later.replace(at, 6, "\"t\": 9");
  EXPECT_THAT(Kinds(Assemble({rank(10), later})), IsEmpty());
}

TEST(Agreement, EveryKindHasItsPartAndItsMessage) {
  const ContradictionRules& rules = BuiltInContradictions();
  EXPECT_GE(rules.kinds.size(), 20u);
  EXPECT_TRUE(rules.Rests("data.sharding.complete", "samples"));
  EXPECT_FALSE(rules.Rests("data.dataset.content", "process"));
  EXPECT_TRUE(rules.Rests("baseline.mixed-precision.overflow-rate", "steps"));
  EXPECT_TRUE(rules.Rests("data.dataset.content", "of a later version"));
  EXPECT_TRUE(rules.Rests("training.flow.evaluation", "seed,samples"));
  EXPECT_FALSE(rules.Rests("training.flow.evaluation", "steps,scaler"));
  EXPECT_TRUE(rules.Rests("data.dataset.content", "steps,of a later version"));
}

}  // namespace
}  // namespace paritect
