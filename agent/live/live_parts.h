// The parts of the live collector, one file each. Each emits what it finds through the report and never fails.
// What is read, from where, and what never leaves: docs/live-node.md.
#ifndef PARITECT_AGENT_LIVE_LIVE_PARTS_H_
#define PARITECT_AGENT_LIVE_LIVE_PARTS_H_

#include <set>
#include <string>

#include "agent/live/live_report.h"
#include "agent/live/processes.h"

namespace paritect {

// What the devices part learnt that the others need.
struct DeviceSurvey {
  bool nvidia = false;
  bool ascend = false;
  std::set<int> processes;  // that the driver says use a device
  // The driver's version as a tool gives it, for where no file tells; "" else.
  std::string driver_version, driver_version_from;
};

// Accelerators: PCI ids in sysfs, then NVML or DCMI, then the driver's files, then nvidia-smi or npu-smi.
DeviceSurvey ReportDevices(LiveReport& report);

// Environment, command line, loaded libraries and devices of each rank.
void ReportProcesses(LiveReport& report, const ProcessSurvey& survey);

// Driver, firmware, CANN, CUDA: version files, and the versions of what the ranks have loaded.
void ReportVersions(LiveReport& report, const DeviceSurvey& devices, const ProcessSurvey& survey);

// Python packages of the training's interpreter, else of the node's.
void ReportPackages(LiveReport& report, const ProcessSurvey& survey);

// CPUs, memory, limits, kernel, clock.
void ReportHost(LiveReport& report, const ProcessSurvey& survey);

// Where Ascend's driver is installed ("/usr/local/Ascend" unless the node's files say otherwise), with the warning to
// give where its installation is not complete.
struct AscendDriver {
  std::string folder;
  std::string incomplete;
};
AscendDriver AscendDriverOf(FileSystem& fs);

}  // namespace paritect

#endif  // PARITECT_AGENT_LIVE_LIVE_PARTS_H_
