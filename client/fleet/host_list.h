// The hosts that a user names: "npu-[001-064,070] root@gpu-1", as this program and pdsh print them.
#ifndef PARITECT_CLIENT_FLEET_HOST_LIST_H_
#define PARITECT_CLIENT_FLEET_HOST_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paritect {

// Each word is a host, "[A-B,C]" in it stands for each of these numbers (leading zeros count). In the order given, each
// once. InvalidArgument: what ssh could take for an option or a shell for a command; a range that is none; none at all;
// more than 100,000.
absl::StatusOr<std::vector<std::string>> ExpandHosts(const std::vector<std::string>& words);

// The words of a file: blanks and lines part them, "#" begins a comment.
std::vector<std::string> WordsOfHostFile(absl::string_view text);

// The narrowest pattern of what they begin and end with alike that fits all of them: "npu-*", "gpu-*.rack1"; one name
// is itself.
std::string PatternOfNames(const std::vector<std::string>& names);

}  // namespace paritect

#endif  // PARITECT_CLIENT_FLEET_HOST_LIST_H_
