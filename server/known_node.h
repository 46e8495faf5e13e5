// An enrolled node, as the fleet's other parts see it.
#ifndef PARITECT_SERVER_KNOWN_NODE_H_
#define PARITECT_SERVER_KNOWN_NODE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace paritect {

// What the fleet knows of one enrolled node.
struct KnownNode {
  std::string name;
  bool online = false;
  std::int64_t last_seen_unix_ms = 0;  // 0: never
  std::optional<std::int64_t> clock_offset_ms;
  std::int64_t lost_records = 0;  // since it was enrolled
  bool revoked = false;
  std::map<std::string, std::string> mounts = {};  // as its greeting says
  std::int64_t contested_unix_ms = 0;  // when two agents with its identity last took each other's place; 0: never
};

}  // namespace paritect

#endif  // PARITECT_SERVER_KNOWN_NODE_H_
