#include "agent/daemon/agent_log.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/utf8.h"

namespace paritect {

void AgentLog::Put(absl::string_view level, absl::string_view message) {
  const std::string line = absl::StrCat(absl::FormatTime("%Y-%m-%d%ET%H:%M:%SZ", absl::Now(), absl::UTCTimeZone()), " ",
                                        level, " ", DisplayBytes(message), "\n");
  absl::MutexLock lock(&mutex_);
  out_ << line << std::flush;
}

}  // namespace paritect
