#include "server/enrolment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/pki/request.h"
#include "common/pki/testing.h"
#include "storage/fleet_test_util.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;

class EnrolmentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    InitOptions options;
    options.hosts = {"localhost"};
    options.address = "localhost:7400";
    options.now = now_ms_ / 1000;
    ASSERT_TRUE(InitServerFolder(folder_ / "server", options).ok());
    auto loaded = LoadServerFolder(folder_ / "server", now_ms_ / 1000);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    server_ = std::make_unique<ServerFolder>(*std::move(loaded));
    store_ = *OpenFleetStore("memory:");
    const WallClock clock = [this] { return now_ms_; };
    fleet_ = std::make_unique<Fleet>(*store_, clock, FleetOptions{}, FleetPorts{});
    enrolment_ = std::make_unique<Enrolment>(
        *server_, *store_, *fleet_, [this](WriteSet set) { return CommitOne(*store_, set); }, clock);
  }

  std::string Token(v1::CreateTokenRequest request = {}) {
    if (request.role() == v1::ACCESS_ROLE_UNSPECIFIED) request.set_role(v1::ACCESS_ROLE_AGENT);
    auto response = enrolment_->CreateToken(request, "admin/admin");
    EXPECT_TRUE(response.ok()) << response.status();
    return response->token();
  }

  absl::StatusOr<v1::JoinResponse> Join(const std::string& token, const std::string& name) {
    v1::JoinRequest request;
    request.set_token(token);
    request.set_name(name);
    request.set_signing_request_pem(*CertificateRequest::Make(*KeyPair::Generate(), "x"));
    return enrolment_->Join(request, "10.0.0.1");
  }

  std::int64_t now_ms_ = std::int64_t{1'800'000'000} * 1000;
  pki_testing::Folder folder_;
  std::unique_ptr<ServerFolder> server_;
  std::unique_ptr<FleetStore> store_;
  std::unique_ptr<Fleet> fleet_;
  std::unique_ptr<Enrolment> enrolment_;
};

TEST_F(EnrolmentTest, ATokenServesOnceAndTheServerStampsTheIdentity) {
  const std::string token = Token();
  const auto joined = Join(token, "gpu-01");
  ASSERT_TRUE(joined.ok()) << joined.status();
  const auto peer = ParsePeer(joined->certificate_pem());
  ASSERT_TRUE(peer.ok());
  EXPECT_EQ(peer->identity, (Identity{Role::kAgent, "gpu-01"}));
  const auto replayed = Join(token, "gpu-02");
  EXPECT_TRUE(absl::IsPermissionDenied(replayed.status()));
  EXPECT_THAT(std::string(replayed.status().message()), HasSubstr("was used up at"));
  const auto log = store_->ReadLog(1, 10);
  ASSERT_EQ(log->size(), 1u);
  EXPECT_EQ((*log)[0].action(), "Join");
}

TEST_F(EnrolmentTest, AnExpiredTokenAndOneForAnotherNameAreRefused) {
  v1::CreateTokenRequest request;
  request.set_role(v1::ACCESS_ROLE_AGENT);
  request.set_ttl_seconds(60);
  const std::string token = Token(request);
  now_ms_ += 61'000;
  EXPECT_THAT(std::string(Join(token, "gpu-01").status().message()), HasSubstr("expired"));
  request.set_node("npu-07");
  EXPECT_THAT(std::string(Join(Token(request), "gpu-01").status().message()), HasSubstr("is for 'npu-07'"));
}

TEST_F(EnrolmentTest, ATokenWithUsesCountsThem) {
  v1::CreateTokenRequest request;
  request.set_role(v1::ACCESS_ROLE_AGENT);
  request.set_uses(2);
  const std::string token = Token(request);
  EXPECT_TRUE(Join(token, "a").ok());
  EXPECT_TRUE(Join(token, "b").ok());
  EXPECT_TRUE(absl::IsPermissionDenied(Join(token, "c").status()));
}

