// Mounts that several nodes may see alike: what a server needs to know to let each node hash a share of a data set.
#ifndef PARITECT_AGENT_DAEMON_NETWORK_MOUNTS_H_
#define PARITECT_AGENT_DAEMON_NETWORK_MOUNTS_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace paritect {

// Mount point -> "TYPE SOURCE ROOT" of the network file systems in a text of the form of /proc/self/mountinfo
// (proc(5)): the same on two nodes means the same server's folder. A folder of a local disk is never there, nor one
// whose source does not name a server (FUSE programs say what they like). At most 256.
std::map<std::string, std::string> NetworkMounts(absl::string_view mountinfo);

}  // namespace paritect

#endif  // PARITECT_AGENT_DAEMON_NETWORK_MOUNTS_H_
