#include "common/net/read_hold.h"

#include <sys/socket.h>
#include <sys/utsname.h>

#include <climits>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace paritect {
namespace {

constexpr std::pair<int, int> kFirstThatWakes = {4, 18};

bool ThisKernelWakes() {
  static const bool wakes = [] {
    utsname system = {};
    return uname(&system) == 0 && WakesWhenHoldEnds(system.release);
  }();
  return wakes;
}

// The kernel takes less than asked for: half of what may wait to be read.
void ShowFrom(int descriptor, int bytes) {
  setsockopt(descriptor, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes));
}

}  // namespace

bool WakesWhenHoldEnds(absl::string_view kernel_release) {
  const std::vector<absl::string_view> parts = absl::StrSplit(kernel_release, absl::ByAnyChar(".-+"));
  int major = 0;
  int minor = 0;
  if (parts.size() < 2 || !absl::SimpleAtoi(parts[0], &major) || !absl::SimpleAtoi(parts[1], &minor)) return false;
  return std::pair(major, minor) >= kFirstThatWakes;
}

ReadHold::ReadHold(int descriptor) : descriptor_(ThisKernelWakes() ? descriptor : -1) {
  if (descriptor_ >= 0) ShowFrom(descriptor_, INT_MAX);
}

ReadHold::~ReadHold() {
  if (descriptor_ >= 0) ShowFrom(descriptor_, 1);
}

}  // namespace paritect