TEST_F(EnrolmentTest, ATokenForAPatternServesManyThatFitAndNoOther) {
  v1::CreateTokenRequest request;
  request.set_role(v1::ACCESS_ROLE_AGENT);
  request.set_uses(3);
  request.set_node("npu-*");
  const std::string token = Token(request);
  EXPECT_TRUE(Join(token, "npu-01").ok());
  EXPECT_THAT(std::string(Join(token, "gpu-01").status().message()), HasSubstr("is for 'npu-*', not for 'gpu-01'"));
  EXPECT_TRUE(Join(token, "npu-02").ok()) << "a refused name uses nothing up";
  // A name that is taken needs a token of its own.
  EXPECT_TRUE(absl::IsAlreadyExists(Join(token, "npu-01").status()));
  EXPECT_TRUE(Join(token, "npu-03").ok());
  EXPECT_TRUE(absl::IsPermissionDenied(Join(token, "npu-04").status()));
  request.set_node("npu *");
  EXPECT_TRUE(absl::IsInvalidArgument(enrolment_->CreateToken(request, "admin/admin").status()));
}

TEST_F(EnrolmentTest, ARevokedTokenIsToldAsRevoked) {
  const std::string token = Token();
  const auto listed = enrolment_->ListTokens();
  ASSERT_EQ(listed->tokens_size(), 1);
  ASSERT_TRUE(enrolment_->RevokeToken(listed->tokens(0).id()).ok());
  EXPECT_EQ(enrolment_->ListTokens()->tokens_size(), 0);
  EXPECT_TRUE(absl::IsNotFound(enrolment_->RevokeToken(listed->tokens(0).id()).status()));
  EXPECT_THAT(std::string(Join(token, "gpu-01").status().message()), HasSubstr("was revoked at"));
  // It goes with the others some time after its end.
  now_ms_ += std::int64_t{400} * 24 * 3600 * 1000;
  Token();
  EXPECT_THAT(std::string(Join(token, "gpu-01").status().message()), HasSubstr("not known here"));
}

TEST_F(EnrolmentTest, NamesAreTakenOnceUnlessTheTokenIsForThem) {
  ASSERT_TRUE(Join(Token(), "gpu-01").ok());
  EXPECT_TRUE(absl::IsAlreadyExists(Join(Token(), "gpu-01").status()));
  v1::CreateTokenRequest request;
  request.set_role(v1::ACCESS_ROLE_AGENT);
  request.set_node("gpu-01");
  EXPECT_TRUE(Join(Token(request), "gpu-01").ok());
}

TEST_F(EnrolmentTest, ARefusedJoinDoesNotUseTheToken) {
  const std::string token = Token();
  ASSERT_TRUE(Join(Token(), "gpu-01").ok());
  EXPECT_TRUE(absl::IsAlreadyExists(Join(token, "gpu-01").status()));
  EXPECT_TRUE(Join(token, "gpu-02").ok());
}

TEST_F(EnrolmentTest, GuessesAreSlowedDown) {
  absl::Status last;
  for (int i = 0; i < 40; ++i) last = Join("pjt-aaaa-aaaa-aaaa-aaaa-aaaa-aaaa-aaaa-aaaa", "x").status();
  EXPECT_TRUE(absl::IsResourceExhausted(last)) << last;
  now_ms_ += 120'000;
  EXPECT_TRUE(absl::IsPermissionDenied(Join("nonsense", "x").status()));
}

TEST_F(EnrolmentTest, BadRequestsAreRefused) {
  v1::CreateTokenRequest request;
  EXPECT_TRUE(absl::IsInvalidArgument(enrolment_->CreateToken(request, "a").status()));
  request.set_role(v1::ACCESS_ROLE_AGENT);
  request.set_ttl_seconds(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(enrolment_->CreateToken(request, "a").status()));
  request.set_ttl_seconds(0);
  request.set_node("../x");
  EXPECT_TRUE(absl::IsInvalidArgument(enrolment_->CreateToken(request, "a").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Join(Token(), "gpu/01").status()));
  v1::JoinRequest join;
  join.set_token(Token());
  join.set_name("gpu-09");
  join.set_signing_request_pem("junk");
  EXPECT_TRUE(absl::IsInvalidArgument(enrolment_->Join(join, "10.0.0.1").status()));
}

TEST_F(EnrolmentTest, RenewalKeepsTheIdentity) {
  ASSERT_TRUE(Join(Token(), "gpu-01").ok());
  v1::RenewRequest renew;
  renew.set_signing_request_pem(*CertificateRequest::Make(*KeyPair::Generate(), "somebody-else"));
  now_ms_ += 12 * 3600 * 1000;
  const auto renewed = enrolment_->Renew({Role::kAgent, "gpu-01"}, renew);
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  EXPECT_EQ(ParsePeer(renewed->certificate_pem())->identity.name, "gpu-01");
  EXPECT_GT(renewed->expires_unix(), now_ms_ / 1000 + 23 * 3600);
}

}  // namespace
}  // namespace paritect
