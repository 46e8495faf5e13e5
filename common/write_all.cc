#include "common/write_all.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace paritect {

int WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (n == 0) {
      return EIO;
    } else if (errno == EAGAIN) {
      pollfd one = {.fd = fd, .events = POLLOUT, .revents = 0};
      poll(&one, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace paritect
