// An optimizer's parameter groups (`kind: parameter-groups`): what print(optimizer) shows ("Parameter Group 0"), or a
// JSON or YAML list of groups, alone or under param_groups. One group is one scope "group N"; keys "group.lr",
// "group.weight_decay", ...; `params` is the number of parameters, "group.names" their names where they are given.
// Source: PyTorch, torch/optim/optimizer.py __repr__ and state_dict.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/numbers.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr char kName[] = "parameter-groups";

int Sniff(absl::string_view head) {
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(head);
  const std::size_t open = text.find(" (\nParameter Group ");
  if (open != absl::string_view::npos && IsIdentifier(text.substr(0, open))) return 95;
  const bool list = absl::StartsWith(text, "[") || absl::StartsWith(text, "{");
  return list && absl::StrContains(head, "\"param_groups\"") && absl::StrContains(head, "\"weight_decay\"") ? 90 : 0;
}

void SetGroup(v1::Setting* setting, std::int64_t group) {
  if (setting != nullptr) setting->set_scope(StrCat("group ", group));
}

absl::StatusOr<v1::SettingsDocument> ParsePrinted(absl::string_view text, SettingsBuilder builder) {
  std::int64_t group = -1;
  ForEachLine(text, [&](absl::string_view line, std::int64_t number) {
    absl::string_view rest = absl::StripAsciiWhitespace(line);
    if (absl::ConsumePrefix(&rest, "Parameter Group ")) {
      group = ParseInt(rest).value_or(-1);
      return;
    }
    const std::vector<absl::string_view> pair = absl::StrSplit(rest, absl::MaxSplits(": ", 1));
    if (group < 0 || pair.size() != 2 || !IsIdentifier(pair[0])) return;
    SetGroup(builder.Add(StrCat("group.", pair[0]), pair[1], number), group);
  });
  if (builder.empty()) return absl::DataLossError("no parameter group");
  return builder.Finish();
}

// The parameters of a group: a count, or a list of numbers or names.
void AddParameters(const DocumentNode& node, std::int64_t group, SettingsBuilder& builder) {
  if (!node.is_list()) return SetGroup(builder.Add("group.params", node.text, node.line), group);
  SetGroup(builder.Add("group.params", StrCat(node.items.size()), node.line), group);
  std::vector<std::string> names;
  for (const DocumentNode& item : node.items) {
    if (item.is_scalar() && !ParseInt(item.text)) names.push_back(item.text);
  }
  if (!names.empty() && names.size() == node.items.size()) {
    SetGroup(builder.AddText("group.names", absl::StrJoin(names, " "), node.line), group);
  }
}

absl::StatusOr<v1::SettingsDocument> ParseTree(const DocumentNode& root, SettingsBuilder builder) {
  const DocumentNode* list = root.is_map() ? root.Find("param_groups") : &root;
  if (list == nullptr || !list->is_list()) return absl::DataLossError("no list of parameter groups");
  std::int64_t group = 0;
  for (const DocumentNode& one : list->items) {
    if (!one.is_map()) return absl::DataLossError(StrCat("line ", one.line, ": a parameter group must be a map"));
    for (const auto& [key, value] : one.fields) {
      if (key.text == "params" || key.text == "names") {
        AddParameters(value, group, builder);
      } else if (!value.is_map() && !value.is_list()) {
        SetGroup(builder.Add(StrCat("group.", key.text), value.text, value.line), group);
      }
    }
    ++group;
  }
  return builder.Finish();
}

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  SettingsBuilder builder(kName, kName, label);
  if (absl::StrContains(text.substr(0, kSettingsHeadBytes), "Parameter Group ")) {
    return ParsePrinted(text, std::move(builder));
  }
  DocumentLimits limits;
  limits.bytes_max = kSettingsBytesMax;
  limits.nodes_max = 400'000;
  auto root = ParseDocument(text, limits);
  if (!root.ok()) return absl::DataLossError(root.status().message());
  return ParseTree(*root, std::move(builder));
}

}  // namespace

extern const SettingsFormat kParameterGroupsSettings;
const SettingsFormat kParameterGroupsSettings = {kName, kName, &Sniff, &Parse};

}  // namespace paritect
