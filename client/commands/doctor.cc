// paritect doctor: what stands between this machine and a healthy server.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "client/localise.h"
#include "client/remote/connection.h"
#include "client/remote/doctor_checks.h"
#include "client/report/audit_options.h"
#include "client/report/json.h"
#include "client/verbs.h"
#include "report/terminal.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect doctor";
constexpr absl::string_view kSummary = "check credential, connection, clocks, versions, the server and its log";

struct DoctorOptions {
  RemoteArguments remote;
  std::string output = "table";
  bool deep = false;
  bool no_log = false;
};

// One line of the diagnosis: ok | warning | error.
class Diagnosis {
 public:
  void Add(std::vector<DoctorLine> lines) {
    for (DoctorLine& line : lines) lines_.push_back(std::move(line));
  }

  absl::string_view worst() const {
    absl::string_view worst = "ok";
    for (const DoctorLine& line : lines_) {
      if (line.state == "error") return "error";
      if (line.state != "ok") worst = "warning";
    }
    return worst;
  }

  void Print(CommandEnv& env, const std::string& output) const {
    if (output == "json") {
      OrderedJson json;
      json["schema"] = "paritect.doctor/1";
      json["state"] = worst();
      json["lines"] = OrderedJson::array();
      for (const DoctorLine& line : lines_) {
        json["lines"].push_back(
            {{"id", line.id}, {"state", line.state}, {"message", line.message}, {"remedy", line.remedy}});
      }
      env.out << DumpJson(json) << "\n";
      return;
    }
    std::size_t width = 0;
    for (const DoctorLine& line : lines_) width = std::max(width, line.id.size());
    for (const DoctorLine& line : lines_) {
      const auto say = [&env](const std::string& text) { return TerminalSafe(Localised(env.language, text)); };
      env.out << Pad(say(std::string(line.state)), 7) << "  " << Pad(TerminalSafe(line.id), width) << "  "
              << say(line.message) << "\n";
      if (!line.remedy.empty()) env.out << std::string(9, ' ') << say(absl::StrCat("to do: ", line.remedy)) << "\n";
    }
  }

 private:
  std::vector<DoctorLine> lines_;
};

ExitCode Examine(CommandEnv& env, const DoctorOptions& o) {
  Diagnosis diagnosis;
  const auto end = [&](ExitCode code) {
    diagnosis.Print(env, o.output);
    if (code != kExitOk) return code;
    return diagnosis.worst() == "error" ? kExitFailed : kExitOk;
  };
  auto connection = OpenConnection(env, o.remote);
  if (!connection.ok()) {
    // A wrong command line is no diagnosis.
    if (ExitCodeOf(connection.status()) == kExitUsage) return ServerError(env, kName, connection.status());
    diagnosis.Add({{"credential", "error", std::string(connection.status().message()), ""}});
    return end(kExitServer);
  }
  const std::int64_t now = env.now_unix_ms();
  diagnosis.Add(DiagnoseCredential(*connection, now));
  v1::DiagnosisRequest request;
  request.set_deep(o.deep);
  const std::int64_t before = env.now_unix_ms();
  auto answer = connection->server->Diagnose(request);
  const std::int64_t after = env.now_unix_ms();
  if (!answer.ok()) {
    diagnosis.Add({{"server_reachable", "error", std::string(answer.status().message()), ""}});
    return end(ExitCodeOf(answer.status()) == kExitInternal ? kExitInternal : kExitServer);
  }
  diagnosis.Add({{"server_reachable", "ok", absl::StrCat(connection->server->address(), " answers"), ""}});
  diagnosis.Add(DiagnoseTls(connection->server->Probe(), after));
  diagnosis.Add(DiagnoseClock(answer->server_unix_ms(), before, after));
  diagnosis.Add(DiagnoseVersions(answer->program()));
  for (const v1::DiagnosisLine& line : answer->lines()) {
    diagnosis.Add({{line.id(), line.state(), line.message(), line.remedy()}});
  }
  if (!o.no_log) diagnosis.Add(DiagnoseLog(*connection->server, answer->log_head()));
  return end(kExitOk);
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  DoctorOptions o;
  Arguments arguments(kName, kSummary);
  arguments.Text("-o,--output", o.output, "table or json");
  arguments.Flag("--deep", o.deep, "let the server read and verify its whole database (may take minutes)");
  arguments.Flag("--no-log", o.no_log, "do not read and verify the server's log of calls");
  DeclareRemoteArguments(arguments, o.remote);
  if (auto code = ParseOrAnswer(env, kName, arguments, args)) return *code;
  if (auto code = RefuseListFormat(env, kName, o.output)) return *code;
  return Examine(env, o);
}

}  // namespace

extern const Command kDoctorCommand;
const Command kDoctorCommand = {"doctor", kSummary, &Run};

}  // namespace paritect
