// Prints length and MD5 of made-up messages: a program of its own, without any library, so that a kernel can be
// checked on a processor that only an emulator has (tests/system/md5_aarch64.sh). With an argument it writes message
// number N to standard output instead.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "common/md5/md5_lanes.h"

namespace paritect {

// The kernel alone is checked; nothing may come here.
void Md5RunScalar(Md5Lane&, std::size_t) {
  std::fprintf(stderr, "no vectors\n");
  std::abort();
}

namespace {

constexpr int kMessages = 400;

std::vector<unsigned char> Message(int number) {
  const int length = number <= 300 ? number : 37 * (number - 300) + 1000;
  std::vector<unsigned char> message(static_cast<std::size_t>(length));
  std::uint32_t x = static_cast<std::uint32_t>(number) * 2654435761u + 1;
  for (unsigned char& byte : message) {
    x = x * 1664525u + 1013904223u;
    byte = static_cast<unsigned char>(x >> 24);
  }
  return message;
}

// `lanes` copies of one message and `lanes` of it with other first bytes: a lane that mixed with its neighbour shows.
void Print(int number, int lanes) {
  std::vector<unsigned char> message = Message(number);
  const std::size_t length = message.size();
  message.resize(length + 128);
  unsigned char last[128] = {};
  std::memcpy(last, message.data() + length / 64 * 64, length % 64);
  const std::size_t blocks = length / 64 + Md5Pad(last, length);
  std::memcpy(message.data() + length / 64 * 64, last, (blocks - length / 64) * 64);
  const std::vector<unsigned char> other(blocks * 64, 0x55);
  std::vector<Md5Lane> all(static_cast<std::size_t>(lanes));
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].data = static_cast<int>(i) == number % lanes ? message.data() : other.data();
  }
  Md5RunVectors(absl::MakeSpan(all), blocks);
  unsigned char digest[kMd5Bytes];
  Md5Digest(all[static_cast<std::size_t>(number % lanes)].state, digest);
  std::printf("%d ", number);
  for (unsigned char byte : digest) std::printf("%02x", byte);
  std::printf("\n");
}

}  // namespace
}  // namespace paritect

int main(int count, char** arguments) {
  using namespace paritect;
  if (count > 1) {
    const std::vector<unsigned char> message = Message(static_cast<int>(std::strtol(arguments[1], nullptr, 10)));
    std::fwrite(message.data(), 1, message.size(), stdout);
    return 0;
  }
  std::fprintf(stderr, "%s, %d lanes\n", Md5LanesTarget(), Md5Lanes());
  for (int number = 0; number < kMessages; ++number) Print(number, 2 + number % 15);
  return 0;
}
