#include "common/write_all.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>

namespace paritect {
namespace {

TEST(WriteAll, WaitsForAFullPipe) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  ASSERT_EQ(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
  std::size_t seen = 0;
  std::thread reader([&] {
    char buffer[4096];
    for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof(buffer))) > 0;) seen += static_cast<std::size_t>(n);
  });
  EXPECT_EQ(WriteAll(ends[1], std::string(1 << 20, 'x')), 0);
  close(ends[1]);
  reader.join();
  close(ends[0]);
  EXPECT_EQ(seen, std::size_t{1} << 20);
}

TEST(WriteAll, SaysWhy) {
  EXPECT_EQ(WriteAll(-1, "x"), EBADF);
  EXPECT_EQ(WriteAll(-1, ""), 0);
}

}  // namespace
}  // namespace paritect
