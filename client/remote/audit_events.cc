#include "client/remote/audit_events.h"

#include "absl/strings/str_cat.h"
#include "client/remote/words.h"
#include "client/report/audit_options.h"
#include "client/verbs.h"
#include "formats/live_event.h"
#include "report/language.h"
#include "report/terminal.h"

namespace paritect {
namespace {

constexpr absl::string_view kEvents = "paritect audit events";
constexpr absl::string_view kStop = "paritect audit stop";
constexpr absl::string_view kRemove = "paritect audit rm";
constexpr std::int64_t kRetryMs = 1000;
constexpr std::int64_t kRetryForMs = 60'000;

std::string WordsOf(const CommandEnv& env, const v1::LiveEvent& event, const std::vector<Language>& languages) {
  const auto say = [&](absl::string_view id, const MessageArgs& args = {}) {
    return InAll(languages, env.rules.messages.Say(id, args));
  };
  if (event.has_finding()) return InAll(languages, event.finding().message());
  if (event.event() == "live_started") return say("live_started", {{"log", event.detail()}});
  if (event.event() == "live_ended") return say("live_ended", {{"why", event.detail()}});
  return say("live_log_changed", {{"what", event.detail()}});
}

void PrintEvent(CommandEnv& env, const v1::LiveEvent& event, const std::vector<Language>& languages) {
  std::string who = event.training_run();
  if (!event.node().empty()) absl::StrAppend(&who, who.empty() ? "" : "@", event.node());
  env.out << TerminalSafe(absl::StrCat(TimeWord(event.at_unix_ms()), "  ", event.event(), "  ",
                                       who.empty() ? event.audit() : who, ": ", WordsOf(env, event, languages)))
          << "\n";
  if (event.has_finding() && !event.finding().remedy().en().empty()) {
    env.out << "    " << TerminalSafe(InAll(languages, event.finding().remedy())) << "\n";
  }
  env.out.flush();
}

}  // namespace

ExitCode PrintEvents(CommandEnv& env, absl::string_view command, const EventsRequest& request, RemoteServer& server) {
  auto languages = ChooseLanguages(request.lang, env.getenv);
  if (!languages.ok()) return UsageError(env, command, languages.status().message());
  v1::WatchEventsRequest wanted;
  wanted.set_name(request.audit);
  wanted.set_follow(request.follow);
  bool wrong = false;
  std::int64_t lost_since = 0;
  for (;;) {
    const absl::Status status = server.WatchEvents(wanted, [&](const v1::LiveEvent& event) {
      lost_since = 0;
      wanted.set_after(event.number());
      const bool broke_off = event.event() == "live_ended" && event.detail() == "aborted";
      wrong = wrong || event.has_finding() || broke_off;
      if (request.json) {
        env.out << LiveEventJson(event) << "\n";
        env.out.flush();
      } else {
        PrintEvent(env, event, *languages);
      }
      return true;
    });
    if (status.ok()) break;
    const std::int64_t now = env.now_unix_ms();
    if (lost_since == 0) lost_since = now;
    const bool again = request.follow && absl::IsUnavailable(status) && now - lost_since < kRetryForMs;
    if (!again) return ServerError(env, command, status);
    env.sleep_ms(kRetryMs);
  }
  if (wanted.after() == 0 && !request.json) {
    env.err << InAll(*languages, env.rules.messages.Say("live_no_event", {{"audit", request.audit}})) << "\n";
  }
  return wrong ? kExitFailed : kExitOk;
}

ExitCode AuditEventsVerb(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  EventsRequest request;
  std::string output;
  Arguments arguments(kEvents,
                      "what the live comparison of growing logs saw (docs/audits.md); ends with 1 where a "
                      "training went wrong");
  arguments.Text("name", request.audit, "the audit's name", true);
  arguments.Flag("--watch", request.follow, "go on until the training ends");
  arguments.Text("-o,--output", output, "text, or json: an object a line (default in a pipe)");
  arguments.Text("--lang", request.lang, "en, zh or en,zh (default: the environment's)");
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kEvents, arguments, args)) return *code;
  if (!output.empty() && output != "text" && output != "json") {
    return UsageError(env, kEvents, absl::StrCat("-o ", output, ": there are text and json"));
  }
  request.json = output.empty() ? !env.out_is_terminal : output == "json";
  return WithServer(env, kEvents, remote,
                    [&](Connection& connection) { return PrintEvents(env, kEvents, request, *connection.server); });
}

ExitCode AuditStopVerb(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  v1::StopAuditRequest request;
  bool schedule = false;
  bool live = false;
  Arguments arguments(kStop, "end an audit's schedule and the following of its logs; its runs and reports stay");
  arguments.Text("name", *request.mutable_name(), "the audit's name", true);
  arguments.Flag("--schedule", schedule, "the schedule alone");
  arguments.Flag("--live", live, "the following alone");
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kStop, arguments, args)) return *code;
  request.set_schedule(schedule);
  request.set_live(live);
  return WithServer(env, kStop, remote, [&](Connection& connection) {
    auto response = connection.server->StopAudit(request);
    if (!response.ok()) return ServerError(env, kStop, response.status());
    const Language language = env.language;
    const auto say = [&](absl::string_view id) {
      env.out << In(language, env.rules.messages.Say(id, {{"audit", request.name()}})) << "\n";
    };
    if (response->schedule()) say("stopped_schedule");
    if (response->live()) say("stopped_live");
    if (!response->schedule() && !response->live()) say("stopped_nothing");
    return kExitOk;
  });
}

ExitCode AuditRemoveVerb(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  v1::RemoveAuditRequest request;
  Arguments arguments(kRemove,
                      "remove an audit with its runs, reports, waivers and attestations; recorded runs stay "
                      "(`paritect runs ls`)");
  arguments.Text("name", *request.mutable_name(), "the audit's name", true);
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kRemove, arguments, args)) return *code;
  return WithServer(env, kRemove, remote, [&](Connection& connection) {
    auto response = connection.server->RemoveAudit(request);
    if (!response.ok()) return ServerError(env, kRemove, response.status());
    env.out << In(env.language, env.rules.messages.Say("removed_audit", {{"audit", request.name()},
                                                                         {"runs", absl::StrCat(response->runs())}}))
            << "\n";
    return kExitOk;
  });
}

}  // namespace paritect
