// What the recorder writes, read whole: from the bytes of its files to shard lists.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_testing.h"
#include "formats/shards/trace_assembler.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string Records(const std::vector<std::string>& records) {
  std::string bytes;
  for (const std::string& record : records) absl::StrAppend(&bytes, record, absl::string_view("\0", 1));
  return bytes;
}

// A process: its place in the tree, its variables, the names that it opens.
struct Process {
  int pid = 0;
  std::vector<int> above;  // nearest first
  std::vector<std::string> variables;
  std::vector<std::string> names;
  std::vector<std::string> more;
  std::int64_t opens_at_ns = 0;  // 0: as soon as it was born, so that processes read one after another
};

TraceFile Recorded(const Process& process) {
  std::vector<std::string> records = {absl::StrCat("paritect-trace 1 ", process.pid, " 1 ", process.pid), "h host"};
  for (int pid : process.above) records.push_back(absl::StrCat("a ", pid, " ", pid));
  for (const std::string& variable : process.variables) records.push_back("v " + variable);
  // On one clock with the births, which are told in hundredths of a second.
  std::int64_t at_ns = process.opens_at_ns > 0 ? process.opens_at_ns : process.pid * std::int64_t{10'000'000};
  for (const std::string& name : process.names) records.push_back(absl::StrCat("o ", at_ns += 1000, " /d/", name));
  records.insert(records.end(), process.more.begin(), process.more.end());
  auto file = ReadTraceFile(Records(records));
  EXPECT_TRUE(file.ok()) << file.status();
  return *file;
}

TraceLists Assembled(const std::vector<Process>& processes, int world_size = 0) {
  std::vector<TraceFile> files;
  for (const Process& process : processes) files.push_back(Recorded(process));
  return AssembleTrace(files, world_size);
}

// "rank/epoch: names"
std::vector<std::string> Shown(const TraceLists& lists) {
  std::vector<std::string> out;
  for (const v1::ShardList& list : lists.lists) {
    out.push_back(absl::StrCat(list.has_rank() ? absl::StrCat(list.rank()) : "?",
                               list.has_epoch() ? absl::StrCat("/", list.epoch()) : "", ":"));
    for (const std::string& item : list.items()) absl::StrAppend(&out.back(), " ", item.substr(3));
  }
  return out;
}

std::string NotesOf(const v1::ShardList& list) {
  std::string out;
  for (const v1::Note& note : list.notes()) absl::StrAppend(&out, out.empty() ? "" : " ", note.kind());
  return out;
}

TEST(TraceRecords, NamesAreBytesAndDamageIsCounted) {
  auto file =
      ReadTraceFile(Records({"paritect-trace 1 7 1 99", "o 12 /d/a\nb\xff", "z what", "o x /d/c"}) + "o 13 /d/cu");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->images[0].opens.size(), 1u);
  EXPECT_EQ(file->images[0].opens[0].path, "/d/a\nb\xff");
  EXPECT_EQ(file->damaged, 3);
  EXPECT_EQ(ReadTraceFile(Records({"paritect-trace 2 7 1 99"})).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(CodeOf(ReadTraceFile("")), absl::StatusCode::kUnimplemented);
}

TEST(TraceRecords, TheNearestLauncherTellsTheRank) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"RANK=3", "WORLD_SIZE=8", "SLURM_PROCID=0", "SLURM_STEP_NUM_TASKS=2"}, "3/8"},
      {{"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=4"}, "1/4"},
      {{"SLURM_PROCID=0", "SLURM_NTASKS=4"}, "-/-"},  // the batch step
      {{"OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE=4"}, "2/4"},
      {{"RANK_ID=5", "RANK_SIZE=8"}, "5/8"},
      {{"RANK_ID=5", "MS_WORKER_NUM=8"}, "5/8"},
      {{"PMI_RANK=1", "PMI_SIZE=2"}, "1/2"},
      {{"WORLD_SIZE=2"}, "-/2"},
      {{"RANK=x", "WORLD_SIZE=2"}, "-/2"},
      {{"RANK=4"}, "4/-"},
  };
  for (const auto& [variables, expected] : cases) {
    const TraceRank rank = Recorded({.pid = 1, .variables = variables}).images[0].rank;
    EXPECT_EQ(absl::StrCat(rank.rank ? absl::StrCat(*rank.rank) : "-", "/",
                           rank.world_size ? absl::StrCat(*rank.world_size) : "-"),
              expected)
        << absl::StrJoin(variables, " ");
  }
}

