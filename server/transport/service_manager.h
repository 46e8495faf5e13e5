// What systemd is told of a service of Type=notify: sd_notify(3)'s protocol, a datagram of "NAME=VALUE" lines to the
// socket that NOTIFY_SOCKET names. Without that variable nothing is told.
#ifndef PARITECT_SERVER_TRANSPORT_SERVICE_MANAGER_H_
#define PARITECT_SERVER_TRANSPORT_SERVICE_MANAGER_H_

#include <string>

#include "absl/strings/string_view.h"

namespace paritect {

class ServiceManager {
 public:
  // `socket`: a path, or "@NAME" of the abstract name space; empty: there is none.
  explicit ServiceManager(absl::string_view socket) : socket_(socket) {}
  static ServiceManager FromEnvironment();

  void Ready() const { Tell("READY=1"); }
  void Alive() const { Tell("WATCHDOG=1"); }
  void Stopping() const { Tell("STOPPING=1"); }

 private:
  void Tell(absl::string_view what) const;
  std::string socket_;
};

}  // namespace paritect

#endif  // PARITECT_SERVER_TRANSPORT_SERVICE_MANAGER_H_
