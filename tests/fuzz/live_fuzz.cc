// What a node shows of itself: the files that the live collector reads, the probe's output, and texts to be cleaned
// of secrets. One input stands in every place at once.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/collect.h"
#include "agent/live/live_node.h"
#include "agent/redaction.h"
#include "common/memory_file_system.h"
#include "formats/devices/probe_text.h"
#include "tests/fuzz/fuzz.h"

namespace {

class Probe : public paritect::VendorProbe {
 public:
  explicit Probe(absl::string_view text) : text_(text) {}
  absl::StatusOr<std::string> Ask(Tool, absl::Span<const std::string>) override { return text_; }

 private:
  const std::string text_;
};

void FillNode(absl::string_view bytes, paritect::MemoryFileSystem& fs) {
  static constexpr const char* kFiles[] = {
      "/proc/60/environ",
      "/proc/60/cgroup",
      "/proc/61/cmdline",
      "/proc/61/maps",
      "/proc/61/status",
      "/proc/self/mountinfo",
      "/proc/self/environ",
      "/proc/self/cgroup",
      "/proc/meminfo",
      "/proc/cpuinfo",
      "/proc/driver/nvidia/version",
      "/proc/driver/nvidia/gpus/0/information",
      "/etc/ascend_install.info",
      "/lib/davinci.conf",
      "/etc/os-release",
      "/usr/local/Ascend/driver/version.info",
      "/usr/local/Ascend/ascend-toolkit/latest/version.cfg",
      "/usr/local/Ascend/ascend-toolkit/latest/x86_64-linux/ascend_toolkit_install.info",
      "/usr/local/cuda/version.json",
      "/opt/e/pyvenv.cfg",
      "/opt/e/lib/python3.10/site-packages/a-1.dist-info/METADATA",
      "/opt/e/lib/python3.10/site-packages/a-1.dist-info/direct_url.json",
      "/opt/e/lib/python3.10/site-packages/torch/version.py",
      "/sys/bus/pci/devices/0000:00:00.0/device"};
  for (const char* file : kFiles) fs.AddFile(file, bytes);
  fs.AddFile("/sys/bus/pci/devices/0000:00:00.0/vendor", "0x19e5\n");
  fs.AddFile("/sys/bus/pci/devices/0000:00:00.0/class", "0x120000\n");
  fs.AddFile("/opt/e/bin/python3", "");
  fs.AddFile("/proc/60/cmdline", absl::StrCat("/opt/e/bin/python3", std::string(1, '\0'), bytes));
  fs.AddFile("/proc/60/status", "Name:\tpython3\nPPid:\t1\nUid:\t0\t0\n");
  fs.AddFile("/proc/60/maps", "0-1 r-xp 0 0:0 1 /opt/e/lib/python3.10/site-packages/torch/lib/libtorch_cpu.so\n");
  fs.AddSymlink("/proc/60/exe", "/opt/e/bin/python3");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paritect;  // NOLINT(google-build-using-namespace)
  const absl::string_view bytes = FuzzInput(data, size);
  if (size > 64 << 10) return 0;
  const auto answer = ReadProbeText(bytes, size % 2 == 0 ? "dcmi" : "nvml", "probe");
  FuzzCheck(answer.ok() || !answer.status().message().empty(), "a refusal says why");
  const std::string clean =
      WithoutSecrets(absl::StrCat(bytes, "\n--password planted-9371 https://me:planted-9371@host/ "));
  FuzzCheck(!absl::StrContains(clean, "planted-9371"), "what is planted behind any text is masked");

  MemoryFileSystem fs;
  FillNode(bytes, fs);
  Probe probe(bytes);
  const LiveNode node = {fs, &probe, 1};
  v1::Plan plan;
  plan.mutable_info()->set_live(true);
  const CollectorEnv env = {.fs = fs, .rules = BuiltInRules(), .redaction_key = "key", .live = &node};
  const v1::Bundle bundle = CollectPlan(env, plan);
  for (const v1::Evidence& one : bundle.evidence()) {
    FuzzCheck(one.outcome() == v1::OUTCOME_COLLECTED || !one.problem().id().empty(), "what is not collected says why");
  }
  FuzzCheck(!bundle.SerializeAsString().empty(), "texts are UTF-8");
  return 0;
}
