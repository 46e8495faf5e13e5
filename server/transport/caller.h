// Who is calling, and whether they may: for every RPC, before anything else.
#ifndef PARITECT_SERVER_TRANSPORT_CALLER_H_
#define PARITECT_SERVER_TRANSPORT_CALLER_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/pki/server_folder.h"
#include "server/call_log.h"
#include "server/enrolment.h"
#include "server/fleet.h"
#include "server/logins.h"
#include "server/wall_clock.h"

namespace grpc {
class ServerContextBase;
class Status;
}  // namespace grpc

namespace paritect {

struct Caller {
  std::optional<Peer> peer;  // nullopt: without certificate (only where there is no TLS)
  std::string address;       // "10.0.0.1"
  std::string key;           // of its connection (PeerKey)
  // "agent/gpu-01", or "-/ADDRESS".
  std::string Actor() const;
  LoginHolder Holder() const;
};

// The rules of the house for one server. Immutable but for what it points to.
class Gate {
 public:
  // `insecure`: no TLS (tests on the loopback only): the caller is what its metadata "paritect-role" and
  // "paritect-name" say. `heard`: a call was admitted, or (`message`) a message taken.
  Gate(const ServerFolder& folder, Fleet& fleet, CallLog& log, WallClock clock,
       std::function<void(const Caller& caller, bool message)> heard, bool insecure)
      : folder_(folder),
        fleet_(fleet),
        log_(log),
        clock_(std::move(clock)),
        heard_(std::move(heard)),
        insecure_(insecure) {}

  // Identity from the TLS session alone, never from a message. A refusal is logged. `with_message`: the call's message
  // was read before; false for streams, whose messages come later.
  absl::StatusOr<Caller> Admit(const grpc::ServerContextBase& context, absl::string_view method,
                               bool with_message = true) const;
  // Of a call that goes on: to be asked with every message, either way. Unauthenticated: the certificate's time is
  // over. PermissionDenied: its holder was revoked meanwhile.
  absl::Status StillGood(const Caller& caller) const;
  // Of a certificate that a handshake verified. PermissionDenied: revoked.
  absl::StatusOr<LoginHolder> HolderOf(const std::string& certificate_pem) const;
  // That holder's certificate is still accepted, which it was made with.
  bool Stands(const LoginHolder& holder) const { return fleet_.Accepts(holder.certificate).ok(); }
  CallLog& log() const { return log_; }
  void Log(const Caller& caller, absl::string_view action, absl::string_view subject, const absl::Status& outcome,
           absl::string_view detail = "") const;

 private:
  absl::StatusOr<Caller> Identify(const grpc::ServerContextBase& context) const;
  absl::Status Holds(const Caller& caller) const;

  const ServerFolder& folder_;
  Fleet& fleet_;
  CallLog& log_;
  const WallClock clock_;
  const std::function<void(const Caller& caller, bool message)> heard_;
  const bool insecure_;
};

// ResourceExhausted carries its retry hint in words; codes are the same numbers.
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace paritect

#endif  // PARITECT_SERVER_TRANSPORT_CALLER_H_
