// What TLS shows to strangers and browsers: the server's certificate up to the authority, read again where a file was
// replaced.
#ifndef PARITECT_SERVER_TRANSPORT_WATCHED_CONTEXT_H_
#define PARITECT_SERVER_TRANSPORT_WATCHED_CONTEXT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "common/pki/openssl.h"
#include "common/pki/server_folder.h"
#include "server/wall_clock.h"

namespace paritect {

// Of one thread.
class WatchedContext {
 public:
  using Make = std::function<absl::StatusOr<openssl::UniqueSslContext>(const ServerFolder& folder)>;

  WatchedContext(std::string folder, WallClock clock, Make make)
      : folder_(std::move(folder)), clock_(std::move(clock)), make_(std::move(make)) {}

  // Errors of the folder, and of `make`.
  absl::Status Load();
  openssl::UniqueSsl NewSession();

 private:
  std::string Stamp() const;

  const std::string folder_;
  const WallClock clock_;
  const Make make_;
  std::string stamp_;
  std::int64_t looked_ms_ = 0;
  openssl::UniqueSslContext context_;
};

}  // namespace paritect

#endif  // PARITECT_SERVER_TRANSPORT_WATCHED_CONTEXT_H_
