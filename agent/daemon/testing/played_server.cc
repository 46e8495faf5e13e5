#include "agent/daemon/testing/played_server.h"

#include <grpcpp/grpcpp.h>

#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/net/door_session.h"
#include "common/net/listener.h"
#include "common/pki/authority.h"
#include "common/pki/join_token.h"
#include "common/pki/peer.h"
#include "common/pki/pin.h"
#include "common/pki/server_folder.h"
#include "paritect/v1/agents.grpc.pb.h"
#include "paritect/v1/operators.grpc.pb.h"

namespace paritect {
namespace {

using Acceptor = grpc::experimental::ExternalConnectionAcceptor;
using Stream = grpc::ServerReaderWriter<v1::ServerMessage, v1::AgentMessage>;

std::int64_t NowSeconds() {
  return absl::ToUnixSeconds(absl::Now());
}

grpc::Status Refuse(grpc::StatusCode code, absl::string_view why) {
  return {code, std::string(why)};
}

}  // namespace

struct PlayedServer::Impl : v1::Agents::Service, v1::Operators::Service {
  // Messages to one connected agent go through here, so that tests can say something at any time. A test may hold a
  // Line longer than the call lives; Close() comes before the call returns, and nothing is said after it.
  class Line {
   public:
    Line(Stream* stream, grpc::ServerContext* context) : stream_(stream), context_(context) {}
    void Send(const v1::ServerMessage& message) {
      absl::MutexLock lock(&mutex_);
      if (stream_ != nullptr) stream_->Write(message);
    }
    void Cancel() {
      absl::MutexLock lock(&mutex_);
      if (context_ != nullptr) context_->TryCancel();
    }
    void Close() {
      absl::MutexLock lock(&mutex_);
      stream_ = nullptr;
      context_ = nullptr;
    }

   private:
    absl::Mutex mutex_;
    Stream* stream_ ABSL_GUARDED_BY(mutex_);
    grpc::ServerContext* context_ ABSL_GUARDED_BY(mutex_);
  };

  const Authority authority = *Authority::Create(NowSeconds());
  const KeyPair key = *KeyPair::Generate();
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<Acceptor> acceptor;
  openssl::UniqueSslContext door_context;
  std::unique_ptr<OneShotServer> door;
  std::unique_ptr<Listener> listener;
  int port = 0;

  mutable absl::Mutex mutex;
  std::map<std::string, Node> nodes;
  std::map<std::string, int> tokens;  // uses left
  std::map<std::string, std::shared_ptr<Line>> sessions;
  std::map<std::string, std::vector<v1::Task>> tasks;
  std::set<std::string> revoked;
  std::vector<std::string> faults;
  std::int64_t lifetime = kDaySeconds;
  bool held = false;

  void Start() {
    const Certificate certificate =
        *authority.SignServer(*CertificateRequest::FromPem(*CertificateRequest::Make(key, "server")),
                              {"127.0.0.1", "localhost"}, kDaySeconds, NowSeconds());
    const std::string chain = certificate.ToPem() + authority.certificate().ToPem();
    grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    tls.pem_root_certs = authority.certificate().ToPem();
    tls.pem_key_cert_pairs.push_back({*key.ToPem(), chain});
    grpc::ServerBuilder builder;
    acceptor = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, grpc::SslServerCredentials(tls));
    builder.RegisterService(static_cast<v1::Agents::Service*>(this));
    builder.RegisterService(static_cast<v1::Operators::Service*>(this));
    server = builder.BuildAndStart();
    door_context = *NewDoorContext(chain, *key.ToPem());
    door = std::make_unique<OneShotServer>(
        DoorOptions(), DoorPorts([this] { return openssl::UniqueSsl(SSL_new(door_context.get())); },
                                 [this](absl::string_view body, const std::string&) { return AtDoor(body); }));
    ListenerOptions options;
    options.peek = true;
    listener = *Listener::Open({"127.0.0.1", port}, options, {[this](const Arrival& arrival) { Take(arrival); }});
    port = listener->port();
  }

  void Stop() {
    listener.reset();
    door.reset();
    if (server) server->Shutdown(std::chrono::system_clock::now());
    server.reset();
    acceptor.reset();
  }

  void Take(const Arrival& arrival) {
    if (arrival.for_door) return door->Take(arrival.descriptor, arrival.address);
    Acceptor::NewConnectionParameters connection;
    connection.listener_fd = -1;
    connection.fd = arrival.descriptor;
    acceptor->HandleNewConnection(&connection);
  }

  std::string AtDoor(absl::string_view body) {
    v1::JoinRequest request;
    v1::DoorAnswer answer;
    request.ParseFromArray(body.data(), static_cast<int>(body.size()));
    const grpc::Status status = Join(request, *answer.mutable_joined());
    answer.set_code(status.error_code());
    answer.set_message(status.error_message());
    return answer.SerializeAsString();
  }

