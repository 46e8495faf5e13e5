// Time as a value that is passed in: tests have their own.
#ifndef PARITECT_SERVER_WALL_CLOCK_H_
#define PARITECT_SERVER_WALL_CLOCK_H_

#include <cstdint>
#include <functional>
#include <string>

namespace paritect {

using WallClock = std::function<std::int64_t()>;  // Unix time in milliseconds

std::int64_t SystemWallClock();

std::string FormatDate(std::int64_t unix_ms);  // "2026-11-29", UTC
std::string FormatTime(std::int64_t unix_ms);  // "2026-11-29 18:24:50Z"

}  // namespace paritect

#endif  // PARITECT_SERVER_WALL_CLOCK_H_
