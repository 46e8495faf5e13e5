#include "client/remote/remote_fixture.h"
#include "common/version.h"
#include "storage/fleet_store.h"

namespace paritect {
namespace {

using testing::HasSubstr;
using testing::Not;

class DoctorTest : public RemoteTest {
 protected:
  DoctorTest() {
    fleet_.on_Diagnose = [this](const v1::DiagnosisRequest&) {
      v1::DiagnosisResponse response;
      response.set_program(program_);
      response.set_server_unix_ms(now_ms() + clock_ms_);
      v1::DiagnosisLine& line = *response.add_lines();
      line.set_id("sqlite_version");
      line.set_state(server_state_);
      line.set_message("SQLite 3.40.1");
      line.set_remedy(server_state_ == "ok" ? "" : "update it");
      *response.mutable_log_head() = head_;
      return response;
    };
    fleet_.on_ReadLog = [this](const v1::ReadLogRequest& request) {
      v1::ReadLogResponse response;
      for (std::int64_t n = request.from(); n <= static_cast<std::int64_t>(log_.size()); ++n) {
        if (response.entries_size() == request.limit()) break;
        *response.add_entries() = log_[static_cast<std::size_t>(n - 1)];
      }
      return response;
    };
    for (int i = 0; i < 2500; ++i) {
      v1::AuditLogEntry entry;
      entry.set_actor("admin/chen");
      entry.set_action("CreateToken");
      ChainLogEntry(log_.empty() ? nullptr : &log_.back(), entry);
      log_.push_back(entry);
    }
  }
  std::string StateOf(const std::string& id) {
    Run({"doctor", "-o", "json"});
    const auto json = Json(out());
    for (const auto& line : json["lines"]) {
      if (line["id"] == id) return line["state"].get<std::string>();
    }
    return "";
  }

  std::string program_ = absl::StrCat("paritect-server ", kProgramVersion);
  std::string server_state_ = "ok";
  std::int64_t clock_ms_ = 0;
  std::vector<v1::AuditLogEntry> log_;
  v1::LogHead head_;
};

TEST_F(DoctorTest, AHealthyServer) {
  EXPECT_EQ(Run({"doctor"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("2500 entries, every one follows from the one before"));
  EXPECT_THAT(out(), HasSubstr("operator chen at server.example:7400"));
  EXPECT_THAT(out(), Not(HasSubstr("error")));
  EXPECT_EQ(Run({"doctor", "-o", "json"}), kExitOk);
  EXPECT_EQ(Json(out())["state"], "ok");
  EXPECT_EQ(Run({"doctor", "-o", "xml"}), kExitUsage);
}

TEST_F(DoctorTest, EveryFaultIsTold) {
  clock_ms_ = 10'000;
  EXPECT_EQ(StateOf("clock"), "warning");
  clock_ms_ = -400'000;
  EXPECT_EQ(StateOf("clock"), "error");
  clock_ms_ = 0;
  program_ = "paritect-server 99.0.0";
  EXPECT_EQ(StateOf("version_skew"), "warning");
  program_ = "something else";
  EXPECT_EQ(StateOf("version_skew"), "warning");
  server_state_ = "error";
  EXPECT_EQ(Run({"doctor"}), kExitFailed);
  EXPECT_THAT(out(), HasSubstr("to do: update it"));
  server_state_ = "warning";
  EXPECT_EQ(Run({"doctor"}), kExitOk);
  fleet_.probes = {{.server = "a:1", .protocol = "TLSv1.3", .server_not_after = pki_testing::kNow + 90 * kDaySeconds}};
  EXPECT_EQ(StateOf("tls"), "ok");
  EXPECT_EQ(Run({"doctor"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("a:1: TLSv1.3, both certificates accepted"));
  fleet_.probes[0].server_not_after = pki_testing::kNow + kDaySeconds;
  EXPECT_EQ(StateOf("tls"), "warning");
  fleet_.probes = {{.server = "b:1", .status = absl::UnavailableError("connection refused")}};
  EXPECT_EQ(StateOf("tls"), "warning");
  now_ms() += 29 * kDaySeconds * 1000;
  EXPECT_EQ(StateOf("certificate_validity"), "warning");
}

TEST_F(DoctorTest, ABrokenLogIsFoundWhereverItBreaks) {
  const auto whole = log_;
  log_[1700].set_actor("admin/mallory");
  EXPECT_EQ(Run({"doctor"}), kExitFailed);
  EXPECT_THAT(out(), HasSubstr("broken after entry 1700"));
  EXPECT_EQ(Run({"doctor", "--no-log"}), kExitOk);
  log_ = whole;
  log_.erase(log_.begin() + 1000);
  EXPECT_EQ(StateOf("log_chain"), "error");
  // What is cut off the end leaves a whole chain behind; the head is kept elsewhere.
  log_ = whole;
  head_.set_number(2500);
  head_.set_hash(whole.back().hash());
  EXPECT_EQ(Run({"doctor"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("; head 2500:"));
  log_.pop_back();
  EXPECT_EQ(StateOf("log_chain"), "error");
  log_ = whole;
  head_.set_hash(whole[0].hash());
  EXPECT_EQ(StateOf("log_chain"), "error");
  fleet_.on_ReadLog = [](const v1::ReadLogRequest&) -> absl::StatusOr<v1::ReadLogResponse> {
    return absl::PermissionDeniedError("it takes an admin");
  };
  EXPECT_EQ(StateOf("log_chain"), "warning");
}

TEST_F(DoctorTest, AServerThatDoesNotAnswerGivesFour) {
  fleet_.on_Diagnose = [](const v1::DiagnosisRequest&) -> absl::StatusOr<v1::DiagnosisResponse> {
    return absl::UnavailableError("server server.example:7400 not reachable: connection refused");
  };
  EXPECT_EQ(Run({"doctor"}), kExitServer);
  EXPECT_THAT(out(), HasSubstr("not reachable: connection refused"));
  now_ms() += 31 * kDaySeconds * 1000;
  EXPECT_EQ(Run({"doctor", "-o", "json"}), kExitServer);
  EXPECT_EQ(Json(out())["state"], "error");
  environment().erase("PARITECT_CREDENTIAL");
  EXPECT_EQ(Run({"doctor"}), kExitUsage);
}

}  // namespace
}  // namespace paritect
