// What the vendors' own libraries and tools say of a node's devices.
#ifndef PARITECT_AGENT_LIVE_VENDOR_PROBE_H_
#define PARITECT_AGENT_LIVE_VENDOR_PROBE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace paritect {

// Vendor libraries and tools, each asked in a child process with a time limit (agent/live/child_probe.cc).
class VendorProbe {
 public:
  enum class Tool { kNvml, kDcmi, kNvidiaSmi, kNpuSmi };
  virtual ~VendorProbe() = default;
  // The tool's output. `folders`: where the node's own files say that libraries of the tool stand; the tool's
  // fixed places are tried as well. NotFound: no such tool here; else as RunChild says.
  virtual absl::StatusOr<std::string> Ask(Tool tool, absl::Span<const std::string> folders) = 0;
};

absl::string_view ToolName(VendorProbe::Tool tool);  // "nvml", "dcmi", "nvidia-smi", "npu-smi"

}  // namespace paritect

#endif  // PARITECT_AGENT_LIVE_VENDOR_PROBE_H_
