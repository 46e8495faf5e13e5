#include "common/net/connection_table.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace paritect {
namespace {

std::uint64_t SocketInode(int descriptor) {
  struct stat info = {};
  return fstat(descriptor, &info) == 0 && S_ISSOCK(info.st_mode) ? info.st_ino : 0;
}

// That have come in since the connection began; nullopt: a kernel that does not count (before 4.1).
std::optional<std::uint64_t> BytesReceived(int descriptor) {
  tcp_info info = {};
  socklen_t size = sizeof(info);
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  if (size < offsetof(tcp_info, tcpi_bytes_received) + sizeof(info.tcpi_bytes_received)) return std::nullopt;
  return info.tcpi_bytes_received;
}

// Ends the connection and throws away what came in and was not read yet: to read on is what an attack wants.
void Reset(int descriptor) {
  sockaddr none = {};
  none.sa_family = AF_UNSPEC;
  if (connect(descriptor, &none, sizeof(none)) != 0) shutdown(descriptor, SHUT_RDWR);
}

}  // namespace

std::string PeerKey(const std::string& address, int port) {
  return absl::StrCat(address, ":", port);
}

std::string PeerKeyOfUri(const std::string& uri) {
  const std::size_t colon = uri.find(':');
  if (colon == std::string::npos) return uri;
  return absl::StrReplaceAll(uri.substr(colon + 1), {{"%5B", ""}, {"%5D", ""}, {"[", ""}, {"]", ""}, {"%25", "%"}});
}

ConnectionTable::Answer ConnectionTable::Admit(int descriptor, const std::string& address, const std::string& peer) {
  absl::MutexLock lock(&mutex_);
  const auto full = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return open_ >= limits_.connections_max || per_address_[address].all >= limits_.connections_per_address_max;
  };
  if (full()) ForgetClosed(Whom::kAll);
  if (full()) return open_ >= limits_.connections_max ? Answer::kTooMany : Answer::kTooManyOfAddress;
  // A number that is given anew was closed since it was last looked at.
  if (const auto known = connections_.find(descriptor); known != connections_.end()) Erase(known);
  Connection connection;
  connection.inode = SocketInode(descriptor);
  connection.address = address;
  connection.peer = peer;
  connections_[descriptor] = std::move(connection);
  by_peer_[peer] = descriptor;
  ++per_address_[address].all;
  ++open_;
  return Answer::kTaken;
}

void ConnectionTable::Forget(int descriptor) {
  absl::MutexLock lock(&mutex_);
  if (const auto known = connections_.find(descriptor); known != connections_.end()) Erase(known);
}

void ConnectionTable::SetState(Connections::value_type& connection, State state) {
  const int change = (state == State::kStranger ? 1 : 0) - (connection.second.state == State::kStranger ? 1 : 0);
  connection.second.state = state;
  if (change > 0) strange_.insert(connection.first);
  if (change < 0) strange_.erase(connection.first);
  strangers_ += change;
  per_address_[connection.second.address].strangers += change;
}

bool ConnectionTable::MakeStranger(int descriptor, std::int64_t now_ms) {
  absl::MutexLock lock(&mutex_);
  const auto known = connections_.find(descriptor);
  if (known == connections_.end()) return true;
  if (strangers_ >= limits_.strangers_max ||
      per_address_[known->second.address].strangers >= limits_.strangers_per_address_max) {
    return false;
  }
  SetState(*known, State::kStranger);
  known->second.stranger_since_ms = now_ms;
  known->second.unheard_since_ms = now_ms;
  return true;
}

bool ConnectionTable::Heard(const std::string& peer, const std::string& caller, bool message) {
  absl::MutexLock lock(&mutex_);
  const auto found = by_peer_.find(peer);
  if (found == by_peer_.end()) return false;
  const auto at = connections_.find(found->second);
  Connection& connection = at->second;
  connection.heard = connection.heard || message;
  if (connection.state != State::kStranger) return false;
  connection.caller = caller;
  SetState(*at, State::kKnown);
  return true;
}

void ConnectionTable::Erase(Connections::iterator at) {
  SetState(*at, State::kKnown);
  const auto address = per_address_.find(at->second.address);
  if (--address->second.all <= 0) per_address_.erase(address);
  const auto peer = by_peer_.find(at->second.peer);
  if (peer != by_peer_.end() && peer->second == at->first) by_peer_.erase(peer);
  --open_;
  connections_.erase(at);
}

