// training.flow.launch, cluster.consistency.devices and .host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/settings/fixture.h"

namespace paritect {
namespace {

v1::SettingsDocument Script(KeysAndTexts values) {
  return SettingsOf("launch-script", "script", values);
}

std::string Launch(const KeysAndTexts& baseline, const KeysAndTexts& migrated) {
  return Verdict("training.flow.launch", {Gpu({Script(baseline)})}, {Npu({Script(migrated)})});
}

TEST(FlowLaunch, EntryAndArguments) {
  const KeysAndTexts usual = {{"launch.entry", "/a/train.py"},
                              {"mask_ratio", "0.75"},
                              {"distributed_backend", "nccl"},
                              {"data_path", "/a/data"}};
  EXPECT_EQ(Launch(usual, {{"launch.entry", "b/train.py"},
                           {"mask-ratio", "0.75"},
                           {"distributed_backend", "hccl"},
                           {"data_path", "/b/data"}}),
            "pass");
  EXPECT_EQ(Launch(usual, {{"launch.entry", "train.py"}, {"mask_ratio", "0.5"}}), "pass: ~argument_differs mask_ratio");
  EXPECT_EQ(Launch(usual, {{"launch.entry", "evaluate.py"}, {"mask_ratio", "0.75"}}),
            "pass: ~entry_differs launch.entry");
  EXPECT_EQ(Launch(usual, {{"mask_ratio", "0.75"}}), "not_performed: !npu");
  EXPECT_EQ(Verdict("training.flow.launch", {Gpu({Script(usual)})}, {Npu({Arguments("yaml", {{"lr", "1"}})})}),
            "not_performed: !npu");
  // A learning rate is compared elsewhere.
  KeysAndTexts rate = usual;
  rate.emplace_back("lr", "1");
  KeysAndTexts other = usual;
  other.emplace_back("lr", "2");
  EXPECT_EQ(Launch(rate, other), "pass");
}

v1::Bundle Node(const std::string& node, std::vector<v1::SettingsDocument> documents) {
  return NodeOf("npu", node, "atlas-a2", "pytorch", std::move(documents));
}

TEST(ConsistencyOfDevices, KindAndNumber) {
  const char kCheck[] = "cluster.consistency.devices";
  const auto npus = [](int count, const std::string& name) {
    KeysAndTexts rows(static_cast<std::size_t>(count), {"npu.name", name});
    return SettingsOf("npu-smi", "devices", rows);
  };
  EXPECT_EQ(Verdict(kCheck, {}, {Node("n0", {npus(8, "910B3")}), Node("n1", {npus(8, "910B3")})}), "pass");
  EXPECT_EQ(Verdict(kCheck, {}, {Node("n0", {npus(8, "910B3")}), Node("n1", {npus(8, "910B1")})}),
            "fail: devices_differ npu");
  EXPECT_EQ(Verdict(kCheck, {}, {Node("n0", {npus(8, "910B3")}), Node("n1", {npus(7, "910B3")})}),
            "fail: devices_differ npu");
  EXPECT_EQ(Verdict(kCheck, {}, {Node("n0", {npus(8, "910B3")}), Node("n1", {})}), "not_performed: !n1");
  EXPECT_EQ(Verdict(kCheck, {}, {Node("n0", {npus(8, "910B3")})}), "not_performed: !npu");
  EXPECT_EQ(Verdict(kCheck, {}, {}), "not_performed: !migrated");
}

TEST(ConsistencyOfHosts, IsANote) {
  const char kCheck[] = "cluster.consistency.host";
  const auto host = [](const std::string& cpus) { return SettingsOf("host", "host", {{"host.cpu_count", cpus}}); };
  EXPECT_EQ(Verdict(kCheck, {}, {Node("n0", {host("192")}), Node("n1", {host("192")})}), "pass");
  const v1::CheckResult result = ResultOf(kCheck, {}, {Node("n0", {host("192")}), Node("n1", {host("96")})});
  EXPECT_EQ(Told(result), "pass");
  EXPECT_TRUE(HasKind(result, v1::SEVERITY_NOTE, "hosts_differ"));
  EXPECT_EQ(Verdict(kCheck, {}, {Node("n0", {host("192")}), Node("n1", {})}), "not_performed: !n1");
}

}  // namespace
}  // namespace paritect
