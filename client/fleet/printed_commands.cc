#include "client/fleet/printed_commands.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/fleet/host_list.h"
#include "common/file_system.h"

namespace paritect {
namespace {

std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

// " --prefix P --state S" as the scripts of the bundle take them.
std::string PlaceWords(const FleetPlace& place) {
  return absl::StrCat(place.prefix.empty() ? "" : absl::StrCat(" --prefix ", place.prefix),
                      place.state.empty() ? "" : absl::StrCat(" --state ", place.state));
}

std::string StartWords(const RolloutOptions& options, absl::string_view token_file) {
  return absl::StrCat(options.place.prefix.empty() ? "/usr/local" : options.place.prefix,
                      "/lib/paritect-agent/start --restart", PlaceWords(options.place), " --server ",
                      options.join.server, " --ca-pin ", options.join.ca_pin, " --token-file ", token_file,
                      options.join.roots.empty() ? "" : absl::StrCat(" --roots ", options.join.roots));
}

std::string TokenLine(const std::vector<std::string>& hosts) {
  std::vector<std::string> names;
  for (const std::string& host : hosts) names.push_back(host.substr(host.find('@') + 1));
  const std::string pattern = PatternOfNames(names);
  return absl::StrCat("paritect token create --role agent",
                      hosts.size() > 1 ? absl::StrCat(" --uses ", hosts.size()) : "", " --node ", Quoted(pattern),
                      " > paritect-token   # as the hosts call themselves");
}

std::string Playbook(const std::vector<std::string>& hosts, const RolloutOptions& options, bool as_root) {
  const FleetBundle& bundle = options.bundles.begin()->second;
  const std::string name = absl::StrCat("paritect-", bundle.version, "-linux-{{ ansible_architecture }}");
  const std::string source = absl::StrCat(DirName(bundle.file), "/", name, ".tar.gz");
  const std::string work = absl::StrCat("{{ work.path }}/", name);
  return absl::StrCat("# umask 077\n# ", TokenLine(hosts), "\n# ansible-playbook -i ",
                      Quoted(absl::StrCat(absl::StrJoin(hosts, ","), ",")),
                      " paritect-agent.yaml -e token_file=$PWD/paritect-token\n# rm paritect-token\n"
                      "- hosts: all\n"
                      "  become: ",
                      as_root ? "true" : "false",
                      "\n"
                      "  tasks:\n"
                      "    - name: a folder for the bundle\n"
                      "      ansible.builtin.tempfile: {state: directory, prefix: paritect.}\n"
                      "      register: work\n"
                      "    - name: unpack the bundle\n"
                      "      ansible.builtin.unarchive:\n"
                      "        src: \"",
                      source,
                      "\"\n"
                      "        dest: \"{{ work.path }}\"\n"
                      "    - name: every file is whole\n"
                      "      ansible.builtin.command:\n"
                      "        cmd: sha256sum -c --quiet SHA256SUMS\n"
                      "        chdir: \"",
                      work,
                      "\"\n"
                      "      changed_when: false\n"
                      "    - name: install the agent\n"
                      "      ansible.builtin.command:\n"
                      "        cmd: sh agent/install",
                      PlaceWords(options.place),
                      "\n"
                      "        chdir: \"",
                      work,
                      "\"\n"
                      "    - name: join the server and start\n"
                      "      ansible.builtin.command:\n"
                      "        cmd: ",
                      StartWords(options, "-"),
                      "\n"
                      "        stdin: \"{{ lookup('ansible.builtin.file', token_file) }}\"\n"
                      "      no_log: true\n"
                      "    - name: leave nothing behind\n"
                      "      ansible.builtin.file: {path: \"{{ work.path }}\", state: absent}\n");
}

std::string PdshLines(const std::vector<std::string>& hosts, const RolloutOptions& options) {
  const FleetBundle& bundle = options.bundles.begin()->second;
  const std::string archive(BaseName(bundle.file));
  const std::string folder = archive.substr(0, archive.size() - absl::string_view(".tar.gz").size());
  const std::string list = Quoted(absl::StrJoin(hosts, ","));
  const std::string remote = absl::StrCat(
      "trap \"rm -rf /tmp/", folder, " /tmp/", archive, " /tmp/paritect-token\" EXIT; cd /tmp && tar -xzf ", archive,
      " && cd ", folder, " && sha256sum -c --quiet SHA256SUMS && sh agent/install", PlaceWords(options.place), " && ",
      StartWords(options, "/tmp/paritect-token"));
  return absl::StrCat("umask 077\n", TokenLine(hosts), "\n", "pdcp -p -w ", list, " ", Quoted(bundle.file),
                      " paritect-token /tmp/\n", "pdsh -S -w ", list, " ",
                      Quoted(absl::StrCat("sh -c ", Quoted(remote))), "\nrm paritect-token\n");
}

}  // namespace

absl::StatusOr<std::string> PrintedCommands(absl::string_view tool, const std::vector<std::string>& hosts,
                                            const RolloutOptions& options, bool as_root) {
  if (options.bundles.empty()) return absl::InvalidArgumentError("no bundle to bring there");
  if (!options.place.prefix.empty() && !absl::StartsWith(options.place.prefix, "/")) {
    return absl::InvalidArgumentError("--print: --prefix must be absolute");
  }
  if (tool == "ansible") return Playbook(hosts, options, as_root);
  if (tool != "pdsh") return absl::InvalidArgumentError("--print: there are ansible, pdsh");
  if (options.bundles.size() != 1) {
    return absl::InvalidArgumentError("--print pdsh: one kind of machine at a time: name its bundle with --bundle");
  }
  return PdshLines(hosts, options);
}

}  // namespace paritect