// Beside mpirun's number an image's, or another library's: each process is one rank, and what disagrees is told.
TEST(TraceAssembler, VariablesThatDisagreeMergeNoRanks) {
  for (const char* beside : {"RANK_ID=0", "HOROVOD_RANK=0", "PADDLE_TRAINER_ID=0", "MV2_COMM_WORLD_RANK=0", "RANK=0"}) {
    std::vector<Process> processes;
    for (int rank = 0; rank < 4; ++rank) {
      processes.push_back(
          {.pid = 10 + rank,
           .above = {9, 1},
           .variables = {beside, absl::StrCat("OMPI_COMM_WORLD_RANK=", rank), "OMPI_COMM_WORLD_SIZE=4",
                         absl::StrCat("OMPI_COMM_WORLD_LOCAL_RANK=", rank), "OMPI_COMM_WORLD_LOCAL_SIZE=4"},
           .names = {absl::StrCat("part-", rank)}});
    }
    const TraceLists lists = Assembled(processes);
    EXPECT_THAT(Shown(lists), ElementsAre("0: part-0", "1: part-1", "2: part-2", "3: part-3")) << beside;
    EXPECT_EQ(NotesOf(lists.lists[0]), "") << "the same number";
    EXPECT_EQ(NotesOf(lists.lists[3]), "rank_variables_disagree");
    EXPECT_THAT(lists.lists[3].notes(0).message(),
                ::testing::HasSubstr("OMPI_COMM_WORLD_RANK=3 (openmpi) counts, not "));
    // As a recorder before this one wrote them: without the local rank.
    for (Process& process : processes) process.variables.erase(process.variables.begin() + 3);
    EXPECT_THAT(Shown(Assembled(processes)), ElementsAre("0: part-0", "1: part-1", "2: part-2", "3: part-3")) << beside;
  }
}

// What an image sets stands in each child of mp.spawn: they are not one rank.
TEST(TraceAssembler, AnImagesNumberIsNoRankOfSeveralProcesses) {
  std::vector<Process> processes;
  for (int i = 0; i < 3; ++i) {
    processes.push_back({.pid = 11 + i,
                         .above = {10, 1},
                         .variables = {"RANK_ID=0"},
                         .names = {absl::StrCat("part-", i)},
                         .more = {"b exec", "x /usr/bin/python3.11"}});
  }
  const TraceLists unknown = Assembled(processes);
  EXPECT_THAT(Shown(unknown), ElementsAre("?: part-0 part-1 part-2"));
  ASSERT_EQ(unknown.lists[0].incomplete_size(), 1);
  EXPECT_EQ(unknown.lists[0].incomplete(0).id(), "trace_node_ranks");
}

TEST(TraceRecords, ARankThatTheProgramSetsCountsFromThenOn) {
  TraceFile file =
      *ReadTraceFile(Records({"paritect-trace 1 7 1 99", "o 1 /d/a", "v RANK=1", "o 2 /d/b", "v RANK=2", "o 3 /d/c"}));
  ASSERT_EQ(file.images[0].opens.size(), 3u);
  EXPECT_EQ(file.images[0].opens[0].rank.rank, 1);  // before it was known
  EXPECT_EQ(file.images[0].opens[1].rank.rank, 1);
  EXPECT_EQ(file.images[0].opens[2].rank.rank, 2);
}

TEST(TraceAssembler, FilesDealtAnewInEachEpochAreCutByAllRanksTogether) {
  const std::vector<std::string> zero = {"RANK=0", "WORLD_SIZE=2"}, one = {"RANK=1", "WORLD_SIZE=2"};
  const TraceLists lists = Assembled({{.pid = 10, .variables = zero, .names = {"v", "a", "c", "d", "b", "a", "b"}},
                                      {.pid = 11, .variables = one, .names = {"v", "b", "d", "c", "a", "d", "c"}}});
  EXPECT_THAT(Shown(lists), ElementsAre("0/0: v a c", "0/1: d b", "0/2: a b", "1/0: v b d", "1/1: c a", "1/2: d c"));
}

