// The node that `live: true` reads: its file tree and its vendor libraries. Tests give a fixture tree and a fake.
#ifndef PARITECT_AGENT_LIVE_LIVE_NODE_H_
#define PARITECT_AGENT_LIVE_LIVE_NODE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/file_system.h"

namespace paritect {

// Vendor libraries and tools, each asked in a child process with a time limit (agent/live/vendor_probe.cc).
class VendorProbe {
 public:
  enum class Tool { kNvml, kDcmi, kNvidiaSmi, kNpuSmi };
  virtual ~VendorProbe() = default;
  // The tool's output. `folders`: where the node's own files say that libraries of the tool stand; the tool's
  // fixed places are tried as well. NotFound: no such tool here; else as RunChild says.
  virtual absl::StatusOr<std::string> Ask(Tool tool, absl::Span<const std::string> folders) = 0;
};

absl::string_view ToolName(VendorProbe::Tool tool);  // "nvml", "dcmi", "nvidia-smi", "npu-smi"

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
