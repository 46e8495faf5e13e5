#include "server/server_log.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

#include "nlohmann/json.hpp"

namespace paritect {
namespace {

std::int64_t Noon() {
  return 1'764'590'400'000;  // 2025-12-01 12:00:00Z
}

v1::AuditLogEntry Entry(const std::string& action, const std::string& outcome) {
  v1::AuditLogEntry entry;
  entry.set_actor("operator/ann");
  entry.set_address("10.0.0.7");
  entry.set_action(action);
  entry.set_subject("resnet");
  entry.set_outcome(outcome);
  return entry;
}

TEST(ServerLog, OneLineAFactWithTimeLevelAndPeer) {
  std::ostringstream out;
  ServerLog log(out, ServerLog::Form::kText, &Noon);
  TellCall(log, Entry("RunAudit", "ok"));
  TellCall(log, Entry("RunAudit", "refused: a run is under way"));
  TellCall(log, Entry("ListNodes", "ok"));
  EXPECT_EQ(out.str(),
            "2025-12-01T12:00:00Z info RunAudit peer=10.0.0.7 by=operator/ann subject=resnet\n"
            "2025-12-01T12:00:00Z warning RunAudit refused peer=10.0.0.7 by=operator/ann subject=resnet "
            "why=\"a run is under way\"\n");
}

TEST(ServerLog, WhatStrangersWriteStaysOneLine) {
  for (const auto form : {ServerLog::Form::kText, ServerLog::Form::kJson}) {
    std::ostringstream out;
    ServerLog log(out, form, &Noon);
    v1::AuditLogEntry entry = Entry("Join", "refused: x\n2025-12-01T12:00:00Z info all is well\x1b[2J\xff");
    entry.set_actor("-/10.6.6.6");
    entry.clear_address();
    entry.set_subject(std::string(100'000, 'a'));
    TellCall(log, entry);
    const std::string text = out.str();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text.substr(0, 300);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_LT(text.size(), 5000u);
    EXPECT_NE(text.find("10.6.6.6"), std::string::npos);
  }
}

TEST(ServerLog, JsonHasTheSameFields) {
  std::ostringstream out;
  ServerLog log(out, ServerLog::Form::kJson, &Noon);
  v1::AuditRun run;
  run.set_audit("resnet");
  run.set_number(3);
  run.set_state(v1::AUDIT_RUN_STATE_DONE);
  run.set_verdict(v1::VERDICT_FAIL);
  run.add_silent_nodes("gpu-01");
  TellRun(log, run);
  const auto json = nlohmann::json::parse(out.str(), nullptr, false);
  ASSERT_TRUE(json.is_object()) << out.str();
  EXPECT_EQ(json["time"], "2025-12-01T12:00:00Z");
  EXPECT_EQ(json["level"], "warning");
  EXPECT_EQ(json["message"], "audit judged");
  EXPECT_EQ(json["audit"], "resnet #3");
  EXPECT_EQ(json["verdict"], "fail");
  EXPECT_EQ(json["silent"], "gpu-01");
}

}  // namespace
}  // namespace paritect