  std::string Caller(const grpc::ServerContext& context) {
    const auto pem = context.auth_context()->FindPropertyValues("x509_pem_cert");
    if (pem.empty()) return "";
    const auto peer = ParsePeer(absl::string_view(pem[0].data(), pem[0].size()));
    return peer.ok() ? peer->identity.name : "";
  }

  grpc::Status Sign(const std::string& name, const std::string& request_pem, v1::JoinResponse& response) {
    const auto request = CertificateRequest::FromPem(request_pem);
    if (!request.ok()) return Refuse(grpc::StatusCode::INVALID_ARGUMENT, request.status().message());
    const auto certificate = authority.SignClient(*request, {Role::kAgent, name}, lifetime, NowSeconds());
    if (!certificate.ok()) return Refuse(grpc::StatusCode::INVALID_ARGUMENT, certificate.status().message());
    response.set_certificate_pem(certificate->ToPem());
    response.set_authority_pem(authority.certificate().ToPem());
    response.set_role(v1::ACCESS_ROLE_AGENT);
    response.set_name(name);
    response.set_expires_unix(certificate->NotAfter());
    return grpc::Status::OK;
  }

  grpc::Status Join(const v1::JoinRequest& request, v1::JoinResponse& response) {
    absl::MutexLock lock(&mutex);
    const auto token = tokens.find(request.token());
    if (token == tokens.end() || token->second == 0) {
      return Refuse(grpc::StatusCode::PERMISSION_DENIED, "the token is unknown, used up or expired");
    }
    --token->second;
    return Sign(request.name(), request.signing_request_pem(), response);
  }

  grpc::Status Renew(grpc::ServerContext* context, const v1::RenewRequest* request,
                     v1::JoinResponse* response) override {
    const std::string name = Caller(*context);
    absl::MutexLock lock(&mutex);
    if (name.empty()) return Refuse(grpc::StatusCode::UNAUTHENTICATED, "no certificate");
    ++nodes[name].renewals;
    return Sign(name, request->signing_request_pem(), *response);
  }

  grpc::Status CreateToken(grpc::ServerContext*, const v1::CreateTokenRequest* request,
                           v1::CreateTokenResponse* response) override {
    absl::MutexLock lock(&mutex);
    response->set_token(*paritect::NewToken());
    tokens[response->token()] = std::max(1, request->uses());
    return grpc::Status::OK;
  }

  grpc::Status Session(grpc::ServerContext* context, Stream* stream) override {
    const std::string name = Caller(*context);
    v1::AgentMessage message;
    if (name.empty()) return Refuse(grpc::StatusCode::UNAUTHENTICATED, "no certificate");
    {
      absl::MutexLock lock(&mutex);
      if (revoked.count(name) > 0) return Refuse(grpc::StatusCode::PERMISSION_DENIED, "node revoked");
    }
    if (!stream->Read(&message) || !message.has_hello()) {
      return Refuse(grpc::StatusCode::INVALID_ARGUMENT, "Hello comes first");
    }
    const auto session = std::make_shared<Impl::Line>(stream, context);
    Greet(name, message.hello(), session);
    while (stream->Read(&message)) Take(name, message, *session);
    session->Close();
    absl::MutexLock lock(&mutex);
    if (sessions[name] == session) {
      sessions.erase(name);
      nodes[name].connected = false;
    }
    return grpc::Status::OK;
  }

