// What the tests of commands with a server share: a server that answers what the test says, a real credential file, a
// clock that only sleeping moves.
#ifndef PARITECT_CLIENT_REMOTE_REMOTE_FIXTURE_H_
#define PARITECT_CLIENT_REMOTE_REMOTE_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <map>
#include <sstream>

#include "client/command.h"
#include "client/remote/remote_server.h"
#include "client/report/json.h"
#include "common/memory_file_system.h"
#include "common/pki/server_folder.h"
#include "common/pki/testing.h"

namespace paritect {

// What the server answers, call by call; a call that no test expects is Unimplemented.
struct FakeFleet {
#define PARITECT_OPERATOR_CALL(name, roles, subject) \
  std::function<absl::StatusOr<v1::name##Response>(const v1::name##Request&)> on_##name;
#include "proto/paritect/v1/operator_calls.inc"
#undef PARITECT_OPERATOR_CALL
  std::function<absl::StatusOr<v1::DiagnosisResponse>(const v1::DiagnosisRequest&)> on_Diagnose;
  // States that one WatchAudit gives, and how it ends; one entry a call, the last one stays.
  std::vector<std::pair<std::vector<v1::AuditRun>, absl::Status>> watches;
  std::function<absl::StatusOr<v1::ImportResponse>(const std::string& file, const std::string& bytes)> on_import;
  std::function<absl::StatusOr<std::vector<std::string>>(const v1::GetEvidenceRequest&)> on_evidence;
  std::vector<v1::LiveEvent> events;
  std::vector<TlsProbe> probes;
  std::vector<std::string> calls;
  Credential credential;  // with which it was called
  TellWaiting waiting;    // and what it was given
};

class FakeServer : public RemoteServer {
 public:
  explicit FakeServer(FakeFleet& fleet) : fleet_(fleet) {}
  std::string address() const override { return fleet_.credential.servers[0]; }

#define PARITECT_OPERATOR_CALL(name, roles, subject)                                   \
  absl::StatusOr<v1::name##Response> name(const v1::name##Request& request) override { \
    fleet_.calls.push_back(#name);                                                     \
    if (!fleet_.on_##name) return absl::UnimplementedError("not expected: " #name);    \
    return fleet_.on_##name(request);                                                  \
  }
#include "proto/paritect/v1/operator_calls.inc"
#undef PARITECT_OPERATOR_CALL

  absl::StatusOr<v1::DiagnosisResponse> Diagnose(const v1::DiagnosisRequest& request) override {
    fleet_.calls.push_back("Diagnose");
    if (!fleet_.on_Diagnose) return absl::UnimplementedError("not expected: Diagnose");
    return fleet_.on_Diagnose(request);
  }

  absl::Status WatchAudit(const v1::WatchAuditRequest&, std::int64_t,
                          absl::FunctionRef<bool(const v1::AuditRun&)> visit) override {
    fleet_.calls.push_back("WatchAudit");
    if (fleet_.watches.empty()) return absl::UnimplementedError("not expected: WatchAudit");
    const auto [states, status] = fleet_.watches.front();
    if (fleet_.watches.size() > 1) fleet_.watches.erase(fleet_.watches.begin());
    for (const v1::AuditRun& run : states) {
      if (!visit(run)) return absl::OkStatus();
    }
    return status;
  }

  absl::Status WatchEvents(const v1::WatchEventsRequest&,
                           absl::FunctionRef<bool(const v1::LiveEvent&)> visit) override {
    fleet_.calls.push_back("WatchEvents");
    for (const v1::LiveEvent& event : fleet_.events) {
      if (!visit(event)) break;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<v1::ImportResponse> Import(NextChunk next) override {
    fleet_.calls.push_back("Import");
    std::string file;
    std::string bytes;
    for (;;) {
      auto chunk = next();
      if (!chunk.ok()) return chunk.status();
      if (!chunk->has_value()) break;
      if (!(*chunk)->file().empty()) file += (*chunk)->file();
      EXPECT_LE((*chunk)->data().size(), std::size_t{1} << 20);
      bytes += (*chunk)->data();
    }
    if (!fleet_.on_import) return absl::UnimplementedError("not expected: Import");
    return fleet_.on_import(file, bytes);
  }

  std::vector<TlsProbe> Probe() override {
    return fleet_.probes;
  }

  absl::Status GetEvidence(const v1::GetEvidenceRequest& request,
                           absl::FunctionRef<absl::Status(const v1::EvidenceChunk&)> visit) override {
    fleet_.calls.push_back("GetEvidence");
    if (!fleet_.on_evidence) return absl::UnimplementedError("not expected: GetEvidence");
    auto files = fleet_.on_evidence(request);
    if (!files.ok()) return files.status();
    for (std::size_t i = 0; i < files->size(); ++i) {
      const std::string& bytes = (*files)[i];
      for (std::size_t at = 0; at < bytes.size(); at += 100) {
        v1::EvidenceChunk chunk;
        chunk.set_bundle(static_cast<int>(i));
        chunk.set_data(bytes.substr(at, 100));
        const absl::Status status = visit(chunk);
        if (!status.ok()) return status;
      }
    }
    return absl::OkStatus();
  }

 private:
  FakeFleet& fleet_;
};

class FakeConnector : public RemoteConnector {
 public:
  explicit FakeConnector(FakeFleet& fleet) : fleet_(fleet) {}
  absl::StatusOr<std::unique_ptr<RemoteServer>> Connect(const Credential& credential,
                                                        const ConnectOptions& options) override {
    fleet_.credential = credential;
    fleet_.waiting = options.waiting;
    return std::make_unique<FakeServer>(fleet_);
  }

 private:
  FakeFleet& fleet_;
};

class RemoteTest : public testing::Test {
 protected:
  RemoteTest() : connector_(fleet_) {
    environment() = {{"PARITECT_CREDENTIAL", CredentialFile()}, {"TERM", "xterm"}, {"LANG", "C.UTF-8"}};
    now_ms() = pki_testing::kNow * 1000;
  }

  static std::map<std::string, std::string>& environment() {
    static auto& variables = *new std::map<std::string, std::string>;
    return variables;
  }
  static std::int64_t& now_ms() {
    static std::int64_t now = 0;
    return now;
  }

  // An operator's credential for server.example:7400, valid for thirty days.
  static const std::string& CredentialFile() {
    static const std::string& path = *new std::string([] {
      static pki_testing::Folder folder;
      const std::string file = folder / "operator.credential";
      const Authority authority = pki_testing::NewAuthority();
      auto credential = IssueCredential(authority, {Role::kOperator, "chen"}, {"server.example:7400"}, 30 * kDaySeconds,
                                        pki_testing::kNow);
      EXPECT_TRUE(credential.ok()) << credential.status();
      EXPECT_TRUE(SaveCredential(file, *credential).ok());
      return file;
    }());
    return path;
  }

  ExitCode Run(std::vector<std::string> args) {
    out_.str("");
    err_.str("");
    fleet_.calls.clear();
    CommandEnv env = {.fs = fs_,
                      .out = out_,
                      .err = err_,
                      .rules = BuiltInRules(),
                      .out_is_terminal = out_is_terminal_,
                      .err_is_terminal = err_is_terminal_,
                      .host_name = "here",
                      .today = "2026-09-21",
                      .getenv = [](absl::string_view name) { return environment()[std::string(name)]; },
                      .working_directory = working_directory_,
                      .now_unix_ms = [] { return now_ms(); },
                      .sleep_ms = [](std::int64_t ms) { now_ms() += ms; },
                      .connector = &connector_};
    return RunCommandLine(env, args);
  }

  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }

  // Every line of `text` as JSON; a line that is not fails the test.
  static std::vector<OrderedJson> JsonLines(const std::string& text) {
    std::vector<OrderedJson> lines;
    for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      lines.push_back(OrderedJson::parse(std::string(line), nullptr, false));
      EXPECT_FALSE(lines.back().is_discarded()) << line;
    }
    return lines;
  }
  static OrderedJson Json(const std::string& text) {
    auto json = OrderedJson::parse(text, nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << text;
    return json;
  }

  FakeFleet fleet_;
  FakeConnector connector_;
  MemoryFileSystem fs_;
  std::ostringstream out_;
  std::ostringstream err_;
  bool out_is_terminal_ = false;
  bool err_is_terminal_ = false;
  std::string working_directory_;
};

// A report of one item with one check.
inline v1::Report ReportOf(v1::Verdict verdict) {
  v1::Report report;
  report.set_verdict(verdict);
  report.set_profile("pre-tuning/1");
  v1::ItemResult& item = *report.add_items();
  item.set_id("data.dataset");
  item.mutable_title()->set_en("Data set");
  item.set_verdict(verdict);
  v1::CheckResult& check = *item.add_checks();
  check.set_id("data.dataset.content");
  check.set_required(true);
  check.set_verdict(verdict);
  if (verdict == v1::VERDICT_FAIL) {
    v1::Finding& finding = *check.add_findings();
    finding.set_severity(v1::SEVERITY_ERROR);
    finding.set_kind("content_differs");
    finding.set_subject("a.bin");
  }
  return report;
}

inline v1::NodeTask TaskOf(const std::string& node, bool migrated, v1::NodeTaskState state) {
  v1::NodeTask task;
  task.set_node(node);
  task.set_migrated(migrated);
  task.set_state(state);
  return task;
}

inline v1::AuditRun RunOf(v1::AuditRunState state, std::vector<v1::NodeTask> tasks = {}) {
  v1::AuditRun run;
  run.set_audit("resnet50");
  run.set_number(3);
  run.set_state(state);
  run.set_started_unix_ms(pki_testing::kNow * 1000);
  for (v1::NodeTask& task : tasks) *run.add_tasks() = std::move(task);
  return run;
}

}  // namespace paritect

#endif  // PARITECT_CLIENT_REMOTE_REMOTE_FIXTURE_H_
