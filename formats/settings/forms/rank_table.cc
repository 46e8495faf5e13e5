// The HCCL rank table (RANK_TABLE_FILE, hccl.json), kept as counts and each server's ranks:
//   1.0, 1.2   server_list[].device[].rank_id; 1.2 adds super_pod_list
//   2.0        rank_list[].rank_id
//   older      group_list[].instance_list[]: one rank_id an instance, its devices in `devices`
// What contradicts itself (a rank twice, a hole, another server count) is noted. Source: HCCL user guide, rank table.
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/document.h"
#include "common/numbers.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

using absl::StrCat;

int Sniff(absl::string_view head) {
  if (absl::StripLeadingAsciiWhitespace(head).substr(0, 1) != "{") return 0;
  for (absl::string_view key : {"\"server_list\"", "\"server_count\"", "\"rank_list\"", "\"group_list\""}) {
    if (absl::StrContains(head, key) && absl::StrContains(head, "rank")) return 95;
  }
  return absl::StrContains(head, "\"server_list\"") ? 95 : 0;
}

class Reader {
 public:
  explicit Reader(absl::string_view label) : builder_("rank-table", "rank-table", label) {}

  absl::StatusOr<v1::SettingsDocument> Read(const DocumentNode& root) {
    const DocumentNode* servers = root.Find("server_list");
    const DocumentNode* ranks = root.Find("rank_list");
    const DocumentNode* groups = root.Find("group_list");
    if (servers != nullptr && servers->is_list()) {
      Servers(*servers);
    } else if (ranks != nullptr && ranks->is_list()) {
      for (const DocumentNode& rank : ranks->items) Rank(rank, TextOf(rank, "server_id"));
    } else if (groups != nullptr && groups->is_list()) {
      for (const DocumentNode& group : groups->items) Instances(group);
    } else {
      return absl::DataLossError("neither `server_list` nor `rank_list` nor `group_list`");
    }
    Finish(root);
    return builder_.Finish();
  }

 private:
  static std::string TextOf(const DocumentNode& node, absl::string_view key) {
    const DocumentNode* field = node.Find(key);
    return field != nullptr && field->is_scalar() ? field->text : "";
  }

  void Servers(const DocumentNode& servers) {
    for (const DocumentNode& server : servers.items) {
      const std::string id = TextOf(server, "server_id");
      lines_.try_emplace(id, server.line);
      ranks_of_[id];
      const DocumentNode* list = server.Find("device");
      if (list == nullptr) continue;
      for (const DocumentNode& device : list->items) Rank(device, id);
    }
  }

  void Instances(const DocumentNode& group) {
    const DocumentNode* list = group.Find("instance_list");
    if (list == nullptr) return;
    for (const DocumentNode& instance : list->items) {
      Rank(instance, TextOf(instance, "server_id"));
      const DocumentNode* devices = instance.Find("devices");
      if (devices != nullptr && devices->items.size() > 1)
        devices_ += static_cast<std::int64_t>(devices->items.size()) - 1;
    }
  }

  void Rank(const DocumentNode& node, const std::string& server) {
    ++devices_;
    lines_.try_emplace(server, node.line);
    const std::string id = TextOf(node, "rank_id");
    ranks_of_[server].push_back(id);
    const auto rank = ParseInt(id);
    if (!rank) {
      builder_.AddNote("rank_without_number", node.line, StrCat("rank_id '", id, "'"));
    } else if (!seen_.insert(*rank).second) {
      builder_.AddNote("rank_twice", node.line, StrCat("rank ", *rank, " stands twice"));
    }
  }

  void Finish(const DocumentNode& root) {
    for (const auto& [server, ranks] : ranks_of_) {
      const std::string key = server.empty() ? "rank_table.ranks" : StrCat("rank_table.ranks.", server);
      builder_.Add(key, StrCat("[", absl::StrJoin(ranks, ", "), "]"), lines_[server]);
    }
    builder_.Add("rank_table.servers", StrCat(ranks_of_.size()), root.line);
    builder_.Add("rank_table.devices", StrCat(devices_), root.line);
    if (std::string version = TextOf(root, "version"); !version.empty())
      builder_.AddText("rank_table.version", version, root.line);
    const auto stated = ParseInt(TextOf(root, "server_count"));
    if (stated && static_cast<std::size_t>(*stated) != ranks_of_.size() && root.Find("server_list") != nullptr) {
      builder_.AddNote("server_count_differs", root.line,
                       StrCat("server_count is ", *stated, ", the list holds ", ranks_of_.size()));
    }
    if (!seen_.empty() && (*seen_.begin() != 0 || *seen_.rbegin() + 1 != static_cast<std::int64_t>(seen_.size()))) {
      builder_.AddNote("ranks_with_holes", root.line, "the ranks are not 0 to their number less one");
    }
    if (std::string status = TextOf(root, "status"); !status.empty() && status != "completed") {
      builder_.AddNote("rank_table_not_completed", root.line, StrCat("status is '", status, "'"));
    }
  }

  SettingsBuilder builder_;
  std::map<std::string, std::vector<std::string>> ranks_of_;
  std::map<std::string, std::int64_t> lines_;
  std::set<std::int64_t> seen_;
  std::int64_t devices_ = 0;
};

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  auto root = ParseJson(text);
  if (!root.ok()) return absl::DataLossError(root.status().message());
  return Reader(label).Read(*root);
}

}  // namespace

extern const SettingsFormat kRankTableSettings;
const SettingsFormat kRankTableSettings = {"rank-table", "rank-table", &Sniff, &Parse};

}  // namespace paritect
