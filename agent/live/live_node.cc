#include "agent/live/live_node.h"

#include "absl/time/clock.h"
#include "agent/live/child_probe.h"

namespace paritect {

LiveNode ThisNode() {
  static ChildProbe* const probe = new ChildProbe(MachineProbeConfig());
  return {PosixFileSystem(), probe, absl::ToUnixMillis(absl::Now())};
}

}  // namespace paritect
