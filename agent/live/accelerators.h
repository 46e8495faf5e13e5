// Which accelerators a node has, told without a driver, a right or a vendor's library.
#ifndef PARITECT_AGENT_LIVE_ACCELERATORS_H_
#define PARITECT_AGENT_LIVE_ACCELERATORS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/file_system.h"

namespace paritect {

inline constexpr char kPciFolder[] = "/sys/bus/pci/devices";
inline constexpr char kNvidiaFolder[] = "/proc/driver/nvidia/gpus";

struct Accelerator {
  std::string address;  // "0000:81:00.0"
  std::string folder;   // in sysfs
  std::string pci_id;   // "19e5:d802"
  bool nvidia = false;  // else of Huawei
};

// In the order of their addresses. Of NVIDIA, display (0300) and 3D (0302) controllers; of Huawei, processing
// accelerators (1200): its network cards, disks and management controllers share the vendor id.
std::vector<Accelerator> Accelerators(FileSystem& fs);

// Device nodes, which are there without sysfs in some containers: /dev/davinci0, /dev/nvidia0, ...
struct DeviceNodes {
  int davinci = 0;
  int nvidia = 0;
};
DeviceNodes AcceleratorNodes(FileSystem& fs);

// What a person asks of a node: what -> how many. The best name that is there: NVIDIA's model by its driver's files, else the
// PCI id, else the device nodes ("/dev/davinci*").
std::map<std::string, int> AcceleratorCounts(FileSystem& fs);

}  // namespace paritect

#endif  // PARITECT_AGENT_LIVE_ACCELERATORS_H_
