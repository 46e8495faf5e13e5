// The agent as users run it: the program itself, with its state on disk, against a server in this process.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "agent/daemon/testing/played_server.h"
#include "common/credential.h"
#include "common/file_system.h"
#include "common/pki/testing.h"
#include "formats/evidence_parts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

extern char** environ;

namespace paritect {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr absl::Duration kPatience = absl::Seconds(60);  // the machine may be busy

constexpr int kNotStarted = -1000;  // no signal's number
constexpr char kAgent[] = PARITECT_BINARY_DIR "/paritect-agent";

class Process {
 public:
  // Unavailable with the reason, where the program could not be started or its log not opened.
  static absl::StatusOr<std::unique_ptr<Process>> Start(const std::string& program,
                                                        const std::vector<std::string>& args, const std::string& log) {
    std::vector<char*> argv = {const_cast<char*>(program.c_str())};
    for (const std::string& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    pid_t pid = 0;
    const int error = posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
      return absl::UnavailableError(
          absl::StrCat("cannot start ", program, " with its log ", log, ": ", strerror(error), " (", error, ")"));
    }
    return absl::WrapUnique(new Process(pid));
  }
  ~Process() {
    if (pid_ > 0) Kill();
  }
  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  void Signal(int number) { kill(pid_, number); }
  void Kill() {
    Signal(SIGKILL);
    Wait();
  }

 private:
  explicit Process(pid_t pid) : pid_(pid) {}

  pid_t pid_ = 0;
};

class AgentTest : public testing::Test {
 protected:
  std::string Log() { return ReadWholeFile(PosixFileSystem(), folder_ / "log", 64 << 20).value_or(""); }
  // The exit status; negative: by which signal it ended, or kNotStarted.
  int Call(const std::vector<std::string>& args) {
    const auto process = Process::Start(kAgent, args, folder_ / "log");
    if (!process.ok()) ADD_FAILURE() << process.status();
    return process.ok() ? (*process)->Wait() : kNotStarted;
  }

  int Join(const std::string& token, const std::string& pin) {
    return Call({"join", server_.address(), "--token", token, "--ca-pin", pin, "--node", "gpu-01", "--state", state_});
  }
  void JoinWithRoots(const std::string& roots) {
    ASSERT_EQ(Join(server_.NewToken(), server_.pin()), 0) << Log();
    Write(state_ + "/agent.yaml", absl::StrCat("roots: [", roots, "]\n"));
  }
  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(path, text).ok()) << path;
  }
  // nullptr where it could not be started; the test has failed with the reason then, and must end.
  std::unique_ptr<Process> Start() {
    auto process = Process::Start(kAgent, {"run", "--state", state_}, folder_ / "log");
    if (!process.ok()) ADD_FAILURE() << process.status();
    return process.ok() ? *std::move(process) : nullptr;
  }
  void MakeData(int files, std::size_t bytes) {
    ASSERT_EQ(mkdir((folder_ / "data").c_str(), 0700), 0);
    for (int i = 0; i < files; ++i) {
      Write(folder_ / absl::StrCat("data/part-", i), std::string(bytes, static_cast<char>('a' + i % 26)));
    }
  }
  v1::Task DatasetTask(const std::string& id, const std::string& root) {
    v1::Task task;
    task.set_id(id);
    task.mutable_plan()->mutable_info()->set_run("run7");
    task.mutable_plan()->mutable_info()->set_live(false);
    v1::DatasetSource& source = *task.mutable_plan()->add_datasets();
    source.set_name("train");
    source.set_root(root);
    return task;
  }
  bool WaitForEnd() {
    return server_.WaitFor("gpu-01", kPatience, [](const PlayedServer::Node& node) {
      for (const auto& [key, record] : node.records) {
        if (record.has_task_end()) return true;
      }
      return false;
    });
  }
  bool WaitForConnection() {
    return server_.WaitFor("gpu-01", kPatience, [](const PlayedServer::Node& node) { return node.connected; });
  }

  // The evidence of a finished attempt, put together as a server would.
  std::vector<v1::Evidence> EvidenceOf(const v1::TaskEnd& end) {
    const PlayedServer::Node node = server_.node("gpu-01");
    std::map<std::string, std::string> parts;
    std::vector<v1::Piece> pieces;
    for (const auto& [key, record] : node.records) {
      if (record.has_part()) parts[record.part().sha256()] = record.part().content();
      if (record.has_piece() && record.piece().attempt() == end.attempt()) pieces.push_back(record.piece());
    }
    EXPECT_EQ(static_cast<int>(pieces.size()), end.pieces());
    std::vector<v1::Evidence> evidence;
    for (const v1::Piece& piece : pieces) {
      auto whole = PutTogether(piece, [&parts](absl::string_view digest) -> absl::StatusOr<std::string> {
        const auto part = parts.find(std::string(digest));
        if (part == parts.end()) return absl::NotFoundError("no such part");
        return part->second;
      });
      EXPECT_TRUE(whole.ok()) << whole.status();
      if (whole.ok()) evidence.push_back(*std::move(whole));
    }
    return evidence;
  }

  pki_testing::Folder folder_;
  const std::string state_ = folder_ / "state";
  PlayedServer server_;
};

