// npu-smi, nvidia-smi, lists of PCI devices and rank tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/settings/settings_format.h"
#include "rules/settings_rules.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;

// "format: key=value[scope]; ... !note" of the first document, or the error.
std::string Read(absl::string_view text, absl::string_view kind = "") {
  const auto documents = ReadSettings(text, "f", kind);
  if (!documents.ok()) return documents.status().ToString();
  std::string out = (*documents)[0].format() + ":";
  for (const v1::Setting& one : (*documents)[0].settings()) {
    absl::StrAppend(&out, " ", one.raw_key(), "=", ValueToText(one.value()),
                    one.scope().empty() ? "" : absl::StrCat("[", one.scope(), "]"), ";");
  }
  for (const v1::Note& note : (*documents)[0].notes()) absl::StrAppend(&out, " !", note.kind());
  return out;
}

TEST(NpuSmi, TableOf910B) {
  EXPECT_EQ(
      Read("+----+\n| npu-smi 24.1.rc2      Version: 24.1.rc2.2 |\n+----+\n"
           "| NPU   Name         | Health        | Power(W) Temp(C) Hugepages-Usage(page)|\n"
           "| Chip               | Bus-Id        | AICore(%) Memory-Usage(MB) HBM-Usage(MB) |\n+====+\n"
           "| 0     910B3        | OK            | 91.2  45  0 / 0 |\n"
           "| 0                  | 0000:C1:00.0  | 0  10568/ 65536 0 / 0 |\n"
           "| 1     910B3        | Alarm         | 91.2  45  0 / 0 |\n"
           "| 0                  | 0000:C2:00.0  | 0  0 / 0 |\n"
           "| NPU     Chip       | Process id    | Process name | Process memory(MB) |\n"
           "| 0       0          | 4242          |              | 10568 |\n"),
      "npu-smi: npu_smi.version=24.1.rc2; driver.version=24.1.rc2.2; npu.name=910B3[npu 0]; npu.health=OK[npu 0]; "
      "npu.bus_id=0000:C1:00.0[npu 0]; npu.name=910B3[npu 1]; npu.health=Alarm[npu 1]; "
      "npu.bus_id=0000:C2:00.0[npu 1]; npu.count=2;");
}

TEST(NpuSmi, TableOf910_93HasTwoDiesAndPhysicalIds) {
  EXPECT_EQ(Read("| npu-smi 25.0.rc1 Version: 25.0.rc1 |\n| NPU   Name | Health | Power(W) |\n"
                 "| Chip  Phy-ID | Bus-Id | AICore(%) |\n| 0 Ascend910 | OK | 165.2 |\n| 0     0 | 0000:9D:00.0 | 0 |\n"
                 "| 0 Ascend910 | OK | - |\n| 1     1 | 0000:9F:00.0 | 0 |\n"),
            "npu-smi: npu_smi.version=25.0.rc1; driver.version=25.0.rc1; npu.layout=phy-id; npu.name=Ascend910[npu 0]; "
            "npu.health=OK[npu 0]; npu.bus_id=0000:9D:00.0[npu 0]; npu.name=Ascend910[npu 0]; npu.health=OK[npu 0]; "
            "npu.bus_id=0000:9F:00.0[npu 0]; npu.count=2;");
}

TEST(NpuSmi, TableOf950AndOf310) {
  EXPECT_THAT(
      Read("| npu-smi 25.2.0 Version: 25.2.0 |\n| NPU ID | Name | Health | Power(W) |\n"
           "|        |      | Bus-Id | NPU Util(%) |\n| 3 | Ascend950PR | Warning | 1 |\n"
           "|   |   | 0000:01:00.0 | 0 |\n"),
      HasSubstr(
          "npu.name=Ascend950PR[npu 3]; npu.health=Warning[npu 3]; npu.bus_id=0000:01:00.0[npu 3]; npu.count=1;"));
  EXPECT_THAT(Read("| npu-smi 22.0.4 Version: 22.0.4 |\n| NPU     Name | Health | Power(W) |\n"
                   "| Chip    Device | Bus-Id | AICore(%) |\n| 8  310P3 | OK | NA |\n| 0  0 | NA | 0 |\n"),
              HasSubstr("npu.name=310P3[npu 8]; npu.health=OK[npu 8]; npu.count=1;"));
}

