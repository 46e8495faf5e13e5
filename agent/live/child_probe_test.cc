// The probe program against made-up vendor libraries: one that hangs, one that crashes, one that prints garbage, ones
// that refuse. And the child process by itself.
#include "agent/live/child_probe.h"
#include "common/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/devices/probe_text.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Tool = VendorProbe::Tool;

ChildProbeConfig Config() {
  ChildProbeConfig config;
  config.program = PARITECT_BINARY_DIR "/paritect-probe";
  config.library_time_max = absl::Seconds(20);
  return config;
}

std::string Fake(absl::string_view folder) {
  return absl::StrCat(PARITECT_BINARY_DIR, "/agent/probe/fake/", folder);
}

absl::StatusOr<ProbeAnswer> Ask(Tool tool, absl::string_view folder, ChildProbeConfig config = Config()) {
  auto text = ChildProbe(config).Ask(tool, {Fake(folder)});
  if (!text.ok()) return text.status();
  return ReadProbeText(*text, ToolName(tool), "live");
}

// "npu.name[npu 0]=910B3;..." of the named keys.
std::string Told(const absl::StatusOr<ProbeAnswer>& answer, std::initializer_list<absl::string_view> keys) {
  if (!answer.ok()) return answer.status().ToString();
  std::string all;
  for (absl::string_view key : keys) {
    for (const v1::Setting& one : answer->document.settings()) {
      if (one.raw_key() == key) absl::StrAppend(&all, one.raw_value(), ";");
    }
  }
  return all;
}

TEST(VendorProbe, AscendGenerations) {
  EXPECT_EQ(Told(Ask(Tool::kDcmi, "a2"), {"npu.name", "npu.count", "device.pci_id", "npu.health"}),
            "910B3;910B3;2;19e5:d802;19e5:d802;OK;Warning;");
  EXPECT_EQ(Told(Ask(Tool::kDcmi, "a3"), {"npu.name", "npu.count"}),
            "Ascend910_9392;Ascend910_9392;Ascend910_9392;Ascend910_9392;4;");
  EXPECT_EQ(Told(Ask(Tool::kDcmi, "950"), {"npu.name", "dcmi.driver_version"}),
            "Ascend950PR_9579;Ascend950PR_9579;24.1.rc3;");
  EXPECT_EQ(Told(Ask(Tool::kDcmi, "old"), {"npu.name"}), "910A;910A;");
  EXPECT_THAT(Ask(Tool::kDcmi, "a2")->processes, ::testing::ElementsAre(4000, 4001));
}

TEST(VendorProbe, Nvidia) {
  EXPECT_EQ(Told(Ask(Tool::kNvml, "gpu"), {"gpu.name", "gpu.uuid", "gpu.pci_address", "device.pci_id", "gpu.ecc",
                                           "gpu.compute_capability", "nvml.driver_version", "cuda.driver_version"}),
            "NVIDIA A100-SXM4-80GB;NVIDIA A100-SXM4-80GB;GPU-00000000;GPU-00000001;0000:17:00.0;0000:18:00.0;10de:20b2;"
            "10de:20b2;on;on;8.0;8.0;535.104.05;12.2;");
}

TEST(VendorProbe, RefusalsAreToldInWords) {
  const auto mismatch = Ask(Tool::kNvml, "mismatch");
  EXPECT_TRUE(absl::IsUnavailable(mismatch.status()));
  EXPECT_THAT(std::string(mismatch.status().message()), HasSubstr("Driver/library version mismatch (18)"));
  const auto container = Ask(Tool::kDcmi, "refuses");
  EXPECT_THAT(std::string(container.status().message()), HasSubstr("not mapped into this container"));
  EXPECT_TRUE(absl::IsNotFound(Ask(Tool::kDcmi, "none").status()));
  EXPECT_TRUE(absl::IsNotFound(ChildProbe(ChildProbeConfig()).Ask(Tool::kNvml, {}).status()));
}

TEST(VendorProbe, ALibraryThatHangsIsKilledInTime) {
  ChildProbeConfig config = Config();
  config.library_time_max = absl::Seconds(1);
  EXPECT_TRUE(absl::IsDeadlineExceeded(Ask(Tool::kDcmi, "hangs", config).status()));
  EXPECT_TRUE(Ask(Tool::kDcmi, "a2").ok()) << "the next one is asked as if nothing had been";
}

