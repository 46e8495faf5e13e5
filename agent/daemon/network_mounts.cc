#include "agent/daemon/network_mounts.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr std::size_t kMountsMax = 256;
constexpr absl::string_view kNetworkTypes[] = {"nfs",    "nfs4", "lustre", "gpfs",     "beegfs",        "ceph",
                                               "wekafs", "cifs", "smb3",   "orangefs", "fuse.glusterfs"};

// "\040" and the like (proc(5)).
std::string Unescaped(absl::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool code = text[i] == '\\' && i + 3 < text.size() &&
                      text.substr(i + 1, 3).find_first_not_of("01234567") == absl::string_view::npos;
    if (!code) {
      out.push_back(text[i]);
      continue;
    }
    out.push_back(static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0')));
    i += 3;
  }
  return out;
}

}  // namespace

std::map<std::string, std::string> NetworkMounts(absl::string_view mountinfo) {
  std::map<std::string, std::string> mounts;
  for (absl::string_view line : absl::StrSplit(mountinfo, '\n')) {
    // ID PARENT MAJOR:MINOR ROOT MOUNT-POINT OPTIONS [TAGS] - TYPE SOURCE OPTIONS
    const std::pair<absl::string_view, absl::string_view> halves = absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    const std::vector<absl::string_view> place = absl::StrSplit(halves.first, ' ');
    const std::vector<absl::string_view> what = absl::StrSplit(halves.second, ' ');
    if (place.size() < 6 || what.size() < 2) continue;
    const bool network =
        std::find(std::begin(kNetworkTypes), std::end(kNetworkTypes), what[0]) != std::end(kNetworkTypes);
    const std::string point = Unescaped(place[4]);
    mounts.erase(point);  // a later mount covers an earlier one
    if (!network || what[1] == "none" || !IsValidUtf8(point) || mounts.size() >= kMountsMax) continue;
    // nfs and nfs4 are one server's folder.
    const absl::string_view type = what[0] == "nfs4" ? "nfs" : what[0];
    mounts[point] = DisplayBytes(absl::StrCat(type, " ", Unescaped(what[1]), " ", Unescaped(place[3])));
  }
  return mounts;
}

}  // namespace paritect