TEST(NpuSmi, MappingListAndBoard) {
  EXPECT_EQ(
      Read("\tNPU ID      Chip ID     Chip Logic ID   Chip Name\n\t0           0           0               Ascend "
           "910B3\n"
           "\t0           1           -               Mcu\n\t1           0           1               Ascend 910B3\n"),
      "npu-smi: npu.name=Ascend 910B3[npu 0 chip 0]; npu.name=Ascend 910B3[npu 1 chip 0]; npu.count=2;");
  EXPECT_EQ(Read("\tNPU ID                         : 0\n\tFirmware Version               : 7.7.0.6.236\n"
                 "\tSoftware Version               : 25.2.0\n\tBoard ID                       : 0xb0\n"
                 "\tChip Name                      : Ascend910\n\tNPU Name                       : 9392\n"),
            "npu-smi: firmware.version=7.7.0.6.236[npu 0]; driver.version=25.2.0[npu 0]; npu.board_id=0xb0[npu 0]; "
            "npu.name=Ascend910_9392[npu 0]; npu.count=1;");
  EXPECT_EQ(Read("\tTotal Count                    : 16\n\n\tNPU ID                         : 0\n\tChip Count : 1\n"),
            "npu-smi: npu.count=16;");
  EXPECT_THAT(Read("| npu-smi 24.1 Version: 24.1 |\n| NPU Name | Health |\n"), HasSubstr("DATA_LOSS"));
}

TEST(NvidiaSmi, TableCsvListTextAndXml) {
  EXPECT_EQ(Read("| NVIDIA-SMI 535.104.05   Driver Version: 535.104.05   CUDA Version: 12.2     |\n"
                 "|   0  NVIDIA A100-SXM4-80GB          On  | 00000000:07:00.0 Off |                    0 |\n"
                 "| N/A   30C    P0              62W / 400W |      0MiB / 81920MiB |      0%      Default |\n"
                 "|   1  Tesla V100-SXM2...  Off | 00000000:0B:00.0 Off | 0 |\n| Processes: |\n|  0   N/A  N/A  1  C  "
                 "python Off |\n"),
            "nvidia-smi: driver.version=535.104.05; cuda.driver_version=12.2; gpu.name=NVIDIA A100-SXM4-80GB[gpu 0]; "
            "gpu.name=Tesla V100-SXM2...[gpu 1]; gpu.count=2;");
  EXPECT_EQ(Read("index, name, driver_version, memory.total [MiB]\r\n0, NVIDIA H800, 535.104.05, 81559 MiB\r\n"),
            "nvidia-smi: gpu.name=NVIDIA H800[gpu 0]; driver.version=535.104.05; gpu.count=1;");
  EXPECT_EQ(
      Read("0, NVIDIA H800, GPU-1, 535.104.05, 8.0\n1, NVIDIA H800, GPU-2, [N/A], 8.0\n"),
      "nvidia-smi: gpu.name=NVIDIA H800[gpu 0]; driver.version=535.104.05; gpu.name=NVIDIA H800[gpu 1]; gpu.count=2;");
  EXPECT_EQ(Read("GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1)\n"),
            "nvidia-smi: gpu.name=NVIDIA A100-SXM4-80GB[gpu 0]; gpu.count=1;");
  EXPECT_EQ(
      Read("<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n<nvidia_smi_log>\n"
           "\t<driver_version>535.104.05</driver_version>\n\t<cuda_version>12.2</cuda_version>\n\t<gpu id=\"0\">\n"
           "\t\t<product_name>NVIDIA A100</product_name>\n"),
      "nvidia-smi: driver.version=535.104.05; cuda.driver_version=12.2; gpu.name=NVIDIA A100[gpu 0]; gpu.count=1;");
  EXPECT_THAT(Read("==============NVSMI LOG==============\nDriver Version                            : 535.104.05\n"
                   "    Product Name                          : NVIDIA A100\n"),
              HasSubstr("driver.version=535.104.05; gpu.name=NVIDIA A100[gpu 0];"));
}

