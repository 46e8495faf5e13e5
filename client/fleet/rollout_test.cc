#include "client/fleet/rollout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "client/fleet/host_scripts.h"
#include "client/fleet/printed_commands.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Hosts that remember what was done to them.
class PlayedHosts : public HostShell {
 public:
  struct Host {
    std::string name;
    std::string machine = "aarch64";
    std::string version;
    std::string joined;
    bool running = false;
    bool reachable = true;
    bool root = true;
    bool full = false;  // installing fails
    std::vector<std::string> calls;
    std::string token;
  };

  absl::StatusOr<std::string> Run(const std::string& host, const HostCall& call) override {
    absl::MutexLock lock(&mutex);
    Host& one = hosts[host];
    if (!one.reachable) return absl::UnavailableError("not reached: no route");
    if (call.script == ProbeScript()) return Probe(one);
    if (call.script == InstallScript()) {
      one.calls.push_back(absl::StrCat("install ", call.payload_file));
      if (one.full) return absl::FailedPreconditionError("tar: no space left on device");
      one.version = "2.0.0";
      return "";
    }
    if (call.script == StartScript()) {
      one.calls.push_back(absl::StrCat("start ", call.arguments[4], " ", call.arguments[6]));
      if (call.arguments[2] != "-") one.joined = call.arguments[2];
      one.token = call.payload;
      one.running = true;
      return "";
    }
    one.calls.push_back(absl::StrCat("uninstall ", call.arguments[2]));
    one = {.name = one.name, .calls = one.calls};
    return "";
  }

  absl::Mutex mutex;
  std::map<std::string, Host> hosts;

 private:
  static std::string Probe(const Host& one) {
    std::string text = absl::StrCat("Welcome!\nmachine fake\n", kProbeBegin, "\nmachine ", one.machine, "\nname ",
                                    one.name, "\nuid ", one.root ? 0 : 1000, "\n");
    if (!one.version.empty()) absl::StrAppend(&text, "version ", one.version, "\n");
    if (!one.joined.empty()) absl::StrAppend(&text, "joined ", one.joined, "\nnode ", one.name, "\n");
    if (one.running) absl::StrAppend(&text, "running yes\n");
    return text;
  }
};

class RolloutTest : public testing::Test {
 protected:
  RolloutTest() {
    for (const char* name : {"n1", "n2", "n3"}) played_.hosts[name].name = name;
    options_.bundles["aarch64"] = {"2.0.0", "/b/paritect-2.0.0-linux-aarch64.tar.gz"};
    options_.join = {.server = "s:1", .ca_pin = "sha256:00", .roots = "/data", .token = [this](const auto& names) {
                       joining_ = names;
                       ++tokens_;
                       return absl::StatusOr<std::string>("pjt-x");
                     }};
  }

  std::map<std::string, FleetHost> Install() {
    auto looked = LookAtHosts(played_, {"n1", "n2", "n3"}, options_);
    auto done = InstallOnHosts(played_, std::move(looked), options_);
    std::map<std::string, FleetHost> by_name;
    for (FleetHost& host : *done) by_name[host.host] = host;
    return by_name;
  }

  PlayedHosts played_;
  RolloutOptions options_;
  std::vector<std::string> joining_;
  int tokens_ = 0;
};

TEST_F(RolloutTest, InstallsJoinsAndStartsWithOneToken) {
  auto done = Install();
  EXPECT_THAT(done["n1"].did, ElementsAre("install", "join", "start"));
  EXPECT_THAT(done["n3"].error, IsEmpty());
  EXPECT_EQ(tokens_, 1);
  EXPECT_THAT(joining_, ElementsAre("n1", "n2", "n3"));
  EXPECT_THAT(played_.hosts["n2"].calls, ElementsAre("install /b/paritect-2.0.0-linux-aarch64.tar.gz", "start n2 -"));
  EXPECT_EQ(played_.hosts["n2"].token, "pjt-x\n");
}

TEST_F(RolloutTest, OneThatFailsHoldsUpNoOtherAndTheNextCallDoesTheRest) {
  played_.hosts["n1"].reachable = false;
  played_.hosts["n2"].full = true;
  auto done = Install();
  EXPECT_THAT(done["n1"].error, HasSubstr("no route"));
  EXPECT_THAT(done["n2"].error, HasSubstr("no space left"));
  EXPECT_THAT(done["n2"].did, IsEmpty());
  EXPECT_THAT(done["n3"].did, ElementsAre("install", "join", "start"));
  played_.hosts["n1"].reachable = true;
  played_.hosts["n2"].full = false;
  played_.hosts["n3"].calls.clear();
  done = Install();
  EXPECT_THAT(joining_, ElementsAre("n1", "n2"));
  EXPECT_THAT(done["n3"].did, IsEmpty()) << "what is done stays done";
  EXPECT_THAT(played_.hosts["n3"].calls, IsEmpty());
  EXPECT_THAT(done["n2"].did, ElementsAre("install", "join", "start"));
  tokens_ = 0;
  Install();
  EXPECT_EQ(tokens_, 0) << "nobody joins: no token is made";
}

TEST_F(RolloutTest, AnOlderAgentIsReplacedAndStartedAnew) {
  played_.hosts["n1"] = {.name = "n1", .version = "1.9.0", .joined = "s:1", .running = true};
  auto done = Install();
  EXPECT_THAT(done["n1"].did, ElementsAre("install", "restart"));
  EXPECT_EQ(played_.hosts["n1"].token, "") << "it is a node already";
}

