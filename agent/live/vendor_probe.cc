#include "agent/live/vendor_probe.h"

namespace paritect {

absl::string_view ToolName(VendorProbe::Tool tool) {
  switch (tool) {
    case VendorProbe::Tool::kNvml: return "nvml";
    case VendorProbe::Tool::kDcmi: return "dcmi";
    case VendorProbe::Tool::kNvidiaSmi: return "nvidia-smi";
    case VendorProbe::Tool::kNpuSmi: return "npu-smi";
  }
  return "";
}

}  // namespace paritect
