// The node that `live: true` reads: its file tree and its vendor libraries. Tests give a fixture tree and a fake.
#ifndef PARITECT_AGENT_LIVE_LIVE_NODE_H_
#define PARITECT_AGENT_LIVE_LIVE_NODE_H_

#include <cstdint>

#include "agent/live/vendor_probe.h"
#include "common/file_system.h"

namespace paritect {

struct LiveNode {
  FileSystem& fs;                // "/": the machine's, or a fixture tree (common/prefixed_file_system.h)
  VendorProbe* probe = nullptr;  // nullptr: vendor libraries are not asked
  std::int64_t now_unix_ms = 0;  // the node's wall clock when this was made
};

// This machine, with the probe program that stands beside this one (paritect-probe) or in ../libexec/paritect.
// The result's parts live as long as the process.
LiveNode ThisNode();

}  // namespace paritect

#endif  // PARITECT_AGENT_LIVE_LIVE_NODE_H_
