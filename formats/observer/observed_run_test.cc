// Records of the observer as evidence: which process counts, what becomes settings, steps, lists and weights, and what
// a damaged, killed or newer record leaves.
#include "formats/observer/observed_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/observer/record_fixture.h"

namespace paritect {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

ObservedFile Read(const std::string& text, absl::string_view name = "observe/node-1-10-7.jsonl") {
  auto file = ReadObservedFile(text, name);
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? *std::move(file) : ObservedFile();
}

// Values of the facts by key, "key@scope" where it has one.
std::multimap<std::string, std::string> FactsOf(const std::vector<v1::Evidence>& evidence, std::int32_t rank = 0) {
  std::multimap<std::string, std::string> facts;
  for (const v1::Evidence& one : evidence) {
    if (one.settings().format() != "observed" || one.rank() != rank) continue;
    for (const v1::Setting& setting : one.settings().settings()) {
      facts.emplace(setting.scope().empty() ? setting.raw_key() : absl::StrCat(setting.raw_key(), "@", setting.scope()),
                    setting.raw_value());
    }
  }
  return facts;
}

std::string Fact(const std::vector<v1::Evidence>& evidence, const std::string& key) {
  const auto facts = FactsOf(evidence);
  const auto found = facts.find(key);
  return found == facts.end() ? "-" : found->second;
}

std::vector<v1::Evidence> Assemble(const RecordFixture& record) {
  return AssembleObserved({Read(record.text())});
}

template <typename Has>
std::vector<v1::Evidence> Of(const std::vector<v1::Evidence>& evidence, Has has) {
  std::vector<v1::Evidence> some;
  for (const v1::Evidence& one : evidence) {
    if (has(one)) some.push_back(one);
  }
  return some;
}

TEST(ObservedRun, SettingsOfATrainingAlone) {
  RecordFixture record;
  record.Model().Optimizer().Step(1).Step(2);
  const auto evidence = Assemble(record);
  EXPECT_EQ(Fact(evidence, "framework"), "pytorch");
  EXPECT_EQ(Fact(evidence, "package.torch"), "2.1.0");
  EXPECT_EQ(Fact(evidence, "world_size"), "1");
  EXPECT_EQ(Fact(evidence, "optimizer"), "AdamW");
  EXPECT_EQ(Fact(evidence, "lr_base"), "0.001");
  EXPECT_EQ(Fact(evidence, "weight_decay"), "0.1");
  EXPECT_EQ(Fact(evidence, "gradient_accumulation_steps"), "1");
  EXPECT_EQ(Fact(evidence, "clip_grad"), "0");
  EXPECT_EQ(Fact(evidence, "compute_dtype"), "float32");
  EXPECT_EQ(Fact(evidence, "amp_wrapper"), "plain");
  EXPECT_EQ(Fact(evidence, "loss_scaler_enabled"), "-");  // a program may scale by hand
}

TEST(ObservedRun, WhatIsNotThereProvesNothingWhenTheRecordLacksSomething) {
  RecordFixture record;
  record.Model().Optimizer().Step(1).Step(2).Add("off", "\"site\": \"autocast.__enter__\"");
  const auto evidence = Assemble(record);
  EXPECT_EQ(Fact(evidence, "observed.gap@off"), "autocast.__enter__");
  EXPECT_EQ(Fact(evidence, "clip_grad"), "-");
  EXPECT_EQ(Fact(evidence, "amp_wrapper"), "-");
}

TEST(ObservedRun, AutocastAndACastByHandAreTwoMechanisms) {
  RecordFixture record;
  record.Add("autocast", "\"device\": \"cuda\", \"dtype\": \"BF16\", \"enabled\": true, \"where\": \"train.py:3\"")
      .Add("cast",
           "\"call\": \"bfloat16\", \"dtype\": \"BF16\", \"class\": \"__main__.Net\", \"elements\": 12, "
           "\"trainable\": 12, \"norms\": 0, \"root\": null, \"where\": \"train.py:9\"")
      .Model("BF16")
      .Step(1);
  const auto evidence = Assemble(record);
  EXPECT_EQ(Fact(evidence, "amp_wrapper"), "amp");
  EXPECT_EQ(Fact(evidence, "compute_dtype"), "bfloat16");
  EXPECT_EQ(Fact(evidence, "manual_casts"), "true");
}

TEST(ObservedRun, CastsOfWhatIsNotTrainedAreNoMechanism) {
  for (const char* cast :
       {"\"dtype\": \"BF16\", \"class\": \"Teacher\", \"trainable\": 0, \"norms\": 0, \"root\": 1",
        "\"dtype\": \"F32\", \"class\": \"__main__.Net\", \"trainable\": 12, \"norms\": 0, \"root\": 0",
        "\"dtype\": \"BF16\", \"class\": \"Norm\", \"trainable\": 4, \"norms\": 4, \"root\": 0"}) {
    RecordFixture record;
    record.Add("autocast", "\"device\": \"cuda\", \"dtype\": \"BF16\", \"enabled\": true")
        .Add("cast", cast)
        .Model()
        .Step(1);
    EXPECT_EQ(Fact(Assemble(record), "manual_casts"), "-") << cast;
  }
}

TEST(ObservedRun, ShortWeightsBesideMasterCopiesAreNoCastByHand) {
  RecordFixture record;
  record.Add("cast", "\"dtype\": \"BF16\", \"class\": \"__main__.Net\", \"trainable\": 12, \"norms\": 0, \"root\": 0")
      .Model("BF16")
      .Optimizer()  // its parameters are fp32
      .Step(1);
  const auto evidence = Assemble(record);
  EXPECT_EQ(Fact(evidence, "compute_dtype"), "bfloat16");
  EXPECT_EQ(Fact(evidence, "manual_casts"), "-");
  EXPECT_EQ(Fact(evidence, "pure_bf16"), "-");
}

TEST(ObservedRun, WhatAnEngineDoesUnseenIsNotSaid) {
  RecordFixture record;
  record.Add("wrap", "\"class\": \"FullyShardedDataParallel\", \"module\": \"Net\", \"arguments\": {}")
      .Model()
      .Optimizer()
      .Step(1);
  const auto evidence = Assemble(record);
  EXPECT_EQ(Fact(evidence, "clip_grad"), "-");
  EXPECT_EQ(Fact(evidence, "amp_wrapper"), "-");
}

TEST(ObservedRun, RatesAndMicroBatchesThatTheRecordDoesNotTellAreNotGuessed) {
  RecordFixture record;
  // Two losses of one batch; a rate that grows from step to step without a schedule's own start.
  record.Model()
      .Add("optimizer", "\"id\": 0, \"class\": \"apex.optimizers.FusedAdam\"")
      .Add("group", "\"optimizer\": 0, \"group\": 0, \"options\": {\"lr\": 0.0}, \"total\": 0, \"params\": []");
  for (const int n : {1, 2}) {
    record.Add("step", absl::StrCat("\"optimizer\": 0, \"n\": ", n, ", \"lr\": [0.00", n,
                                    "], \"forwards\": 1, \"backwards\": 2, \"clip\": null"));
  }
  record.Add("scheduler", "\"id\": 0, \"optimizer\": 0, \"class\": \"torch.optim.lr_scheduler.LambdaLR\"");
  const auto evidence = Assemble(record);
  EXPECT_EQ(Fact(evidence, "lr_base"), "-");
  EXPECT_EQ(Fact(evidence, "gradient_accumulation_steps"), "-");
  EXPECT_EQ(Fact(evidence, "lr_style"), "-");
  EXPECT_EQ(Fact(evidence, "clip_grad"), "-");  // the library clips by its own function
}

TEST(ObservedRun, LoaderWhoseInputsWereFedIsTheTrainings) {
  RecordFixture record;
  record.Model().Optimizer().Step(1).Step(2);
  for (const int id : {0, 1}) {
    record
        .Add("loader", absl::StrCat("\"id\": ", id, ", \"class\": \"DataLoader\", \"shuffle\": ",
                                    id == 1 ? "true" : "false", ", \"where\": \"train.py:", id, "\""))
        .Add("pass", absl::StrCat("\"loader\": ", id, ", \"pass\": 0"))
        .Add("batch", absl::StrCat("\"loader\": ", id,
                                   ", \"pass\": 0, \"n\": 0, \"tensors\": [{\"xxh3\": \"labels\", \"shape\": "
                                   "[8]}, {\"xxh3\": \"x",
                                   id, "\", \"shape\": [8, 12]}]"));
  }
  record.Add(
      "fed",
      "\"root\": 0, \"n\": 0, \"training\": true, \"at\": 0, \"tensors\": [{\"xxh3\": \"x0\", \"shape\": [8, 12]}]");
  EXPECT_EQ(Fact(Assemble(record), "observed.loader@training"), "train.py:0");
}

TEST(ObservedRun, PhasesAreCountedByEachModel) {
  RecordFixture record;
  record.Model().Optimizer().Step(1).Step(2);
  record.Add("root", "\"id\": 1, \"class\": \"__main__.Net\", \"module\": null, \"trainable\": 0, \"elements\": 12")
      .Add("modules",
           "\"root\": 1, \"from\": 0, \"total\": 1, \"of\": [[\"drop\", \"torch.nn.Dropout\", true, {\"p\": 0.2}]]")
      .Add("phase",
           "\"root\": 1, \"phase\": 0, \"training\": true, \"grad\": false, \"inference\": false, \"forwards\": 2, "
           "\"rows\": 8, \"at\": 2, \"other\": []");
  const auto evidence = Assemble(record);
  EXPECT_EQ(Fact(evidence, "observed.phase.forwards@phase 0"), "4");  // of the model that is trained
  EXPECT_EQ(Fact(evidence, "observed.copy.active@copy 0"), "1");
}

TEST(ObservedRun, ScalerThatSetItselfUpLater) {
  RecordFixture record;
  record.Add("scaler", "\"id\": 0, \"class\": \"a.HostScaler\", \"enabled\": false")
      .Model()
      .Add("scaler", "\"id\": 0, \"class\": \"a.HostScaler\", \"enabled\": true, \"dynamic\": false")
      .Step(1);
  const auto evidence = Assemble(record);
  EXPECT_EQ(Fact(evidence, "loss_scaler_enabled"), "true");
  EXPECT_EQ(Fact(evidence, "loss_scaler_type"), "static");
}

TEST(ObservedRun, StepsWithScaleAndSkips) {
  RecordFixture record;
  record
      .Add(
          "scaler",
          "\"id\": 0, \"class\": \"GradScaler\", \"enabled\": true, \"init_scale\": 65536.0, \"growth_interval\": 2000")
      .Model()
      .Step(1, ", \"grad_norm\": 0.5")
      .Add("scale", "\"scaler\": 0, \"n\": 1, \"before\": 65536.0, \"after\": 65536.0, \"applied\": true, \"at\": 1")
      .Add("scale", "\"scaler\": 0, \"n\": 2, \"before\": 65536.0, \"after\": 32768.0, \"applied\": false, \"at\": 1");
  const auto evidence = Assemble(record);
  EXPECT_EQ(Fact(evidence, "loss_scaler_type"), "dynamic");
  const auto logs = Of(evidence, [](const v1::Evidence& one) { return one.has_run_log(); });
  ASSERT_EQ(logs.size(), 1u);
  const v1::RunLog& log = logs[0].run_log();
  ASSERT_EQ(log.records_size(), 2);
  EXPECT_EQ(log.records(0).loss(), 2.5);
  EXPECT_EQ(log.records(0).grad_norm(), 0.5);
  EXPECT_EQ(log.records(0).loss_scale(), 65536);
  EXPECT_TRUE(log.records(1).overflow());
  EXPECT_EQ(log.records(1).step(), 2);
}

// A training loader that shuffles and one of evaluation, told apart by what the model was given.
RecordFixture WithLoaders() {
  RecordFixture record;
  for (const int id : {0, 1}) {
    record.Add("loader",
               absl::StrCat("\"id\": ", id,
                            ", \"class\": \"DataLoader\", \"dataset\": {\"class\": \"Images\", \"attributes\": "
                            "{\"transform\": {\"class\": \"Compose\", \"attributes\": {\"transforms\": [{\"class\": "
                            "\"a.Normalise\", \"attributes\": {\"mean\": 0.5}}]}}}, \"kind\": \"map\", \"len\": 4}, "
                            "\"batch_size\": 2, \"drop_last\": false, \"shuffle\": ",
                            id == 0 ? "true" : "false", ", \"workers\": 2, \"worker_init_fn\": \"train.seed\""));
  }
  for (const int pass : {0, 1}) {
    record.Add("pass", absl::StrCat("\"loader\": 0, \"pass\": ", pass, ", \"base_seed\": 40, \"phase\": null"))
        .Add("batch", absl::StrCat("\"loader\": 0, \"pass\": ", pass, ", \"n\": 0, \"tensors\": [{\"xxh3\": \"a1\"}]"))
        .Add("indices",
             absl::StrCat("\"loader\": 0, \"pass\": ", pass,
                          ", \"requested\": 4, \"requested_batches\": 2, \"batches\": 2, \"samples\": 4, \"whole\": "
                          "true, \"digest\": \"d\", \"at_batches\": {\"1\": \"d1\"}, \"first\": [2, 0, 3, 1]"));
  }
  record.Add("pass", "\"loader\": 1, \"pass\": 0, \"phase\": true")
      .Add("batch", "\"loader\": 1, \"pass\": 0, \"n\": 0, \"tensors\": [{\"xxh3\": \"b1\"}]")
      .Add("indices",
           "\"loader\": 1, \"pass\": 0, \"requested\": 4, \"batches\": 2, \"samples\": 4, \"whole\": true, "
           "\"first\": [0, 1, 2, 3]")
      .Add("fed", "\"root\": 0, \"n\": 0, \"training\": true, \"at\": 0, \"tensors\": [{\"xxh3\": \"a1\"}]")
      .Add("fed", "\"root\": 0, \"n\": 0, \"training\": false, \"at\": 2, \"tensors\": [{\"xxh3\": \"b1\"}]")
      .Model()
      .Step(1)
      .Step(2);
  return record;
}

TEST(ObservedRun, LoadersAsPipelineAndLists) {
  const auto evidence = Assemble(WithLoaders());
  EXPECT_EQ(Fact(evidence, "observed.pipeline.transform.dataset.transform.transforms.1.mean@training"), "0.5");
  EXPECT_EQ(Fact(evidence, "observed.pipeline.shuffle.shuffle@training"), "true");
  EXPECT_EQ(Fact(evidence, "observed.pipeline.shuffle.shuffle@evaluation"), "false");
  EXPECT_EQ(Fact(evidence, "micro_batch_size"), "2");
  EXPECT_EQ(Fact(evidence, "observed.indices.1.digest@training"), "d1");
  EXPECT_EQ(Fact(evidence, "observed.order_repeats@training"), "true");
  const auto lists = Of(evidence, [](const v1::Evidence& one) { return one.has_shards(); });
  ASSERT_EQ(lists.size(), 3u);
  EXPECT_EQ(lists[0].subject(), "samples");
  EXPECT_THAT(lists[0].shards().items(), ElementsAre("2", "0", "3", "1"));
  // Its sampler knows of no ranks: the numbers are those of this rank's data set, whichever that is.
  ASSERT_EQ(lists[0].shards().notes_size(), 1);
  EXPECT_EQ(lists[0].shards().notes(0).kind(), "own_numbers");
  EXPECT_EQ(lists[1].shards().epoch(), 1);
  EXPECT_EQ(lists[2].subject(), "evaluation samples");
}

TEST(ObservedRun, AListThatIsCutSaysSo) {
  RecordFixture record;
  record.Add("loader", "\"id\": 0, \"shuffle\": true")
      .Add("pass", "\"loader\": 0, \"pass\": 0")
      .Add("indices", "\"loader\": 0, \"pass\": 0, \"requested\": 9, \"batches\": 9, \"samples\": 9, \"first\": [1, 2]")
      .Model()
      .Step(1);
  const auto lists = Of(Assemble(record), [](const v1::Evidence& one) { return one.has_shards(); });
  ASSERT_EQ(lists.size(), 1u);
  ASSERT_EQ(lists[0].shards().incomplete_size(), 1);
  EXPECT_EQ(lists[0].shards().incomplete(0).id(), "observed_indices_cut");
}

TEST(ObservedRun, WorkersTellTheProcessThatStartedThem) {
  std::vector<ObservedFile> files = {Read(WithLoaders().text())};
  for (const int worker : {0, 1}) {
    RecordFixture record(20 + worker, ", \"parent\": {\"pid\": 10, \"start\": 7}");
    record.Add("worker", absl::StrCat("\"worker\": ", worker, ", \"workers\": 2, \"seed\": ", 40 + worker,
                                      ", \"torch_state\": \"t", worker, "\", \"random_state\": \"same\""));
    files.push_back(Read(record.text(), absl::StrCat("observe/node-1-2", worker, "-7.jsonl")));
  }
  const auto evidence = AssembleObserved(files);
  EXPECT_EQ(Fact(evidence, "observed.workers.shared@training"), "random_state");
  EXPECT_EQ(Fact(evidence, "observed.workers.init@training"), "true");
  EXPECT_EQ(Fact(evidence, "observed.workers.torch_state.digest@training"), "t0");
}

TEST(ObservedRun, GeneratorsAreKnownByTheirSeedsAndStates) {
  RecordFixture record;
  record.Add("seed", "\"call\": \"numpy.random.default_rng\", \"value\": null, \"where\": \"train.py:3\"")
      .Model()
      .Add("seeds",
           "\"torch\": 7, \"torch_state\": \"t1\", \"random_state\": \"r1\", \"numpy_state\": \"n1\", \"start\": "
           "{\"random_state\": \"r0\", \"numpy_state\": \"n1\"}, \"seeded\": {\"torch\": {\"call\": "
           "\"torch.manual_seed\", \"value\": 7, \"where\": \"train.py:2\"}, \"random\": null}")
      .Step(1)
      .Add("drawn", "\"at\": 1, \"generators\": [\"torch\", \"of a later version\"]")
      .Add("fed", "\"root\": 0, \"n\": 0, \"training\": true, \"tensors\": [{\"xxh3\": \"f0\"}]")
      .Add("fed", "\"root\": 0, \"n\": 0, \"training\": false, \"tensors\": [{\"xxh3\": \"e0\"}]");
  const auto evidence = Assemble(record);
  EXPECT_EQ(Fact(evidence, "seed"), "7");
  EXPECT_EQ(Fact(evidence, "observed.generator.digest@torch"), "t1");
  EXPECT_EQ(Fact(evidence, "observed.generator.seeded@torch"), "true");
  EXPECT_EQ(Fact(evidence, "observed.generator.seed@torch"), "7");
  EXPECT_EQ(Fact(evidence, "observed.generator.where@torch"), "train.py:2");
  EXPECT_EQ(Fact(evidence, "observed.generator.drawn@torch"), "true");
  // Moved before the first forward; and one that nobody watched or touched.
  EXPECT_EQ(Fact(evidence, "observed.generator.seeded@random"), "false");
  EXPECT_EQ(Fact(evidence, "observed.generator.drawn@random"), "true");
  EXPECT_EQ(Fact(evidence, "observed.generator.seeded@numpy"), "-");
  EXPECT_EQ(Fact(evidence, "observed.generator.drawn@numpy"), "-");
  EXPECT_EQ(Fact(evidence, "observed.generator.unseeded@numpy.random.default_rng"), "train.py:3");
  EXPECT_EQ(Fact(evidence, "observed.fed.0.digest@training"), "f0");
}

TEST(ObservedRun, RanksAndIncarnations) {
  const auto rank = [](int number, absl::string_view main) {
    RecordFixture record(30 + number);
    record.Add("process_group", absl::StrCat("\"backend\": \"gloo\", \"rank\": ", number % 2, ", \"world\": 2"));
    record.Model().Step(1).Add("seeds", absl::StrCat("\"torch\": ", main));
    return record.text();
  };
  // Two ranks, and rank 0 again after a crash: in a file of its own that began later.
  std::string again = rank(2, "3");
  for (std::size_t at = 0; (at = again.find("\"t\": 1", at)) != std::string::npos; ++at) again[at + 5] = '2';
  const auto evidence = AssembleObserved({Read(rank(0, "1"), "a"), Read(rank(1, "2"), "b"), Read(again, "c")});
  EXPECT_EQ(FactsOf(evidence, 0).find("seed")->second, "3");
  EXPECT_EQ(FactsOf(evidence, 0).find("observed.earlier")->second, "1");
  EXPECT_EQ(FactsOf(evidence, 1).find("seed")->second, "2");
  // A program that replaced itself: the second part of its file trained.
  RecordFixture before, after;
  after.Model().Step(1);
  const ObservedFile file = Read(before.text() + after.text());
  EXPECT_EQ(file.processes.size(), 2u);
  EXPECT_EQ(Summarise(file).incarnations, 2);
  EXPECT_FALSE(AssembleObserved({file}).empty());
}

TEST(ObservedRun, ProcessesThatTrainNothingAreNoEvidence) {
  RecordFixture record;
  record.Add("seeds", "\"torch\": 1");
  EXPECT_THAT(Assemble(record), IsEmpty());
}

TEST(ObservedRun, KilledDamagedAndNewerRecords) {
  RecordFixture record;
  record.Model().Step(1).Add("telepathy", "\"n\": 1").Add("step", "\"optimizer\": 0, \"n\": 2, \"mood\": \"good\"");
  const std::string text = record.text() + "not json\n" + "{\"k\": \"step\", \"n\": 3";
  const ObservedFile file = Read(text);
  EXPECT_TRUE(file.counts.cut);
  EXPECT_EQ(file.counts.unread, 1);
  EXPECT_THAT(file.counts.unknown, UnorderedElementsAre(Pair("telepathy", 1), Pair("step.mood", 1)));
  const auto evidence = AssembleObserved({file});
  EXPECT_EQ(Fact(evidence, "observed.steps"), "2");
  EXPECT_NE(Fact(evidence, "observed.gap@cut"), "-");
  EXPECT_NE(Fact(evidence, "observed.gap@unread"), "-");
}

TEST(ObservedRun, RefusesWhatIsNoRecord) {
  EXPECT_EQ(ReadObservedFile("step 1 loss 2\n", "train.log").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ReadObservedFile("", "empty").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_FALSE(LooksObserved("{\"step\": 1, \"loss\": 2}\n"));
  EXPECT_TRUE(LooksObserved(RecordFixture().text()));
  // A form of a later version: its fields may mean something else.
  std::string later = RecordFixture().Model().Step(1).text();
  ASSERT_TRUE(ReadObservedFile(later, "a").ok());
  later.replace(later.find("paritect-observe/1"), 18, "paritect-observe/9");
  EXPECT_EQ(ReadObservedFile(later, "a").status().code(), absl::StatusCode::kDataLoss);
}

TEST(ObservedRun, AProcessThatStatesNoRankSaysSo) {
  const auto process = [](std::int64_t pid) {
    RecordFixture record(pid);
    record.Add("seed", absl::StrCat("\"call\": \"torch.manual_seed\", \"value\": ", pid))
        .Model()
        .Optimizer()
        .Add("seeds", absl::StrCat("\"torch\": ", pid))
        .Add("weights",
             "\"root\": 0, \"at\": 0, \"role\": \"parameter\", \"from\": 0, \"total\": 1, \"of\": [{\"name\": "
             "\"a.bias\", \"shape\": [4], \"dtype\": \"F32\"}]")
        .Step(1);
    return record.text();
  };
  const auto alone = AssembleObserved({Read(process(1))});
  EXPECT_EQ(Fact(alone, "seed"), "1");
  EXPECT_EQ(Fact(alone, "world_size"), "1");
  EXPECT_EQ(Fact(alone, "observed.rank_assumed"), "true");
  const auto evidence = AssembleObserved({Read(process(1), "a.jsonl"), Read(process(2), "b.jsonl")});
  for (const v1::Evidence& one : evidence) EXPECT_FALSE(one.has_rank());
  const auto facts = FactsOf(evidence);
  EXPECT_EQ(facts.count("observed.rank_assumed"), 2u);
  EXPECT_EQ(facts.count("world_size"), 0u);
}

// Parts of a list carry the field too: its numbers tell whether something was left out.
TEST(ObservedRun, ASampleIsTheOneThatTookFewerThanThereAre) {
  const auto incomplete = [](absl::string_view sampled) {
    RecordFixture record;
    const std::string list = absl::StrCat("\"from\": 0, \"total\": 1, \"sampled\": ", sampled,
                                          ", \"of\": [{\"name\": \"a.bias\", \"shape\": [4], \"dtype\": "
                                          "\"F32\"}]");
    record.Model()
        .Add("weights", absl::StrCat("\"root\": 0, \"at\": 1, \"role\": \"parameter\", ", list))
        .Add("grads", absl::StrCat("\"optimizer\": 0, \"n\": 1, ", list))
        .Add("update", absl::StrCat("\"optimizer\": 0, \"n\": 1, ", list))
        .Step(1);
    int count = 0;
    for (const v1::Evidence& one : Assemble(record)) count += one.weights().incomplete_size();
    return count;
  };
  EXPECT_EQ(incomplete("[1, 2]"), 3);
  EXPECT_EQ(incomplete("[2, 2]"), 0);
  EXPECT_EQ(incomplete("null"), 0);
  EXPECT_EQ(incomplete("[1]"), 3) << "no such pair";
  EXPECT_EQ(incomplete("true"), 3) << "no such pair";
}

TEST(ObservedRun, AParameterTellsWhereItsFirstChangeWent) {
  const std::string tensor = "{\"name\": \"a.bias\", \"shape\": [4], \"dtype\": \"F32\"";
  const auto signs = [&](absl::string_view step) {
    RecordFixture record;
    record.Model()
        .Add("weights", absl::StrCat("\"root\": 0, \"at\": 0, \"role\": \"parameter\", \"from\": 0, \"total\": 1, "
                                     "\"of\": [",
                                     tensor, "}]"))
        .Add("weights", absl::StrCat("\"root\": 0, \"at\": 1, \"role\": \"parameter\", \"from\": 0, \"total\": 1, "
                                     "\"of\": [",
                                     tensor, "}]"))
        .Add("update", absl::StrCat("\"optimizer\": 0, \"n\": ", step, ", \"from\": 0, \"total\": 1, \"of\": [", tensor,
                                    ", \"elements\": 4, \"changed\": 4, \"signs\": \"VQ==\"}]"))
        .Step(1);
    std::vector<std::string> all;
    for (const v1::Evidence& one : Assemble(record)) {
      for (const v1::TensorFingerprint& found : one.weights().tensors()) {
        if (found.role() == v1::TENSOR_ROLE_PARAMETER) all.push_back(found.sampled_signs());
      }
    }
    return all;
  };
  EXPECT_THAT(signs("1"), ElementsAre("", "\x55"));
  EXPECT_THAT(signs("2"), ElementsAre("", "")) << "the change of another step";
}

TEST(ObservedRun, WeightsGradientsAndOperatorsAsFingerprints) {
  RecordFixture record;
  record.Model()
      .Add("weights",
           "\"root\": 0, \"at\": 0, \"role\": \"parameter\", \"stage\": \"after-wrap\", \"from\": 0, \"total\": 1, "
           "\"of\": [{\"name\": \"a.weight\", \"shape\": [3, 4], \"dtype\": \"F32\", \"xxh3\": "
           "\"24485c2ed0213c909592b0356b754430\", \"values\": \"00000000000000010000000000000002\", \"min\": "
           "\"-inf\", \"max\": 2.5, \"sum\": 3, \"finite\": 12, \"sketch\": \"AAAAAAAA8D8=\"}]")
      .Add(
          "grads",
          "\"optimizer\": 0, \"n\": 1, \"from\": 0, \"total\": 2, \"of\": [{\"name\": \"a.weight\", \"shape\": [3, 4], "
          "\"dtype\": \"F32\", \"sum_of_squares\": 4, \"finite\": 12}, {\"name\": \"a.bias\", \"none\": true}]")
      .Add("operators",
           "\"root\": 0, \"at\": 0, \"from\": 0, \"total\": 2, \"of\": [{\"name\": \"conv\", \"class\": "
           "\"torch.nn.Conv2d\", \"call\": 0, \"inputs\": [], \"outputs\": [{\"path\": \"0\", \"dtype\": \"BF16\", "
           "\"shape\": [2], \"sum_of_squares\": 9, \"finite\": 2}]}]")
      .Step(1);
  const auto evidence = Assemble(record);
  const auto weights = Of(evidence, [](const v1::Evidence& one) { return one.has_weights(); });
  ASSERT_EQ(weights.size(), 2u);
  const v1::TensorFingerprint& tensor = weights[0].weights().tensors(0);
  EXPECT_EQ(weights[0].weights().step(), 0);
  EXPECT_EQ(tensor.xxh3(), "24485c2ed0213c909592b0356b754430");
  EXPECT_EQ(tensor.values().low(), 1u);
  EXPECT_EQ(tensor.values().high(), 2u);
  EXPECT_TRUE(std::isinf(tensor.statistics().min()));
  EXPECT_THAT(tensor.sketch(), ElementsAre(1.0));
  EXPECT_TRUE(tensor.requires_grad());
  EXPECT_EQ(weights[1].weights().step(), 1);
  ASSERT_EQ(weights[1].weights().tensors_size(), 1);
  EXPECT_EQ(weights[1].weights().tensors(0).role(), v1::TENSOR_ROLE_GRADIENT);
  const auto dumps = Of(evidence, [](const v1::Evidence& one) { return one.has_tensor_dump(); });
  ASSERT_EQ(dumps.size(), 1u);
  EXPECT_EQ(dumps[0].tensor_dump().calls(0).outputs(0).l2(), 3);
  EXPECT_EQ(dumps[0].tensor_dump().incomplete_size(), 1);  // one of two calls
}

}  // namespace
}  // namespace paritect
