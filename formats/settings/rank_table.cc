// The HCCL rank table (RANK_TABLE_FILE): server_list[].device[].rank_id. Kept: the counts and each server's ranks.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/document.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

int Sniff(absl::string_view head) {
  return absl::StrContains(head, "\"server_list\"") || absl::StrContains(head, "\"server_count\"") ? 95 : 0;
}

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  auto root = ParseJson(text);
  if (!root.ok()) return absl::DataLossError(root.status().message());
  const DocumentNode* servers = root->Find("server_list");
  if (servers == nullptr || !servers->is_list()) return absl::DataLossError("no `server_list`");
  SettingsBuilder builder("rank-table", "rank-table", label);
  std::int64_t devices = 0;
  for (const DocumentNode& server : servers->items) {
    const DocumentNode* list = server.Find("device");
    const DocumentNode* id = server.Find("server_id");
    if (list == nullptr || !list->is_list()) continue;
    std::string ranks;
    for (const DocumentNode& device : list->items) {
      const DocumentNode* rank = device.Find("rank_id");
      if (rank != nullptr) absl::StrAppend(&ranks, ranks.empty() ? "" : ", ", rank->text);
      ++devices;
    }
    builder.Add(absl::StrCat("rank_table.ranks.", id != nullptr ? id->text : ""), absl::StrCat("[", ranks, "]"),
                server.line);
  }
  builder.Add("rank_table.servers", absl::StrCat(servers->items.size()), servers->line);
  builder.Add("rank_table.devices", absl::StrCat(devices), servers->line);
  return builder.Finish();
}

}  // namespace

extern const SettingsFormat kRankTableSettings;
const SettingsFormat kRankTableSettings = {"rank-table", "rank-table", &Sniff, &Parse};

}  // namespace paritect
