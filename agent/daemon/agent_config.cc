#include "agent/daemon/agent_config.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "agent/harmless.h"
#include "common/document.h"
#include "common/document_fields.h"
#include "common/duration.h"
#include "common/host_port.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

using absl::Status;

constexpr std::size_t kConfigBytesMax = 1 << 20;
constexpr std::uint64_t kSpoolBytesMin = 16 << 20;  // a record group is 1 MiB, a segment an eighth of the whole
constexpr int kNiceMax = 19;

// "200M": K, M, G count by 1024.
absl::StatusOr<std::uint64_t> ReadBytes(const DocumentNode& node, absl::string_view name) {
  const Status wrong = ErrorAt(node, absl::StrCat("`", name, "` must be a number of bytes such as 200M or 2G, not '",
                                                  DisplayBytes(node.text), "'"));
  if (!node.is_scalar() || node.text.empty()) return wrong;
  absl::string_view digits = node.text;
  int shift = 0;
  switch (digits.back()) {
    case 'K':
    case 'k': shift = 10; break;
    case 'M':
    case 'm': shift = 20; break;
    case 'G':
    case 'g': shift = 30; break;
    default: break;
  }
  if (shift != 0) digits.remove_suffix(1);
  std::uint64_t value = 0;
  if (!absl::SimpleAtoi(digits, &value) || value > (UINT64_MAX >> 1 >> shift)) return wrong;
  return value << shift;
}

Status ReadRoots(const DocumentNode& node, AgentConfig& config) {
  return ReadList(node, "roots", [&](const DocumentNode& one) -> Status {
    std::string& root = config.roots.emplace_back();
    PARITECT_RETURN_IF_ERROR(ReadText(one, "roots", root));
    if (root[0] == '/') return absl::OkStatus();
    return ErrorAt(one, absl::StrCat("`roots` are absolute folders; '", DisplayBytes(root), "' is not"));
  });
}

Status ReadServers(const DocumentNode& node, AgentConfig& config) {
  return ReadList(node, "servers", [&](const DocumentNode& one) -> Status {
    std::string& server = config.servers.emplace_back();
    PARITECT_RETURN_IF_ERROR(ReadText(one, "servers", server));
    const auto parsed = ParseHostPort(server);
    return parsed.ok() ? absl::OkStatus() : ErrorAt(one, absl::StrCat("`servers`: ", parsed.status().message()));
  });
}

Status ReadLabels(const DocumentNode& node, AgentConfig& config) {
  if (!node.is_map()) return ErrorAt(node, "`labels` must be a map of texts");
  for (const auto& [key, value] : node.fields) {
    if (!value.is_scalar()) return ErrorAt(value, "a label's value must be a text");
    if (!config.labels.emplace(key.text, value.text).second) return ErrorAt(key, "this label stands twice");
  }
  return absl::OkStatus();
}

Status ReadSeconds(const DocumentNode& node, absl::string_view name, std::int64_t& slot) {
  const auto seconds = ParseDuration(node.text);
  if (!node.is_scalar() || !seconds.ok()) {
    return ErrorAt(node, absl::StrCat("`", name, "`: ", node.is_scalar() ? seconds.status().message() : "no list"));
  }
  slot = *seconds;
  return absl::OkStatus();
}

Status ReadOwnPlan(const DocumentNode& node, AgentConfig& config) {
  OwnPlan& plan = config.plans.emplace_back();
  if (node.is_scalar()) {
    plan.path = node.text;
  } else {
    PARITECT_RETURN_IF_ERROR(
        ReadMap(node, "an entry of `plans`",
                {{"plan", [&](const DocumentNode& v) { return ReadText(v, "plan", plan.path); }},
                 {"every", [&](const DocumentNode& v) { return ReadSeconds(v, "every", plan.every_seconds); }}}));
  }
  const bool absolute = !plan.path.empty() && plan.path[0] == '/';
  return absolute ? absl::OkStatus() : ErrorAt(node, "an entry of `plans` names a file or folder by its absolute path");
}

Status ReadSpool(const DocumentNode& node, AgentConfig& config) {
  return ReadMap(
      node, "`spool`",
      {{"max_bytes",
        [&](const DocumentNode& v) -> Status {
          PARITECT_ASSIGN_OR_RETURN(config.spool_bytes_max, ReadBytes(v, "max_bytes"));
          return config.spool_bytes_max >= kSpoolBytesMin ? absl::OkStatus()
                                                          : ErrorAt(v, "`max_bytes` must be 16M or more");
        }},
       {"max_age", [&](const DocumentNode& v) { return ReadSeconds(v, "max_age", config.spool_age_seconds_max); }}});
}

