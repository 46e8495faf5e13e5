#include "client/remote/remote_fixture.h"
#include "client/report/json.h"

namespace paritect {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr char kAuditFile[] =
    "audit: resnet50\n"
    "baseline: {nodes: ['gpu-*'], plans: [{run: gpu-1, logs: [/job/train.log]}]}\n"
    "migrated: {nodes: ['npu-*'], plans: [{run: npu-1, logs: [/job/train.log]}]}\n";

class AuditCommandTest : public RemoteTest {
 protected:
  // A server whose run 3 goes through `states` and gives `report`.
  void Serve(std::vector<v1::AuditRun> states, const v1::Report& report) {
    last_ = states.back();
    fleet_.watches = {{std::move(states), absl::OkStatus()}};
    fleet_.on_RunAudit = [](const v1::RunAuditRequest&) {
      v1::RunAuditResponse response;
      response.set_number(3);
      return response;
    };
    fleet_.on_GetReport = [this, report](const v1::GetReportRequest& request) {
      EXPECT_EQ(request.number(), 3);
      v1::GetReportResponse response;
      *response.mutable_run() = last_;
      *response.mutable_report() = report;
      return response;
    };
    fleet_.on_ListAuditRuns = [this](const v1::ListAuditRunsRequest&) {
      v1::ListAuditRunsResponse response;
      *response.add_runs() = last_;
      return response;
    };
  }

  static v1::AuditRun Done(std::vector<v1::NodeTask> tasks = {}) { return RunOf(v1::AUDIT_RUN_STATE_DONE, tasks); }

