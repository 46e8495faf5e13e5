// Devices and versions on fixture trees: every layout of docs/live-node.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/live/accelerators.h"
#include "agent/live/fixture_node.h"

namespace paritect {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using Tool = VendorProbe::Tool;

std::string ProbeText(absl::string_view lines) {
  return absl::StrCat("paritect-probe\t1\nlibrary\tx\n", lines, "end\t\n");
}

constexpr char kTwoNpus[] =
    "driver_version\t24.1.rc3\ndevice\t0\nchip_name\t910B3\nnpu_name\t910B3\nhealth\tOK\nprocess\t4000\ndevice\t1\n"
    "chip_name\t910B3\nnpu_name\t910B3\nhealth\tOK\n";

TEST(LiveDevices, PciIdsTellTheProductWithoutDriver) {
  for (const auto& [device, product] : {std::pair("d100", "ascend-inference"),
                                        {"d105", "ascend-inference"},
                                        {"d500", "ascend-inference"},
                                        {"d801", "atlas-training"},
                                        {"d802", "atlas-a2"},
                                        {"d803", "atlas-a3"},
                                        {"d806", "ascend-950"}}) {
    FixtureNode node;
    node.AddPci("0000:c1:00.0", "19e5", device, "120000");
    const auto all = node.Collect();
    const std::string id = absl::StrCat("19e5:", device);
    EXPECT_EQ(FixtureNode::Told(all, "device.pci_id"), "device.pci_id=" + id);
    EXPECT_EQ(BuiltInRules().products.FamilyOfPciId(id)->id, product);
    EXPECT_THAT(FixtureNode::Problems(all), Contains("live_devices_unnamed"));
  }
}

// The names as DCMI gives them, put together, name the product too.
TEST(LiveDevices, SocNames) {
  for (const auto& [lines, product] : {std::pair("chip_name\tAscend910\nnpu_name\t9392\n", "atlas-a3"),
                                       {"chip_name\t910B3\nnpu_name\t910B3\n", "atlas-a2"},
                                       {"chip_name\tAscend950PR\nnpu_name\t9579\n", "ascend-950"},
                                       {"chip_name\t910A\n", "atlas-training"},
                                       {"chip_name\t310P3\nnpu_name\t310P3\n", "ascend-inference"}}) {
    FixtureNode node;
    node.fs.AddSpecial("/dev/davinci0");
    node.answers.emplace(Tool::kDcmi, ProbeText(absl::StrCat("device\t0\n", lines)));
    const std::string told = FixtureNode::Told(node.Collect(), "npu.name");
    const ProductFamily* family = BuiltInRules().products.FamilyOfChip(told.substr(told.find('=') + 1));
    ASSERT_NE(family, nullptr) << told;
    EXPECT_EQ(family->id, product) << told;
  }
}

// What an operator sees of the node: the best name that needs no library.
TEST(LiveDevices, Counts) {
  FixtureNode node;
  EXPECT_TRUE(AcceleratorCounts(node.fs).empty());
  node.AddPci("0000:01:00.0", "19e5", "0222", "020000");  // a network card
  node.fs.AddSpecial("/dev/davinci_manager");
  EXPECT_TRUE(AcceleratorCounts(node.fs).empty());
  node.fs.AddSpecial("/dev/davinci0");
  node.fs.AddSpecial("/dev/davinci1");
  EXPECT_THAT(AcceleratorCounts(node.fs), ElementsAre(Pair("/dev/davinci*", 2)));
  node.AddPci("0000:c1:00.0", "19e5", "d802", "120000");
  node.AddPci("0000:c2:00.0", "19e5", "d802", "120000");
  EXPECT_THAT(AcceleratorCounts(node.fs), ElementsAre(Pair("19e5:d802", 2)));
  node.AddPci("0000:d1:00.0", "10de", "20b2", "030200");
  EXPECT_THAT(AcceleratorCounts(node.fs), ElementsAre(Pair("10de:20b2", 1), Pair("19e5:d802", 2)));
  node.fs.AddFile("/proc/driver/nvidia/gpus/0000:d1:00.0/information", "Model: \t NVIDIA A100-SXM4-80GB\nIRQ: 9\n");
  EXPECT_THAT(AcceleratorCounts(node.fs), ElementsAre(Pair("19e5:d802", 2), Pair("NVIDIA A100-SXM4-80GB", 1)));
}

TEST(LiveDevices, OtherDevicesOfTheVendorAreNone) {
  FixtureNode node;
  node.AddPci("0000:01:00.0", "19e5", "0222", "020000");  // network
  node.AddPci("0000:02:00.0", "19e5", "1711", "030000");  // management controller's display
  node.AddPci("0000:03:00.0", "19e5", "3714", "010802");  // disk
  node.AddPci("0000:04:00.0", "10de", "22a3", "068000");  // NVIDIA bridge
  node.AddPci("0000:05:00.0", "8086", "1237", "060000");
  const auto all = node.Collect();
  EXPECT_EQ(FixtureNode::Told(all, "device.pci_id"), "");
  EXPECT_THAT(FixtureNode::Problems(all), Contains("live_no_accelerator"));
}

TEST(LiveDevices, LibraryThenFilesThenText) {
  FixtureNode node;
  node.AddPci("0000:c1:00.0", "19e5", "d802", "120000");
  node.answers.emplace(Tool::kDcmi, ProbeText(kTwoNpus));
  auto all = node.Collect();
  EXPECT_EQ(FixtureNode::Told(all, "npu.name"), "npu.name=910B3;npu.name=910B3");
  EXPECT_EQ(FixtureNode::Told(all, "npu.count"), "npu.count=2");
  EXPECT_EQ(FixtureNode::Told(all, "driver.version"), "driver.version=24.1.rc3") << "no file tells it";

  node.answers.at(Tool::kDcmi) = absl::DeadlineExceededError("no end within 10s; killed");
  node.answers.emplace(Tool::kNpuSmi,
                       "| npu-smi 25.2.0      Version: 25.2.0 |\n| NPU     Name  | Health | Power(W) |\n"
                       "| 0       910B3 | OK     | 90.1     |\n");
  all = node.Collect();
  EXPECT_EQ(FixtureNode::Told(all, "npu.name"), "npu.name=910B3");
  EXPECT_THAT(FixtureNode::Problems(all), Not(Contains("live_devices_unnamed")));

  node.answers.at(Tool::kNpuSmi) = std::string("\xff\xfe garbage");
  all = node.Collect();
  EXPECT_THAT(FixtureNode::Problems(all), Contains("live_devices_unnamed"));
}

TEST(LiveDevices, ALibraryThatDoesNotFitTheModule) {
  FixtureNode node;
  node.AddPci("0000:17:00.0", "10de", "20b2", "030200");
  node.fs.AddFile("/proc/driver/nvidia/gpus/0000:17:00.0/information",
                  "Model: \t\t NVIDIA A100-SXM4-80GB\nIRQ:   \t\t 76\nGPU UUID: \t GPU-12\nVideo BIOS: \t 92.00\n");
  node.fs.AddFile("/sys/module/nvidia/version", "535.104.05\n");
  node.answers.emplace(Tool::kNvml,
                       "paritect-probe\t1\nlibrary\tx\nerror\tnvmlInit_v2: Driver/library version mismatch (18)\n"
                       "end\t\n");
  const auto all = node.Collect();
  EXPECT_EQ(FixtureNode::Told(all, "gpu.name"), "gpu.name=NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(FixtureNode::Told(all, "driver.version"), "driver.version=535.104.05");
  EXPECT_THAT(FixtureNode::Problems(all), Contains("live_library_refused"));
}

TEST(LiveVersions, NvidiaDriverLines) {
  for (const auto& [line, version, modules] :
       {std::tuple("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n",
                   "535.104.05", "closed"),
        {"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.57.01  Release Build  (dvs-builder@U16)\n",
         "565.57.01", "open"},
        {"NVRM version: NVIDIA UNIX Kernel Module for aarch64  35.3.1  Release Build  (buildbrain@mobile)\n", "35.3.1",
         "closed"}}) {
    FixtureNode node;
    node.fs.AddFile("/proc/driver/nvidia/version", line);
    const auto all = node.Collect();
    EXPECT_EQ(FixtureNode::Told(all, "driver.version"), absl::StrCat("driver.version=", version));
    EXPECT_EQ(FixtureNode::Told(all, "driver.modules"), absl::StrCat("driver.modules=", modules));
  }
}

TEST(LiveVersions, AscendDriverErasAndPlaces) {
  for (const auto& [text, version] :
       {std::pair("Version=24.1.rc2.2\nascendhal_version=7.35.23\ncompatible_version=[V100R001C30]\n", "24.1.rc2.2"),
        {"Version=25.0.rc1.1\nascendhal_version=7.35.23\npackage_version=25.0.rc1.1\n", "25.0.rc1.1"},
        {"Version=7.35.23\nascendhal_version=7.35.23\npackage_version=26.0.rc1\n", "26.0.rc1"}}) {
    FixtureNode node;
    node.AddPci("0000:c1:00.0", "19e5", "d802", "120000");
    node.fs.AddFile("/usr/local/Ascend/driver/version.info", text);
    node.fs.AddFile("/usr/local/Ascend/firmware/version.info", "Version=7.5.0.1.129\ncompatible_version_drv=[24]\n");
    const auto all = node.Collect();
    EXPECT_EQ(FixtureNode::Told(all, "driver.version"), absl::StrCat("driver.version=", version));
    EXPECT_EQ(FixtureNode::Told(all, "firmware.version"), "firmware.version=7.5.0.1.129");
  }
  FixtureNode moved;
  moved.AddPci("0000:c1:00.0", "19e5", "d802", "120000");
  moved.fs.AddFile("/etc/ascend_install.info", "UserName=HwHiAiUser\nDriver_Install_Path_Param=/data/Ascend/\n");
  moved.fs.AddFile("/data/Ascend/driver/version.info", "Version=24.1.rc3\nascendhal_version=7.35.23\n");
  moved.fs.AddFile("/usr/local/Ascend/driver/version.info", "Version=1.0\nascendhal_version=7.35.23\n");
  const auto all = moved.Collect();
  EXPECT_EQ(FixtureNode::Told(all, "driver.version"), "driver.version=24.1.rc3");
  bool noted = false;
  for (const v1::Evidence& one : all) {
    for (const v1::Note& note : one.settings().notes())
      noted = noted || note.kind() == "driver_installation_incomplete";
  }
  EXPECT_TRUE(noted) << "Driver_Install_Status=complete is missing";
  FixtureNode conf;
  conf.AddPci("0000:c1:00.0", "19e5", "d802", "120000");
  conf.fs.AddFile("/lib/davinci.conf", "DAVINCI_HOME_PATH=/opt/Ascend\n");
  conf.fs.AddFile("/opt/Ascend/driver/version.info", "Version=23.0.3\nascendhal_version=7.35.23\n");
  EXPECT_EQ(FixtureNode::Told(conf.Collect(), "driver.version"), "driver.version=23.0.3");
}

TEST(LiveVersions, CannLayouts) {
  FixtureNode node;
  node.AddPci("0000:c1:00.0", "19e5", "d802", "120000");
  const std::string root = "/usr/local/Ascend/ascend-toolkit/8.0.RC3";
  node.fs.AddSymlink("/usr/local/Ascend/ascend-toolkit/latest", "8.0.RC3");
  node.fs.AddFile(root + "/version.cfg",
                  "# version: 1.0\nruntime_running_version=[7.6.0.1.220:8.0.RC3]\nruntime_upgrade_version=[1:7.0]\n"
                  "hccl_running_version=[1.83.T8.0.B128:CANN-1.83]\n");
  node.fs.AddFile(
      root + "/aarch64-linux/ascend_toolkit_install.info",
      "package_name=Ascend-cann-toolkit\nversion=8.0.RC3\ncompatible_version=[V100R001C15]\narch=aarch64\n");
  node.fs.AddFile(root + "/opp/version.info", "Version=7.6.0.1.220\nversion_dir=8.0.RC3\n");
  node.fs.AddFile("/usr/local/Ascend/ascend-toolkit/7.0.0/version.cfg", "runtime_running_version=[1:7.0.0]\n");
  auto all = node.Collect();
  EXPECT_EQ(FixtureNode::Told(all, "cann.toolkit.version"), "cann.toolkit.version=8.0.RC3");
  EXPECT_EQ(FixtureNode::Told(all, "cann.runtime.version"), "cann.runtime.version=8.0.RC3");
  EXPECT_EQ(FixtureNode::Told(all, "cann.hccl.version"), "cann.hccl.version=CANN-1.83");
  EXPECT_EQ(FixtureNode::Told(all, "cann.opp.version"), "cann.opp.version=7.6.0.1.220");
  EXPECT_EQ(FixtureNode::Told(all, "cann.installation"), "cann.installation=" + root);
  EXPECT_THAT(FixtureNode::Told(all, "cann.other_installations"), HasSubstr("ascend-toolkit/7.0.0"));
  // The running training has loaded the other one: that one counts, whatever "latest" says.
  node.AddProcess({.pid = 77,
                   .words = {"python", "train.py"},
                   .variables = {"RANK=0", "ASCEND_HOME_PATH=/usr/local/Ascend/ascend-toolkit/latest"},
                   .libraries = {"/usr/local/Ascend/ascend-toolkit/7.0.0/lib64/libascendcl.so", "/x/libhccl.so"}});
  all = node.Collect();
  EXPECT_EQ(FixtureNode::Told(all, "cann.runtime.version"), "cann.runtime.version=7.0.0");
  // CANN 9 and later.
  FixtureNode nine;
  nine.AddPci("0000:c1:00.0", "19e5", "d806", "120000");
  nine.fs.AddSymlink("/usr/local/Ascend/cann", "/usr/local/Ascend/cann-9.0.0");
  nine.fs.AddFile("/usr/local/Ascend/cann-9.0.0/x86_64-linux/ascend_toolkit_install.info",
                  "package_name=Ascend-cann-toolkit\nversion=9.0.0\n");
  EXPECT_EQ(FixtureNode::Told(nine.Collect(), "cann.toolkit.version"), "cann.toolkit.version=9.0.0");
  FixtureNode none;
  none.AddPci("0000:c1:00.0", "19e5", "d806", "120000");
  EXPECT_THAT(FixtureNode::Problems(none.Collect()), Contains("live_no_cann"));
}

TEST(LiveVersions, CudaAndLoadedLibraries) {
  FixtureNode node;
  node.fs.AddSymlink("/usr/local/cuda", "/usr/local/cuda-12.1");
  node.fs.AddFile("/usr/local/cuda-12.1/version.json", R"({"cuda": {"name": "CUDA SDK", "version": "12.1.20230224"}})");
  node.fs.AddFile("/usr/local/cuda-11.8/version.txt", "CUDA Version 11.8.89\n");
  node.fs.AddFile("/lib/libnccl.so.2.18.3", "");
  node.fs.AddSymlink("/lib/libnccl.so.2", "libnccl.so.2.18.3");
  node.AddProcess({.pid = 77,
                   .words = {"python", "train.py"},
                   .variables = {"RANK=0"},
                   .libraries = {"/x/libcudart.so.12.1.105", "/lib/libnccl.so.2", "/x/libtorch_cpu.so",
                                 "/x/libcudnn.so.8.9.2 (deleted)"}});
  auto all = node.Collect();
  EXPECT_EQ(FixtureNode::Told(all, "cuda.version"), "cuda.version=12.1.20230224");
  EXPECT_THAT(FixtureNode::Told(all, "cuda.other_installations"), HasSubstr("cuda-11.8"));
  EXPECT_EQ(FixtureNode::Told(all, "loaded.cudart.version"), "loaded.cudart.version=12.1.105");
  EXPECT_EQ(FixtureNode::Told(all, "loaded.nccl.version"), "loaded.nccl.version=2.18.3");
  EXPECT_EQ(FixtureNode::Told(all, "loaded.cudnn.exchanged"), "loaded.cudnn.exchanged=yes");
}

TEST(LiveDevices, AnEmptyNodeIsAbsentNeverACrash) {
  FixtureNode node;
  const auto all = node.Collect();
  EXPECT_THAT(FixtureNode::Problems(all), Contains("live_no_sysfs"));
  for (const v1::Evidence& one : all) {
    EXPECT_EQ(one.outcome() != v1::OUTCOME_COLLECTED, one.has_problem());
  }
}

}  // namespace
}  // namespace paritect