TEST(AgentProcess, AFailedStartSaysWhyAndLeavesNothingToWaitFor) {
  const pki_testing::Folder folder;
  const auto none = Process::Start(folder / "no-such-program", {"run"}, folder / "log");
  EXPECT_EQ(none.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(none.status().message(), AllOf(HasSubstr("no-such-program"), HasSubstr("No such file or directory (2)")));
  const auto no_log = Process::Start("/bin/true", {}, folder / "no-such-folder/log");
  EXPECT_THAT(no_log.status().message(), HasSubstr("No such file or directory (2)"));
  const auto whole = Process::Start("/bin/true", {}, folder / "log");
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ((*whole)->Wait(), 0);
}

TEST_F(AgentTest, JoinWritesACredentialForItsOwnerAlone) {
  ASSERT_EQ(Join(server_.NewToken(), server_.pin()), 0) << Log();
  const auto loaded = LoadCredential(state_ + "/agent.credential", absl::ToUnixSeconds(absl::Now()));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->credential.identity.name, "gpu-01");
  EXPECT_THAT(loaded->warnings, IsEmpty());
  EXPECT_TRUE(PosixFileSystem().Stat(state_ + "/agent.yaml").ok());
}

TEST_F(AgentTest, JoinSaysWhyItIsRefused) {
  const std::string token = server_.NewToken();
  const std::string wrong = "sha256:" + std::string(64, '0');
  EXPECT_EQ(Join(token, wrong), 4);
  EXPECT_THAT(Log(), testing::AllOf(HasSubstr(wrong), HasSubstr(server_.pin())));
  EXPECT_EQ(Join(token, server_.pin()), 0);
  EXPECT_EQ(Join(token, server_.pin()), 4);
  EXPECT_THAT(Log(), HasSubstr("used up"));
  EXPECT_EQ(Join("nonsense", server_.pin()), 2);
  EXPECT_THAT(Log(), Not(HasSubstr("may be starting")));
  server_.Stop();
  EXPECT_EQ(Join(token, server_.pin()), 4);
  EXPECT_THAT(Log(), HasSubstr("trying for 5 s, as the server may be starting"));
}

TEST_F(AgentTest, RunsATaskWithinItsRoots) {
  MakeData(30, 1000);
  ASSERT_NO_FATAL_FAILURE(JoinWithRoots(folder_ / "data"));
  v1::Task task = DatasetTask("t1", folder_ / "data");
  v1::DatasetSource& outside = *task.mutable_plan()->add_datasets();
  outside.set_name("outside");
  outside.set_root("/etc");
  server_.AddTask("gpu-01", task);
  const auto agent = Start();
  ASSERT_NE(agent, nullptr);
  ASSERT_TRUE(WaitForEnd()) << Log();
  const auto ends = server_.Ends("gpu-01", "t1");
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].plan().node(), "gpu-01");
  const auto evidence = EvidenceOf(ends[0]);
  ASSERT_EQ(evidence.size(), 2u);
  EXPECT_EQ(evidence[0].files().files_size(), 30);
  EXPECT_FALSE(evidence[0].files().files(0).md5().empty());
  EXPECT_EQ(evidence[1].outcome(), v1::OUTCOME_FAILED);
  EXPECT_THAT(evidence[1].problem().args().at("why"), HasSubstr("roots"));
  agent->Signal(SIGTERM);
  EXPECT_EQ(agent->Wait(), 0);
  EXPECT_THAT(server_.faults(), IsEmpty());
}