  v1::AuditRun last_;
};

TEST_F(AuditCommandTest, CreateSendsTheFileAndTellsItsMistakesWithoutAServer) {
  fs_.AddFile("/a.yaml", kAuditFile);
  fleet_.on_CreateAudit = [](const v1::CreateAuditRequest& request) -> absl::StatusOr<v1::CreateAuditResponse> {
    EXPECT_EQ(request.text(), kAuditFile);
    EXPECT_EQ(request.file(), "/a.yaml");
    if (!request.replace()) return absl::AlreadyExistsError("there is another audit 'resnet50' already");
    v1::CreateAuditResponse response;
    response.set_name("resnet50");
    response.set_replaced(true);
    response.add_warnings("no node matches gpu-*");
    return response;
  };
  EXPECT_EQ(Run({"audit", "create", "/a.yaml"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("already"));
  EXPECT_EQ(Run({"audit", "create", "/a.yaml", "--replace"}), kExitOk);
  EXPECT_EQ(out(), "audit resnet50 replaced\n");
  EXPECT_THAT(err(), HasSubstr("warning: no node matches gpu-*"));

  fs_.AddFile("/bad.yaml", "audit: x\nbaselin: {}\n");
  EXPECT_EQ(Run({"audit", "create", "/bad.yaml"}), kExitUsage);
  EXPECT_THAT(err(), StartsWith("/bad.yaml:2:1: unknown key 'baselin'"));  // an editor finds the place
  EXPECT_THAT(fleet_.calls, IsEmpty());
  fs_.AddFile("/profile.yaml", absl::StrCat(kAuditFile, "profile: site/9\n"));
  EXPECT_EQ(Run({"audit", "create", "/profile.yaml"}), kExitUsage);
  EXPECT_THAT(err(), StartsWith("/profile.yaml:4:10: there is no profile 'site/9'"));
  EXPECT_EQ(Run({"audit", "create", "/lost.yaml"}), kExitUsage);
  EXPECT_EQ(Run({"audit", "create"}), kExitUsage);
}

TEST_F(AuditCommandTest, RunPrintsTheReportOfCheckWithItsExitCodes) {
  Serve({RunOf(v1::AUDIT_RUN_STATE_COLLECTING), Done()}, ReportOf(v1::VERDICT_FAIL));
  EXPECT_EQ(Run({"audit", "run", "resnet50", "-o", "json"}), kExitFailed);
  EXPECT_EQ(out(), DumpJson(ReportToJson(ReportOf(v1::VERDICT_FAIL))) + "\n");
  EXPECT_EQ(Json(out())["schema"], "paritect.report/1");
  EXPECT_THAT(err(), HasSubstr("run 3 started"));
  EXPECT_THAT(fleet_.calls, ElementsAre("RunAudit", "WatchAudit", "GetReport"));
  for (const char* format : {"table", "jsonl", "csv", "markdown", "junit"}) {
    EXPECT_EQ(Run({"audit", "run", "resnet50", "-o", format}), kExitFailed) << format;
    EXPECT_THAT(out(), Not(IsEmpty()));
  }

  Serve({Done()}, ReportOf(v1::VERDICT_PASS));
  EXPECT_EQ(Run({"audit", "run", "resnet50"}), kExitOk);
  Serve({Done()}, ReportOf(v1::VERDICT_NOT_PERFORMED));
  EXPECT_EQ(Run({"audit", "run", "resnet50"}), kExitOk);
  EXPECT_EQ(Run({"audit", "run", "resnet50", "--complete"}), kExitNotPerformed);
}

TEST_F(AuditCommandTest, SilentNodesGiveSixUnlessSomethingFailed) {
  v1::AuditRun run =
      Done({TaskOf("gpu-01", false, v1::NODE_TASK_STATE_DONE), TaskOf("npu-01", true, v1::NODE_TASK_STATE_SILENT),
            TaskOf("npu-02", true, v1::NODE_TASK_STATE_REFUSED)});
  run.mutable_tasks(1)->set_last_seen_unix_ms(1'700'000'000'000);
  run.mutable_tasks(2)->set_detail("/etc is outside of its roots");
  run.add_silent_nodes("npu-01");
  run.add_silent_nodes("npu-02");
  Serve({run}, ReportOf(v1::VERDICT_NOT_PERFORMED));
  EXPECT_EQ(Run({"audit", "run", "resnet50", "--complete"}), kExitSilentNodes);
  EXPECT_THAT(err(), HasSubstr("2 of 3 nodes gave no (or not all) evidence: npu-01 (silent, last seen "
                               "2023-11-14T22:13:20Z), npu-02 (refused: /etc is outside of its roots)"));
  EXPECT_THAT(out(), Not(IsEmpty()));  // the partial result
  Serve({run}, ReportOf(v1::VERDICT_PASS));
  EXPECT_EQ(Run({"audit", "run", "resnet50"}), kExitSilentNodes);
  Serve({run}, ReportOf(v1::VERDICT_FAIL));
  EXPECT_EQ(Run({"audit", "run", "resnet50"}), kExitFailed);
}

TEST_F(AuditCommandTest, RefusalsKeepTheServersWordsAndEndWithFour) {
  const auto refuse = [&](absl::Status status) {
    fleet_.on_RunAudit = [status](const v1::RunAuditRequest&) -> absl::StatusOr<v1::RunAuditResponse> {
      return status;
    };
    return Run({"audit", "run", "resnet50"});
  };
  EXPECT_EQ(refuse(absl::UnavailableError("server server.example:7400 not reachable: connection refused")),
            kExitServer);
  EXPECT_THAT(err(), HasSubstr("paritect audit run: server server.example:7400 not reachable"));
  EXPECT_EQ(refuse(absl::PermissionDeniedError("viewer chen may not call RunAudit")), kExitServer);
  EXPECT_THAT(err(), HasSubstr("refused: viewer chen may not call RunAudit"));
  EXPECT_EQ(refuse(absl::UnauthenticatedError("the server refused the certificate: it was revoked")), kExitServer);
  EXPECT_EQ(refuse(absl::FailedPreconditionError("audit 'resnet50' is running already")), kExitServer);
  EXPECT_EQ(refuse(absl::ResourceExhaustedError("too many calls")), kExitServer);
  EXPECT_EQ(refuse(absl::NotFoundError("there is no audit 'resnet50'")), kExitUsage);
  EXPECT_EQ(refuse(absl::InternalError("bug")), kExitInternal);
  EXPECT_THAT(out(), IsEmpty());
}

TEST_F(AuditCommandTest, ARunThatFailedOrWasCancelledHasNoReport) {
  v1::AuditRun run = RunOf(v1::AUDIT_RUN_STATE_FAILED);
  run.set_problem("there is no recorded run 'gpu-7'");
  Serve({run}, ReportOf(v1::VERDICT_PASS));
  EXPECT_EQ(Run({"audit", "run", "resnet50"}), kExitServer);
  EXPECT_THAT(err(), HasSubstr("run 3 of audit 'resnet50' could not be judged: there is no recorded run 'gpu-7'"));
  Serve({RunOf(v1::AUDIT_RUN_STATE_CANCELLED)}, ReportOf(v1::VERDICT_PASS));
  EXPECT_EQ(Run({"audit", "run", "resnet50"}), kExitServer);
  EXPECT_THAT(err(), HasSubstr("was cancelled"));
  EXPECT_THAT(out(), IsEmpty());
}

TEST_F(AuditCommandTest, MistakesAreToldBeforeAServerIsAsked) {
  EXPECT_EQ(Run({"audit"}), kExitUsage);
  EXPECT_EQ(Run({"audit", "rnu"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("did you mean 'run'?"));
  EXPECT_EQ(Run({"audit", "run"}), kExitUsage);
  EXPECT_EQ(Run({"audit", "run", "x", "--wach"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("did you mean '--watch'?"));
  EXPECT_EQ(Run({"audit", "run", "x", "-o", "jsn"}), kExitUsage);
  EXPECT_EQ(Run({"audit", "run", "x", "--timeout", "soon"}), kExitUsage);
  EXPECT_EQ(Run({"audit", "run", "x", "--lang", "fr"}), kExitUsage);
  EXPECT_EQ(Run({"audit", "wait", "x", "--for", "fial"}), kExitUsage);
  EXPECT_EQ(Run({"audit", "show", "x", "--run", "-1"}), kExitUsage);
  EXPECT_EQ(Run({"audit", "ls", "-o", "xml"}), kExitUsage);
  EXPECT_THAT(fleet_.calls, IsEmpty());
  EXPECT_EQ(Run({"audit", "--help"}), kExitOk);
  for (const char* verb : {"create", "run", "ls", "show", "wait", "cancel"}) {
    EXPECT_EQ(Run({"audit", verb, "--help"}), kExitOk) << verb;
    EXPECT_THAT(out(), HasSubstr("--credential")) << verb;
  }
}

TEST_F(AuditCommandTest, WatchInAPipeGivesJsonLinesWithTheReportLast) {
  v1::NodeTask task = TaskOf("gpu-01", false, v1::NODE_TASK_STATE_RUNNING);
  task.mutable_progress()->set_stage("datasets");
  task.mutable_progress()->set_bytes_done(50);
  task.mutable_progress()->set_bytes_total(200);
  task.set_rate_bytes_per_s(10);
  const v1::AuditRun running = RunOf(v1::AUDIT_RUN_STATE_COLLECTING, {task});
  task.set_state(v1::NODE_TASK_STATE_DONE);
  Serve({running, running, RunOf(v1::AUDIT_RUN_STATE_DONE, {task})}, ReportOf(v1::VERDICT_FAIL));
  EXPECT_EQ(Run({"audit", "run", "resnet50", "--watch"}), kExitFailed);
  const auto lines = JsonLines(out());
  ASSERT_EQ(lines.size(), 5u) << out();  // running, collecting, done, done, report: what did not change is not repeated
  EXPECT_EQ(lines[0]["event"], "node");
  EXPECT_EQ(lines[0]["side"], "baseline");
  EXPECT_EQ(lines[0]["seconds_left"], 15);
  EXPECT_EQ(lines[0]["files_total"], nullptr);
  EXPECT_EQ(lines[1]["event"], "run");
  EXPECT_EQ(lines[2]["state"], "done");
  EXPECT_EQ(lines.back()["event"], "report");
  EXPECT_EQ(lines.back()["report"]["verdict"], "fail");
  EXPECT_THAT(err(), IsEmpty());
  // With a format of its own, standard output is the report's alone.
  EXPECT_EQ(Run({"audit", "run", "resnet50", "--watch", "-o", "json"}), kExitFailed);
  EXPECT_EQ(Json(out())["verdict"], "fail");
  EXPECT_EQ(JsonLines(err()).size(), 4u);
}

TEST_F(AuditCommandTest, WatchOnATerminalRedrawsInPlace) {
  out_is_terminal_ = err_is_terminal_ = true;
  const v1::AuditRun running =
      RunOf(v1::AUDIT_RUN_STATE_COLLECTING, {TaskOf("gpu-01", false, v1::NODE_TASK_STATE_RUNNING)});
  Serve({running, Done({TaskOf("gpu-01", false, v1::NODE_TASK_STATE_DONE)})}, ReportOf(v1::VERDICT_PASS));
  EXPECT_EQ(Run({"audit", "run", "resnet50", "--watch"}), kExitOk);
  EXPECT_THAT(err(), HasSubstr("\x1b[2A"));  // the second block over the first: headline and one node
  EXPECT_THAT(err(), HasSubstr("gpu-01  baseline  [░"));
  EXPECT_THAT(out(), Not(HasSubstr("\x1b[2A")));
  environment()["TERM"] = "dumb";
  EXPECT_EQ(Run({"audit", "run", "resnet50", "--watch"}), kExitOk);
  EXPECT_THAT(err(), Not(HasSubstr("\x1b")));
  EXPECT_THAT(err(), HasSubstr("gpu-01 (baseline): running"));
}

TEST_F(AuditCommandTest, ALostConnectionIsMadeAgainForAMinute) {
  Serve({Done()}, ReportOf(v1::VERDICT_PASS));
  fleet_.watches = {{{RunOf(v1::AUDIT_RUN_STATE_COLLECTING)}, absl::UnavailableError("gone")},
                    {{}, absl::UnavailableError("not there yet")},
                    {{RunOf(v1::AUDIT_RUN_STATE_COLLECTING)}, absl::OkStatus()},  // it stopped in good order
                    {{Done()}, absl::OkStatus()}};
  EXPECT_EQ(Run({"audit", "run", "resnet50", "--watch", "-o", "json"}), kExitOk);
  EXPECT_THAT(err(), HasSubstr("was lost; trying again"));
  fleet_.watches = {{{}, absl::UnavailableError("server server.example:7400 not reachable: refused")}};
  const std::int64_t before = now_ms();
  EXPECT_EQ(Run({"audit", "run", "resnet50"}), kExitServer);
  EXPECT_EQ((now_ms() - before) / 1000, 60);
}

TEST_F(AuditCommandTest, WaitEndsWithTheVerdictAskedForOrWithFive) {
  v1::AuditRun failed = Done();
  failed.set_verdict(v1::VERDICT_FAIL);
  Serve({failed}, ReportOf(v1::VERDICT_FAIL));
  EXPECT_EQ(Run({"audit", "wait", "resnet50"}), kExitOk);
  EXPECT_EQ(out(), "audit resnet50 run 3: done, fail\n");
  EXPECT_EQ(Run({"audit", "wait", "resnet50", "--for", "fail"}), kExitOk);
  EXPECT_EQ(Run({"audit", "wait", "resnet50", "--for", "pass"}), kExitFailed);

  last_ = RunOf(v1::AUDIT_RUN_STATE_COLLECTING);
  fleet_.watches = {{{last_}, absl::DeadlineExceededError("")}};
  const std::int64_t before = now_ms();
  fleet_.on_ListAuditRuns = [this](const v1::ListAuditRunsRequest&) {
    now_ms() += 1000;
    v1::ListAuditRunsResponse response;
    *response.add_runs() = last_;
    return response;
  };
  EXPECT_EQ(Run({"audit", "wait", "resnet50", "--timeout", "1s"}), kExitTimeout);
  EXPECT_THAT(err(), HasSubstr("not done after 1s"));
  EXPECT_LT(now_ms() - before, 10'000);

  // Not run yet: its first run is waited for.
  int asked = 0;
  fleet_.on_ListAuditRuns = [&](const v1::ListAuditRunsRequest&) {
    v1::ListAuditRunsResponse response;
    if (++asked == 4) *response.add_runs() = failed;
    return response;
  };
  EXPECT_EQ(Run({"audit", "wait", "resnet50"}), kExitOk);
  asked = 100;
  EXPECT_EQ(Run({"audit", "wait", "resnet50", "--timeout", "5s"}), kExitTimeout);
  fleet_.on_ListAuditRuns = [](const v1::ListAuditRunsRequest&) -> absl::StatusOr<v1::ListAuditRunsResponse> {
    return absl::NotFoundError("there is no audit 'resnet50'");
  };
  EXPECT_EQ(Run({"audit", "wait", "resnet50"}), kExitUsage);
}

TEST_F(AuditCommandTest, ShowPrintsTheLastReportAndWhatChanged) {
  v1::AuditRun run = Done();
  v1::ChangedVerdict& changed = *run.add_changed();
  changed.set_check("data.dataset.content");
  changed.set_before(v1::VERDICT_PASS);
  changed.set_after(v1::VERDICT_FAIL);
  Serve({run}, ReportOf(v1::VERDICT_FAIL));
  fleet_.on_ListAuditRuns = [run](const v1::ListAuditRunsRequest&) {
    v1::ListAuditRunsResponse response;
    *response.add_runs() = run;
    v1::AuditRun& newer = *response.add_runs();
    newer = RunOf(v1::AUDIT_RUN_STATE_COLLECTING);
    newer.set_number(4);
    return response;
  };
  EXPECT_EQ(Run({"audit", "show", "resnet50"}), kExitFailed);
  EXPECT_THAT(out(), HasSubstr("changed since the run before:\n  pass -> fail: data.dataset.content"));
  EXPECT_THAT(err(), HasSubstr("this is run 3; run 4 is under way"));
  EXPECT_EQ(Run({"audit", "show", "resnet50", "--run", "3", "-o", "json"}), kExitFailed);
  EXPECT_EQ(Json(out())["verdict"], "fail");
  EXPECT_THAT(fleet_.calls, ElementsAre("GetReport"));
  fleet_.on_ListAuditRuns = [](const v1::ListAuditRunsRequest&) { return v1::ListAuditRunsResponse(); };
  EXPECT_EQ(Run({"audit", "show", "resnet50"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("has not been run yet"));
}

TEST_F(AuditCommandTest, ListShowsAuditsAndRunsInBothForms) {
  fleet_.on_ListAudits = [](const v1::ListAuditsRequest&) {
    v1::ListAuditsResponse response;
    v1::AuditRow& row = *response.add_audits();
    row.mutable_definition()->set_name("resnet50");
    row.mutable_definition()->mutable_baseline()->add_nodes("gpu-*");
    row.mutable_definition()->mutable_migrated()->add_runs("npu-seed1");
    row.mutable_definition()->set_schedule_seconds(21600);
    *row.mutable_last_run() = Done();
    response.add_audits()->mutable_definition()->set_name("bert");
    return response;
  };
  EXPECT_EQ(Run({"audit", "ls"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("resnet50  gpu-*     run npu-seed1  6h"));
  EXPECT_THAT(out(), HasSubstr("never"));
  EXPECT_EQ(Run({"audit", "ls", "-o", "json"}), kExitOk);
  const auto json = Json(out());
  EXPECT_EQ(json[0]["last_run"]["run"], 3);
  EXPECT_EQ(json[1]["last_run"], nullptr);
  Serve({Done()}, ReportOf(v1::VERDICT_PASS));
  EXPECT_EQ(Run({"audit", "ls", "resnet50"}), kExitOk);
  EXPECT_THAT(out(), HasSubstr("done"));
  EXPECT_EQ(Run({"audit", "ls", "resnet50", "-o", "json"}), kExitOk);
  EXPECT_EQ(Json(out())[0]["state"], "done");
  fleet_.on_ListAudits = [](const v1::ListAuditsRequest&) { return v1::ListAuditsResponse(); };
  EXPECT_EQ(Run({"audit", "ls", "-o", "json"}), kExitOk);
  EXPECT_EQ(out(), "[]\n");
  EXPECT_EQ(Run({"audit", "ls"}), kExitOk);
  EXPECT_THAT(err(), HasSubstr("paritect audit create FILE.yaml"));
}

TEST_F(AuditCommandTest, CancelEndsTheRun) {
  fleet_.on_CancelAudit = [](const v1::CancelAuditRequest& request) -> absl::StatusOr<v1::CancelAuditResponse> {
    if (request.name() != "resnet50") return absl::NotFoundError("no run of audit 'x' is under way");
    return v1::CancelAuditResponse();
  };
  EXPECT_EQ(Run({"audit", "cancel", "resnet50"}), kExitOk);
  EXPECT_EQ(Run({"audit", "cancel", "x"}), kExitUsage);
}

}  // namespace
}  // namespace paritect