std::vector<int> ConnectionTable::Descriptors(Whom whom) const {
  if (whom == Whom::kStrangers) return {strange_.begin(), strange_.end()};
  std::vector<int> all;
  all.reserve(connections_.size());
  for (const auto& [descriptor, connection] : connections_) all.push_back(descriptor);
  return all;
}

void ConnectionTable::ForgetClosed(Whom whom) {
  for (const int descriptor : Descriptors(whom)) {
    const auto at = connections_.find(descriptor);
    if (SocketInode(descriptor) != at->second.inode) Erase(at);
  }
  if (whom != Whom::kAll) return;
  // Addresses that were only asked for.
  for (auto it = per_address_.begin(); it != per_address_.end();) {
    it = it->second.all <= 0 ? per_address_.erase(it) : std::next(it);
  }
}

// nullptr: none.
const char* ConnectionTable::Offence(int descriptor, Connection& connection, std::int64_t now_ms, bool crowded) const {
  if (connection.state == State::kWaiting) return nullptr;  // the listener's
  const std::int64_t patience = crowded ? limits_.stranger_crowded_ms : limits_.stranger_ms;
  if (connection.state == State::kStranger && now_ms - connection.stranger_since_ms > patience) {
    return "no call after the handshake, or no end of it";
  }
  const auto bytes = BytesReceived(descriptor);
  if (!bytes) return nullptr;
  if (connection.heard) connection.heard_bytes = *bytes;
  connection.heard = false;
  connection.unheard = *bytes - connection.heard_bytes;
  if (connection.unheard == 0) connection.unheard_since_ms = now_ms;
  const bool slow = now_ms - connection.unheard_since_ms > limits_.unheard_slow_ms;
  const std::uint64_t most = slow ? limits_.unheard_slow_bytes_max : limits_.unheard_bytes_max;
  return connection.unheard > most ? "bytes without a message" : nullptr;
}

std::vector<int> ConnectionTable::TooMuchTogether(const std::vector<int>& descriptors) const {
  struct Part {
    std::uint64_t bytes;
    int descriptor;
  };
  struct Whole {
    std::uint64_t bytes = 0;
    std::vector<Part> parts;
  };
  std::map<absl::string_view, Whole> by_caller;
  for (const int descriptor : descriptors) {
    const Connection& connection = connections_.at(descriptor);
    if (connection.unheard == 0) continue;
    Whole& whole = by_caller[connection.caller];
    whole.bytes += connection.unheard;
    whole.parts.push_back({connection.unheard, descriptor});
  }
  std::vector<int> going;
  for (auto& [caller, whole] : by_caller) {
    const std::uint64_t most =
        caller.empty() ? limits_.strangers_together_bytes_max : limits_.unheard_together_bytes_max;
    if (whole.bytes <= most) continue;
    std::sort(whole.parts.begin(), whole.parts.end(), [](const Part& a, const Part& b) { return a.bytes > b.bytes; });
    for (const Part& part : whole.parts) {
      if (whole.bytes <= most) break;
      whole.bytes -= part.bytes;
      going.push_back(part.descriptor);
    }
  }
  return going;
}

void ConnectionTable::Look(Whom whom, std::int64_t now_ms, bool crowded,
                           const std::function<void(const std::string& address, const char* why)>& cut) {
  std::vector<std::pair<std::string, const char*>> offenders;
  {
    absl::MutexLock lock(&mutex_);
    ForgetClosed(whom);
    const std::vector<int> descriptors = Descriptors(whom);
    const auto hang_up = [&](int descriptor, Connection& connection, const char* why) {
      // The transport may have closed it since: then the number is nobody's, or a file's, to which this does nothing.
      if (SocketInode(descriptor) != connection.inode) return;
      Reset(descriptor);
      connection.heard = true;  // told once
      connection.unheard = 0;
      offenders.emplace_back(connection.address, why);
    };
    for (const int descriptor : descriptors) {
      Connection& connection = connections_.at(descriptor);
      const char* const why = Offence(descriptor, connection, now_ms, crowded);
      if (why != nullptr) hang_up(descriptor, connection, why);
    }
    for (const int descriptor : TooMuchTogether(descriptors)) {
      hang_up(descriptor, connections_.at(descriptor), "bytes without a message, with others");
    }
  }
  for (const auto& [address, why] : offenders) cut(address, why);
}

}  // namespace paritect
