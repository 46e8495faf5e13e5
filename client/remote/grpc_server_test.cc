// The real connection against a small server in this process: TLS, refusals in words, streams.
#include "client/remote/grpc_server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <ctime>
#include <thread>

#include "client/remote/tls_probe.h"
#include "common/pki/server_folder.h"
#include "common/pki/testing.h"
#include "paritect/v1/operators.grpc.pb.h"

namespace paritect {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Service : public v1::Operators::Service {
 public:
  grpc::Status ListNodes(grpc::ServerContext*, const v1::ListNodesRequest*, v1::ListNodesResponse* response) override {
    response->add_nodes()->set_state("online");
    return grpc::Status::OK;
  }
  grpc::Status CreateToken(grpc::ServerContext*, const v1::CreateTokenRequest*, v1::CreateTokenResponse*) override {
    return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "role viewer may not call CreateToken; it needs: admin");
  }
  grpc::Status ListAudits(grpc::ServerContext* context, const v1::ListAuditsRequest*,
                          v1::ListAuditsResponse*) override {
    while (!context->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return grpc::Status::CANCELLED;
  }
  grpc::Status WatchAudit(grpc::ServerContext*, const v1::WatchAuditRequest*,
                          grpc::ServerWriter<v1::AuditRun>* writer) override {
    for (int number = 1; number <= 3; ++number) {
      v1::AuditRun run;
      run.set_number(number);
      writer->Write(run);
    }
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "going down");
  }
  grpc::Status Import(grpc::ServerContext*, grpc::ServerReader<v1::ImportChunk>* reader,
                      v1::ImportResponse* response) override {
    v1::ImportChunk chunk;
    std::int64_t bytes = 0;
    while (reader->Read(&chunk)) {
      bytes += static_cast<std::int64_t>(chunk.data().size());
      if (bytes > 10) return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too large");
    }
    response->set_pieces(bytes);
    return grpc::Status::OK;
  }
  grpc::Status GetEvidence(grpc::ServerContext*, const v1::GetEvidenceRequest*,
                           grpc::ServerWriter<v1::EvidenceChunk>* writer) override {
    v1::EvidenceChunk chunk;
    chunk.set_data("abc");
    writer->Write(chunk);
    return grpc::Status::OK;
  }
};

class GrpcServerTest : public testing::Test {
 protected:
  GrpcServerTest() : authority_(pki_testing::NewAuthority(Now())) {}
  ~GrpcServerTest() override {
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
  }

  static std::int64_t Now() { return std::time(nullptr); }