TEST(TraceAssembler, WhatIsOpenedOnceStandsInTheEpochInWhichItWas) {
  const TraceLists lists =
      Assembled({{.pid = 10, .variables = {"RANK=0", "WORLD_SIZE=1"}, .names = {"v", "a", "b", "b", "a"}}});
  EXPECT_THAT(Shown(lists), ElementsAre("0/0: v a b", "0/1: b a"));
  // Files that are opened again in another way tell no epochs, and it is said.
  const TraceLists odd =
      Assembled({{.pid = 10, .variables = {"RANK=0", "WORLD_SIZE=1"}, .names = {"v", "a", "b", "c", "a", "a", "b"}}});
  ASSERT_EQ(odd.lists.size(), 1u);
  bool told = false;
  for (const v1::Note& note : odd.lists[0].notes()) told = told || note.kind() == "opened_again";
  EXPECT_TRUE(told);
}

TEST(TraceAssembler, WorkersOfARankStandOneAfterAnother) {
  const std::vector<std::string> zero = {"RANK=0", "WORLD_SIZE=2"}, one = {"RANK=1", "WORLD_SIZE=2"};
  const TraceLists lists = Assembled({{.pid = 12, .variables = zero, .names = {"c", "d"}},
                                      {.pid = 11, .variables = zero, .names = {"a", "b"}, .opens_at_ns = 120'000'000},
                                      {.pid = 10, .variables = one, .names = {"e"}}});
  EXPECT_THAT(Shown(lists), ElementsAre("0: a b c d", "1: e"));
  EXPECT_EQ(NotesOf(lists.lists[0]), "unordered");
  EXPECT_EQ(NotesOf(lists.lists[1]), "");
  EXPECT_EQ(lists.lists[0].world_size(), 2);
  EXPECT_EQ(lists.lists[0].format(), "trace");
}

TEST(TraceAssembler, EpochsAreFullRepetitions) {
  const std::vector<std::string> rank = {"RANK=0", "WORLD_SIZE=1"};
  EXPECT_THAT(Shown(Assembled({{.pid = 1, .variables = rank, .names = {"a", "b", "b", "a", "a"}}})),
              ElementsAre("0/0: a b", "0/1: b a", "0/2: a"));
  // Workers of one epoch each, then workers that live through both.
  const auto worker = [&](int pid, std::vector<std::string> names, std::int64_t at_ns) {
    return Process{.pid = pid, .variables = rank, .names = std::move(names), .opens_at_ns = at_ns};
  };
  EXPECT_THAT(Shown(Assembled({worker(1, {"a"}, 50'000'000), worker(2, {"b"}, 50'000'500),
                               worker(30, {"b"}, 400'000'000), worker(31, {"a"}, 400'000'500)})),
              ElementsAre("0/0: a b", "0/1: b a"));
  EXPECT_THAT(Shown(Assembled({worker(1, {"a", "b", "a", "b"}, 50'000'000), worker(2, {"c", "c"}, 50'000'500)})),
              ElementsAre("0/0: a b c", "0/1: a b c"));
}

constexpr std::int64_t kLateNs = 1'000'000'000;  // long after all births

// Workers of one iterator are all born before any of them reads; those of the next when the last has read.
TEST(TraceAssembler, WorkersThatLiveAtTheSameTimeAreNoEpochs) {
  const std::vector<std::string> rank = {"RANK=0", "WORLD_SIZE=1"};
  const auto worker = [&](int pid, std::vector<std::string> names, std::int64_t at_ns) {
    return Process{.pid = pid, .variables = rank, .names = std::move(names), .opens_at_ns = at_ns};
  };
  const TraceLists twice = Assembled({worker(1, {"a", "b"}, kLateNs), worker(2, {"a", "b"}, kLateNs + 500)});
  EXPECT_THAT(Shown(twice), ElementsAre("0: a b"));
  EXPECT_EQ(NotesOf(twice.lists[0]), "epochs_unclear opened_again opened_evenly unordered");
  // One that had read all before the other came to read, though both lived.
  const TraceLists fast = Assembled({worker(1, {"a", "b"}, kLateNs), worker(2, {"a", "b"}, kLateNs + 900'000'000)});
  EXPECT_THAT(Shown(fast), ElementsAre("0: a b"));
  EXPECT_THAT(Shown(Assembled({worker(1, {"a"}, kLateNs), worker(2, {"b"}, kLateNs + 500)})), ElementsAre("0: a b"));
  // A new iterator.
  const TraceLists next = Assembled({worker(1, {"a", "b"}, 20'000'000), worker(50, {"b", "a"}, kLateNs)});
  EXPECT_THAT(Shown(next), ElementsAre("0/0: a b", "0/1: b a"));
  EXPECT_EQ(NotesOf(next.lists[0]), "");
}