TEST_F(AgentTest, ATaskOfWhichNothingIsAllowedStillEnds) {
  ASSERT_NO_FATAL_FAILURE(JoinWithRoots(""));
  server_.AddTask("gpu-01", DatasetTask("t1", "/root/secret"));
  const auto agent = Start();
  ASSERT_NE(agent, nullptr);
  ASSERT_TRUE(WaitForEnd()) << Log();
  const auto ends = server_.Ends("gpu-01", "t1");
  EXPECT_EQ(ends.at(0).pieces(), 1);
}

// Whatever the moment of the kill: each record once, and one whole attempt in the end.
TEST_F(AgentTest, SurvivesKillsInMidTask) {
  MakeData(400, 100'000);
  ASSERT_NO_FATAL_FAILURE(JoinWithRoots(folder_ / "data"));
  // Two seconds a task, so that kills come in the middle of it.
  Write(state_ + "/agent.yaml", absl::StrCat("roots: [", folder_ / "data", "]\nbwlimit: 20M\n"));
  server_.AddTask("gpu-01", DatasetTask("t1", folder_ / "data"));
  std::minstd_rand random(testing::UnitTest::GetInstance()->random_seed() + 1);
  for (int i = 0; i < 8; ++i) {
    server_.HoldBack(i % 2 == 0);  // half of the time nothing is acknowledged
    auto agent = Start();
    ASSERT_NE(agent, nullptr);
    absl::SleepFor(absl::Milliseconds(100 + random() % 700));
    agent->Kill();
  }
  server_.HoldBack(false);
  server_.AddTask("gpu-01", DatasetTask("t2", folder_ / "data"));
  const auto agent = Start();
  ASSERT_NE(agent, nullptr);
  ASSERT_TRUE(server_.WaitFor("gpu-01", kPatience, [](const PlayedServer::Node& node) {
    for (const auto& [key, record] : node.records) {
      if (record.task_end().task_id() == "t2") return true;
    }
    return false;
  })) << Log();
  const auto ends = server_.Ends("gpu-01", "t1");
  ASSERT_EQ(ends.size(), 1u) << "a task that is done is not done again";
  for (const auto& end : {ends[0], server_.Ends("gpu-01", "t2").at(0)}) {
    const auto evidence = EvidenceOf(end);
    ASSERT_EQ(evidence.size(), 1u);
    EXPECT_EQ(evidence[0].files().files_size(), 400);
  }
  EXPECT_THAT(server_.faults(), IsEmpty());
  for (const std::string& gap : server_.node("gpu-01").gaps) EXPECT_THAT(gap, HasSubstr(":interrupted"));
}

TEST_F(AgentTest, DeliversWhatWaitedWhenTheServerComesBack) {
  MakeData(20, 1000);
  ASSERT_NO_FATAL_FAILURE(JoinWithRoots(folder_ / "data"));
  const auto agent = Start();
  ASSERT_NE(agent, nullptr);
  ASSERT_TRUE(WaitForConnection()) << Log();
  server_.HoldBack(true);
  server_.AddTask("gpu-01", DatasetTask("t1", folder_ / "data"));
  absl::SleepFor(absl::Seconds(1));
  server_.Restart();
  ASSERT_TRUE(WaitForEnd()) << Log();
  EXPECT_EQ(EvidenceOf(server_.Ends("gpu-01", "t1").at(0)).size(), 1u);
  EXPECT_THAT(server_.faults(), IsEmpty());
}

TEST_F(AgentTest, SaysThatItIsRevoked) {
  ASSERT_NO_FATAL_FAILURE(JoinWithRoots(""));
  const auto agent = Start();
  ASSERT_NE(agent, nullptr);
  ASSERT_TRUE(WaitForConnection()) << Log();
  server_.Revoke("gpu-01");
  const absl::Time until = absl::Now() + kPatience;
  while (!absl::StrContains(Log(), "node revoked") && absl::Now() < until) absl::SleepFor(absl::Milliseconds(100));
  EXPECT_THAT(Log(), HasSubstr("node revoked"));
}

TEST_F(AgentTest, RenewsAShortLivedCertificate) {
  server_.SetLifetime(60);
  ASSERT_NO_FATAL_FAILURE(JoinWithRoots(""));
  const auto agent = Start();
  ASSERT_NE(agent, nullptr);
  ASSERT_TRUE(server_.WaitFor("gpu-01", kPatience, [](const PlayedServer::Node& node) {
    return node.renewals > 0 && node.sessions > 1 && node.connected;
  })) << Log();
  EXPECT_THAT(Log(), HasSubstr("was renewed until"));
}

TEST_F(AgentTest, TakesTheCertificateOfASecondJoin) {
  ASSERT_NO_FATAL_FAILURE(JoinWithRoots(""));
  const auto agent = Start();
  ASSERT_NE(agent, nullptr);
  ASSERT_TRUE(WaitForConnection()) << Log();
  ASSERT_EQ(Join(server_.NewToken(), server_.pin()), 0) << Log();
  agent->Signal(SIGHUP);
  ASSERT_TRUE(server_.WaitFor("gpu-01", kPatience, [](const PlayedServer::Node& node) {
    return node.sessions > 1 && node.connected;
  })) << Log();
  EXPECT_THAT(Log(), HasSubstr("a new certificate was found"));
}

TEST_F(AgentTest, RefusesASecondAgentAndABadConfiguration) {
  ASSERT_NO_FATAL_FAILURE(JoinWithRoots(""));
  const auto agent = Start();
  ASSERT_NE(agent, nullptr);
  ASSERT_TRUE(WaitForConnection()) << Log();
  EXPECT_EQ(Call({"run", "--state", state_}), 2);
  EXPECT_THAT(Log(), HasSubstr("the spool cannot be used"));
  Write(state_ + "/bad.yaml", "roots: []\nrots: [/data]\n");
  EXPECT_EQ(Call({"run", "--state", state_, "--config", state_ + "/bad.yaml"}), 2);
  EXPECT_THAT(Log(), HasSubstr("bad.yaml:2:1: "));
}

TEST_F(AgentTest, ReadsItsConfigurationAgain) {
  MakeData(3, 10);
  ASSERT_NO_FATAL_FAILURE(JoinWithRoots(""));
  const auto agent = Start();
  ASSERT_NE(agent, nullptr);
  ASSERT_TRUE(WaitForConnection()) << Log();
  Write(state_ + "/agent.yaml", absl::StrCat("roots: [", folder_ / "data", "]\nlabels: {rack: a1}\n"));
  agent->Signal(SIGHUP);
  ASSERT_TRUE(server_.WaitFor("gpu-01", kPatience, [](const PlayedServer::Node& node) {
    return node.hellos.back().labels().count("rack") > 0;
  })) << Log();
  server_.AddTask("gpu-01", DatasetTask("t1", folder_ / "data"));
  ASSERT_TRUE(WaitForEnd()) << Log();
  EXPECT_EQ(EvidenceOf(server_.Ends("gpu-01", "t1").at(0)).at(0).files().files_size(), 3);
}

TEST_F(AgentTest, ASimulatedFleetDeliversEverythingOnce) {
  ASSERT_TRUE(SaveCredential(folder_ / "admin.credential", server_.Admin()).ok());
  ASSERT_EQ(Call({"simulate", "--agents", "20", "--rate", "100", "--for", "3s", "--record", folder_ / "ledger", "-o",
                  "json", server_.address(), "--credential", folder_ / "admin.credential"}),
            0)
      << Log();
  EXPECT_THAT(server_.faults(), IsEmpty());
  std::map<std::string, std::uint64_t> acknowledged;
  const std::string ledger = *ReadWholeFile(PosixFileSystem(), folder_ / "ledger", 1 << 20);
  for (absl::string_view line : absl::StrSplit(ledger, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar("\":,}"), absl::SkipEmpty());
    ASSERT_EQ(words.size(), 7u) << line;
    ASSERT_TRUE(absl::SimpleAtoi(words[6], &acknowledged[words[2]]));
  }
  EXPECT_EQ(acknowledged.size(), 20u);
  for (const auto& [name, durable] : acknowledged) {
    const PlayedServer::Node node = server_.node(name);
    EXPECT_EQ(node.records.size(), durable) << name;
    EXPECT_GE(durable, 200u) << name << ": about 300 were asked for";
  }
}

}  // namespace
}  // namespace paritect
