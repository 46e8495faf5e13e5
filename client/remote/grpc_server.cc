#include "client/remote/grpc_server.h"

#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/remote/tls_probe.h"
#include "common/net/settle_errno.h"
#include "common/status_macros.h"
#include "paritect/v1/operators.grpc.pb.h"

namespace paritect {
namespace {

constexpr int kMessageBytesMax = 256 << 20;  // a report with every finding of a large fleet
constexpr std::int64_t kConnectMsMax = 10'000;
constexpr std::chrono::milliseconds kPause(100);  // between attempts

absl::Status ToAbsl(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

std::chrono::system_clock::time_point In(std::int64_t ms) {
  return std::chrono::system_clock::now() + std::chrono::milliseconds(ms);
}

std::shared_ptr<grpc::Channel> NewChannel(const std::string& server, const grpc::SslCredentialsOptions& tls) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // another channel, another attempt
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);          // an environment variable must not redirect an audit
  return grpc::CreateCustomChannel(server, grpc::SslCredentials(tls), arguments);
}

class GrpcServer : public RemoteServer {
 public:
  GrpcServer(Credential credential, const ConnectOptions& options)
      : credential_(std::move(credential)), options_(options) {}

  std::string address() const override { return address_.empty() ? credential_.servers[0] : address_; }

#define PARITECT_OPERATOR_CALL(name, roles, subject)                                           \
  absl::StatusOr<v1::name##Response> name(const v1::name##Request& request) override {         \
    return Call<v1::name##Response>(request, &v1::Operators::Stub::name, options_.timeout_ms); \
  }
#include "proto/paritect/v1/operator_calls.inc"
#undef PARITECT_OPERATOR_CALL

