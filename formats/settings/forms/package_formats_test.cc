// Lists of packages and reports on environments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/settings/settings_format.h"
#include "rules/settings_rules.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;

std::string Read(absl::string_view text, absl::string_view kind = "") {
  const auto documents = ReadSettings(text, "f", kind);
  if (!documents.ok()) return documents.status().ToString();
  std::string out = (*documents)[0].format() + ":";
  for (const v1::Setting& one : (*documents)[0].settings()) {
    absl::StrAppend(&out, " ", one.raw_key(), "=", one.raw_value());
  }
  return out;
}

constexpr char kTwo[] = "packages: package.torch=2.1.0+cu121 package.flash-attn=2.5.6";

TEST(Packages, EveryTool) {
  EXPECT_EQ(Read("torch==2.1.0+cu121\r\nFlash_Attn==2.5.6\r\n"), kTwo);
  EXPECT_EQ(Read("Package    Version      Editable project location\n---------- -----------\n"
                 "torch      2.1.0+cu121\nflash-attn 2.5.6\nnumpy 1.26.4 /src/numpy\n"),
            absl::StrCat(kTwo, " package.numpy=1.26.4"));
  EXPECT_EQ(Read("Package    Version\n---------- -----------\ntorch      2.1.0+cu121\nflash-attn 2.5.6\n"), kTwo);
  EXPECT_EQ(Read("Package Version\n------- -------\ntorch   2.1.0\n"), "packages: package.torch=2.1.0");
  EXPECT_EQ(Read(R"([{"name": "torch", "version": "2.1.0+cu121"}, {"name": "flash.attn", "version": "2.5.6"}])"), kTwo);
  EXPECT_EQ(Read("# packages in environment at /opt/conda:\n#\n# Name  Version  Build  Channel\n"
                 "torch   2.1.0+cu121   pypi_0   pypi\nflash-attn  2.5.6  py310_0  conda-forge\n"),
            kTwo);
  EXPECT_EQ(Read("# This file may be used to create an environment using:\n# platform: linux-64\n"
                 "torch=2.1.0+cu121=pypi_0\nflash_attn=2.5.6=pypi_0\n"),
            kTwo);
  EXPECT_EQ(
      Read("# platform: "
           "linux-64\n@EXPLICIT\nhttps://conda.anaconda.org/conda-forge/linux-64/numpy-base-1.26.4-py310_0.conda#abc\n"
           "https://repo.anaconda.com/pkgs/main/noarch/six-1.16.0-pyhd3eb1b0_1.tar.bz2\n"),
      "packages: package.numpy-base=1.26.4 package.six=1.16.0");
  EXPECT_EQ(
      Read("name: x\nchannels:\n  - defaults\ndependencies:\n  - python=3.10.13=h1\n  - pip:\n    - torch==2.1.0\n"),
      "packages: package.python=3.10.13 package.torch=2.1.0");
  EXPECT_EQ(Read("numpy=1.26.4\ntorch=2.1.0\nTorch_NPU=2.1.0.post3\n"),
            "packages: package.numpy=1.26.4 package.torch=2.1.0 package.torch-npu=2.1.0.post3");
}

TEST(Packages, WheelsPlacesAndRevisions) {
  EXPECT_EQ(Read("torch @ file:///w/torch-2.1.0-cp310-cp310-linux_aarch64.whl\n"
                 "-e git+https://host/megatron.git@0123abc#egg=megatron_core\nx==1 ; python_version > '3'\n# c\n"),
            "packages: package.torch=2.1.0 package.megatron-core=0123abc package.x=1");
}

TEST(Packages, AnEnvironmentIsNone) {
  EXPECT_EQ(Read("RANK=0\nWORLD_SIZE=8\nHOME=/root\n"), "environment: RANK=0 WORLD_SIZE=8 HOME=/root");
  EXPECT_EQ(Read("a=1\nb=2\nc=3\n"), "environment: a=1 b=2 c=3");
}

TEST(Versions, OfDriversAndLibraries) {
  EXPECT_EQ(Read("Version=7.35.23\r\nascendhal_version=7.35.23\r\npackage_version=26.0.rc1\r\n"),
            "versions: driver.version=26.0.rc1");
  EXPECT_EQ(Read("UserName=HwHiAiUser\nDriver_Install_Path_Param=/usr/local/Ascend\nDriver_Install_Status=complete\n"),
            "versions: driver.install_path=/usr/local/Ascend driver.install_status=complete");
  EXPECT_EQ(Read("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19\nGCC version:  gcc\n"),
            "versions: driver.version=535.104.05");
  EXPECT_EQ(Read("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.57.01  Release Build\n"),
            "versions: driver.version=565.57.01");
  EXPECT_EQ(Read("from typing import Optional\n__version__ = '2.1.0+cu121'\ncuda: Optional[str] = '12.1'\ngit_version "
                 "= 'ab'\n"),
            "versions: torch_version=2.1.0+cu121 torch.cuda=12.1 torch.git_version=ab");
}

TEST(CollectEnv, OfTorchNpu) {
  EXPECT_EQ(
      Read("Collecting environment information...\nPyTorch version: 2.1.0\nTorch-npu version: 2.1.0.post3\n"
           "Is debug build: False\nPython version: 3.9.2 (default)\nGPU models and configuration: GPU 0: NVIDIA A100\n"
           "CANN:\nversion=8.0.RC1\npackage_name=Ascend-cann-toolkit\n[pip3] numpy==1.26.4\n"),
      "collect-env: torch_version=2.1.0 package.torch-npu=2.1.0.post3 is_debug_build=False "
      "python_version=3.9.2 (default) gpu.name=NVIDIA A100 cann.toolkit.version=8.0.RC1 package.numpy=1.26.4");
}

TEST(CollectEnv, OfTransformersAndLlamaFactory) {
  EXPECT_EQ(Read("- `llamafactory` version: 0.9.0\n- Platform: Linux\n- Python version: 3.10.14\n- PyTorch version: "
                 "2.1.0 (NPU)\n"
                 "- Transformers version: 4.41.2\n- NPU type: Ascend910B2\n- CANN version: 8.0.RC2.beta1\n"),
            "collect-env: package.llamafactory=0.9.0 platform=Linux python_version=3.10.14 torch_version=2.1.0 "
            "package.transformers=4.41.2 npu.name=Ascend910B2 cann.toolkit.version=8.0.RC2.beta1");
}

TEST(CollectEnv, ATableOfDevicesInIt) {
  EXPECT_THAT(
      Read("PyTorch version: 2.1.0\nPython version: 3.9\nNPU:\n| npu-smi 24.1 Version: 24.1 |\n| NPU Name | Health |\n"
           "| 0 910B3 | OK |\n"),
      HasSubstr("npu.name=910B3"));
}

}  // namespace
}  // namespace paritect
