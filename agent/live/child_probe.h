// VendorProbe by child processes.
#ifndef PARITECT_AGENT_LIVE_CHILD_PROBE_H_
#define PARITECT_AGENT_LIVE_CHILD_PROBE_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "agent/live/vendor_probe.h"

namespace paritect {

struct ChildProbeConfig {
  std::string program;  // absolute path of paritect-probe; "": libraries are not asked
  // Where things stand; absolute, tried in order.
  std::vector<std::string> nvml_libraries;
  std::vector<std::string> dcmi_libraries;
  std::vector<std::string> nvidia_smi;
  std::vector<std::string> npu_smi;
  absl::Duration library_time_max = absl::Seconds(10);
  absl::Duration tool_time_max = absl::Seconds(5);
};

// The fixed places of a Linux node. No search path, no variable of the environment counts.
ChildProbeConfig MachineProbeConfig();

class ChildProbe : public VendorProbe {
 public:
  explicit ChildProbe(ChildProbeConfig config) : config_(std::move(config)) {}
  absl::StatusOr<std::string> Ask(Tool tool, absl::Span<const std::string> folders) override;

 private:
  absl::StatusOr<std::string> AskLibrary(Tool tool, absl::Span<const std::string> folders);
  absl::StatusOr<std::string> AskTool(Tool tool, absl::Span<const std::string> folders);

  const ChildProbeConfig config_;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_LIVE_CHILD_PROBE_H_
