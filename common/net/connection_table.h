// Who is connected to a listener, and what each may still do before it is hung up on.
//
// The transport reads and closes the connections; what is held here is their numbers. Whether one is gone is seen from
// its descriptor, how much it sent from the kernel (TCP_INFO): so a connection whose bytes lead to nothing can be cut
// off though nobody but the transport sees inside of it.
#ifndef PARITECT_COMMON_NET_CONNECTION_TABLE_H_
#define PARITECT_COMMON_NET_CONNECTION_TABLE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace paritect {

struct ConnectionLimits {
  int connections_max = 15'000;
  int connections_per_address_max = 4'096;
  // Strangers: with the transport, but no admitted call yet. What a handshake costs is so bounded.
  int strangers_max = 512;
  int strangers_per_address_max = 128;
  std::int64_t stranger_ms = 20'000;
  // While others wait for their place: what the transport gives a handshake. Less would cut honest ones off where a
  // whole fleet comes back at once.
  std::int64_t stranger_crowded_ms = 10'000;
  // Bytes that come in without any message that the services take. Above the largest message, and what flow control
  // lets wait.
  std::uint64_t unheard_bytes_max = 16 << 20;
  // What all connections of one caller, and what all strangers together, may send so: a connection's limit alone says
  // nothing of who opens a hundred (seen: 2.4 GiB of unfinished headers). Who sent most goes. Of strangers the largest
  // message and 8 KiB of each: a call counts when it is admitted, one with a single request after that has come.
  std::uint64_t unheard_together_bytes_max = 16 << 20;
  std::uint64_t strangers_together_bytes_max = 12 << 20;
  // As unheard_bytes_max where it takes long: what costs the transport much time for few bytes. A message of 8 MiB must
  // come in at 2 Mbit/s or faster.
  std::uint64_t unheard_slow_bytes_max = 2 << 20;
  std::int64_t unheard_slow_ms = 30'000;
};

// "10.0.0.1:4711" of an address and a port; the same for gRPC's "ipv4:10.0.0.1:4711" and "ipv6:%5B::1%5D:4711".
std::string PeerKey(const std::string& address, int port);
std::string PeerKeyOfUri(const std::string& uri);

// Thread-safe; Admit to Look are of the listener's thread, Heard of any.
class ConnectionTable {
 public:
  explicit ConnectionTable(const ConnectionLimits& limits) : limits_(limits) {}

  enum class Answer { kTaken, kTooMany, kTooManyOfAddress };
  Answer Admit(int descriptor, const std::string& address, const std::string& peer);
  void Forget(int descriptor);  // the listener closes it itself

  // Counts as a stranger from now on. False: there are too many.
  bool MakeStranger(int descriptor, std::int64_t now_ms);

  // The services admitted a call of `caller` on this peer's connection, and (`message`) took a message. True: it was a
  // stranger until now. A call alone is no message: else streams that are opened and reset at once would keep a
  // connection for ever.
  bool Heard(const std::string& peer, const std::string& caller, bool message);

  // Forgets what is closed, hangs up on who is over a limit. Of strangers alone: what costs little, however many others
  // there are. `crowded`: somebody waits for a stranger's place.
  enum class Whom { kAll, kStrangers };
  void Look(Whom whom, std::int64_t now_ms, bool crowded,
            const std::function<void(const std::string& address, const char* why)>& cut);

  int open() const { return open_; }
  int strangers() const { return strangers_; }

 private:
  enum class State { kWaiting, kStranger, kKnown };
  struct Connection {
    std::uint64_t inode = 0;  // of the socket: tells whether the descriptor is still this connection
    std::string address;
    std::string peer;
    std::string caller;  // "": a stranger
    State state = State::kWaiting;
    std::int64_t stranger_since_ms = 0;
    bool heard = false;             // since the last look
    std::uint64_t heard_bytes = 0;  // that had come in when it was
    std::int64_t unheard_since_ms = 0;
    std::uint64_t unheard = 0;  // bytes, at the last look
  };
  struct Counts {
    int all = 0;
    int strangers = 0;
  };
  using Connections = std::map<int, Connection>;

  std::vector<int> Descriptors(Whom whom) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Erase(Connections::iterator at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetClosed(Whom whom) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetState(Connections::value_type& connection, State state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  const char* Offence(int descriptor, Connection& connection, std::int64_t now_ms, bool crowded) const;
  std::vector<int> TooMuchTogether(const std::vector<int>& descriptors) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ConnectionLimits limits_;
  absl::Mutex mutex_;
  Connections connections_ ABSL_GUARDED_BY(mutex_);
  std::set<int> strange_ ABSL_GUARDED_BY(mutex_);  // those of strangers
  std::map<std::string, Counts> per_address_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<std::string, int> by_peer_ ABSL_GUARDED_BY(mutex_);
  std::atomic<int> open_ = 0;
  std::atomic<int> strangers_ = 0;
};

}  // namespace paritect

#endif  // PARITECT_COMMON_NET_CONNECTION_TABLE_H_
