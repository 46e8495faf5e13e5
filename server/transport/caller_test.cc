#include "server/transport/caller.h"

#include <grpcpp/grpcpp.h>

#include "common/pki/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "storage/fleet_test_util.h"

namespace paritect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A connection that is open may outlive the certificate that it was opened with.
TEST(Gate, ACertificateWhoseTimeIsOverIsGoodForNothingMoreOnItsConnection) {
  const pki_testing::Folder folder;
  InitOptions init;
  init.hosts = {"localhost"};
  init.address = "localhost:7400";
  init.now = pki_testing::kNow;
  ASSERT_TRUE(InitServerFolder(folder / "server", init).ok());
  const ServerFolder server = *LoadServerFolder(folder / "server", pki_testing::kNow);
  const auto store = *OpenFleetStore("memory:");
  std::int64_t now_ms = pki_testing::kNow * 1000;
  const WallClock clock = [&] { return now_ms; };
  Fleet fleet(*store, clock, FleetOptions{}, FleetPorts{});
  CallLog log([](WriteSet, std::function<void(absl::Status)>) { return absl::OkStatus(); }, clock);
  std::vector<std::string> heard;
  const Gate gate(
      server, fleet, log, clock,
      [&](const Caller& caller, bool message) { heard.push_back(absl::StrCat(caller.key, message ? " message" : "")); },
      false);
  Caller caller;
  caller.key = "10.0.0.1:4711";
  caller.peer.emplace();
  caller.peer->not_after = pki_testing::kNow + 60;
  EXPECT_TRUE(gate.StillGood(caller).ok());
  now_ms += 60'000;
  EXPECT_TRUE(gate.StillGood(caller).ok());
  now_ms += 1'000;
  EXPECT_TRUE(absl::IsUnauthenticated(gate.StillGood(caller)));
  EXPECT_THAT(std::string(gate.StillGood(caller).message()), HasSubstr("expired"));
  EXPECT_THAT(heard, ElementsAre("10.0.0.1:4711 message", "10.0.0.1:4711 message"))
      << "what is refused counts as nothing";
}

}  // namespace
}  // namespace paritect
