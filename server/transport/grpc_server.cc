#include "server/transport/grpc_server.h"

#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/support/server_interceptor.h>
#include <atomic>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/net/handshake_watch.h"
#include "common/net/read_hold.h"
#include "common/net/tcp_stream.h"
#include "common/status_macros.h"
#include "server/call_rate.h"
#include "server/executor.h"
#include "server/transport/agents_service.h"
#include "server/transport/enrolment_door.h"
#include "server/transport/operators_service.h"

namespace paritect {
namespace {

using Acceptor = grpc::experimental::ExternalConnectionAcceptor;

constexpr int kMessageBytesMax = 8 << 20;  // below what a connection may send unheard (ConnectionLimits)
constexpr int kMetadataBytesMax = 8 << 10;
constexpr int kStreamsPerConnectionMax = 32;
constexpr int kHandshakeTimeoutMs = 10'000;
constexpr int kConnectionAgeMs = 3'600'000;  // renewed certificates and revocations converge
constexpr int kConnectionAgeGraceMs = 10'000;
constexpr int kConnectionIdleMs = 300'000;  // without a call
constexpr unsigned kCertificateRefreshSeconds = 10;
constexpr int kLogLinesPerSecondMax = 20;

// Health and reflection are gRPC's own services: they know nothing of our table, so the call is cut off before them.
class GateInterceptor final : public grpc::experimental::Interceptor {
 public:
  GateInterceptor(const Gate& gate, grpc::experimental::ServerRpcInfo* info) : gate_(gate), info_(info) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(grpc::experimental::InterceptionHookPoints::POST_RECV_INITIAL_METADATA) &&
        !gate_.Admit(*info_->server_context(), info_->method(), false).ok()) {
      info_->server_context()->TryCancel();
    }
    methods->Proceed();
  }

 private:
  const Gate& gate_;
  grpc::experimental::ServerRpcInfo* const info_;
};

class GateInterceptorFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit GateInterceptorFactory(const Gate& gate) : gate_(gate) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* info) override {
    return absl::StartsWith(info->method(), "/grpc.") ? new GateInterceptor(gate_, info) : nullptr;
  }

 private:
  const Gate& gate_;
};

// Asked on the transport's thread, before gRPC keeps anything for a call's handler.
class CallRateProcessor final : public grpc::AuthMetadataProcessor {
 public:
  bool IsBlocking() const override { return false; }
  grpc::Status Process(const InputMetadata& /*metadata*/, grpc::AuthContext* context, OutputMetadata* /*consumed*/,
                       OutputMetadata* /*response*/) override {
    const std::vector<grpc::string_ref> pem = context->FindPropertyValues("x509_pem_cert");
    const auto holder = pem.empty() ? absl::string_view() : absl::string_view(pem[0].data(), pem[0].size());
    if (rate_.Take(holder, MonotonicMs())) return grpc::Status::OK;
    return {grpc::StatusCode::RESOURCE_EXHAUSTED,
            absl::StrCat("more than ", CallRate::kCallsASecond, " calls a second with this certificate")};
  }

 private:
  CallRate rate_;
};

// What gRPC has to say itself; of a failed handshake only what HandshakeWatch could not tell with its address.
// Strangers decide how many there are: more than a few a second are dropped.
std::atomic<ServerLog*> grpc_log = nullptr;  // NOLINT: gRPC's log function takes no argument of ours

void LogLine(gpr_log_func_args* args) {
  if (args->severity < GPR_LOG_SEVERITY_ERROR) return;
  if (ToldOfHandshake() && absl::StrContains(args->message, "Handshake failed")) return;
  // No refusal: it answers with the one certificate that it has, and whoever does not take it says so.
  if (absl::StrContains(args->message, "No match found for server name")) return;
  static std::atomic<std::int64_t> second = 0;
  static std::atomic<int> lines = 0;
  const std::int64_t now_s = MonotonicMs() / 1000;
  if (second.exchange(now_s) != now_s) lines = 0;
  if (++lines > kLogLinesPerSecondMax) return;
  if (ServerLog* const log = grpc_log) log->Write(LogLevel::kWarning, "connection refused", {{"why", args->message}});
}

std::shared_ptr<grpc::ServerCredentials> MakeCredentials(const GrpcServerOptions& options) {
  if (options.insecure_loopback) return grpc::InsecureServerCredentials();
  const auto provider = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      absl::StrCat(options.folder, "/server.key"), absl::StrCat(options.folder, "/server.pem"),
      absl::StrCat(options.folder, "/ca.pem"), kCertificateRefreshSeconds);
  grpc::experimental::TlsServerCredentialsOptions tls(provider);
  tls.watch_root_certs();
  tls.watch_identity_key_cert_pairs();
  // HTTP/2 of this gRPC can be made to end the process: none of it is read before the certificate was verified.
  tls.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  auto credentials = grpc::experimental::TlsServerCredentials(tls);
  credentials->SetAuthMetadataProcessor(std::make_shared<CallRateProcessor>());
  return credentials;
}

