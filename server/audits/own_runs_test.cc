#include "server/audits/own_runs.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "server/recorded_runs.h"
#include "storage/fleet_test_util.h"

namespace paritect {
namespace {

class OwnRunsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = *OpenFleetStore("memory:");
    OwnRunPorts ports;
    ports.commit = [this](WriteSet set) { return CommitOne(*store_, set); };
    ports.stored_bundle = [](const v1::NodeTask& task) -> absl::StatusOr<v1::StoredBundle> {
      v1::StoredBundle stored;
      stored.mutable_plan()->set_run("r");
      stored.mutable_plan()->set_node(task.node());
      stored.mutable_plan()->mutable_identity()->set_key(task.task_id());
      stored.set_collected_at_unix_ms(task.attempt());
      return stored;
    };
    own_ = std::make_unique<OwnRuns>(*store_, [this] { return now_ms_; }, std::move(ports), 3);
  }

  void Record(const std::string& node, int count) {
    for (int i = 0; i < count; ++i) {
      v1::TaskEnd end;
      end.set_task_id(absl::StrCat("own:r:", ++tasks_));
      end.set_attempt(tasks_);
      own_->Record(node, 1, end);
    }
  }

  std::size_t Bundles() { return ReadRecordedRun(*store_, "r", {})->counted.size(); }

  std::unique_ptr<FleetStore> store_;
  std::unique_ptr<OwnRuns> own_;
  std::int64_t now_ms_ = 1'800'000'000'000;
  int tasks_ = 0;
};

TEST_F(OwnRunsTest, ANodeHasRoomForSoManyBundlesAndOthersForTheirs) {
  Record("gpu-01", 4);
  Record("gpu-02", 1);
  EXPECT_EQ(Bundles(), 4u);
  const auto log = store_->ReadLog(1, 10);
  ASSERT_EQ(log->size(), 1u);
  EXPECT_EQ((*log)[0].actor(), "agent/gpu-01");
  EXPECT_NE((*log)[0].outcome().find("the node has 3 bundles"), std::string::npos) << (*log)[0].outcome();
}

TEST_F(OwnRunsTest, RoomThatWasMadeCountsAMinuteLater) {
  Record("gpu-01", 3);
  std::vector<std::string> keys;
  ASSERT_TRUE(store_->Scan("bundle", "", "", [&](absl::string_view key, absl::string_view) {
    keys.emplace_back(key);
    return true;
  }).ok());
  WriteSet set;
  set.documents.push_back({"bundle", keys[0], std::nullopt, {}});
  ASSERT_TRUE(CommitOne(*store_, set).ok());
  now_ms_ += 61'000;
  Record("gpu-01", 2);
  EXPECT_EQ(Bundles(), 3u);
}

}  // namespace
}  // namespace paritect