TEST(TraceAssembler, FilesDealtAnewToNewWorkersAreCutByIterators) {
  const auto worker = [](int pid, int rank, std::vector<std::string> names) {
    return Process{.pid = pid, .variables = {absl::StrCat("RANK=", rank), "WORLD_SIZE=2"}, .names = std::move(names)};
  };
  EXPECT_THAT(Shown(Assembled({worker(10, 0, {"a", "c"}), worker(20, 0, {"d", "a"}), worker(11, 1, {"b", "d"}),
                               worker(21, 1, {"b", "c"})})),
              ElementsAre("0/0: a c", "0/1: d a", "1/0: b d", "1/1: b c"));
  // The second is read by both: no epochs that could be told.
  const TraceLists shared = Assembled(
      {worker(10, 0, {"a", "c"}), worker(20, 0, {"d", "a"}), worker(11, 1, {"b", "d"}), worker(21, 1, {"b", "d"})});
  EXPECT_EQ(Shown(shared)[0], "0: a c d");
}

TEST(TraceAssembler, FilesThatRanksLookThroughFirstAreNoEpoch) {
  const auto rank = [](int number, std::vector<std::string> names) {
    return Process{
        .pid = 10 + number, .variables = {absl::StrCat("RANK=", number), "WORLD_SIZE=2"}, .names = std::move(names)};
  };
  const TraceLists both = Assembled({rank(0, {"a", "b", "c", "d", "a", "c"}), rank(1, {"a", "b", "c", "d", "b", "d"})});
  EXPECT_THAT(Shown(both), ElementsAre("0: a c", "1: b d"));
  EXPECT_EQ(NotesOf(both.lists[0]), "scanned");
  EXPECT_THAT(Shown(Assembled({rank(0, {"a", "b", "c", "d", "a", "c"}), rank(1, {"b", "d"})})),
              ElementsAre("0: a c", "1: b d"));
  EXPECT_THAT(Shown(Assembled({rank(0, {"a", "b", "c", "d", "a", "c", "c", "a"}),
                               rank(1, {"a", "b", "c", "d", "b", "d", "d", "b"})})),
              ElementsAre("0/0: a c", "0/1: c a", "1/0: b d", "1/1: d b"));
  // Stopped before all was read: a scan, or an epoch of ranks that read everything, does not show.
  const TraceLists open = Assembled({rank(0, {"a", "b", "c", "d", "a"}), rank(1, {"a", "b", "c", "d", "b"})});
  EXPECT_THAT(Shown(open), ElementsAre("0: a b c d", "1: a b c d"));
  EXPECT_EQ(NotesOf(open.lists[0]), "epochs_unclear opened_again");
  // Ranks that read everything, into their second epoch, are no scan.
  const TraceLists unsharded = Assembled({rank(0, {"a", "b", "c", "d", "a"}), rank(1, {"a", "b", "c", "d", "a"})});
  EXPECT_THAT(Shown(unsharded), ElementsAre("0/0: a b c d", "0/1: a", "1/0: a b c d", "1/1: a"));
}