  void Greet(const std::string& name, const v1::Hello& hello, const std::shared_ptr<Impl::Line>& session) {
    std::vector<v1::ServerMessage> out(1);
    {
      absl::MutexLock lock(&mutex);
      Node& node = nodes[name];
      node.hellos.push_back(hello);
      node.connected = true;
      ++node.sessions;
      sessions[name] = session;
      v1::Welcome& welcome = *out[0].mutable_welcome();
      welcome.set_program("played-server");
      welcome.set_node(name);
      welcome.set_durable_sequence(node.durable[hello.epoch()]);
      welcome.set_window_bytes(4 << 20);
      welcome.set_window_records(20'000);
      const std::set<std::string> done(hello.tasks_done().begin(), hello.tasks_done().end());
      for (const v1::Task& task : tasks[name]) {
        if (done.count(task.id()) == 0) *out.emplace_back().mutable_task() = task;
      }
    }
    for (const v1::ServerMessage& message : out) session->Send(message);
  }

  void Take(const std::string& name, const v1::AgentMessage& message, Impl::Line& session) {
    v1::ServerMessage ack;
    {
      absl::MutexLock lock(&mutex);
      Node& node = nodes[name];
      if (message.has_progress()) node.progress.push_back(message.progress());
      if (!message.has_batch()) return;
      mutex.Await(absl::Condition(
          +[](Impl* self) {
            self->mutex.AssertReaderHeld();
            return !self->held;
          },
          this));
      const std::uint64_t epoch = message.batch().epoch();
      for (const v1::Envelope& envelope : message.batch().envelopes()) TakeEnvelope(name, epoch, envelope, node);
      ack.mutable_ack()->set_epoch(epoch);
      ack.mutable_ack()->set_durable_sequence(node.durable[epoch]);
    }
    session.Send(ack);
  }

  void TakeEnvelope(const std::string& name, std::uint64_t epoch, const v1::Envelope& envelope, Node& node) {
    std::uint64_t& durable = node.durable[epoch];
    const bool gap = envelope.last_sequence() != 0;
    if (gap) {
      if (envelope.last_sequence() <= durable) return;
      node.gaps.push_back(absl::StrCat(envelope.sequence(), "-", envelope.last_sequence(), ":", envelope.gap_reason()));
      durable = envelope.last_sequence();
      return;
    }
    v1::Record record;
    if (!record.ParseFromString(envelope.record())) faults.push_back(absl::StrCat(name, ": no record"));
    if (envelope.sequence() <= durable) {
      const auto known = node.records.find({epoch, envelope.sequence()});
      if (known != node.records.end() && known->second.SerializeAsString() != record.SerializeAsString()) {
        faults.push_back(absl::StrCat(name, ": another record ", envelope.sequence()));
      }
      return;
    }
    if (envelope.sequence() != durable + 1) {
      faults.push_back(absl::StrCat(name, ": ", envelope.sequence(), " after ", durable));
      return;
    }
    durable = envelope.sequence();
    if (record.has_task_end()) {
      std::vector<v1::Task>& owed = tasks[name];
      owed.erase(std::remove_if(owed.begin(), owed.end(),
                                [&](const v1::Task& task) { return task.id() == record.task_end().task_id(); }),
                 owed.end());
    }
    node.records[{epoch, envelope.sequence()}] = std::move(record);
  }

  std::shared_ptr<Impl::Line> SessionOf(const std::string& node) {
    absl::MutexLock lock(&mutex);
    const auto session = sessions.find(node);
    return session == sessions.end() ? nullptr : session->second;
  }
};

PlayedServer::PlayedServer() : impl_(std::make_unique<Impl>()) {
  impl_->Start();
}
PlayedServer::~PlayedServer() {
  Stop();
}

std::string PlayedServer::address() const {
  return absl::StrCat("127.0.0.1:", impl_->port);
}
std::string PlayedServer::pin() const {
  return CaPin::Of(impl_->authority.certificate()).ToString();
}

std::string PlayedServer::NewToken() {
  absl::MutexLock lock(&impl_->mutex);
  const std::string token = *paritect::NewToken();
  impl_->tokens[token] = 1;
  return token;
}

Credential PlayedServer::Admin() const {
  return *IssueCredential(impl_->authority, {Role::kAdmin, "admin"}, {address()}, kDaySeconds, NowSeconds());
}

void PlayedServer::SetLifetime(std::int64_t seconds) {
  absl::MutexLock lock(&impl_->mutex);
  impl_->lifetime = seconds;
}

PlayedServer::Node PlayedServer::node(const std::string& name) const {
  absl::MutexLock lock(&impl_->mutex);
  return impl_->nodes[name];
}

std::vector<std::string> PlayedServer::faults() const {
  absl::MutexLock lock(&impl_->mutex);
  return impl_->faults;
}

void PlayedServer::AddTask(const std::string& node, const v1::Task& task) {
  {
    absl::MutexLock lock(&impl_->mutex);
    impl_->tasks[node].push_back(task);
  }
  v1::ServerMessage message;
  *message.mutable_task() = task;
  if (const auto session = impl_->SessionOf(node)) session->Send(message);
}

void PlayedServer::Cancel(const std::string& node, const std::string& task_id) {
  v1::ServerMessage message;
  message.mutable_cancel()->set_task_id(task_id);
  if (const auto session = impl_->SessionOf(node)) session->Send(message);
}

void PlayedServer::Revoke(const std::string& node) {
  {
    absl::MutexLock lock(&impl_->mutex);
    impl_->revoked.insert(node);
  }
  if (const auto session = impl_->SessionOf(node)) session->Cancel();
}

void PlayedServer::HoldBack(bool hold) {
  absl::MutexLock lock(&impl_->mutex);
  impl_->held = hold;
}

void PlayedServer::Stop() {
  HoldBack(false);
  impl_->Stop();
}

void PlayedServer::Restart() {
  Stop();
  impl_->Start();
}

bool PlayedServer::WaitFor(const std::string& node, absl::Duration time, bool (*done)(const Node&)) const {
  struct Wait {
    Impl* impl;
    const std::string& node;
    bool (*done)(const Node&);
  } wait = {impl_.get(), node, done};
  absl::MutexLock lock(&impl_->mutex);
  return impl_->mutex.AwaitWithTimeout(absl::Condition(
                                           +[](Wait* w) { return w->done(w->impl->nodes[w->node]); }, &wait),
                                       time);
}

std::vector<v1::TaskEnd> PlayedServer::Ends(const std::string& node, const std::string& task_id) const {
  std::vector<v1::TaskEnd> ends;
  absl::MutexLock lock(&impl_->mutex);
  for (const auto& [key, record] : impl_->nodes[node].records) {
    if (record.has_task_end() && record.task_end().task_id() == task_id) ends.push_back(record.task_end());
  }
  return ends;
}

}  // namespace paritect