TEST(Devices, ListsOfPciDevices) {
  const std::string ids = "device.pci_id=19e5:d802[pci c1:00.0]; device.count=1;";
  for (const char* list :
       {"c1:00.0 Processing accelerators [1200]: Huawei Technologies Co., Ltd. Device [19e5:d802] (rev 20)\n"
        "01:00.0 Ethernet controller [0200]: Huawei Technologies Co., Ltd. Hi1822 [19e5:0222]\n",
        "c1:00.0 1200: 19e5:d802 (rev 20)\n00:00.0 0604: 19e5:a120 (rev 21)\n",
        "c1:00.0 Processing accelerators: Huawei Technologies Co., Ltd. Device d802 (rev 20)\n",
        "c1:00.0 \"Processing accelerators [1200]\" \"Huawei Technologies Co., Ltd. [19e5]\" \"Device [d802]\" -r20\n",
        "c1:00.0 0x19e5 0xd802\n01:00.0 0x8086 0x10fb\n"}) {
    EXPECT_EQ(Read(list), "devices: " + ids) << list;
  }
  EXPECT_EQ(Read("07:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 SXM4 80GB] [10de:20b2] (rev a1)\n"
                 "07:00.1 Audio device [0403]: NVIDIA Corporation Device [10de:10ef]\n"),
            "devices: device.pci_id=10de:20b2[pci 07:00.0]; device.count=1;");
  EXPECT_EQ(Read("00:1f.2 SATA controller [0106]: Intel Corporation Device [8086:a202]\n"),
            "devices: device.count=0; !no_accelerator");
}

TEST(Devices, Json) {
  EXPECT_EQ(Read(R"({"devices": [{"bus_id": "0000:c1:00.0", "vendor": "0x19e5", "device": "0xd803"}]})"),
            "devices: device.pci_id=19e5:d803[pci 0000:c1:00.0]; device.count=1;");
  EXPECT_EQ(Read(R"([{"pci_id": "19e5:d802", "chip_name": "Ascend910B3"}])", "devices"),
            "devices: device.pci_id=19e5:d802; chip_name=Ascend910B3; device.count=1;");
  EXPECT_THAT(Read(R"({"x": 1})", "devices"), HasSubstr("x=1"));
}

TEST(RankTables, EveryVersion) {
  EXPECT_EQ(
      Read(R"({"version": "1.0", "server_count": "1", "server_list": [{"server_id": "10.0.0.1", "device": [)"
           R"({"device_id": "0", "rank_id": "0"}, {"device_id": "1", "rank_id": "1"}]}], "status": "completed"})"),
      "rank-table: rank_table.ranks.10.0.0.1=[0, 1]; rank_table.servers=1; rank_table.devices=2; "
      "rank_table.version=1.0;");
  EXPECT_EQ(
      Read(R"({"version": "2.0", "rank_count": 2, "rank_list": [{"rank_id": 0, "device_id": 0}, {"rank_id": 1}]})"),
      "rank-table: rank_table.ranks=[0, 1]; rank_table.servers=1; rank_table.devices=2; rank_table.version=2.0;");
  EXPECT_EQ(Read(R"({"status": "initializing", "group_list": [{"instance_list": [{"rank_id": "0", "server_id": "a",)"
                 R"( "devices": [{"device_id": "0"}]}, {"rank_id": "2", "server_id": "b", "devices": []}]}]})"),
            "rank-table: rank_table.ranks.a=[0]; rank_table.ranks.b=[2]; rank_table.servers=2; rank_table.devices=2; "
            "!ranks_with_holes !rank_table_not_completed");
  EXPECT_THAT(
      Read(R"({"server_count": "2", "server_list": [{"server_id": "a", "device": [{"rank_id": "0"}, )"
           R"({"rank_id": "0"}]}]})"),
      HasSubstr("!rank_twice !server_count_differs"));
  EXPECT_THAT(Read(R"({"server_list": 1})"), HasSubstr("DATA_LOSS"));
}

}  // namespace
}  // namespace paritect