class GrpcServerImpl final : public GrpcServer {
 public:
  GrpcServerImpl(const Gate& gate, OperatorCalls& calls, Enrolment& enrolment, Fleet& fleet)
      : gate_(gate), enrolment_(enrolment), agents_(gate, enrolment, fleet), operators_(gate, calls) {}
  ~GrpcServerImpl() override {
    Stop(0);
    grpc_log = nullptr;
  }

  absl::Status Start(const GrpcServerOptions& options, const Gate& gate) {
    grpc::ServerBuilder builder;
    acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, MakeCredentials(options));
    builder.RegisterService(&agents_);
    builder.RegisterService(&operators_);
    builder.SetMaxReceiveMessageSize(kMessageBytesMax);
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMetadataBytesMax);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsPerConnectionMax);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeTimeoutMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, kConnectionAgeMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, kConnectionAgeGraceMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kConnectionIdleMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> creators;
    creators.push_back(std::make_unique<GateInterceptorFactory>(gate));
    builder.experimental().SetInterceptorCreators(std::move(creators));
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return absl::InternalError("gRPC did not start; its reason is in the lines above");
    if (auto* health = server_->GetHealthCheckService()) health->SetServingStatus(true);
    ListenerOptions listener = options.listener;
    listener.peek = !options.insecure_loopback;
    if (listener.peek) {
      PARITECT_ASSIGN_OR_RETURN(door_, OpenEnrolmentDoor(options.folder, options.clock, enrolment_, gate_.log()));
    }
    ListenerPorts ports;
    ports.take = [this](const Arrival& arrival) { Take(arrival); };
    ports.cut = [this](const std::string& address, const char* why) { LogRefusedHandshake(address, why, gate_.log()); };
    PARITECT_ASSIGN_OR_RETURN(listener_, Listener::Open(options.address, listener, std::move(ports)));
    hearing_ = listener_.get();
    return absl::OkStatus();
  }

  int port() const override { return listener_->port(); }
  ListenerCounters listener_counters() const override { return listener_->counters(); }

  void Heard(const std::string& key, const std::string& actor, bool message) override {
    if (Listener* const listener = hearing_) listener->Heard(key, actor, message);
  }

  void Stop(std::int64_t grace_ms) override {
    if (listener_ != nullptr) listener_->Stop();
    if (door_ != nullptr) door_->Stop();
    giving_.Stop();
    if (server_ == nullptr || stopped_) return;
    stopped_ = true;
    if (auto* health = server_->GetHealthCheckService()) health->Shutdown();
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(grace_ms));
    server_->Wait();
  }

 private:
  void Take(const Arrival& arrival) {
    if (arrival.for_door) return door_->Take(arrival.descriptor, arrival.address);
    if (!arrival.hello_random.empty()) handshakes_.Expect(arrival.hello_random, arrival.address);
    giving_.Post([this, descriptor = arrival.descriptor] { Give(descriptor); });
  }

  void Give(int descriptor) {
    const ReadHold hold(descriptor);
    Acceptor::NewConnectionParameters connection;
    connection.listener_fd = -1;
    connection.fd = descriptor;
    acceptor_->HandleNewConnection(&connection);
  }

  const Gate& gate_;
  Enrolment& enrolment_;
  AgentsService agents_;
  OperatorsService operators_;
  HandshakeWatch handshakes_{
      [this](const std::string& address, const std::string& why) { LogRefusedHandshake(address, why, gate_.log()); }};
  std::unique_ptr<Acceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<EnrolmentDoor> door_;
  // Not the listener's thread, which counts: where the kernel cannot hold (ReadHold), a caller keeps who gives him.
  Executor giving_;
  std::unique_ptr<Listener> listener_;        // ends before what it hands connections to
  std::atomic<Listener*> hearing_ = nullptr;  // calls may come in before listener_ is set
  bool stopped_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcServer>> StartGrpcServer(const GrpcServerOptions& options, const Gate& gate,
                                                            OperatorCalls& calls, Enrolment& enrolment, Fleet& fleet) {
  grpc_log = options.log;
  gpr_set_log_function(&LogLine);
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  auto server = std::make_unique<GrpcServerImpl>(gate, calls, enrolment, fleet);
  PARITECT_RETURN_IF_ERROR(server->Start(options, gate));
  return std::unique_ptr<GrpcServer>(std::move(server));
}

std::vector<std::string> ServiceMethods() {
  std::vector<std::string> methods;
  for (const google::protobuf::FileDescriptor* file :
       {v1::RenewRequest::descriptor()->file(), v1::CreateTokenRequest::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        methods.push_back(absl::StrCat("/", file->service(s)->full_name(), "/", file->service(s)->method(m)->name()));
      }
    }
  }
  return methods;
}

}  // namespace paritect
