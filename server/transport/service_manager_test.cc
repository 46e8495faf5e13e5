#include "server/transport/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace paritect {
namespace {

TEST(ServiceManager, TellsOnADatagramSocket) {
  const std::string path = absl::StrCat(testing::TempDir(), "/notify-", getpid());
  unlink(path.c_str());
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(fd, static_cast<sockaddr*>(static_cast<void*>(&address)), sizeof(address)), 0);
  const ServiceManager manager(path);
  manager.Ready();
  manager.Alive();
  char text[100] = {};
  EXPECT_EQ(std::string(text, static_cast<std::size_t>(recv(fd, text, sizeof(text), 0))), "READY=1");
  EXPECT_EQ(std::string(text, static_cast<std::size_t>(recv(fd, text, sizeof(text), 0))), "WATCHDOG=1");
  close(fd);
  unlink(path.c_str());
  manager.Alive();  // nobody listens any more
  ServiceManager("").Ready();
}

}  // namespace
}  // namespace paritect
