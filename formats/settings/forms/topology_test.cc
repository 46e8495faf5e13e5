#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_testing.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

constexpr char kGpus[] =
    "\tGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\n"
    "GPU0\t X \tNV12\tSYS\tPIX\t0-31\n"
    "GPU1\tNV12\t X \tNV12\tPIX\t0-31\n"
    "GPU2\tSYS\tNV12\t X \tSYS\t32-63\n"
    "NIC0\tPIX\tPIX\tSYS\t X \n\nLegend:\n\n  X    = Self\n";
constexpr char kNpus[] =
    "           NPU0       NPU1       CPU Affinity\n"
    "NPU0       X          HCCS       144-167\n"
    "NPU1       HCCS       X          0-23\n";

std::string Told(const std::string& text) {
  const auto documents = ReadSettings(text, "topo.txt", "");
  if (!documents.ok()) return std::string(documents.status().message());
  std::string told = documents->at(0).format();
  for (const v1::Setting& setting : documents->at(0).settings()) {
    told += " " + setting.raw_key() + "=" + setting.raw_value();
  }
  return told;
}

TEST(Topology, EachPairOnce) {
  EXPECT_EQ(Told(kGpus),
            "topology topology.GPU0.GPU1=NV12 topology.GPU0.GPU2=SYS topology.GPU1.GPU2=NV12 topology.devices=3 "
            "topology.links=NV12 SYS");
  EXPECT_EQ(Told(kNpus), "topology topology.NPU0.NPU1=HCCS topology.devices=2 topology.links=HCCS");
}

TEST(Topology, ACutMatrixIsNoted) {
  const auto documents = ReadSettings("\tGPU0\tGPU1\nGPU0\tX\tNV12\n", "topo.txt", "");
  ASSERT_TRUE(documents.ok());
  EXPECT_EQ(documents->at(0).notes_size(), 1);
}

TEST(Topology, OtherTextIsNot) {
  const SettingsFormat* format = FindSettingsFormat("topology");
  ASSERT_NE(format, nullptr);
  EXPECT_EQ(format->sniff("GPU0 is busy\nGPU1 is not\n"), 0);
  EXPECT_EQ(format->sniff("step,GPU0,GPU1\n"), 0);
  EXPECT_EQ(CodeOf(format->parse("GPU0 GPU1\n", "x")), absl::StatusCode::kDataLoss);
  EXPECT_EQ(CodeOf(format->parse("", "x")), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace paritect