TEST(TraceAssembler, WhatCopyingProgramsOpenIsNotRead) {
  const std::vector<std::string> zero = {"RANK=0", "WORLD_SIZE=2"}, one = {"RANK=1", "WORLD_SIZE=2"};
  const auto copies = [&](absl::string_view program) {
    return Assembled({{.pid = 20, .variables = zero, .names = {"a", "b"}, .more = {absl::StrCat("x ", program)}}});
  };
  for (const char* program : {"/usr/bin/cp", "/usr/bin/rsync", "/bin/tar", "/usr/bin/md5sum"}) {
    EXPECT_THAT(copies(program).lists, IsEmpty()) << program;
  }
  EXPECT_THAT(Shown(copies("/usr/bin/cat")), ElementsAre("0: a b"));
  EXPECT_THAT(Shown(Assembled({{.pid = 10, .variables = zero, .names = {"a"}},
                               {.pid = 11, .variables = one, .names = {"b"}},
                               {.pid = 20, .variables = zero, .names = {"a", "b"}, .more = {"x /usr/bin/cp"}}})),
              ElementsAre("0: a", "1: b"));
}

TEST(TraceAssembler, HalfAnEpochMoreIsNoFewFiles) {
  EXPECT_THAT(
      Shown(Assembled({{.pid = 1, .variables = {"RANK=0", "WORLD_SIZE=2"}, .names = {"a", "b", "c", "d", "a", "b"}},
                       {.pid = 2, .variables = {"RANK=1", "WORLD_SIZE=2"}, .names = {"e", "f"}}})),
      ElementsAre("0/0: a b c d", "0/1: a b", "1/0: e f"));
}

TEST(TraceAssembler, OtherRepetitionsAreOneListAndSaidSo) {
  const TraceLists lists = Assembled({{.pid = 1, .variables = {"RANK=0"}, .names = {"a", "a", "b", "b"}}});
  EXPECT_THAT(Shown(lists), ElementsAre("0: a b"));
  EXPECT_EQ(NotesOf(lists.lists[0]), "epochs_unclear opened_again opened_evenly");
}

TEST(TraceAssembler, RanksByBirthWhereNoVariableTells) {
  const std::vector<std::string> size = {"WORLD_SIZE=2"};
  // Two ranks below process 10, the first one with two workers that alone read.
  const TraceLists lists =
      Assembled({{.pid = 13, .above = {11, 10, 1}, .variables = size, .names = {"a"}},
                 {.pid = 14, .above = {11, 10, 1}, .variables = size, .names = {"b"}},
                 {.pid = 12, .above = {10, 1}, .variables = size, .names = {"c"}, .more = {"b exec"}}});
  EXPECT_THAT(Shown(lists), ElementsAre("0: a b", "1: c"));
  EXPECT_EQ(NotesOf(lists.lists[1]), "rank_by_birth");
  // Forked children are workers of one rank, however many the world has.
  EXPECT_THAT(Shown(Assembled({{.pid = 11, .above = {10, 1}, .names = {"a"}, .more = {"b fork"}},
                               {.pid = 12, .above = {10, 1}, .names = {"b"}, .more = {"b fork"}}},
                              2)),
              ElementsAre("?: a b"));
  // Three processes do not make a world of two: nothing is guessed.
  EXPECT_THAT(Shown(Assembled({{.pid = 11, .above = {10, 1}, .variables = size, .names = {"a"}},
                               {.pid = 12, .above = {10, 1}, .variables = size, .names = {"b"}},
                               {.pid = 13, .above = {10, 1}, .variables = size, .names = {"c"}}})),
              ElementsAre("?: a b c"));
}

TEST(TraceAssembler, AWorldOfOneNeedsNoVariables) {
  EXPECT_THAT(Shown(Assembled({{.pid = 11, .above = {10, 1}, .names = {"a"}}}, 1)), ElementsAre("0: a"));
  EXPECT_THAT(Shown(Assembled({{.pid = 11, .above = {10, 1}, .names = {"a"}}})), ElementsAre("?: a"));
}

TEST(TraceAssembler, WhatALauncherOpensIsNobodysShare) {
  EXPECT_THAT(
      Shown(Assembled({{.pid = 10, .above = {1}, .names = {"index"}},
                       {.pid = 11, .above = {10, 1}, .variables = {"RANK=0", "WORLD_SIZE=1"}, .names = {"a"}}})),
      ElementsAre("0: a"));
}

