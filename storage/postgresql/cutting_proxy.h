// A socket between a client and a PostgreSQL that loses a COMMIT, or the answer to it, when a test asks for that.
#ifndef PARITECT_STORAGE_POSTGRESQL_CUTTING_PROXY_H_
#define PARITECT_STORAGE_POSTGRESQL_CUTTING_PROXY_H_

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace paritect {

class CuttingProxy {
 public:
  enum class Cut { kNothing, kBeforeCommit, kAfterCommit };

  explicit CuttingProxy(const std::string& server_folder)
      : server_(SocketIn(server_folder)), listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (mkdtemp(folder_.data()) == nullptr) std::abort();
    const sockaddr_un address = SocketIn(folder_);
    if (bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) std::abort();
    if (listen(listener_, 16) != 0) std::abort();
    thread_ = std::thread([this] { Run(); });
  }
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;
  ~CuttingProxy() {
    stop_ = true;
    thread_.join();
    close(listener_);
    unlink(SocketIn(folder_).sun_path);
    rmdir(folder_.c_str());
  }

  const std::string& folder() const { return folder_; }
  void CutNext(Cut what) { cut_ = what; }
  bool cut_done() const { return cut_ == Cut::kNothing; }

 private:
  struct Pair {
    int client;
    int server;
    bool swallow = false;  // the next bytes of the server are the answer that is lost
  };

  static sockaddr_un SocketIn(const std::string& folder) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const std::string path = absl::StrCat(folder, "/.s.PGSQL.5432");
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return address;
  }

  void Run() {
    std::vector<Pair> pairs;
    while (!stop_) {
      std::vector<pollfd> fds = {{listener_, POLLIN, 0}};
      for (const Pair& pair : pairs) {
        fds.push_back({pair.client, POLLIN, 0});
        fds.push_back({pair.server, POLLIN, 0});
      }
      if (poll(fds.data(), fds.size(), 20) <= 0) continue;
      for (std::size_t i = pairs.size(); i-- > 0;) {
        const bool from_client = fds[1 + 2 * i].revents != 0;
        const bool from_server = fds[2 + 2 * i].revents != 0;
        if ((from_client && !FromClient(pairs[i])) || (from_server && !FromServer(pairs[i]))) {
          close(pairs[i].client);
          close(pairs[i].server);
          pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(i));
        }
      }
      if (fds[0].revents != 0) Accept(pairs);
    }
    for (const Pair& pair : pairs) close(pair.client), close(pair.server);
  }

  void Accept(std::vector<Pair>& pairs) const {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(server, reinterpret_cast<const sockaddr*>(&server_), sizeof server_) == 0) {
      pairs.push_back({client, server});
      return;
    }
    close(client);
    close(server);
  }

  static bool Send(int to, absl::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  // A simple query: 'Q', its length, the text, a zero.
  bool FromClient(Pair& pair) {
    std::array<char, 65536> buffer;
    const ssize_t got = read(pair.client, buffer.data(), buffer.size());
    if (got <= 0) return false;
    const absl::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    const bool commit = absl::StrContains(bytes, absl::string_view("Q\0\0\0\x0b"
                                                                   "COMMIT\0",
                                                                   12));
    const Cut cut = cut_;
    if (commit && cut == Cut::kBeforeCommit) {
      cut_ = Cut::kNothing;
      return false;
    }
    if (commit && cut == Cut::kAfterCommit) pair.swallow = true;
    return Send(pair.server, bytes);
  }

  bool FromServer(Pair& pair) {
    std::array<char, 65536> buffer;
    const ssize_t got = read(pair.server, buffer.data(), buffer.size());
    if (got <= 0) return false;
    if (pair.swallow) {
      cut_ = Cut::kNothing;
      return false;
    }
    return Send(pair.client, absl::string_view(buffer.data(), static_cast<std::size_t>(got)));
  }

  std::string folder_ = "/tmp/paritect_px_XXXXXX";
  const sockaddr_un server_;
  const int listener_;
  std::atomic<Cut> cut_ = Cut::kNothing;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace paritect

#endif  // PARITECT_STORAGE_POSTGRESQL_CUTTING_PROXY_H_