Status ReadLocal(const DocumentNode& node, AgentConfig& config) {
  return ReadMap(node, "`local`",
                 {{"socket",
                   [&](const DocumentNode& v) -> Status {
                     PARITECT_RETURN_IF_ERROR(ReadText(v, "socket", config.local_socket));
                     return config.local_socket[0] == '/' ? absl::OkStatus()
                                                          : ErrorAt(v, "`socket` is an absolute path");
                   }},
                  {"users", [&](const DocumentNode& v) {
                     return ReadList(v, "users", [&](const DocumentNode& one) -> Status {
                       PARITECT_ASSIGN_OR_RETURN(const std::int64_t user, ReadCount(one, "users", 0));
                       config.local_users.push_back(user);
                       return absl::OkStatus();
                     });
                   }}});
}

Status ReadInClear(const DocumentNode& node, AgentConfig& config) {
  return ReadList(node, "in_clear",
                  [&](const DocumentNode& one) { return ReadText(one, "in_clear", config.in_clear.emplace_back()); });
}

Status ReadNice(const DocumentNode& node, AgentConfig& config) {
  PARITECT_ASSIGN_OR_RETURN(const std::int64_t nice, ReadCount(node, "nice", 0));
  if (nice > kNiceMax) return ErrorAt(node, absl::StrCat("`nice` must be 0 to ", kNiceMax));
  config.nice = static_cast<int>(nice);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AgentConfig> ParseAgentConfig(absl::string_view text) {
  PARITECT_ASSIGN_OR_RETURN(const DocumentNode root, ParseDocument(text, {.bytes_max = kConfigBytesMax}));
  AgentConfig config;
  if (root.is_null()) return config;
  const auto read_limit = [&](const DocumentNode& v) -> Status {
    const auto limit = v.is_scalar() ? ParseBandwidth(v.text) : absl::InvalidArgumentError("no list or map");
    if (!limit.ok()) return ErrorAt(v, absl::StrCat("`bwlimit`: ", limit.status().message()));
    config.bytes_per_second = *limit;
    return absl::OkStatus();
  };
  PARITECT_RETURN_IF_ERROR(
      ReadMap(root, "an agent's configuration",
              {{"roots", [&](const DocumentNode& v) { return ReadRoots(v, config); }},
               {"servers", [&](const DocumentNode& v) { return ReadServers(v, config); }},
               {"bwlimit", read_limit},
               {"nice", [&](const DocumentNode& v) { return ReadNice(v, config); }},
               {"labels", [&](const DocumentNode& v) { return ReadLabels(v, config); }},
               {"plans",
                [&](const DocumentNode& v) {
                  return ReadList(v, "plans", [&](const DocumentNode& one) { return ReadOwnPlan(one, config); });
                }},
               {"in_clear", [&](const DocumentNode& v) { return ReadInClear(v, config); }},
               {"local", [&](const DocumentNode& v) { return ReadLocal(v, config); }},
               {"spool", [&](const DocumentNode& v) { return ReadSpool(v, config); }}}));
  return config;
}

std::string AgentConfigTemplate() {
  return R"(# The configuration of paritect-agent on this node (docs/agent.md).
# `systemctl reload paritect-agent`, or SIGHUP, makes the agent read it again.

# Folders that the agent may read. It reads no file outside of them, whatever a server asks for. Without roots it
# reports the node itself (devices, versions, packages) and reads no data.
roots: []  # for example: [/data, /var/log/training]

# At most so many bytes a second are read from disk, so that training does not notice (0: no limit).
bwlimit: 0  # for example: 200M

# The agent's priority, 0 to 19; 19 is the lowest.
nice: 19

# What groups nodes for people.
#labels: {rack: a1}

# Other addresses of the server, tried in turn; by default the one that this node joined.
#servers: [audit.example.com:7400]

# Plans that this node runs by itself, at the start and then every so often.
#plans:
#  - {plan: /data/run7/plan.yaml, every: 6h}

# Values that look like secrets do not leave this node. These settings' may: names, or patterns of them.
#in_clear: [experiment_label, "plugin.*"]

# Where `paritect run` of this machine hands over what it recorded; by default agent.sock in the state folder, for root
# and the agent's own user. Other users by their numeric ids.
#local: {socket: /run/paritect-agent/agent.sock, users: [1000]}

# What waits for the server on disk, at most.
#spool: {max_bytes: 256M, max_age: 7d}
)";
}

}  // namespace paritect
