// The server's own accept loop. gRPC 1.51's never accepts again once it ran out of descriptors (CVE-2023-4785), so
// connections are accepted here, bounded, and handed over. No gRPC in this file.
#ifndef PARITECT_SERVER_TRANSPORT_LISTENER_H_
#define PARITECT_SERVER_TRANSPORT_LISTENER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "common/host_port.h"

namespace paritect {

struct ListenerOptions {
  int connections_max = 15'000;
  int connections_per_address_max = 4'096;
  // Descriptors kept free for files, pipes and readers of the database.
  int descriptors_reserved = 64;
};

struct ListenerCounters {
  std::int64_t accepted = 0;
  std::int64_t refused_total = 0;  // for the limit of all connections
  std::int64_t refused_per_address = 0;
  std::int64_t exhausted = 0;  // accept failed for want of descriptors
  std::int64_t open = 0;
};

// Accepts on one address until destroyed. What is refused is closed at once, before any TLS work.
class Listener {
 public:
  // Unavailable: the address is in use or not of this machine. Port 0: any free one; see port(). `take` gets the
  // descriptor of each connection and owns it; called on the listener's thread.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const HostPort& address, ListenerOptions options,
                                                        std::function<void(int descriptor)> take);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int port() const { return port_; }
  // Ends accepting; connections live on. Idempotent.
  void Stop();
  ListenerCounters counters() const;

 private:
  struct Connection {
    std::uint64_t inode = 0;  // of the socket: tells whether the descriptor is still this connection
    std::string address;
  };

  Listener(std::vector<int> sockets, int port, ListenerOptions options, std::function<void(int)> take);
  void Loop();
  void AcceptFrom(int socket);
  void Shed(int socket);
  bool Admit(int descriptor, const std::string& address);
  void ForgetClosed();

  const std::vector<int> sockets_;
  const int port_;
  const ListenerOptions options_;
  const std::function<void(int)> take_;
  int wake_[2] = {-1, -1};
  int spare_ = -1;                         // closed to make room for one accept when descriptors have run out
  std::map<int, Connection> connections_;  // of the loop's thread
  std::map<std::string, int> per_address_;
  std::int64_t forgotten_ms_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<std::int64_t> accepted_ = 0;
  std::atomic<std::int64_t> refused_total_ = 0;
  std::atomic<std::int64_t> refused_per_address_ = 0;
  std::atomic<std::int64_t> exhausted_ = 0;
  std::atomic<std::int64_t> open_ = 0;
  std::thread thread_;
};

}  // namespace paritect

#endif  // PARITECT_SERVER_TRANSPORT_LISTENER_H_
