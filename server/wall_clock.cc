#include "server/wall_clock.h"

#include <sys/time.h>

#include <ctime>

namespace paritect {
namespace {

std::string Format(std::int64_t unix_ms, const char* form) {
  const std::time_t seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts = {};
  gmtime_r(&seconds, &parts);
  char text[40] = "";
  const std::size_t n = std::strftime(text, sizeof(text), form, &parts);
  return std::string(text, n);
}

}  // namespace

std::int64_t SystemWallClock() {
  timeval now = {};
  gettimeofday(&now, nullptr);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_usec / 1000;
}

std::string FormatDate(std::int64_t unix_ms) {
  return Format(unix_ms, "%Y-%m-%d");
}
std::string FormatTime(std::int64_t unix_ms) {
  return Format(unix_ms, "%Y-%m-%d %H:%M:%SZ");
}

}  // namespace paritect
