#include "client/fleet/fleet_view.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/localise.h"
#include "client/remote/words.h"
#include "common/node_names.h"
#include "common/utf8.h"
#include "report/terminal.h"

namespace paritect {
namespace {

OrderedJson TextOrNull(const std::string& text) {
  return text.empty() ? OrderedJson(nullptr) : OrderedJson(text);
}

const std::string* StateOf(const FleetHost& host, const std::map<std::string, std::string>& states) {
  const auto found = states.find(host.node);
  return host.node.empty() || found == states.end() ? nullptr : &found->second;
}

std::string FateOf(const FleetHost& host, bool dry_run) {
  if (host.did.empty()) return "nothing to do";
  return absl::StrCat(dry_run ? "would " : "done: ", absl::StrJoin(host.did, ", "));
}

}  // namespace

OrderedJson FleetJson(const std::vector<FleetHost>& hosts, const std::map<std::string, std::string>& states) {
  OrderedJson all = OrderedJson::array();
  for (const FleetHost& host : hosts) {
    OrderedJson json;
    json["host"] = host.host;
    json["name"] = TextOrNull(host.name);
    json["machine"] = TextOrNull(host.machine);
    json["version"] = TextOrNull(host.version);
    json["server"] = TextOrNull(host.joined);
    json["node"] = TextOrNull(host.node);
    // Of a host that was not reached nothing is known.
    json["running"] = host.machine.empty() ? OrderedJson(nullptr) : OrderedJson(host.running);
    const std::string* state = StateOf(host, states);
    json["state"] = state == nullptr ? OrderedJson(nullptr) : OrderedJson(*state);
    json["did"] = host.did;
    json["error"] = TextOrNull(host.error);
    all.push_back(std::move(json));
  }
  return all;
}

void PrintFates(CommandEnv& env, const std::vector<FleetHost>& hosts, bool dry_run) {
  std::map<std::string, std::vector<std::string>> fates;
  std::map<std::string, std::vector<std::string>> errors;
  for (const FleetHost& host : hosts) {
    (host.error.empty() ? fates[FateOf(host, dry_run)] : errors[host.error]).push_back(host.host);
  }
  for (const auto& [fate, names] : fates) env.out << TerminalSafe(fate) << ": " << FoldNodeNames(names) << "\n";
  for (const auto& [error, names] : errors) {
    env.out << Localised(env.language, "failed") << ": " << FoldNodeNames(names) << ": " << TerminalSafe(error) << "\n";
  }
}

void PrintStatus(CommandEnv& env, const std::vector<FleetHost>& hosts,
                 const std::map<std::string, std::string>& states) {
  const auto or_dash = [](const std::string& text) { return text.empty() ? std::string("-") : text; };
  TextTable table;
  table.Row({"HOST", "NODE", "MACHINE", "VERSION", "SERVER", "RUNS", "STATE", "NOTE"});
  for (const FleetHost& host : hosts) {
    const std::string* state = StateOf(host, states);
    const std::string runs = host.machine.empty() ? "?" : host.running ? "yes" : "no";
    table.Row({host.host, or_dash(host.node), or_dash(host.machine), or_dash(host.version), or_dash(host.joined), runs,
               state == nullptr ? "-" : *state, or_dash(host.error)});
  }
  table.Print(env.out, env.language);
}

void TellProgress(CommandEnv& env, const FleetHost& host, std::size_t done, std::size_t count) {
  env.err << "[" << done << "/" << count << "] " << DisplayBytes(host.host) << ": "
          << TerminalSafe(host.error.empty() ? FateOf(host, false) : host.error) << "\n";
  env.err.flush();
}

}  // namespace paritect
