#include "server/transport/watched_context.h"

#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "common/net/tcp_stream.h"
#include "common/pki/server_folder.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr std::int64_t kCertificateRefreshMs = 10'000;

}  // namespace

absl::Status WatchedContext::Load() {
  looked_ms_ = MonotonicMs();
  const std::string stamp = Stamp();
  if (context_ != nullptr && stamp == stamp_) return absl::OkStatus();
  PARITECT_ASSIGN_OR_RETURN(const ServerFolder loaded, LoadServerFolder(folder_, clock_() / 1000));
  PARITECT_ASSIGN_OR_RETURN(context_, make_(loaded));
  stamp_ = stamp;
  return absl::OkStatus();
}

openssl::UniqueSsl WatchedContext::NewSession() {
  // Half of a pair that is being replaced does not fit: the one before serves on.
  if (MonotonicMs() - looked_ms_ >= kCertificateRefreshMs) Load().IgnoreError();
  return openssl::UniqueSsl(SSL_new(context_.get()));
}

std::string WatchedContext::Stamp() const {
  std::string stamp;
  for (const char* name : {"server.pem", "server.key", "ca.pem"}) {
    struct stat info = {};
    if (stat(absl::StrCat(folder_, "/", name).c_str(), &info) != 0) continue;
    absl::StrAppend(&stamp, info.st_ino, ":", info.st_size, ":", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, " ");
  }
  return stamp;
}

}  // namespace paritect
