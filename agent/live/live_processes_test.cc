// Processes, packages and host on fixture trees; and that no planted secret gets through.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "agent/live/fixture_node.h"

namespace paritect {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kTorch[] = "/opt/conda/lib/python3.10/site-packages/torch/lib/libtorch_cpu.so";
constexpr char kHccl[] = "/usr/local/Ascend/ascend-toolkit/8.0.RC3/lib64/libhccl.so";

FixtureNode::Process Rank(int pid, int rank, int parent = 50) {
  return {.pid = pid,
          .parent = parent,
          .words = {"/opt/conda/bin/python3.10", "-u", "train.py", "--lr", "1e-4"},
          .variables = {absl::StrCat("RANK=", rank), "WORLD_SIZE=2", "MASTER_ADDR=10.0.0.1", "MASTER_PORT=29500",
                        "HCCL_DETERMINISTIC=true"},
          .libraries = {kTorch, kHccl},
          .devices = {"/dev/null", absl::StrCat("/dev/davinci", rank), "/dev/davinci_manager"}};
}

std::vector<int> RanksOf(const std::vector<v1::Evidence>& all, absl::string_view kind) {
  std::vector<int> ranks;
  for (const v1::Evidence& one : all) {
    if (one.settings().kind() == kind) ranks.push_back(one.has_rank() ? one.rank() : -1);
  }
  return ranks;
}

TEST(LiveProcesses, RanksLauncherAndWorkers) {
  FixtureNode node;
  node.AddProcess({.pid = 1, .parent = 0, .words = {"/sbin/init"}});
  node.AddProcess(
      {.pid = 50,
       .words = {"/opt/conda/bin/python", "/opt/conda/bin/torchrun", "--nproc_per_node=2", "train.py", "--lr", "1e-4"},
       .variables = {"HOME=/root"},
       .libraries = {kTorch}});
  node.AddProcess(Rank(61, 1));
  node.AddProcess(Rank(60, 0));
  FixtureNode::Process worker = Rank(70, 0, 60);
  node.AddProcess(worker);
  const auto all = node.Collect();
  EXPECT_THAT(RanksOf(all, "environment"), ::testing::ElementsAre(0, 1));
  EXPECT_THAT(RanksOf(all, "process"), ::testing::ElementsAre(0, 1));
  EXPECT_EQ(FixtureNode::Told(all, "process.devices"), "process.devices=davinci0;process.devices=davinci1");
  EXPECT_EQ(FixtureNode::Told(all, "launch.nproc_per_node"), "launch.nproc_per_node=2");
  EXPECT_EQ(FixtureNode::Told(all, "lr"), "lr=1e-4") << "the launcher's command holds the script's arguments, once";
  EXPECT_EQ(FixtureNode::Told(all, "HCCL_DETERMINISTIC"), "HCCL_DETERMINISTIC=true") << "once for both ranks";
  EXPECT_EQ(FixtureNode::Told(all, "RANK"), "RANK=0;RANK=1");
  EXPECT_THAT(FixtureNode::Told(all, "process.collective_libraries"), HasSubstr("libhccl.so"));
  EXPECT_THAT(FixtureNode::Problems(all), Not(Contains("live_no_training")));
}

TEST(LiveProcesses, TheLaunchersTableTellsTheRanks) {
  const std::vector<std::vector<std::string>> kLaunchers = {
      {"HOROVOD_RANK=$", "HOROVOD_SIZE=2"},
      {"PADDLE_TRAINER_ID=$", "PADDLE_TRAINERS_NUM=2"},
      {"MV2_COMM_WORLD_RANK=$", "MV2_COMM_WORLD_SIZE=2"},
      {"PMIX_RANK=$"},
      {"RANK_ID=0", "OMPI_COMM_WORLD_RANK=$", "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_SIZE=2"}};
  for (const auto& launcher : kLaunchers) {
    FixtureNode node;
    for (int rank : {1, 0}) {
      FixtureNode::Process process = Rank(60 + rank, rank);
      process.variables = {"MASTER_ADDR=10.0.0.1"};
      for (const std::string& one : launcher) {
        process.variables.push_back(absl::StrReplaceAll(one, {{"$", absl::StrCat(rank)}}));
      }
      node.AddProcess(process);
    }
    const auto all = node.Collect();
    EXPECT_THAT(RanksOf(all, "process"), ::testing::ElementsAre(0, 1)) << launcher[0];
    const auto told = Contains("live_rank_variables");
    if (launcher[0] == "RANK_ID=0") {
      EXPECT_THAT(FixtureNode::Problems(all), told);
    } else {
      EXPECT_THAT(FixtureNode::Problems(all), Not(told)) << launcher[0];
    }
  }
}

TEST(LiveProcesses, ARankThatDiffersIsTold) {
  FixtureNode node;
  node.AddProcess(Rank(60, 0));
  FixtureNode::Process odd = Rank(61, 1);
  odd.variables = {"RANK=1", "WORLD_SIZE=2", "MASTER_ADDR=10.0.0.1", "MASTER_PORT=29500", "HCCL_ALGO=ring"};
  node.AddProcess(odd);
  const auto all = node.Collect();
  EXPECT_EQ(FixtureNode::Told(all, "HCCL_ALGO"), "HCCL_ALGO=ring");
  EXPECT_EQ(FixtureNode::Told(all, "WORLD_SIZE"), "WORLD_SIZE=2");
  bool unset = false;
  for (const v1::Evidence& one : all) {
    for (const v1::Note& note : one.settings().notes()) {
      unset = unset || absl::StrContains(note.message(), "unset here: HCCL_DETERMINISTIC");
    }
  }
  EXPECT_TRUE(unset);
}

// Reading the command line or the maps of a process that hangs in a driver would hang with it.
TEST(LiveProcesses, AProcessThatHangsInTheKernelIsNotTouched) {
  FixtureNode node;
  node.AddProcess(Rank(60, 0));
  node.fs.AddFile("/proc/60/status", "Name:\tpython\nState:\tD (disk sleep)\nPPid:\t1\nUid:\t1000\t1000\n");
  node.fs.AddFile("/proc/70/status", "Name:\tkworker/0:1\nState:\tD (disk sleep)\nPPid:\t2\nUid:\t0\t0\n");
  const auto all = node.Collect();
  EXPECT_THAT(FixtureNode::Problems(all), Contains("live_process_unreadable"));
  EXPECT_THAT(RanksOf(all, "environment"), IsEmpty());
  int unread = 0;
  for (const v1::Evidence& one : all) unread += one.problem().id() == "live_process_unreadable" ? 1 : 0;
  EXPECT_EQ(unread, 1);
}

TEST(LiveProcesses, SpawnedRanksWithoutNumbers) {
  FixtureNode node;
  node.AddProcess({.pid = 50, .words = {"python", "train.py"}, .variables = {"HOME=/root"}, .libraries = {kTorch}});
  for (int i = 0; i < 2; ++i) {
    node.AddProcess(
        {.pid = 60 + i,
         .parent = 50,
         .words = {"python", "-c", "from multiprocessing.spawn import spawn_main", "--multiprocessing-fork"},
         .variables = {"HOME=/root"},
         .libraries = {kTorch, kHccl},
         .devices = {absl::StrCat("/dev/davinci", i)}});
  }
  const auto all = node.Collect();
  EXPECT_THAT(RanksOf(all, "process"), ::testing::ElementsAre(-1, -1));
}

TEST(LiveProcesses, AnotherUsersTrainingIsToldNeverSilent) {
  FixtureNode node;
  node.AddProcess(Rank(60, 0));
  node.fs.MakeUnreadable("/proc/60/maps");
  node.fs.MakeUnreadable("/proc/60/environ");
  FixtureNode::Process system = {.pid = 30, .user = 0, .words = {"/usr/bin/python3", "/usr/bin/networkd-dispatcher"}};
  node.AddProcess(system);
  node.fs.MakeUnreadable("/proc/30/maps");
  const auto all = node.Collect();
  std::vector<std::string> sources;
  for (const v1::Evidence& one : all) {
    if (one.problem().id() == "live_process_unreadable") sources.push_back(one.source());
  }
  EXPECT_THAT(sources, ::testing::ElementsAre("/proc/60")) << "a program of the system is no training";
  EXPECT_THAT(FixtureNode::Problems(all), Not(Contains("live_no_training")));
  EXPECT_EQ(FixtureNode::Told(all, "package."), "") << "another interpreter must not pass for the training's";
}

TEST(LiveProcesses, SeveralTrainingsAreNotMixed) {
  FixtureNode node;
  node.AddProcess(Rank(60, 0));
  FixtureNode::Process other = Rank(90, 0, 80);
  other.variables = {"RANK=0", "MASTER_ADDR=10.0.0.9", "MASTER_PORT=29501"};
  node.AddProcess(other);
  auto all = node.Collect();
  EXPECT_THAT(FixtureNode::Problems(all), Contains("live_several_trainings"));
  EXPECT_THAT(RanksOf(all, "environment"), IsEmpty());
  v1::Plan plan;
  (*plan.mutable_info()->mutable_facts())["live_pid"].set_integer(90);
  all = node.Collect(plan);
  EXPECT_EQ(FixtureNode::Told(all, "MASTER_ADDR"), "MASTER_ADDR=10.0.0.9");
  EXPECT_THAT(FixtureNode::Problems(all), Contains("live_other_training"));
  // A notebook without ranks beside a training with ranks: the training is meant.
  FixtureNode notebook;
  notebook.AddProcess(Rank(60, 0));
  notebook.AddProcess({.pid = 90, .words = {"python", "-m", "ipykernel"}, .variables = {"A=b"}, .libraries = {kTorch}});
  EXPECT_EQ(FixtureNode::Told(notebook.Collect(), "RANK"), "RANK=0");
}

TEST(LiveProcesses, HiddenProcesses) {
  FixtureNode node;
  node.fs.AddFile("/proc/self/mountinfo", "22 27 0:20 / /proc rw,nosuid - proc proc rw,hidepid=2\n");
  EXPECT_THAT(FixtureNode::Problems(node.Collect()), Contains("live_processes_hidden"));
  // Root and its like see process 1, and with it all.
  node.fs.AddFile("/proc/1/status", "Name:\tinit\nPPid:\t0\nUid:\t0\t0\n");
  EXPECT_THAT(FixtureNode::Problems(node.Collect()), Not(Contains("live_processes_hidden")));
}

TEST(LiveProcesses, AnotherUserBesideTheTrainingHoldsNothingUp) {
  FixtureNode node;
  node.fs.AddDirectory("/sys/bus/pci/devices");
  node.AddProcess(Rank(60, 0));
  FixtureNode::Process notebook = {.pid = 70, .user = 2000, .words = {"python3", "-m", "notebook", "x.py"}};
  node.AddProcess(notebook);
  node.fs.MakeUnreadable("/proc/70/maps");
  int beside = 0;
  for (const v1::Evidence& one : node.Collect()) {
    EXPECT_NE(one.outcome(), v1::OUTCOME_FAILED) << one.problem().id();
    beside += one.problem().id() == "live_process_unreadable" ? 1 : 0;
  }
  EXPECT_EQ(beside, 1) << "told all the same";
}

TEST(LiveProcesses, AnEnvironmentThatWasWrittenOver) {
  FixtureNode node;
  FixtureNode::Process renamed = Rank(60, 0);
  renamed.variables = {"ray::IDLE"};
  node.AddProcess(renamed);
  EXPECT_THAT(FixtureNode::Problems(node.Collect()), Contains("live_environment_overwritten"));
}

TEST(LiveProcesses, AContainersOwnFilesAreRead) {
  FixtureNode node;
  node.AddProcess(Rank(60, 0));
  node.fs.AddSymlink("/proc/self/ns/mnt", "mnt:[1]");
  node.fs.AddSymlink("/proc/60/ns/mnt", "mnt:[2]");
  node.fs.AddSymlink("/proc/1/ns/mnt", "mnt:[1]");
  const std::string site = "/opt/conda/lib/python3.10/site-packages";
  node.fs.AddFile("/proc/60/root" + site + "/torch-2.1.0.dist-info/METADATA", "Name: torch\nVersion: 2.1.0\n\nText\n");
  node.fs.AddFile(site + "/torch-1.0.0.dist-info/METADATA", "Name: torch\nVersion: 1.0.0\n\n");
  EXPECT_EQ(FixtureNode::Told(node.Collect(), "package.torch"), "package.torch=2.1.0");
  EXPECT_EQ(FixtureNode::Told(node.Collect(), "process.container"), "process.container=yes");
  // A service that systemd confines has mounts of its own; the training on the host is in no container for that.
  FixtureNode confined;
  confined.AddProcess(Rank(60, 0));
  confined.fs.AddSymlink("/proc/self/ns/mnt", "mnt:[3]");
  confined.fs.AddSymlink("/proc/60/ns/mnt", "mnt:[1]");
  confined.fs.AddSymlink("/proc/1/ns/mnt", "mnt:[1]");
  EXPECT_EQ(FixtureNode::Told(confined.Collect(), "process.container"), "process.container=no");
}

TEST(LivePackages, EveryFormOfMetadata) {
  FixtureNode node;
  const std::string site = "/opt/env/lib/python3.10/site-packages";
  node.fs.AddFile("/opt/env/bin/python3", "");
  node.fs.AddFile("/proc/self/environ", absl::string_view("PATH=/opt/env/bin:/usr/bin\0VIRTUAL_ENV=/opt/env\0", 47));
  node.fs.AddFile("/opt/env/pyvenv.cfg", "home = /usr/bin\nversion = 3.10.12\n");
  node.fs.AddFile(site + "/torch-2.1.0+cu121.dist-info/METADATA",
                  "Metadata-Version: 2.1\nName: torch\nVersion: 2.1.0+cu121\n\nVersion: 9\n");
  node.fs.AddFile(site + "/torch/version.py", "git_version = 'abc123'\ncuda: Optional[str] = '12.1'\n");
  node.fs.AddFile(site + "/Typing_Extensions-4.8.0.dist-info/METADATA", "Name: Typing.Extensions\nVersion: 4.8.0\n\n");
  node.fs.AddFile(site + "/old-1.0-py3.10.egg-info/PKG-INFO", "Name: old\nVersion: 1.0\n\n");
  node.fs.AddFile(site + "/wsgiref.egg-info", "Name: wsgiref\nVersion: 0.1.2\n");
  node.fs.AddFile(site + "/bare-3.0.dist-info/RECORD", "");
  node.fs.AddFile(site + "/xarray-2024.1.0.dist-info/METADATA", "Name: xarray\nVersion: 2024.1.0\n\n");
  node.fs.AddFile(site + "/xarray-2024.2.0.dist-info/METADATA", "Name: xarray\nVersion: 2024.2.0\n\n");
  node.fs.AddFile(site + "/mine-0.1.dist-info/METADATA", "Name: mine\nVersion: 0.1\n\n");
  node.fs.AddFile(site + "/mine-0.1.dist-info/direct_url.json",
                  R"({"url": "file:///src/mine", "dir_info": {"editable": true}})");
  node.fs.AddFile("/src/mine/.git/HEAD", "ref: refs/heads/main\n");
  node.fs.AddFile("/src/mine/.git/refs/heads/main", "0123456789abcdef0123456789abcdef01234567\n");
  node.fs.AddFile(site + "/vcs-0.2.dist-info/METADATA", "Name: vcs\nVersion: 0.2\n\n");
  node.fs.AddFile(
      site + "/vcs-0.2.dist-info/direct_url.json",
      R"({"url": "https://me:planted-1234@host/x.git", "vcs_info": {"vcs": "git", "commit_id": "fedcba"}})");
  node.fs.AddFile("/opt/env/conda-meta/cudatoolkit-11.8.0-h6a678d5_0.json", "{}");
  node.fs.AddFile("/opt/env/conda-meta/torch-9.9.9-py310_0.json", "{}");
  const auto all = node.Collect();
  EXPECT_EQ(FixtureNode::Told(all, "package."),
            "package.bare=3.0;package.cudatoolkit=11.8.0;package.mine=0.1;package.old=1.0;package.torch=2.1.0+cu121;"
            "package.typing-extensions=4.8.0;package.vcs=0.2;package.wsgiref=0.1.2;package.xarray=2024.1.0");
  EXPECT_EQ(FixtureNode::Told(all, "package_source.mine"),
            "package_source.mine=editable /src/mine @ 0123456789abcdef0123456789abcdef01234567");
  EXPECT_EQ(FixtureNode::Told(all, "package_source.vcs"), "package_source.vcs=https://***@host/x.git @ fedcba");
  EXPECT_EQ(FixtureNode::Told(all, "torch.git_version"), "torch.git_version=abc123");
  EXPECT_EQ(FixtureNode::Told(all, "python.version"), "python.version=3.10.12");
  bool ambiguous = false;
  for (const v1::Evidence& one : all) {
    for (const v1::Note& note : one.settings().notes()) {
      ambiguous = ambiguous || (note.kind() == "package_ambiguous" && absl::StrContains(note.message(), "2024.2.0"));
    }
  }
  EXPECT_TRUE(ambiguous);
}

TEST(LiveHost, MemoryLimitsAndCpus) {
  for (const bool two : {true, false}) {
    FixtureNode node;
    node.fs.AddFile("/proc/meminfo", "MemTotal:       1000 kB\nMemFree: 10 kB\n");
    node.fs.AddFile("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Made up\nprocessor\t: 1\n");
    node.fs.AddFile("/proc/sys/kernel/osrelease", "5.10.0\n");
    node.fs.AddFile("/proc/sys/kernel/random/boot_id", "b-o-o-t\n");
    node.fs.AddFile("/etc/os-release", "NAME=x\nPRETTY_NAME=\"openEuler 22.03\"\n");
    node.fs.AddFile("/proc/self/status", "Cpus_allowed_list:\t0-1\n");
    if (two) {
      node.fs.AddFile("/proc/self/cgroup", "0::/a/b\n");
      node.fs.AddFile("/proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
      node.fs.AddFile("/sys/fs/cgroup/a/b/memory.max", "max\n");
      node.fs.AddFile("/sys/fs/cgroup/a/memory.max", "500000\n");
      node.fs.AddFile("/sys/fs/cgroup/a/b/cpu.max", "150000 100000\n");
    } else {
      node.fs.AddFile("/proc/self/cgroup", "4:memory:/a\n3:cpu,cpuacct:/a\n0::/\n");
      node.fs.AddFile("/proc/self/mountinfo",
                      "30 24 0:26 / /cg/memory rw - cgroup cgroup rw,memory\n"
                      "31 24 0:27 / /cg/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
      node.fs.AddFile("/cg/memory/memory.limit_in_bytes", "9223372036854771712\n");
      node.fs.AddFile("/cg/memory/a/memory.limit_in_bytes", "500000\n");
      node.fs.AddFile("/cg/cpu,cpuacct/a/cpu.cfs_quota_us", "150000\n");
      node.fs.AddFile("/cg/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
      node.fs.AddFile("/cg/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    }
    const auto all = node.Collect();
    EXPECT_EQ(FixtureNode::Told(all, "host.memory_bytes"), "host.memory_bytes=1024000");
    EXPECT_EQ(FixtureNode::Told(all, "host.cpu_count"), "host.cpu_count=2");
    EXPECT_EQ(FixtureNode::Told(all, "host.memory_limit_bytes"), "host.memory_limit_bytes=500000") << two;
    EXPECT_EQ(FixtureNode::Told(all, "host.cpu_quota"), "host.cpu_quota=1.5") << two;
    EXPECT_EQ(FixtureNode::Told(all, "host.cpus_allowed"), "host.cpus_allowed=0-1");
    EXPECT_EQ(FixtureNode::Told(all, "host.kernel"), "host.kernel=5.10.0");
    EXPECT_EQ(FixtureNode::Told(all, "host.boot_id"), "host.boot_id=b-o-o-t");
    EXPECT_EQ(FixtureNode::Told(all, "host.system"), "host.system=openEuler 22.03");
    EXPECT_EQ(FixtureNode::Told(all, "host.clock_unix_ms"), "host.clock_unix_ms=1700000000000");
  }
}

TEST(LiveOrder, NamesAsTheFolderGivesThem) {
  FixtureNode node;
  for (const char* name : {"/data/b", "/data/sub/z", "/data/sub/a", "/data/a"}) node.fs.AddFile(name, name);
  node.fs.AddFile("/proc/self/mountinfo", "1 0 0:1 / / rw - ext4 /dev/sda rw\n2 1 0:2 / /data rw - lustre x rw\n");
  v1::Plan plan;
  auto& dataset = *plan.add_datasets();
  dataset.set_name("train");
  dataset.set_root("/data");
  const auto all = node.Collect(plan);
  std::vector<std::string> names;
  for (const v1::Evidence& one : all)
    names.insert(names.end(), one.listing().names().begin(), one.listing().names().end());
  EXPECT_THAT(names, ::testing::ElementsAre("b", "a", "sub/z", "sub/a"));
  EXPECT_EQ(FixtureNode::Told(all, "host.file_system.train"), "host.file_system.train=lustre");
}

// Whatever the live collectors emit: the planted words are nowhere in it.
TEST(LiveSecrets, NothingPlantedLeaves) {
  FixtureNode node;
  node.AddPci("0000:c1:00.0", "19e5", "d802", "120000");
  FixtureNode::Process process = Rank(60, 0);
  for (const char* word :
       {"--api-key", "planted-1234", "--token=planted-1234", "--db", "mysql://me:planted-1234@host/x",
        "WANDB_API_KEY=planted-1234", "--password", "planted-1234", "AKIAIOSFODNN7PLANTED"}) {
    process.words.push_back(word);
  }
  for (const char* variable :
       {"HF_TOKEN=planted-1234", "MY_OWN=planted-1234", "LD_PRELOAD=/x?token=planted-1234",
        "PYTHONPATH=https://me:planted-1234@host/x", "AWS_SECRET_ACCESS_KEY=planted-1234", "MULTI=a\nb planted-1234"}) {
    process.variables.push_back(variable);
  }
  node.AddProcess(process);
  FixtureNode::Process unread = process;
  unread.pid = 99;
  node.AddProcess(unread);
  node.fs.MakeUnreadable("/proc/99/maps");
  FixtureNode::Process other = process;
  other.pid = 120;
  other.variables.push_back("MASTER_ADDR=elsewhere");
  other.variables.erase(other.variables.begin() + 2);
  node.AddProcess(other);
  node.answers.emplace(VendorProbe::Tool::kDcmi, absl::UnavailableError("https://me:planted-1234@host"));
  node.answers.emplace(VendorProbe::Tool::kNpuSmi, absl::UnavailableError("token=planted-1234"));
  v1::Plan plan;
  (*plan.mutable_info()->mutable_facts())["live_pid"].set_integer(60);
  int seen = 0;
  for (const v1::Evidence& one : node.Collect(plan)) {
    EXPECT_THAT(one.DebugString(), Not(HasSubstr("planted-1234")));
    EXPECT_THAT(one.DebugString(), Not(HasSubstr("AKIAIOSFODNN7PLANTED")));
    seen += one.settings().kind() == "environment" ? 1 : 0;
  }
  EXPECT_GT(seen, 0);
}

}  // namespace
}  // namespace paritect
