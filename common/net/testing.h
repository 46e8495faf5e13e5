// What the tests of sockets share.
#ifndef PARITECT_COMMON_NET_TESTING_H_
#define PARITECT_COMMON_NET_TESTING_H_

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace paritect::net_testing {

// A connection to a port of the loopback that closes with its scope; fd is -1 where nobody listens.
class Dialled {
 public:
  explicit Dialled(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof(to)) != 0) Close();
  }
  ~Dialled() { Close(); }
  Dialled(Dialled&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Dialled(const Dialled&) = delete;

  int fd() const { return fd_; }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  void Send(absl::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  // All until the other end hangs up, at most ten seconds of silence.
  std::string Drain(bool* hung_up = nullptr) const {
    std::string all;
    char buffer[4096];
    pollfd waited = {fd_, POLLIN, 0};
    while (poll(&waited, 1, 10'000) == 1) {
      const ssize_t n = recv(fd_, buffer, sizeof(buffer), 0);
      if (n <= 0) {
        if (hung_up != nullptr) *hung_up = true;
        break;
      }
      all.append(buffer, static_cast<std::size_t>(n));
    }
    return all;
  }
  bool IsHungUpOn() const {
    bool hung_up = false;
    Drain(&hung_up);
    return hung_up;
  }
  int own_port() const {
    sockaddr_in own = {};
    socklen_t size = sizeof(own);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&own), &size);
    return ntohs(own.sin_port);
  }

 private:
  int fd_;
};

// A socket that listens on some port of the loopback.
class ListeningSocket {
 public:
  ListeningSocket() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (bind(fd_, reinterpret_cast<const sockaddr*>(&address), size) != 0 || listen(fd_, 16) != 0) return;
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  ~ListeningSocket() { close(fd_); }
  ListeningSocket(const ListeningSocket&) = delete;

  int fd() const { return fd_; }
  int port() const { return port_; }
  // At most ten seconds; -1: nobody came.
  int Accept() const {
    pollfd waited = {fd_, POLLIN, 0};
    return poll(&waited, 1, 10'000) == 1 ? accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC) : -1;
  }

 private:
  const int fd_;
  int port_ = 0;
};

}  // namespace paritect::net_testing

#endif  // PARITECT_COMMON_NET_TESTING_H_