TEST(VendorProbe, ALibraryThatCrashesHarmsNobody) {
  const auto crashed = Ask(Tool::kDcmi, "crashes");
  EXPECT_TRUE(absl::IsAborted(crashed.status())) << crashed.status();
}

TEST(VendorProbe, GarbageStaysText) {
  const auto answer = Ask(Tool::kDcmi, "garbage");
  ASSERT_TRUE(answer.ok()) << answer.status();
  for (const v1::Setting& one : answer->document.settings()) {
    EXPECT_THAT(one.raw_value(), Not(HasSubstr("talks"))) << "what the library prints is no answer";
    EXPECT_LE(one.raw_value().size(), 256u);
  }
  const auto flood = Ask(Tool::kDcmi, "flood");
  ASSERT_TRUE(flood.ok()) << flood.status();
  EXPECT_LE(flood->document.settings_size(), 20'000);
}

class Script {
 public:
  explicit Script(absl::string_view text) {
    std::string pattern = ::testing::TempDir() + "/paritect-child-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    path_ = folder_ + "/tool";
    std::ofstream(path_) << text;
    chmod(path_.c_str(), 0755);
  }
  ~Script() {
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }
  const std::string& path() const { return path_; }

 private:
  std::string folder_, path_;
};

TEST(ChildProcess, OutputCodeAndEnvironment) {
  const Script script("#!/bin/sh\nread line; echo \"out:$line:$SECRET:$GIVEN\"; echo err >&2; exit 3\n");
  setenv("SECRET", "planted-1234", 1);
  auto result = RunChild({.words = {script.path()}, .environment = {"GIVEN=yes"}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->output, "out:::yes\n");
  EXPECT_EQ(result->exit_code, 3);
}

TEST(ChildProcess, LimitsHold) {
  const Script endless("#!/bin/sh\nwhile :; do echo 0123456789; done\n");
  EXPECT_TRUE(absl::IsResourceExhausted(RunChild({.words = {endless.path()}, .output_bytes_max = 10'000}).status()));
  // It ignores what can be ignored, closes its output, and has a child of its own.
  const Script stubborn("#!/bin/sh\ntrap '' TERM INT HUP\n/bin/sleep 1000 &\nexec >/dev/null\n/bin/sleep 1000\n");
  EXPECT_TRUE(absl::IsDeadlineExceeded(RunChild({.words = {stubborn.path()}, .time_max = absl::Seconds(1)}).status()));
  // A grandchild that keeps the output open does not keep us.
  const Script parent("#!/bin/sh\n/bin/sleep 1000 &\necho done\n");
  EXPECT_TRUE(absl::IsDeadlineExceeded(RunChild({.words = {parent.path()}, .time_max = absl::Seconds(1)}).status()));
}

TEST(ChildProcess, WhatCannotBeRun) {
  EXPECT_TRUE(absl::IsNotFound(RunChild({.words = {"/none/tool"}}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(RunChild({.words = {"sh"}}).status())) << "no search path";
  EXPECT_TRUE(absl::IsInvalidArgument(RunChild({}).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(RunChild({.words = {"/etc/passwd"}}).status()));
}

TEST(ProbeText, RefusesWhatIsNotWhole) {
  EXPECT_TRUE(absl::IsDataLoss(ReadProbeText("", "dcmi", "live").status()));
  EXPECT_TRUE(absl::IsDataLoss(ReadProbeText("paritect-probe\t1\nlibrary\tx\ndevice\t0\n", "dcmi", "live").status()));
  EXPECT_TRUE(absl::IsDataLoss(ReadProbeText("paritect-probe\t1\nname\t\xff\nend\t\n", "dcmi", "live").status()));
  EXPECT_TRUE(absl::IsNotFound(ReadProbeText("paritect-probe\t1\nerror\tno\nend\t\n", "dcmi", "live").status()));
  const auto none = ReadProbeText("paritect-probe\t1\nlibrary\tx\nend\t\n", "nvml", "live");
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->document.settings(0).raw_key(), "gpu.count");
}

}  // namespace
}  // namespace paritect