TEST_F(RolloutTest, WhatStandsInTheWayIsSaidAndNothingIsDone) {
  played_.hosts["n1"].machine = "riscv64";
  played_.hosts["n2"].root = false;
  played_.hosts["n3"].joined = "other:1";
  auto done = Install();
  EXPECT_THAT(done["n1"].error, HasSubstr("no bundle for riscv64"));
  EXPECT_THAT(done["n2"].error, HasSubstr("--sudo"));
  EXPECT_THAT(done["n3"].error, HasSubstr("a node of other:1 already"));
  for (const auto& [name, host] : played_.hosts) EXPECT_THAT(host.calls, IsEmpty()) << name;
  EXPECT_EQ(tokens_, 0);
}

TEST_F(RolloutTest, TwoHostsOfOneNameAreNotOneNode) {
  for (auto& [name, host] : played_.hosts) host.name = "localhost";
  auto done = Install();
  EXPECT_THAT(done["n1"].error, IsEmpty());
  EXPECT_THAT(done["n2"].error, HasSubstr("--as-written"));
  options_.name_as_written = true;
  done = Install();
  EXPECT_THAT(joining_, ElementsAre("n2", "n3"));
}

TEST_F(RolloutTest, ADryRunAndAnInterruptionTouchNothing) {
  options_.dry_run = true;
  auto done = Install();
  EXPECT_THAT(done["n1"].did, ElementsAre("install", "join", "start"));
  options_.dry_run = false;
  auto looked = LookAtHosts(played_, {"n1"}, options_);
  options_.interrupted = [] { return true; };
  EXPECT_THAT((*InstallOnHosts(played_, looked, options_))[0].error, HasSubstr("interrupted"));
  EXPECT_THAT(played_.hosts["n1"].calls, IsEmpty());
}

TEST_F(RolloutTest, WithoutATokenNothingIsDone) {
  options_.join.token = [](const auto&) -> absl::StatusOr<std::string> { return absl::UnavailableError("down"); };
  EXPECT_EQ(InstallOnHosts(played_, LookAtHosts(played_, {"n1"}, options_), options_).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_THAT(played_.hosts["n1"].calls, IsEmpty());
}

TEST_F(RolloutTest, IsTakenAwayAgain) {
  Install();
  auto done = UninstallFromHosts(played_, LookAtHosts(played_, {"n1", "n2"}, options_), true, options_);
  EXPECT_THAT(done[0].did, ElementsAre("purge"));
  EXPECT_EQ(played_.hosts["n1"].calls.back(), "uninstall purge");
  done = UninstallFromHosts(played_, LookAtHosts(played_, {"n1"}, options_), true, options_);
  EXPECT_THAT(done[0].did, IsEmpty());
}

TEST(ReadProbe, StrangeAnswersAreNoHost) {
  FleetHost host;
  EXPECT_EQ(ReadProbe("", host).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(ReadProbe("\x1b[31mThis account is closed", host).message()), HasSubstr("\\x1B[31mThis"));
  EXPECT_TRUE(
      ReadProbe(absl::StrCat(kProbeBegin, "\nmachine arm64\nname ", std::string(1 << 20, 'x'), "\n"), host).ok());
  EXPECT_EQ(host.machine, "aarch64");
  EXPECT_LE(host.name.size(), 255u);
}

TEST(FindBundles, ByNameAndOneAMachine) {
  const std::string folder = testing::TempDir() + "/bundles";
  ASSERT_EQ(
      system(absl::StrCat("rm -rf ", folder, " && mkdir -p ", folder, " && cd ", folder,
                          " && touch paritect-1.0-linux-x86_64.tar.gz paritect-1.0-linux-aarch64.tar.gz other.tar.gz")
                 .c_str()),
      0);
  const auto found = FindBundles({folder});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->size(), 2u);
  EXPECT_EQ(found->at("aarch64").version, "1.0");
  EXPECT_EQ(FindBundles({folder + "/other.tar.gz"}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FindBundles({folder + "/none"}).status().code(), absl::StatusCode::kNotFound);
  ASSERT_EQ(system(absl::StrCat("touch ", folder, "/paritect-1.1-linux-aarch64.tar.gz").c_str()), 0);
  EXPECT_THAT(std::string(FindBundles({folder}).status().message()), HasSubstr("two bundles for aarch64"));
}

TEST_F(RolloutTest, ThePrintedCommandsHoldNoTokenAndNameAll) {
  for (const absl::string_view tool : {"ansible", "pdsh"}) {
    const auto text = PrintedCommands(tool, {"n1", "n2"}, options_, true);
    ASSERT_TRUE(text.ok()) << text.status();
    for (const absl::string_view part :
         {"n1,n2", "--node 'n*'", "--uses 2", "s:1", "sha256:00", "--roots /data", "agent/install"}) {
      EXPECT_THAT(*text, HasSubstr(std::string(part))) << tool;
    }
    EXPECT_EQ(text->find("pjt-"), std::string::npos);
  }
  EXPECT_EQ(PrintedCommands("chef", {"n1"}, options_, true).status().code(), absl::StatusCode::kInvalidArgument);
  options_.place.prefix = "paritect";
  EXPECT_EQ(PrintedCommands("pdsh", {"n1"}, options_, true).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace paritect
