// A node made up in memory for tests: files, links, processes, and what vendor libraries answer.
#ifndef PARITECT_AGENT_LIVE_FIXTURE_NODE_H_
#define PARITECT_AGENT_LIVE_FIXTURE_NODE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "agent/collect.h"
#include "agent/live/live_node.h"
#include "common/memory_file_system.h"
#include "rules/rules.h"

namespace paritect {

class FixtureNode : public VendorProbe {
 public:
  // Texts that tools answer; a tool without one is not there.
  std::map<Tool, absl::StatusOr<std::string>> answers;
  MemoryFileSystem fs;

  absl::StatusOr<std::string> Ask(Tool tool, absl::Span<const std::string>) override {
    auto it = answers.find(tool);
    return it == answers.end() ? absl::NotFoundError(absl::StrCat(ToolName(tool), " is in none of its places"))
                               : it->second;
  }

  void AddPci(absl::string_view address, absl::string_view vendor, absl::string_view device,
              absl::string_view device_class) {
    const std::string folder = absl::StrCat("/sys/bus/pci/devices/", address);
    fs.AddFile(folder + "/vendor", absl::StrCat("0x", vendor, "\n"));
    fs.AddFile(folder + "/device", absl::StrCat("0x", device, "\n"));
    fs.AddFile(folder + "/class", absl::StrCat("0x", device_class, "\n"));
    fs.AddFile(folder + "/numa_node", "1\n");
  }

  struct Process {
    int pid = 0, parent = 1, user = 1000;
    std::vector<std::string> words, variables, libraries, devices;
    std::string executable = "/opt/conda/bin/python3.10";
  };
  void AddProcess(const Process& process) {
    const std::string folder = absl::StrCat("/proc/", process.pid);
    const auto nul = [](const std::vector<std::string>& texts) {
      std::string all;
      for (const std::string& text : texts) all += text + std::string(1, '\0');
      return all;
    };
    fs.AddFile(folder + "/cmdline", nul(process.words));
    fs.AddFile(folder + "/environ", nul(process.variables));
    fs.AddFile(folder + "/status", absl::StrCat("Name:\tpython\nPPid:\t", process.parent, "\nUid:\t", process.user,
                                                "\t", process.user, "\nCpus_allowed_list:\t0-3,8-11\n"));
    std::string maps = "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n";
    for (const std::string& library : process.libraries) {
      absl::StrAppend(&maps, "7f0000000000-7f0000001000 r-xp 00000000 08:01 1234                       ", library,
                      "\n");
    }
    fs.AddFile(folder + "/maps", maps);
    fs.AddFile(folder + "/cgroup", "0::/job\n");
    fs.AddSymlink(folder + "/exe", process.executable);
    fs.AddSymlink(folder + "/cwd", "/job");
    fs.AddDirectory(folder + "/fd");
    int fd = 0;
    for (const std::string& device : process.devices) fs.AddSymlink(absl::StrCat(folder, "/fd/", fd++), device);
  }

  std::vector<v1::Evidence> Collect(const v1::Plan& given = v1::Plan()) {
    v1::Plan plan = given;
    plan.mutable_info()->set_live(true);
    const LiveNode node = {fs, this, 1'700'000'000'000};
    const CollectorEnv env = {.fs = fs, .rules = BuiltInRules(), .redaction_key = "key", .live = &node};
    const v1::Bundle bundle = CollectPlan(env, plan);
    return {bundle.evidence().begin(), bundle.evidence().end()};
  }

  // "KEY=VALUE" of every setting whose key is or begins with `key` (ending in '.'), in order.
  static std::string Told(const std::vector<v1::Evidence>& all, absl::string_view key) {
    std::vector<std::string> told;
    for (const v1::Evidence& evidence : all) {
      for (const v1::Setting& one : evidence.settings().settings()) {
        const bool group = absl::EndsWith(key, ".") && absl::StartsWith(one.raw_key(), key);
        if (one.raw_key() == key || group) told.push_back(absl::StrCat(one.raw_key(), "=", one.raw_value()));
      }
    }
    return absl::StrJoin(told, ";");
  }
  // Message ids of what was not collected.
  static std::vector<std::string> Problems(const std::vector<v1::Evidence>& all) {
    std::vector<std::string> ids;
    for (const v1::Evidence& evidence : all) {
      if (evidence.outcome() != v1::OUTCOME_COLLECTED) ids.push_back(evidence.problem().id());
    }
    return ids;
  }
};

}  // namespace paritect

#endif  // PARITECT_AGENT_LIVE_FIXTURE_NODE_H_
