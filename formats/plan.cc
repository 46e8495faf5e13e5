#include "formats/plan.h"

#include <limits>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_split.h"
#include "common/document.h"
#include "common/document_fields.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "formats/logs/machinery/pattern_log.h"
#include "rules/settings_formats.h"

namespace paritect {
namespace {

constexpr std::size_t kRanksMax = 1'000'000;
constexpr std::size_t kPlanBytesMax = 4 << 20;

using absl::Status;
using absl::StrCat;

void SetAt(const DocumentNode& node, v1::Position& at) {
  at.set_line(node.line);
  at.set_column(node.column);
}

Status ReadDataset(const DocumentNode& node, v1::Plan& plan) {
  v1::DatasetSource& d = *plan.add_datasets();
  SetAt(node, *d.mutable_at());
  bool follow = false;
  bool part = false;
  bool hash = true;
  PARITECT_RETURN_IF_ERROR(
      ReadMap(node, "an entry of `datasets`",
              {{"name", [&](const DocumentNode& v) { return ReadText(v, "name", *d.mutable_name()); }},
               {"root", [&](const DocumentNode& v) { return ReadText(v, "root", *d.mutable_root()); }},
               {"manifest", [&](const DocumentNode& v) { return ReadText(v, "manifest", *d.mutable_manifest()); }},
               {"listing", [&](const DocumentNode& v) { return ReadText(v, "listing", *d.mutable_listing()); }},
               {"include", [&](const DocumentNode& v) { return ReadTexts(v, "include", *d.mutable_include()); }},
               {"exclude", [&](const DocumentNode& v) { return ReadTexts(v, "exclude", *d.mutable_exclude()); }},
               {"follow_symlinks", [&](const DocumentNode& v) { return ReadBool(v, "follow_symlinks", follow); }},
               {"part", [&](const DocumentNode& v) { return ReadBool(v, "part", part); }},
               {"hash", [&](const DocumentNode& v) { return ReadBool(v, "hash", hash); }},
               {"role", [&](const DocumentNode& v) -> Status {
                  if (Status read = ReadText(v, "role", *d.mutable_role()); !read.ok()) return read;
                  if (d.role() == "train" || d.role() == "validation") return absl::OkStatus();
                  return ErrorAt(v, "`role` of a data set must be `train` or `validation`");
                }}}));
  d.set_follow_symlinks(follow);
  d.set_part(part);
  d.set_names_only(!hash);
  if (d.name().empty()) return ErrorAt(node, "a data set needs a `name`");
  const int sources = (d.root().empty() ? 0 : 1) + (d.manifest().empty() ? 0 : 1) + (d.listing().empty() ? 0 : 1);
  if (sources != 1) return ErrorAt(node, "a data set needs exactly one of `root`, `manifest`, `listing`");
  return absl::OkStatus();
}

Status ReadShard(const DocumentNode& node, v1::Plan& plan) {
  v1::ShardSource& s = *plan.add_shards();
  SetAt(node, *s.mutable_at());
  if (node.is_scalar()) return ReadText(node, "shards", *s.mutable_list());
  PARITECT_RETURN_IF_ERROR(
      ReadMap(node, "an entry of `shards`",
              {{"list", [&](const DocumentNode& v) { return ReadText(v, "list", *s.mutable_list()); }},
               {"trace", [&](const DocumentNode& v) { return ReadText(v, "trace", *s.mutable_trace()); }},
               {"dataset", [&](const DocumentNode& v) { return ReadText(v, "dataset", *s.mutable_dataset()); }},
               {"ranks", [&](const DocumentNode& v) -> Status {
                  if (!v.is_scalar()) return ErrorAt(v, "`ranks` must be a text like \"0-7,12\"");
                  auto ranks = ParseRankRanges(v.text);
                  if (!ranks.ok()) return ErrorAt(v, ranks.status().message());
                  for (std::int32_t rank : *ranks) s.add_ranks(rank);
                  return absl::OkStatus();
                }}}));
  if (s.list().empty() == s.trace().empty()) return ErrorAt(node, "shards need exactly one of `list`, `trace`");
  return absl::OkStatus();
}

// Sorted.
const std::vector<absl::string_view>& SettingsKinds() {
  static const auto* const kinds = [] {
    auto* const words = new std::vector<absl::string_view>();
    for (const auto& [name, facts] : BuiltInSettingsFormats()) {
      if (facts.kind_of_plans) words->push_back(name);
    }
    return words;
  }();
  return *kinds;
}

Status ReadSettings(const DocumentNode& node, v1::Plan& plan) {
  v1::SettingsSource& s = *plan.add_settings();
  SetAt(node, *s.mutable_at());
  if (node.is_scalar()) return ReadText(node, "settings", *s.mutable_file());
  PARITECT_RETURN_IF_ERROR(ReadMap(
      node, "an entry of `settings`",
      {{"file", [&](const DocumentNode& v) { return ReadText(v, "file", *s.mutable_file()); }},
       {"kind", [&](const DocumentNode& v) { return ReadWord(v, "kind", SettingsKinds(), *s.mutable_kind()); }}}));
  return s.file().empty() ? ErrorAt(node, "an entry of `settings` needs a `file`") : absl::OkStatus();
}

Status ReadLog(const DocumentNode& node, v1::Plan& plan) {
  v1::LogSource& l = *plan.add_logs();
  SetAt(node, *l.mutable_at());
  if (node.is_scalar()) return ReadText(node, "logs", *l.mutable_file());
  PARITECT_RETURN_IF_ERROR(
      ReadMap(node, "an entry of `logs`",
              {{"file", [&](const DocumentNode& v) { return ReadText(v, "file", *l.mutable_file()); }},
               {"format", [&](const DocumentNode& v) { return ReadText(v, "format", *l.mutable_format()); }},
               {"pattern", [&](const DocumentNode& v) { return ReadText(v, "pattern", *l.mutable_pattern()); }}}));
  if (l.file().empty()) return ErrorAt(node, "an entry of `logs` needs a `file`");
  if (l.pattern().empty()) return absl::OkStatus();
  // A slip in a pattern is the plan's fault, not the log's.
  auto pattern = MakePatternParser(TextEncoding(), l.pattern());
  return pattern.ok() ? absl::OkStatus() : ErrorAt(*node.Find("pattern"), pattern.status().message());
}

Status ReadStepFile(const DocumentNode& node, absl::string_view where, std::int64_t& step, std::string& file,
                    std::string* stage) {
  static constexpr absl::string_view kStages[] = {"before-wrap", "after-wrap", "pretrained"};
  const auto read_stage = [&](const DocumentNode& v) { return ReadWord(v, "stage", kStages, *stage); };
  const auto read_step = [&](const DocumentNode& v) -> Status {
    PARITECT_ASSIGN_OR_RETURN(step, ReadCount(v, "step", 0));
    return absl::OkStatus();
  };
  const auto read_file = [&](const DocumentNode& v) { return ReadText(v, "file", file); };
  std::vector<Field> fields = {{"step", read_step}, {"file", read_file}};
  if (stage != nullptr) fields.push_back({"stage", read_stage});
  PARITECT_RETURN_IF_ERROR(ReadMap(node, where, fields));
  return file.empty() ? ErrorAt(node, StrCat(where, " needs a `file`")) : absl::OkStatus();
}

Status ReadWeights(const DocumentNode& node, v1::Plan& plan) {
  v1::WeightsSource& w = *plan.add_weights();
  SetAt(node, *w.mutable_at());
  std::int64_t step = 0;
  PARITECT_RETURN_IF_ERROR(ReadStepFile(node, "an entry of `weights`", step, *w.mutable_file(), w.mutable_stage()));
  w.set_step(step);
  return absl::OkStatus();
}

Status ReadTensors(const DocumentNode& node, v1::Plan& plan) {
  v1::TensorsSource& t = *plan.add_tensors();
  SetAt(node, *t.mutable_at());
  std::int64_t step = 0;
  PARITECT_RETURN_IF_ERROR(ReadStepFile(node, "an entry of `tensors`", step, *t.mutable_file(), nullptr));
  t.set_step(step);
  return absl::OkStatus();
}

Status ReadScript(const DocumentNode& node, v1::Plan& plan) {
  v1::ScriptSource& s = *plan.add_scripts();
  SetAt(node, *s.mutable_at());
  return ReadText(node, "scripts", *s.mutable_path());
}

Status ReadObserved(const DocumentNode& node, v1::Plan& plan) {
  v1::ObservedSource& o = *plan.add_observed();
  SetAt(node, *o.mutable_at());
  return ReadText(node, "observed", *o.mutable_path());
}

v1::Value FactValue(const DocumentNode& node) {
  v1::Value value;
  if (!node.quoted) {
    if (node.text == "true" || node.text == "True") value.set_boolean(true);
    if (node.text == "false" || node.text == "False") value.set_boolean(false);
    if (value.kind_case() != v1::Value::KIND_NOT_SET) return value;
    if (auto integer = ParseInt(node.text)) {
      value.set_integer(*integer);
      return value;
    }
    if (auto number = ParseDouble(node.text)) {
      value.set_number(*number);
      return value;
    }
  }
  value.set_text(node.text);
  return value;
}

Status ReadFacts(const DocumentNode& node, v1::PlanInfo& info) {
  if (node.is_null()) return absl::OkStatus();
  if (!node.is_map()) return ErrorAt(node, "`facts` must be a map");
  for (const auto& [key, value] : node.fields) {
    if (!value.is_scalar()) return ErrorAt(value, StrCat("fact `", key.text, "` must be a single value"));
    (*info.mutable_facts())[key.text] = FactValue(value);
    (*info.mutable_fact_origins())[key.text] = StrCat(key.line);
  }
  return absl::OkStatus();
}

constexpr absl::string_view kPlatforms[] = {"auto",       "nvidia", "atlas-training", "atlas-a2", "atlas-a3",
                                            "ascend-950", "cpu",    "other"};
constexpr absl::string_view kFrameworks[] = {"auto", "pytorch", "tensorflow", "mindspore"};
constexpr absl::string_view kRoles[] = {"run", "fp32-reference", "published"};

Status ReadPlanFields(const DocumentNode& root, v1::Plan& plan) {
  v1::PlanInfo& info = *plan.mutable_info();
  info.set_role(v1::ROLE_RUN);
  info.set_platform("auto");
  info.set_framework("auto");
  if (root.is_null()) return absl::OkStatus();
  bool live = false;
  std::string role;
  PARITECT_RETURN_IF_ERROR(ReadMap(
      root, "a plan",
      {{"run", [&](const DocumentNode& v) { return ReadText(v, "run", *info.mutable_run()); }},
       {"node", [&](const DocumentNode& v) { return ReadText(v, "node", *info.mutable_node()); }},
       {"role", [&](const DocumentNode& v) { return ReadWord(v, "role", kRoles, role); }},
       {"platform",
        [&](const DocumentNode& v) { return ReadWord(v, "platform", kPlatforms, *info.mutable_platform()); }},
       {"framework",
        [&](const DocumentNode& v) { return ReadWord(v, "framework", kFrameworks, *info.mutable_framework()); }},
       {"world_size",
        [&](const DocumentNode& v) -> Status {
          PARITECT_ASSIGN_OR_RETURN(std::int64_t size, ReadCount(v, "world_size", 1));
          if (size > static_cast<std::int64_t>(kRanksMax)) {
            return ErrorAt(v, StrCat("`world_size` is at most ", kRanksMax));
          }
          info.set_world_size(static_cast<std::int32_t>(size));
          return absl::OkStatus();
        }},
       {"live",
        [&](const DocumentNode& v) {
          const Status status = ReadBool(v, "live", live);
          info.set_live(live);
          return status;
        }},
       {"datasets",
        [&](const DocumentNode& v) {
          return ReadList(v, "datasets", [&](const DocumentNode& one) { return ReadDataset(one, plan); });
        }},
       {"shards",
        [&](const DocumentNode& v) {
          return ReadList(v, "shards", [&](const DocumentNode& one) { return ReadShard(one, plan); });
        }},
       {"settings",
        [&](const DocumentNode& v) {
          return ReadList(v, "settings", [&](const DocumentNode& one) { return ReadSettings(one, plan); });
        }},
       {"logs",
        [&](const DocumentNode& v) {
          return ReadList(v, "logs", [&](const DocumentNode& one) { return ReadLog(one, plan); });
        }},
       {"weights",
        [&](const DocumentNode& v) {
          return ReadList(v, "weights", [&](const DocumentNode& one) { return ReadWeights(one, plan); });
        }},
       {"tensors",
        [&](const DocumentNode& v) {
          return ReadList(v, "tensors", [&](const DocumentNode& one) { return ReadTensors(one, plan); });
        }},
       {"scripts",
        [&](const DocumentNode& v) {
          return ReadList(v, "scripts", [&](const DocumentNode& one) { return ReadScript(one, plan); });
        }},
       {"observed",
        [&](const DocumentNode& v) {
          return ReadList(v, "observed", [&](const DocumentNode& one) { return ReadObserved(one, plan); });
        }},
       {"in_clear", [&](const DocumentNode& v) { return ReadTexts(v, "in_clear", *plan.mutable_in_clear()); }},
       {"facts", [&](const DocumentNode& v) { return ReadFacts(v, info); }}}));
  if (role == "fp32-reference") info.set_role(v1::ROLE_FP32_REFERENCE);
  if (role == "published") info.set_role(v1::ROLE_PUBLISHED);
  return absl::OkStatus();
}

}  // namespace

absl::string_view RoleWord(v1::Role role) {
  return role == v1::ROLE_FP32_REFERENCE ? kRoles[1] : role == v1::ROLE_PUBLISHED ? kRoles[2] : kRoles[0];
}

absl::StatusOr<std::vector<std::int32_t>> ParseRankRanges(absl::string_view text) {
  std::set<std::int32_t> ranks;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> ends = absl::StrSplit(part, '-');
    auto first = ParseInt(ends[0]);
    auto last = ends.size() == 2 ? ParseInt(ends[1]) : first;
    if (ends.size() > 2 || !first || !last || *first < 0 || *last < *first ||
        *last > std::numeric_limits<std::int32_t>::max()) {
      return absl::InvalidArgumentError(StrCat("'", text, "' is not a list of ranks like \"0-7,12\""));
    }
    if (static_cast<std::size_t>(*last - *first) >= kRanksMax) {
      return absl::InvalidArgumentError(StrCat("more than ", kRanksMax, " ranks"));
    }
    for (std::int64_t rank = *first; rank <= *last; ++rank) ranks.insert(static_cast<std::int32_t>(rank));
    if (ranks.size() > kRanksMax) return absl::InvalidArgumentError(StrCat("more than ", kRanksMax, " ranks"));
  }
  return std::vector<std::int32_t>(ranks.begin(), ranks.end());
}

absl::StatusOr<v1::Plan> ParsePlan(absl::string_view text) {
  DocumentLimits limits;
  limits.bytes_max = kPlanBytesMax;
  limits.nodes_max = 200'000;
  limits.depth_max = 16;
  PARITECT_ASSIGN_OR_RETURN(DocumentNode root, ParseDocument(text, limits));
  return ReadPlan(root);
}

absl::StatusOr<v1::Plan> ReadPlan(const DocumentNode& node) {
  v1::Plan plan;
  PARITECT_RETURN_IF_ERROR(ReadPlanFields(node, plan));
  return plan;
}

}  // namespace paritect