TEST(TraceAssembler, WhatMakesAListIncomplete) {
  const std::vector<std::string> rank = {"RANK=0", "WORLD_SIZE=1"};
  const std::vector<std::pair<std::string, std::string>> cases = {{"l 3", "trace_lost"},
                                                                  {"f 9", "trace_full"},
                                                                  {"q seccomp", "trace_stopped"},
                                                                  {"u /bin/static", "trace_program_unseen"},
                                                                  {"?", "trace_damaged"}};
  for (const auto& [record, problem] : cases) {
    const TraceLists lists = Assembled({{.pid = 1, .variables = rank, .names = {"a"}, .more = {record}}});
    ASSERT_EQ(lists.lists[0].incomplete_size(), 1) << record;
    EXPECT_EQ(lists.lists[0].incomplete(0).id(), problem);
  }
  const TraceLists again =
      Assembled({{.pid = 1, .variables = rank, .names = {"a"}},
                 {.pid = 2, .variables = {"RANK=0", "WORLD_SIZE=1", "TORCHELASTIC_RESTART_COUNT=1"}, .names = {"b"}}});
  EXPECT_THAT(Shown(again), ElementsAre("0: b"));
  EXPECT_EQ(again.lists[0].incomplete(0).id(), "trace_restarted");
}

// srun with one task a node, then mp.spawn: SLURM_PROCID counts nodes.
TEST(TraceAssembler, AnotherVariableOfANodeIsNoRank) {
  const std::vector<std::string> node = {"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=2", "SLURM_STEP_TASKS_PER_NODE=1(x2)"};
  const auto child = [&](int pid, std::vector<std::string> names, absl::string_view began = "exec",
                         absl::string_view program = "/usr/bin/python3.11") {
    return Process{.pid = pid,
                   .above = {10, 1},
                   .variables = node,
                   .names = std::move(names),
                   .more = {absl::StrCat("b ", began), absl::StrCat("x ", program)}};
  };
  const std::vector<Process> spawned = {child(11, {"a"}), child(12, {"b"})};
  // Ranks or workers of one rank: not known.
  const TraceLists unknown = Assembled(spawned);
  EXPECT_THAT(Shown(unknown), ElementsAre("?: a b"));
  ASSERT_EQ(unknown.lists[0].incomplete_size(), 1);
  EXPECT_EQ(unknown.lists[0].incomplete(0).id(), "trace_node_ranks");
  EXPECT_FALSE(unknown.lists[0].has_world_size());
  // The plan's world size tells: two nodes of two processes; or one process a node.
  const TraceLists ranks = Assembled(spawned, 4);
  EXPECT_THAT(Shown(ranks), ElementsAre("2: a", "3: b"));
  EXPECT_EQ(NotesOf(ranks.lists[0]), "rank_by_birth");
  EXPECT_EQ(ranks.lists[0].world_size(), 4);
  EXPECT_THAT(Shown(Assembled(spawned, 2)), ElementsAre("1: a b"));
  // Forked processes are workers; so is what a rank starts to read for it.
  EXPECT_THAT(Shown(Assembled({child(11, {"a"}, "fork"), child(12, {"b"}, "fork")})), ElementsAre("1: a b"));
  EXPECT_THAT(Shown(Assembled({child(11, {"a"}, "exec", "/bin/cat"), child(12, {"b"}, "exec", "/bin/cat")})),
              ElementsAre("1: a b"));
  // A process that has workers itself is no worker.
  std::vector<Process> workers = {child(21, {"a"}, "fork"), child(22, {"b"}, "fork")};
  workers[0].above = {11, 10, 1};
  workers[1].above = {12, 10, 1};
  EXPECT_THAT(Shown(Assembled(workers)), ElementsAre("?: a b"));
  // A launcher of processes (torchrun) counts ranks.
  std::vector<Process> local = spawned;
  for (Process& process : local) process.variables = {"RANK=3", "WORLD_SIZE=4", "LOCAL_RANK=1"};
  EXPECT_THAT(Shown(Assembled(local)), ElementsAre("3: a b"));
}

