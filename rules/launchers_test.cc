#include "rules/launchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "rules/rules.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;

std::string Or(const std::optional<std::int32_t>& value) {
  return value ? absl::StrCat(*value) : "-";
}

struct Case {
  std::vector<std::string> environment;
  std::string place;  // rank/world_size local_rank launcher
};

TEST(Launchers, EachTellsTheRank) {
  const Case kCases[] = {
      {{"TORCHELASTIC_RESTART_COUNT=1", "RANK=3", "WORLD_SIZE=8", "LOCAL_RANK=3", "LOCAL_WORLD_SIZE=4", "GROUP_RANK=0"},
       "3/8 3 torchrun"},
      {{"CROSS_SIZE=2", "CROSS_RANK=1", "LOCAL_SIZE=4", "RANK=6", "WORLD_SIZE=8", "LOCAL_RANK=2"}, "6/8 2 deepspeed"},
      {{"RANK=4"}, "4/- - RANK of the environment"},
      {{"HOROVOD_RANK=2", "HOROVOD_SIZE=4", "HOROVOD_LOCAL_RANK=0", "HOROVOD_LOCAL_SIZE=2"}, "2/4 0 horovod"},
      {{"PADDLE_TRAINER_ID=1", "PADDLE_TRAINERS_NUM=4", "PADDLE_RANK_IN_NODE=1"}, "1/4 1 paddle"},
      {{"OMPI_COMM_WORLD_RANK=5", "OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_LOCAL_RANK=1", "PMIX_RANK=5"},
       "5/8 1 openmpi"},
      {{"MV2_COMM_WORLD_RANK=2", "MV2_COMM_WORLD_SIZE=4", "MV2_COMM_WORLD_LOCAL_RANK=0"}, "2/4 0 mvapich2"},
      {{"PMI_RANK=1", "PMI_SIZE=2", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2"}, "1/2 1 mpich or intel mpi"},
      {{"SLURM_PROCID=3", "SLURM_STEP_NUM_TASKS=4", "SLURM_LOCALID=1", "SLURM_STEP_TASKS_PER_NODE=2(x2)"},
       "3/4 1 slurm"},
      {{"SLURM_PROCID=0", "SLURM_NTASKS=4", "SLURM_LOCALID=0", "SLURM_NODEID=0"}, "-/- 0 "},  // the batch script
      {{"MS_WORKER_NUM=8", "MS_NODE_ID=2", "MS_ROLE=MS_WORKER"}, "2/8 - mindspore"},
      {{"MS_WORKER_NUM=8", "MS_NODE_ID=sched"}, "-/8 - "},
      {{"RANK_ID=5", "RANK_SIZE=8", "DEVICE_ID=5"}, "5/8 - ascend"},
      {{"PMIX_RANK=3"}, "3/- - pmix"},
      {{"MA_NUM_HOSTS=2", "VC_TASK_INDEX=1"}, "-/- - "},
      {{"WORLD_SIZE=2"}, "-/2 - "},
      {{"RANK=x", "WORLD_SIZE=2"}, "-/2 - "},
      {{"RANK=-1", "RANK_ID=99999999999999999999"}, "-/- - "},
      {{"RANK=", "OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2"}, "1/2 - openmpi"},
      {{}, "-/- - "},
  };
  for (const Case& one : kCases) {
    const LaunchPlace place = BuiltInLaunchers().PlaceOf(one.environment);
    EXPECT_EQ(absl::StrCat(Or(place.rank), "/", Or(place.world_size), " ", Or(place.local_rank), " ", place.launcher),
              one.place)
        << absl::StrJoin(one.environment, " ");
    EXPECT_EQ(place.disagreeing, "") << absl::StrJoin(one.environment, " ");
  }
}

// Every line of the table, whatever it is: its first rank variable beside its first size gives that rank.
TEST(Launchers, EveryLineOfTheTableIsReachable) {
  int ranks = 0;
  for (const Launcher& launcher : BuiltInLaunchers().launchers()) {
    const auto names = launcher.variables.find(LauncherField::kRank);
    if (names == launcher.variables.end()) continue;
    for (const std::string& name : names->second) {
      std::vector<std::string> environment = {absl::StrCat(name, "=3")};
      for (const std::string& when : launcher.when) environment.push_back(absl::StrCat(when, "=7"));
      if (const auto sizes = launcher.variables.find(LauncherField::kWorldSize); sizes != launcher.variables.end()) {
        environment.push_back(absl::StrCat(sizes->second[0], "=7"));
      }
      const LaunchPlace place = BuiltInLaunchers().PlaceOf(environment);
      EXPECT_EQ(place.rank, 3) << name;
      EXPECT_EQ(place.launcher, launcher.name) << name;
      ++ranks;
    }
  }
  EXPECT_GE(ranks, 12);
}

TEST(Launchers, TheLauncherThatStartsTheMostProcessesCounts) {
  const std::vector<std::string> mpi = {"OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=8",
                                        "OMPI_COMM_WORLD_LOCAL_RANK=3", "OMPI_COMM_WORLD_LOCAL_SIZE=8"};
  struct Pair {
    std::vector<std::string> first, second;
    int rank;
    std::string disagreeing;  // "" where it is as it should be
  };
  const std::vector<std::string> node = {"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=2", "SLURM_LOCALID=0",
                                         "SLURM_STEP_TASKS_PER_NODE=1(x2)", "PMIX_RANK=1"};
  const Pair kPairs[] = {
      // What an image left behind, with a size, with the size of one, and with the true size.
      {mpi, {"RANK_ID=0"}, 3, "RANK_ID=0 (ascend)"},
      {mpi, {"RANK_ID=0", "RANK_SIZE=1", "DEVICE_ID=0"}, 3, "RANK_ID=0 (ascend)"},
      {mpi, {"RANK_ID=0", "RANK_SIZE=8"}, 3, "RANK_ID=0 (ascend)"},
      {mpi, {"RANK=0", "WORLD_SIZE=1", "LOCAL_RANK=0"}, 3, "RANK=0 (RANK of the environment)"},
      // A job operator's RANK counts nodes.
      {mpi, {"RANK=1", "WORLD_SIZE=2"}, 3, "RANK=1 (RANK of the environment)"},
      // The same number twice is none.
      {mpi, {"RANK_ID=3", "RANK_SIZE=8"}, 3, ""},
      {mpi, {"HOROVOD_RANK=3", "HOROVOD_SIZE=8"}, 3, ""},
      // Launchers of nodes, below them one of processes, or a script's loop.
      {node, {"TORCHELASTIC_RESTART_COUNT=0", "RANK=9", "WORLD_SIZE=16", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=8"}, 9, ""},
      {node, {"RANK_ID=9", "RANK_SIZE=16", "DEVICE_ID=1"}, 9, ""},
      {node, {"OMPI_COMM_WORLD_RANK=5", "OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_LOCAL_SIZE=4"}, 5, ""},
      // One process a node is a training too: the image's number holds for none.
      {{"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_SIZE=1"},
       {"RANK_ID=0", "RANK_SIZE=1"},
       1,
       "RANK_ID=0 (ascend)"},
      // Each process has a node number of its own.
      {{"MS_WORKER_NUM=4", "MS_NODE_ID=2"}, {"RANK_ID=0"}, 2, "RANK_ID=0 (ascend)"},
      // What frameworks set before what starts any program.
      {{"RANK=2", "WORLD_SIZE=8", "LOCAL_RANK=2"}, mpi, 2, "OMPI_COMM_WORLD_RANK=3 (openmpi)"},
  };
  for (const Pair& pair : kPairs) {
    for (bool turned : {false, true}) {
      std::vector<std::string> environment = turned ? pair.second : pair.first;
      const std::vector<std::string>& rest = turned ? pair.first : pair.second;
      environment.insert(environment.end(), rest.begin(), rest.end());
      const LaunchPlace place = BuiltInLaunchers().PlaceOf(environment);
      EXPECT_EQ(place.rank, pair.rank) << absl::StrJoin(environment, " ");
      EXPECT_EQ(place.disagreeing, pair.disagreeing) << absl::StrJoin(environment, " ");
      EXPECT_EQ(place.counted.empty(), pair.disagreeing.empty());
    }
  }
}

// What decides must not be the rank: else the processes of one job would be counted by different launchers.
TEST(Launchers, AllProcessesOfAJobAreCountedByOneLauncher) {
  for (const char* image : {"RANK_ID=0", "RANK=2", "HOROVOD_RANK=3", "PADDLE_TRAINER_ID=1", "PMIX_RANK=0"}) {
    std::set<int> ranks;
    for (int rank = 0; rank < 4; ++rank) {
      const LaunchPlace place = BuiltInLaunchers().PlaceOf({image, absl::StrCat("OMPI_COMM_WORLD_RANK=", rank),
                                                            "OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_LOCAL_SIZE=4"});
      ranks.insert(place.rank.value_or(-1));
    }
    EXPECT_THAT(ranks, ::testing::ElementsAre(0, 1, 2, 3)) << image;
  }
}

TEST(Launchers, ProcessesOrNodes) {
  const auto of_process = [](const std::vector<std::string>& environment) {
    return BuiltInLaunchers().PlaceOf(environment).of_process;
  };
  EXPECT_TRUE(of_process({"RANK=3", "WORLD_SIZE=4", "LOCAL_RANK=1"}));
  EXPECT_FALSE(of_process({"RANK=1", "WORLD_SIZE=2"}));
  EXPECT_TRUE(of_process({"RANK_ID=1", "RANK_SIZE=2"}));
  EXPECT_TRUE(of_process({"RANK=1", "WORLD_SIZE=2", "RANK_ID=1", "RANK_SIZE=2"}));
  EXPECT_FALSE(of_process({"RANK=1", "WORLD_SIZE=2", "RANK_ID=0", "RANK_SIZE=2"}));
  EXPECT_FALSE(of_process({"RANK_ID=0", "RANK_SIZE=1"})) << "an image's number stands in every process";
  EXPECT_FALSE(of_process({"RANK_ID=0"}));
  EXPECT_FALSE(of_process({"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=2", "SLURM_STEP_TASKS_PER_NODE=1(x2)"}));
  EXPECT_TRUE(of_process({"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=9", "SLURM_STEP_TASKS_PER_NODE=4(x2),1"}));
  EXPECT_FALSE(of_process({"PMI_RANK=1", "PMI_SIZE=2", "MPI_LOCALRANKID=0", "MPI_LOCALNRANKS=1"}));
  EXPECT_TRUE(of_process({"MV2_COMM_WORLD_RANK=1", "MV2_COMM_WORLD_SIZE=2", "MV2_COMM_WORLD_LOCAL_RANK=0"}));
}

TEST(Launchers, ReckonedOnlyWhereTheNodesSizeIsKnown) {
  const auto rank = [](const std::vector<std::string>& environment) {
    return Or(BuiltInLaunchers().PlaceOf(environment).rank);
  };
  EXPECT_EQ(rank({"NODE_RANK=1", "LOCAL_RANK=3", "LOCAL_WORLD_SIZE=8"}), "11");
  EXPECT_EQ(rank({"NODE_RANK=1", "LOCAL_RANK=3"}), "-");
  EXPECT_EQ(rank({"LOCAL_RANK=3", "LOCAL_WORLD_SIZE=8"}), "-");
  EXPECT_EQ(rank({"NODE_RANK=1", "LOCAL_RANK=8", "LOCAL_WORLD_SIZE=8"}), "-");
  EXPECT_EQ(rank({"NODE_RANK=16777216", "LOCAL_RANK=3", "LOCAL_WORLD_SIZE=16777216"}), "-");
  // Numbers of several launchers are not mixed, and a number within a role is no node's.
  EXPECT_EQ(rank({"NODE_RANK=1", "LOCAL_RANK=3", "OMPI_COMM_WORLD_LOCAL_SIZE=8"}), "-");
  EXPECT_EQ(rank({"MA_NUM_HOSTS=2", "VC_TASK_INDEX=1", "LOCAL_RANK=3", "LOCAL_WORLD_SIZE=8"}), "-");
}

TEST(Launchers, JobsAndWhatCountsWhat) {
  const LauncherTable& table = BuiltInLaunchers();
  const std::map<std::string, std::string, std::less<>> environment = {{"MASTER_ADDR", "a"}, {"MASTER_PORT", "29500"}};
  const auto lookup = [&](absl::string_view name) {
    const auto value = environment.find(name);
    return value == environment.end() ? absl::string_view() : absl::string_view(value->second);
  };
  EXPECT_EQ(table.JobOf(lookup), "a:29500");
  EXPECT_EQ(table.JobOf([](absl::string_view) { return absl::string_view(); }), "");
  EXPECT_EQ(table.JobOf([](absl::string_view name) { return name == "SLURM_JOB_ID" ? "17" : ""; }), "job 17");
  EXPECT_EQ(BuiltInLaunchers().PlaceOf({"TORCHELASTIC_RESTART_COUNT=2"}).restarts, 2);
  EXPECT_TRUE(table.IsField(LauncherField::kNodeRank, "NODE_RANK"));
  EXPECT_FALSE(table.IsField(LauncherField::kNodeRank, "RANK"));
  EXPECT_TRUE(table.IsProcessCount("RANK_SIZE"));
  EXPECT_FALSE(table.IsProcessCount("SLURM_STEP_NUM_TASKS"));
  EXPECT_TRUE(table.MayCountNodes("WORLD_SIZE"));
  EXPECT_FALSE(table.MayCountNodes("RANK_SIZE"));
  EXPECT_TRUE(table.IsJobNumber("SLURM_JOB_ID"));
  EXPECT_FALSE(table.IsJobNumber(""));
  // They may leave a node, and differ from node to node.
  for (const std::string& name : table.variables()) {
    EXPECT_EQ(BuiltInRules().settings.EffectOf(name), VariableEffect::kByNature) << name;
  }
}

// The recorder's list is made by a script of the build that reads no YAML.
TEST(Launchers, TheRecordersListIsTheTables) {
  const std::set<std::string, std::less<>> recorded = {
#define LAUNCHER_VARIABLE(name) #name,
#include "launcher_variables.inc"
#undef LAUNCHER_VARIABLE
  };
  EXPECT_EQ(recorded, BuiltInLaunchers().place_variables());
}

TEST(Launchers, BadTablesAreRefused) {
  const auto refused = [](const char* text) {
    const auto root = ParseDocument(text);
    EXPECT_TRUE(root.ok()) << text;
    return std::string(ReadLaunchers(*root).status().message());
  };
  EXPECT_THAT(refused("launchers: [{name: x, source: y, rank: rank_of_x}]"), HasSubstr("in capitals"));
  EXPECT_THAT(refused("launchers: [{name: x, source: y, rank: \"RANK\"}]"), HasSubstr("in capitals"));
  EXPECT_THAT(refused("launchers: [{name: x, rank: RANK}]"), HasSubstr("needs `name`, `source`"));
  EXPECT_THAT(refused("launchers: [{name: x, source: y, counts: nodes, rank: RANK}]"), HasSubstr("'counts'"));
  EXPECT_THAT(refused("launchers: {}"), HasSubstr("a list is needed"));
  EXPECT_THAT(refused("others: [{name: x}]"), HasSubstr("unknown key 'others'"));
  EXPECT_THAT(refused("jobs: [{port: A_PORT}]"), HasSubstr("either `host` or `job`"));
  EXPECT_THAT(refused("jobs: [{host: [A_HOST, B_HOST]}]"), HasSubstr("one variable"));
}

}  // namespace
}  // namespace paritect
