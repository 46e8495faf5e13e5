// A server that may be starting. Whoever asks right after one was started, or while it starts anew, is refused by the
// kernel or hung up on for a moment: the same as where there will never be a server. So it is asked again for a short
// time, and the user is told why it takes so long.
#ifndef PARITECT_COMMON_NET_STARTING_SERVER_H_
#define PARITECT_COMMON_NET_STARTING_SERVER_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace paritect {

// Long enough for a start on a busy machine, short enough for who mistook the port.
inline constexpr std::int64_t kStartingMs = 5'000;

// The same error, known from then on as one that a server gives while it starts.
absl::Status AsOfStartingServer(absl::Status status);
bool MayBeStarting(const absl::Status& status);

// Called once, with a sentence for the user.
using TellWaiting = std::function<void(const std::string&)>;

// What `attempt` says at last: asked again every tenth of a second, for `limit_ms`, while MayBeStarting.
absl::Status AskWhileStarting(std::int64_t limit_ms, const TellWaiting& tell,
                              absl::FunctionRef<absl::Status()> attempt);

}  // namespace paritect

#endif  // PARITECT_COMMON_NET_STARTING_SERVER_H_
