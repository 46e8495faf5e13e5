#include "agent/live/child_probe.h"

#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/child_process.h"
#include "common/file_system.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

bool CanRun(const std::string& path) {
  return absl::StartsWith(path, "/") && access(path.c_str(), X_OK) == 0;
}

std::vector<std::string> Files(std::initializer_list<absl::string_view> folders, absl::string_view name) {
  std::vector<std::string> files;
  for (absl::string_view folder : folders) files.push_back(absl::StrCat(folder, "/", name));
  return files;
}

}  // namespace

ChildProbeConfig MachineProbeConfig() {
  ChildProbeConfig config;
  config.program = FindHelperProgram("paritect-probe");
  config.nvml_libraries = Files({"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/lib64",
                                 "/usr/lib", "/usr/local/nvidia/lib64", "/run/nvidia/driver/usr/lib/x86_64-linux-gnu"},
                                "libnvidia-ml.so.1");
  config.dcmi_libraries = Files({"/usr/local/dcmi", "/usr/local/Ascend/driver/lib64/driver",
                                 "/usr/local/Ascend/driver/lib64/common", "/usr/local/Ascend/driver/lib64"},
                                "libdcmi.so");
  config.nvidia_smi = Files({"/usr/bin", "/usr/local/bin", "/usr/local/nvidia/bin", "/opt/bin"}, "nvidia-smi");
  config.npu_smi = Files({"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin"}, "npu-smi");
  return config;
}

absl::StatusOr<std::string> ChildProbe::AskLibrary(Tool tool, absl::Span<const std::string> folders) {
  if (config_.program.empty()) return absl::NotFoundError("the program paritect-probe is not installed");
  const std::string name = tool == Tool::kNvml ? "libnvidia-ml.so.1" : "libdcmi.so";
  std::vector<std::string> candidates;
  for (const std::string& folder : folders) candidates.push_back(absl::StrCat(folder, "/", name));
  const std::vector<std::string>& fixed = tool == Tool::kNvml ? config_.nvml_libraries : config_.dcmi_libraries;
  candidates.insert(candidates.end(), fixed.begin(), fixed.end());
  ChildCommand command;
  command.words = {config_.program, std::string(ToolName(tool))};
  std::vector<std::string> beside;  // libdcmi.so needs libraries that stand beside it
  for (const std::string& candidate : candidates) {
    if (!absl::StartsWith(candidate, "/") || access(candidate.c_str(), R_OK) != 0) continue;
    command.words.push_back(candidate);
    beside.emplace_back(DirName(candidate));
  }
  if (command.words.size() == 2) return absl::NotFoundError(absl::StrCat(name, " is in none of its places"));
  beside.insert(beside.end(), folders.begin(), folders.end());
  command.environment = {"LC_ALL=C", absl::StrCat("LD_LIBRARY_PATH=", absl::StrJoin(beside, ":"))};
  command.time_max = config_.library_time_max;
  PARITECT_ASSIGN_OR_RETURN(ChildResult result, RunChild(command));
  return std::move(result.output);
}

absl::StatusOr<std::string> ChildProbe::AskTool(Tool tool, absl::Span<const std::string> folders) {
  ChildCommand command;
  for (const std::string& path : tool == Tool::kNvidiaSmi ? config_.nvidia_smi : config_.npu_smi) {
    if (!CanRun(path)) continue;
    command.words = {path};
    break;
  }
  if (command.words.empty()) return absl::NotFoundError(absl::StrCat(ToolName(tool), " is in none of its places"));
  if (tool == Tool::kNvidiaSmi) {
    command.words.push_back(
        "--query-gpu=index,name,uuid,driver_version,pci.bus_id,memory.total,compute_cap,ecc.mode.current");
    command.words.push_back("--format=csv");
  } else {
    command.words.push_back("info");
  }
  command.environment = {"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                         absl::StrCat("LD_LIBRARY_PATH=", absl::StrJoin(folders, ":"))};
  command.time_max = config_.tool_time_max;
  PARITECT_ASSIGN_OR_RETURN(ChildResult result, RunChild(command));
  if (result.exit_code != 0) {
    return absl::UnavailableError(
        absl::StrCat(command.words[0], " ended with code ", result.exit_code, ": ", result.output.substr(0, 200)));
  }
  return std::move(result.output);
}

absl::StatusOr<std::string> ChildProbe::Ask(Tool tool, absl::Span<const std::string> folders) {
  return tool == Tool::kNvml || tool == Tool::kDcmi ? AskLibrary(tool, folders) : AskTool(tool, folders);
}

}  // namespace paritect
