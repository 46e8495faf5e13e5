#include "agent/uplink/grpc_channel.h"

#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <stdlib.h>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "agent/uplink/explain_failure.h"
#include "common/net/settle_errno.h"

namespace paritect {
namespace {

// gRPC tells the reason of a failed handshake in its log alone; the newest such line explains the failure that follows.
class LastTlsError {
 public:
  void Put(absl::string_view line) {
    absl::MutexLock lock(&mutex_);
    line_ = std::string(line);
    at_ = absl::Now();
  }
  std::string Since(absl::Time since) {
    absl::MutexLock lock(&mutex_);
    return at_ >= since ? line_ : "";
  }

 private:
  absl::Mutex mutex_;
  std::string line_ ABSL_GUARDED_BY(mutex_);
  absl::Time at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

LastTlsError& TlsError() {
  static auto* const error = new LastTlsError();
  return *error;
}

void (*verbose_log)(absl::string_view line) = nullptr;

void OnGrpcLog(gpr_log_func_args* args) {
  const absl::string_view line(args->message);
  if (absl::StrContains(line, "SSL") || absl::StrContains(line, "certificate")) TlsError().Put(line);
  if (verbose_log != nullptr) verbose_log(line);
}

}  // namespace

void PrepareGrpc(void (*verbose)(absl::string_view line)) {
  // Helpers are started with posix_spawn or vfork and exec at once; gRPC's fork handlers would only cost.
  setenv("GRPC_ENABLE_FORK_SUPPORT", "0", 1);
  SettleErrno();
  verbose_log = verbose;
  gpr_set_log_function(&OnGrpcLog);
}

std::shared_ptr<grpc::Channel> OpenChannel(const std::string& server, const TlsFiles& tls) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = tls.authority_pem;
  options.pem_private_key = tls.key_pem;
  options.pem_cert_chain = tls.certificate_pem;
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 0);
  // One attempt a channel; the uplink decides on the next.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 10'000);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 60'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 60'000);
  return grpc::CreateCustomChannel(server, grpc::SslCredentials(options), arguments);
}

absl::Status FromGrpc(const grpc::Status& status, absl::string_view server, absl::Time since) {
  if (status.ok()) return absl::OkStatus();
  const std::string tls_detail = TlsError().Since(since);
  return ExplainFailure(
      {static_cast<absl::StatusCode>(status.error_code()), status.error_message(), server, tls_detail});
}

}  // namespace paritect
