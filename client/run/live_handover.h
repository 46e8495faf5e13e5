// While a wrapped command runs, hands over what was recorded so far, so that an audit sees the first step minutes after
// the start and not when the training is over. A helper process does it: the command's own is never in its way, and
// ends it.
#ifndef PARITECT_CLIENT_RUN_LIVE_HANDOVER_H_
#define PARITECT_CLIENT_RUN_LIVE_HANDOVER_H_

#include <sys/types.h>

#include <functional>

#include "absl/time/time.h"

namespace paritect {

class LiveHandover {
 public:
  // Call it from the only thread, before the command is started. `hand` is called in the helper as soon as `ready` is
  // true, which is asked every two seconds, and at the latest after `first`; then `first` later, after twice as long,
  // and so on up to an hour: few times however long the command runs. Where no process can be made nothing is handed
  // over early.
  LiveHandover(absl::Duration first, std::function<bool()> ready, std::function<void()> hand);
  LiveHandover(const LiveHandover&) = delete;
  LiveHandover& operator=(const LiveHandover&) = delete;
  ~LiveHandover();  // ends the helper, also in the middle of its work

 private:
  pid_t helper_ = -1;
};

}  // namespace paritect

#endif  // PARITECT_CLIENT_RUN_LIVE_HANDOVER_H_
