// What TLS shows to strangers and browsers: the server's certificate up to the authority, read again where a file was
// replaced.
#ifndef PARITECT_SERVER_TRANSPORT_WATCHED_CONTEXT_H_
#define PARITECT_SERVER_TRANSPORT_WATCHED_CONTEXT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/pki/openssl.h"
#include "server/wall_clock.h"

namespace paritect {

// Of one thread.
class WatchedContext {
 public:
  using Make = absl::StatusOr<openssl::UniqueSslContext> (*)(const std::string& chain_pem, const std::string& key_pem);

  WatchedContext(std::string folder, WallClock clock, Make make)
      : folder_(std::move(folder)), clock_(std::move(clock)), make_(make) {}

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
