// The server's own accept loop. gRPC 1.51's never accepts again once it ran out of descriptors (CVE-2023-4785), and
// what it reads before it knows who calls can end the process: so connections are accepted here, bounded, and handed
// over once it is known what they want. No gRPC in this file.
#ifndef PARITECT_COMMON_NET_LISTENER_H_
#define PARITECT_COMMON_NET_LISTENER_H_

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
#include "common/net/connection_table.h"

namespace paritect {

struct ListenerOptions {
  ConnectionLimits limits;
  // Descriptors kept free for files, pipes and readers of the database.
  int descriptors_reserved = 64;
  // Waits for the first message of TLS, reads it without taking it away, and tells a caller for the enrolment door from
  // others, who count as strangers until Heard. Without: hands over at once.
  bool peek = false;
  int waiting_max = 1024;  // then the oldest goes
  std::int64_t hello_ms = 10'000;
};

struct ListenerCounters {
  std::int64_t accepted = 0;
  std::int64_t refused_total = 0;  // for the limit of all connections
  std::int64_t refused_per_address = 0;
  std::int64_t exhausted = 0;  // accept failed for want of descriptors
  std::int64_t open = 0;
  std::int64_t waiting = 0;    // that have not said what they want
  std::int64_t strangers = 0;  // with the transport, no admitted call yet
  std::int64_t cut = 0;        // hung up on: no TLS, too slow, bytes without a message
};

struct Arrival {
  int descriptor = -1;  // whoever takes it owns it
  std::string address;
  bool for_door = false;
  std::string hello_random = {};  // PeekedHello::random, where it was peeked
};

struct ListenerPorts {
  std::function<void(Arrival)> take;  // called on the listener's thread
  // May be empty.
  std::function<void(const std::string& address, const char* why)> cut = {};
};

// Accepts on one address until destroyed. What is refused is closed at once, before any TLS work.
class Listener {
 public:
  // Unavailable: the address is in use or not of this machine. Port 0: any free one; see port().
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const HostPort& address, ListenerOptions options,
                                                        ListenerPorts ports);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int port() const { return port_; }
  // Ends accepting; connections live on. Idempotent.
  void Stop();
  ListenerCounters counters() const;
  // ConnectionTable::Heard. Any thread.
  void Heard(const std::string& peer, const std::string& caller, bool message);

 private:
  struct Waiting {
    int descriptor = -1;
    std::string address;
    std::int64_t since_ms = 0;
    bool whole = false;  // its hello is; a place among the strangers is not
    std::string random = {};
  };
  using Queue = std::map<std::uint64_t, Waiting>;  // in the order of arrival

  Listener(std::vector<int> sockets, int port, ListenerOptions options, ListenerPorts ports);
  void Loop();
  void AcceptFrom(int socket);
  void Shed(int socket);
  void Wait(int descriptor, const std::string& address);
  Queue::iterator Peek(Queue::iterator at);
  Queue::iterator HandOver(Queue::iterator at, bool for_door);
  Queue::iterator HangUp(Queue::iterator at, const char* why);
  void Seat();
  void Look(ConnectionTable::Whom whom);
  void Housekeeping();
  void Wake() const;

  const std::vector<int> sockets_;
  const int port_;
  const ListenerOptions options_;
  const ListenerPorts ports_;
  ConnectionTable table_;
  int epoll_ = -1;
  int wake_[2] = {-1, -1};
  int spare_ = -1;  // closed to make room for one accept when descriptors have run out
  Queue queue_;     // of the loop's thread, as the next three
  std::uint64_t next_ = 1;
  std::int64_t kept_house_ms_ = 0;
  std::int64_t looked_ms_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<std::int64_t> accepted_ = 0;
  std::atomic<std::int64_t> refused_total_ = 0;
  std::atomic<std::int64_t> refused_per_address_ = 0;
  std::atomic<std::int64_t> exhausted_ = 0;
  std::atomic<std::int64_t> waiting_ = 0;
  std::atomic<std::int64_t> unseated_ = 0;  // of those, with a whole hello
  std::atomic<std::int64_t> cut_ = 0;
  std::thread thread_;
};

}  // namespace paritect

#endif  // PARITECT_COMMON_NET_LISTENER_H_
