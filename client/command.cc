#include "client/command.h"

#include <chrono>
#include <thread>

namespace paritect {

#define PARITECT_COMMAND(name) extern const Command k##name##Command;
#include "client/all_commands.inc"
#undef PARITECT_COMMAND

absl::Span<const Command* const> AllCommands() {
  static constexpr const Command* kAll[] = {
#define PARITECT_COMMAND(name) &k##name##Command,
#include "client/all_commands.inc"
#undef PARITECT_COMMAND
  };
  return kAll;
}

std::int64_t SystemUnixMs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

void SystemSleepMs(std::int64_t ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

}  // namespace paritect