TEST(TraceAssembler, AFileOpenedOnceMoreIsNoEpoch) {
  const TraceLists lists =
      Assembled({{.pid = 1, .variables = {"RANK=0", "WORLD_SIZE=2"}, .names = {"a", "b", "c", "a"}},
                 {.pid = 2, .variables = {"RANK=1", "WORLD_SIZE=2"}, .names = {"d", "e", "f"}}});
  EXPECT_THAT(Shown(lists), ElementsAre("0: a b c", "1: d e f"));
  // Epochs are numbered on all ranks or on none.
  EXPECT_THAT(Shown(Assembled({{.pid = 1, .variables = {"RANK=0", "WORLD_SIZE=2"}, .names = {"a", "b", "a", "b"}},
                               {.pid = 2, .variables = {"RANK=1", "WORLD_SIZE=2"}, .names = {"d", "e"}}})),
              ElementsAre("0/0: a b", "0/1: a b", "1/0: d e"));
}

TEST(TraceAssembler, ThreadsHideTheOrderBetweenThem) {
  const Process one = {.pid = 1, .variables = {"RANK=0"}, .more = {"O 7 1 /d/a", "O 7 2 /d/b"}};
  EXPECT_EQ(NotesOf(Assembled({one}).lists[0]), "");
  const Process two = {.pid = 1, .variables = {"RANK=0"}, .more = {"O 7 1 /d/a", "O 8 2 /d/b"}};
  EXPECT_EQ(NotesOf(Assembled({two}).lists[0]), "unordered");
}

TEST(TraceAssembler, AProgramThatIsGivenARankAndCannotBeRecorded) {
  const TraceLists lists =
      Assembled({{.pid = 10, .above = {1}, .more = {"r RANK=1", "r WORLD_SIZE=2", "u ./static"}},
                 {.pid = 11, .above = {10, 1}, .variables = {"RANK=0", "WORLD_SIZE=2"}, .names = {"a"}},
                 {.pid = 12, .above = {10, 1}, .variables = {"RANK=1", "WORLD_SIZE=2"}, .names = {"b"}}});
  EXPECT_EQ(lists.lists[0].incomplete_size(), 0);
  ASSERT_EQ(lists.lists[1].incomplete_size(), 1);
  EXPECT_EQ(lists.lists[1].incomplete(0).id(), "trace_program_unseen");
}

TEST(TraceAssembler, AToolThatReadsNoDataHidesNothing) {
  const Process process = {
      .pid = 1, .variables = {"RANK=0"}, .names = {"a"}, .more = {"u /sbin/ldconfig", "u ./reader"}};
  const TraceLists lists = Assembled({process});
  ASSERT_EQ(lists.lists[0].incomplete_size(), 1);
  EXPECT_EQ(lists.lists[0].incomplete(0).args().at("what"), "./reader");
}

TEST(TraceAssembler, ListingsAreWholeAndUnsorted) {
  const Process process = {.pid = 1,
                           .more = {"d 1 5 /d", "n 1 b/a", "n 1 c", "e 1 3 c", "d 2 5 /d/cut", "n 2 x/y", "e 2 2 p",
                                    "s 3 6 /e", "n 3 a/b", "e 3 2 c"}};
  const TraceLists lists = Assembled({process});
  ASSERT_EQ(lists.listings.size(), 1u);
  EXPECT_THAT(lists.listings[0].names(), ElementsAre("/d/b", "/d/a", "/d/c"));
  EXPECT_THAT(lists.lists, IsEmpty());
}

TEST(TraceAssembler, TwoHostsInOneFolder) {
  std::vector<TraceFile> files = {Recorded({.pid = 1, .variables = {"RANK=0", "WORLD_SIZE=2"}, .names = {"a"}}),
                                  Recorded({.pid = 1, .variables = {"RANK=1", "WORLD_SIZE=2"}, .names = {"b"}})};
  files[1].images[0].host = "other";
  const TraceLists lists = AssembleTrace(files, 0);
  ASSERT_EQ(lists.lists.size(), 2u);
  EXPECT_EQ(lists.lists[0].node(), "host");
  EXPECT_EQ(lists.lists[1].node(), "other");
}

TEST(TraceAssembler, HostileRecordsEnd) {
  for (const char* record : {"o", "o ", "o 1", "n 99 x", "e 1 99999999999999999999 c", "a 1", "v x", "v =", "d 1",
                             "paritect-trace 1 ", "l 99999999999999999999"}) {
    auto file = ReadTraceFile(Records({"paritect-trace 1 7 1 99", record}));
    if (file.ok()) (void)AssembleTrace({*file}, 2);
  }
}

}  // namespace
}  // namespace paritect
