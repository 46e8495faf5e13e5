#include "server/transport/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace paritect {

ServiceManager ServiceManager::FromEnvironment() {
  const char* socket = std::getenv("NOTIFY_SOCKET");
  return ServiceManager(socket == nullptr ? "" : socket);
}

void ServiceManager::Tell(absl::string_view what) const {
  sockaddr_un address = {};
  if (socket_.empty() || socket_.size() >= sizeof(address.sun_path)) return;
  address.sun_family = AF_UNIX;
  std::copy(socket_.begin(), socket_.end(), address.sun_path);
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  // Nobody can be told that it failed; the next one comes soon.
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  (void)!sendto(fd, what.data(), what.size(), MSG_NOSIGNAL,
                static_cast<const sockaddr*>(static_cast<const void*>(&address)), size);
  close(fd);
}

}  // namespace paritect