  void Start(const Authority& of_server, std::int64_t made = Now()) {
    const KeyPair key = pki_testing::Key();
    const Certificate certificate = pki_testing::ServerOf(of_server, key, {"localhost"}, made);
    grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    tls.pem_root_certs = authority_.certificate().ToPem();
    tls.pem_key_cert_pairs = {{pki_testing::Pem(key), certificate.ToPem()}};
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    // The port of the one before, if there was one.
    builder.AddListeningPort(absl::StrCat("127.0.0.1:", port_), grpc::SslServerCredentials(tls), &port_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }

  Credential CredentialOf(const Authority& authority, std::vector<std::string> servers = {}) {
    if (servers.empty()) servers = {absl::StrCat("localhost:", port_)};
    auto credential = IssueCredential(authority, {Role::kOperator, "chen"}, servers, kDaySeconds, Now());
    EXPECT_TRUE(credential.ok()) << credential.status();
    return *credential;
  }

  std::unique_ptr<RemoteServer> Connect(const Credential& credential, std::int64_t timeout_ms = 5000) {
    auto server = GrpcConnector().Connect(credential, {.timeout_ms = timeout_ms});
    EXPECT_TRUE(server.ok()) << server.status();
    return *std::move(server);
  }

  Authority authority_;
  Service service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(GrpcServerTest, CallsAndRefusalsComeThrough) {
  Start(authority_);
  const auto server = Connect(CredentialOf(authority_), 1000);
  auto nodes = server->ListNodes({});
  ASSERT_TRUE(nodes.ok()) << nodes.status();
  EXPECT_EQ(nodes->nodes_size(), 1);
  auto refused = server->CreateToken({});
  EXPECT_TRUE(absl::IsPermissionDenied(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("role viewer may not call"));
  auto unknown = server->ListRuns({});  // a call that this server does not have
  EXPECT_TRUE(absl::IsUnimplemented(unknown.status()));
  EXPECT_THAT(std::string(unknown.status().message()), HasSubstr("another version"));
  const auto probes = server->Probe();
  ASSERT_EQ(probes.size(), 1u);
  EXPECT_TRUE(probes[0].status.ok()) << probes[0].status;
  EXPECT_EQ(probes[0].protocol, "TLSv1.3");
  EXPECT_GT(probes[0].server_not_after, Now());
  auto slow = server->ListAudits({});
  EXPECT_TRUE(absl::IsDeadlineExceeded(slow.status())) << slow.status();
}

TEST_F(GrpcServerTest, StreamsEndInWordsOrWhenTheVisitorHasEnough) {
  Start(authority_);
  const auto server = Connect(CredentialOf(authority_));
  std::vector<std::int64_t> numbers;
  auto status = server->WatchAudit({}, 0, [&](const v1::AuditRun& run) {
    numbers.push_back(run.number());
    return true;
  });
  EXPECT_THAT(numbers, ElementsAre(1, 2, 3));
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_TRUE(server->WatchAudit({}, 0, [](const v1::AuditRun&) { return false; }).ok());

  int left = 3;
  const auto next = [&]() -> absl::StatusOr<std::optional<v1::ImportChunk>> {
    if (left-- == 0) return std::optional<v1::ImportChunk>();
    v1::ImportChunk chunk;
    chunk.set_data("ab");
    return std::optional<v1::ImportChunk>(chunk);
  };
  auto imported = server->Import(next);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->pieces(), 6);
  left = 1000;
  EXPECT_TRUE(absl::IsResourceExhausted(server->Import(next).status()));
  const auto broken = []() -> absl::StatusOr<std::optional<v1::ImportChunk>> { return absl::DataLossError("disk"); };
  EXPECT_TRUE(absl::IsDataLoss(server->Import(broken).status()));
  std::string evidence;
  EXPECT_TRUE(server
                  ->GetEvidence({},
                                [&](const v1::EvidenceChunk& chunk) {
                                  evidence += chunk.data();
                                  return absl::OkStatus();
                                })
                  .ok());
  EXPECT_EQ(evidence, "abc");
}

TEST_F(GrpcServerTest, TheNextAddressIsTriedWhereOneDoesNotAnswer) {
  Start(authority_);
  const auto server = Connect(CredentialOf(authority_, {"localhost:1", absl::StrCat("localhost:", port_)}));
  EXPECT_TRUE(server->ListNodes({}).ok());
  EXPECT_EQ(server->address(), absl::StrCat("localhost:", port_));
}

TEST_F(GrpcServerTest, AServerThatStartsIsWaitedFor) {
  Start(authority_);
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  std::vector<std::string> told;
  const auto waiting = [&](const std::string& text) {
    told.push_back(text);
    Start(authority_);
  };
  auto server = GrpcConnector().Connect(CredentialOf(authority_), {.timeout_ms = 30'000, .waiting = waiting});
  ASSERT_TRUE(server.ok()) << server.status();
  const auto nodes = (*server)->ListNodes({});
  EXPECT_TRUE(nodes.ok()) << nodes.status();
  EXPECT_THAT(told,
              ElementsAre(HasSubstr("connection refused (is the server running, on that port?); trying for 5 s")));
}

// One that is not there is waited for at the first call alone.
TEST_F(GrpcServerTest, AServerIsWaitedForOnce) {
  int told = 0;
  const auto waiting = [&](const std::string&) { ++told; };
  auto server =
      GrpcConnector().Connect(CredentialOf(authority_, {"localhost:1"}), {.timeout_ms = 300, .waiting = waiting});
  ASSERT_TRUE(server.ok()) << server.status();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ((*server)->ListNodes({}).status().code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(told, 1);
  }
}

TEST_F(GrpcServerTest, WhyAServerCannotBeReachedIsTold) {
  auto status = Connect(CredentialOf(authority_, {"localhost:1"}), 100)->ListNodes({}).status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("server localhost:1 not reachable: connection refused"));
  status = Connect(CredentialOf(authority_, {"no-such-host.invalid:7400"}))->ListNodes({}).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("the name cannot be resolved"));

  // Another server at that place.
  const Authority other = pki_testing::NewAuthority(Now());
  Start(other);
  status = Connect(CredentialOf(authority_))->ListNodes({}).status();
  EXPECT_TRUE(absl::IsUnauthenticated(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("of another authority than the credential's"));
  // The right server, made for another name.
  status = Connect(CredentialOf(other, {absl::StrCat("127.0.0.1:", port_)}))->ListNodes({}).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("is not for 127.0.0.1"));
}

TEST_F(GrpcServerTest, ARefusedCertificateIsTold) {
  Start(authority_);
  const Authority other = pki_testing::NewAuthority(Now());
  Credential foreign = CredentialOf(other);
  foreign.authority_pem = authority_.certificate().ToPem();  // it trusts the server, the server not it
  const auto status = Connect(foreign)->ListNodes({}).status();
  EXPECT_TRUE(absl::IsUnauthenticated(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("certificate"));
}

TEST_F(GrpcServerTest, AnExpiredServerIsTold) {
  authority_ = pki_testing::NewAuthority(Now() - 10 * kDaySeconds);
  Start(authority_, Now() - 5 * kDaySeconds);  // a day's certificate
  const auto status = Connect(CredentialOf(authority_))->ListNodes({}).status();
  EXPECT_TRUE(absl::IsUnauthenticated(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the server's certificate has expired"));
}

TEST_F(GrpcServerTest, WhatIsNoServerIsTold) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(fd, 5), 0);
  socklen_t size = sizeof(address);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  const std::string server = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  const auto probe = ProbeTls(CredentialOf(authority_, {server}), server, 300);
  EXPECT_THAT(std::string(probe.status.message()), HasSubstr("does not answer"));
  close(fd);
}

}  // namespace
}  // namespace paritect
