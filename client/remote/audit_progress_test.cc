#include "client/remote/audit_progress.h"

#include "client/remote/remote_fixture.h"
#include "common/utf8.h"

namespace paritect {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

v1::NodeTask Running(const std::string& node, std::int64_t done, std::int64_t total) {
  v1::NodeTask task = TaskOf(node, false, v1::NODE_TASK_STATE_RUNNING);
  task.mutable_progress()->set_bytes_done(done);
  task.mutable_progress()->set_bytes_total(total);
  task.mutable_progress()->set_files_done(3);
  task.mutable_progress()->set_files_total(12);
  task.mutable_progress()->set_stage("datasets");
  task.set_rate_bytes_per_s(1'000'000);
  return task;
}

constexpr std::int64_t kNowMs = (pki_testing::kNow + 75) * 1000;

TEST(AuditProgress, BarsTellFilesBytesRateAndTimeLeft) {
  const v1::AuditRun run = RunOf(v1::AUDIT_RUN_STATE_COLLECTING, {Running("gpu-01", 500'000'000, 2'000'000'000)});
  EXPECT_THAT(ProgressBlock(run, kNowMs, {24, 120}, true),
              ElementsAre("resnet50 run 3: collecting, 0 of 1 nodes done, 1m15s",
                          "gpu-01  baseline  [#####---------------]  25%  3/12 files  500.0 MB of 2.0 GB  1.0 MB/s  "
                          "25m left  datasets"));
}

TEST(AuditProgress, SilentAndRefusedNodesAreRowsAndComeFirst) {
  v1::NodeTask silent = TaskOf("npu-01", true, v1::NODE_TASK_STATE_SILENT);
  v1::NodeTask refused = TaskOf("npu-02", true, v1::NODE_TASK_STATE_REFUSED);
  refused.set_detail("/etc is outside of its roots");
  const v1::AuditRun run =
      RunOf(v1::AUDIT_RUN_STATE_COLLECTING, {TaskOf("gpu-01", false, v1::NODE_TASK_STATE_DONE),
                                             TaskOf("gpu-02", false, v1::NODE_TASK_STATE_WAITING), refused, silent});
  EXPECT_THAT(ProgressBlock(run, kNowMs, {24, 100}, true),
              ElementsAre("resnet50 run 3: collecting, 1 of 4 nodes done, 1 silent, 1 refused, 1m15s",
                          "npu-01  migrated  silent, last seen never",
                          "npu-02  migrated  refused: /etc is outside of its roots", "gpu-02  baseline  waiting",
                          "gpu-01  baseline  done"));
}

TEST(AuditProgress, ABlockNeverLeavesTheTerminal) {
  std::vector<v1::NodeTask> tasks;
  for (int i = 0; i < 1000; ++i) tasks.push_back(Running(absl::StrCat("gpu-", i), i, 1000));
  tasks[999].set_state(v1::NODE_TASK_STATE_DONE);
  const v1::AuditRun run = RunOf(v1::AUDIT_RUN_STATE_COLLECTING, tasks);
  for (const TerminalSize size :
       {TerminalSize{24, 80}, TerminalSize{10, 40}, TerminalSize{2, 20}, TerminalSize{1, 1}}) {
    const auto lines = ProgressBlock(run, kNowMs, size, false);
    EXPECT_LE(static_cast<int>(lines.size()), std::max(size.rows - 1, 2));
    for (const std::string& line : lines)
      EXPECT_LE(DisplayWidth(line), static_cast<std::size_t>(std::max(size.columns - 1, 20)));
  }
  const auto lines = ProgressBlock(run, kNowMs, {24, 80}, false);
  ASSERT_THAT(lines, SizeIs(23));
  EXPECT_EQ(lines.back(), "… 979 more nodes (978 running, 1 done)");
}

TEST(AuditProgress, SeveralPlansOnANodeAreOneRow) {
  v1::NodeTask done = Running("gpu-01", 100, 100);
  done.set_state(v1::NODE_TASK_STATE_DONE);
  done.set_rate_bytes_per_s(0);
  v1::AuditRun run = RunOf(v1::AUDIT_RUN_STATE_COLLECTING, {done, Running("gpu-01", 0, 300)});
  auto rows = ProgressRows(run);
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].state, v1::NODE_TASK_STATE_RUNNING);
  EXPECT_EQ(rows[0].fraction(), 0.25);
  run.mutable_tasks(1)->set_state(v1::NODE_TASK_STATE_SILENT);
  EXPECT_EQ(ProgressRows(run)[0].state, v1::NODE_TASK_STATE_SILENT);  // one plan of it is missing
  // The same name on both sides is two rows.
  run.mutable_tasks(1)->set_migrated(true);
  EXPECT_THAT(ProgressRows(run), SizeIs(2));
}

TEST(AuditProgress, UnknownTotalsAndHostileNamesAreShownAsTheyCan) {
  v1::NodeTask task = TaskOf("evil\x1b[2J", false, v1::NODE_TASK_STATE_RUNNING);
  task.mutable_progress()->set_files_done(7);
  const auto lines = ProgressBlock(RunOf(v1::AUDIT_RUN_STATE_COLLECTING, {task}), kNowMs, {24, 80}, true);
  EXPECT_THAT(lines[1], StartsWith("evil\\x1B[2J  baseline  [--------------------] 7 files"));
  v1::NodeTask odd = Running("x", 900, 300);  // a file grew meanwhile
  EXPECT_EQ(ProgressRows(RunOf(v1::AUDIT_RUN_STATE_COLLECTING, {odd}))[0].fraction(), 1.0);
  EXPECT_EQ(ProgressRows(RunOf(v1::AUDIT_RUN_STATE_COLLECTING, {odd}))[0].seconds_left(), 0);
}

}  // namespace
}  // namespace paritect
