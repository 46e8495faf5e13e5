// What paritect-probe prints of a vendor library (agent/probe/probe.h) -> settings of kind "devices".
#ifndef PARITECT_FORMATS_DEVICES_PROBE_TEXT_H_
#define PARITECT_FORMATS_DEVICES_PROBE_TEXT_H_

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "paritect/v1/settings.pb.h"

namespace paritect {

inline constexpr std::size_t kProbeTextBytesMax = 1 << 20;

struct ProbeAnswer {
  // Keys as the text forms have them: npu.name or gpu.name (scope "npu 0"), .uuid, .memory_bytes, .health, ...,
  // device.pci_id, npu.count or gpu.count, and `tool`.driver_version, `tool`.library_version, cuda.driver_version.
  v1::SettingsDocument document;
  std::set<int> processes;  // that use a device, as the driver numbers them
  // What single devices refused, for a message; "" where nothing.
  std::string refused;
};

// `tool`: "nvml" or "dcmi"; `label` for origins. Errors:
//   Unavailable "FUNCTION: TEXT"  the library was there and would not answer (init failed, no right, ...)
//   NotFound                      no library could be loaded
//   DataLoss                      not the probe's output, or not whole
absl::StatusOr<ProbeAnswer> ReadProbeText(absl::string_view text, absl::string_view tool, absl::string_view label);

}  // namespace paritect

#endif  // PARITECT_FORMATS_DEVICES_PROBE_TEXT_H_