  // A deep one reads the whole database.
  absl::StatusOr<v1::DiagnosisResponse> Diagnose(const v1::DiagnosisRequest& request) override {
    const std::int64_t timeout_ms =
        request.deep() ? std::max<std::int64_t>(options_.timeout_ms, 600'000) : options_.timeout_ms;
    return Call<v1::DiagnosisResponse>(request, &v1::Operators::Stub::Diagnose, timeout_ms);
  }

  absl::Status WatchAudit(const v1::WatchAuditRequest& request, std::int64_t timeout_ms,
                          absl::FunctionRef<bool(const v1::AuditRun&)> visit) override {
    PARITECT_RETURN_IF_ERROR(Connect());
    grpc::ClientContext context;
    if (timeout_ms > 0) context.set_deadline(In(timeout_ms));
    auto reader = stub_->WatchAudit(&context, request);
    v1::AuditRun run;
    bool left = false;
    while (!left && reader->Read(&run)) left = !visit(run);
    if (left) context.TryCancel();
    const grpc::Status status = reader->Finish();
    return left ? absl::OkStatus() : InWords(status);
  }

  absl::Status WatchEvents(const v1::WatchEventsRequest& request,
                           absl::FunctionRef<bool(const v1::LiveEvent&)> visit) override {
    PARITECT_RETURN_IF_ERROR(Connect());
    grpc::ClientContext context;
    auto reader = stub_->WatchEvents(&context, request);
    v1::LiveEvent event;
    bool more = true;
    while (more && reader->Read(&event)) more = visit(event);
    if (!more) context.TryCancel();
    const grpc::Status status = reader->Finish();
    return more ? InWords(status) : absl::OkStatus();
  }

  absl::StatusOr<v1::ImportResponse> Import(NextChunk next) override {
    PARITECT_RETURN_IF_ERROR(Connect());
    grpc::ClientContext context;
    v1::ImportResponse response;
    auto writer = stub_->Import(&context, &response);
    absl::Status read;
    for (;;) {
      auto chunk = next();
      if (!chunk.ok()) {
        read = chunk.status();
        context.TryCancel();
        break;
      }
      if (!chunk->has_value() || !writer->Write(**chunk)) break;  // the server ended the call: Finish says why
    }
    if (read.ok()) writer->WritesDone();
    const grpc::Status status = writer->Finish();
    PARITECT_RETURN_IF_ERROR(read);
    PARITECT_RETURN_IF_ERROR(InWords(status));
    return response;
  }

  std::vector<TlsProbe> Probe() override {
    std::vector<TlsProbe> probes;
    for (const std::string& server : credential_.servers) probes.push_back(ProbeTls(credential_, server, ConnectMs()));
    return probes;
  }

  absl::Status GetEvidence(const v1::GetEvidenceRequest& request,
                           absl::FunctionRef<absl::Status(const v1::EvidenceChunk&)> visit) override {
    PARITECT_RETURN_IF_ERROR(Connect());
    grpc::ClientContext context;
    auto reader = stub_->GetEvidence(&context, request);
    v1::EvidenceChunk chunk;
    absl::Status taken;
    while (taken.ok() && reader->Read(&chunk)) taken = visit(chunk);
    if (!taken.ok()) context.TryCancel();
    const grpc::Status status = reader->Finish();
    PARITECT_RETURN_IF_ERROR(taken);
    return InWords(status);
  }

 private:
  template <typename Response, typename Request>
  absl::StatusOr<Response> Call(const Request& request,
                                grpc::Status (v1::Operators::Stub::*method)(grpc::ClientContext*, const Request&,
                                                                            Response*),
                                std::int64_t timeout_ms) {
    PARITECT_RETURN_IF_ERROR(Connect());
    grpc::ClientContext context;
    context.set_deadline(In(timeout_ms));
    Response response;
    PARITECT_RETURN_IF_ERROR(InWords((stub_.get()->*method)(&context, request, &response)));
    return response;
  }

  // Leaves a usable stub_, or says of each address why it is of no use.
  absl::Status Connect() {
    if (channel_ != nullptr && channel_->GetState(false) == GRPC_CHANNEL_READY) return absl::OkStatus();
    // Once: who goes on after a loss has a patience of his own.
    const std::int64_t limit_ms = std::exchange(asked_, true) ? 0 : std::min(options_.timeout_ms, kStartingMs);
    return AskWhileStarting(limit_ms, options_.waiting, [this] { return ConnectToOne(); });
  }

  absl::Status ConnectToOne() {
    std::vector<std::string> problems;
    absl::Status first;
    bool starting = false;
    for (const std::string& server : credential_.servers) {
      const absl::Status why = ConnectTo(server);
      if (why.ok()) return absl::OkStatus();
      if (first.ok()) first = why;
      starting = starting || MayBeStarting(why);
      problems.emplace_back(why.message());
    }
    channel_ = nullptr;
    absl::Status status(first.code(), absl::StrJoin(problems, "\n"));
    return starting ? AsOfStartingServer(std::move(status)) : status;
  }

  std::int64_t ConnectMs() const {
    return std::min(options_.timeout_ms, kConnectMsMax);
  }

  // A failure counts where the server, asked by hand, does not answer either: what answers is waited for.
  absl::Status ConnectTo(const std::string& server) {
    const auto deadline = In(ConnectMs());
    while (true) {
      channel_ = NewChannel(server, {credential_.authority_pem, credential_.key_pem, credential_.certificate_pem});
      if (BecomesReady(*channel_, deadline)) {
        address_ = server;
        stub_ = v1::Operators::NewStub(channel_);
        return absl::OkStatus();
      }
      const TlsProbe probe = ProbeTls(credential_, server, ConnectMs());
      if (!probe.status.ok() || std::chrono::system_clock::now() + kPause > deadline) return ExplainUnreachable(probe);
      std::this_thread::sleep_for(kPause);
    }
  }

  static bool BecomesReady(grpc::Channel& channel, std::chrono::system_clock::time_point deadline) {
    grpc_connectivity_state state = channel.GetState(true);
    while (state != GRPC_CHANNEL_READY) {
      if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN) return false;
      if (!channel.WaitForStateChange(state, deadline)) return false;
      state = channel.GetState(true);
    }
    return true;
  }

  absl::Status InWords(const grpc::Status& status) const {
    if (status.ok()) return absl::OkStatus();
    const absl::Status plain = ToAbsl(status);
    switch (plain.code()) {
      case absl::StatusCode::kUnavailable:
        return absl::UnavailableError(
            absl::StrCat("server ", address(), ": the connection was lost (", plain.message(), "); try again"));
      case absl::StatusCode::kDeadlineExceeded:
        return absl::DeadlineExceededError(absl::StrCat("server ", address(), " did not answer in time (",
                                                        options_.timeout_ms / 1000, " s; --timeout gives it longer)"));
      case absl::StatusCode::kUnimplemented:
        return absl::UnimplementedError(absl::StrCat("server ", address(),
                                                     " does not know this call: it is of another "
                                                     "version (`paritect doctor` tells both)"));
      default: return plain;
    }
  }

  const Credential credential_;
  const ConnectOptions options_;
  bool asked_ = false;
  std::string address_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Operators::Stub> stub_;
};

class Connector : public RemoteConnector {
 public:
  absl::StatusOr<std::unique_ptr<RemoteServer>> Connect(const Credential& credential,
                                                        const ConnectOptions& options) override {
    SettleErrno();
    // What gRPC would print is said in words by ExplainUnreachable.
    gpr_set_log_function([](gpr_log_func_args*) {});
    return std::make_unique<GrpcServer>(credential, options);
  }
};

}  // namespace

RemoteConnector& GrpcConnector() {
  static Connector& connector = *new Connector;
  return connector;
}

}  // namespace paritect
