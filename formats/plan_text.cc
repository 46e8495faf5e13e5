#include "formats/plan_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/utf8.h"
#include "formats/plan.h"

namespace paritect {
namespace {

using absl::StrAppend;
using absl::StrCat;

// Whether the text is the same in YAML without quotes, and plain to a reader.
bool IsPlain(absl::string_view text) {
  if (text.empty() || absl::StartsWith(text, "-") || absl::StartsWith(text, ".")) return text == ".";
  bool letter = false;
  for (char c : text) {
    const bool alpha = absl::ascii_isalpha(static_cast<unsigned char>(c));
    letter = letter || alpha;
    if (!alpha && !absl::ascii_isdigit(static_cast<unsigned char>(c)) && !absl::StrContains("_-./+=", c)) return false;
  }
  static constexpr absl::string_view kWords[] = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"};
  const std::string lower = absl::AsciiStrToLower(text);
  return letter && std::find(std::begin(kWords), std::end(kWords), lower) == std::end(kWords);
}

std::string Text(absl::string_view text) {
  return IsPlain(text) ? std::string(text) : YamlQuoted(text);
}

std::string Remark(const PlanRemarks& remarks, const std::string& path) {
  const auto found = remarks.of_source.find(path);
  return found == remarks.of_source.end() ? "" : StrCat("   # ", found->second);
}

// "key:" above the first entry of a list, and entries.
class Section {
 public:
  Section(absl::string_view key, const PlanRemarks& remarks, std::string& out)
      : key_(key), remarks_(remarks), out_(out) {}

  // `text`: the entry; `path`: what it names.
  void Add(const std::string& path, const std::string& text) {
    if (!begun_) StrAppend(&out_, "\n", key_, ":\n");
    begun_ = true;
    if (IsValidUtf8(path)) {
      StrAppend(&out_, "  - ", text, Remark(remarks_, path), "\n");
    } else {
      StrAppend(&out_, "  # ", DisplayBytes(path), ": this name is not UTF-8 and cannot stand in a plan\n");
    }
  }

 private:
  absl::string_view key_;
  const PlanRemarks& remarks_;
  std::string& out_;
  bool begun_ = false;
};

std::string DatasetText(const v1::DatasetSource& set) {
  std::string text = StrCat("{name: ", Text(set.name()));
  if (!set.root().empty()) StrAppend(&text, ", root: ", Text(set.root()));
  if (!set.manifest().empty()) StrAppend(&text, ", manifest: ", Text(set.manifest()));
  if (!set.listing().empty()) StrAppend(&text, ", listing: ", Text(set.listing()));
  if (set.include_size() > 0) StrAppend(&text, ", include: ", YamlList(set.include()));
  if (set.exclude_size() > 0) StrAppend(&text, ", exclude: ", YamlList(set.exclude()));
  if (set.follow_symlinks()) StrAppend(&text, ", follow_symlinks: true");
  if (set.part()) StrAppend(&text, ", part: true");
  if (!set.role().empty()) StrAppend(&text, ", role: ", set.role());
  if (set.names_only()) StrAppend(&text, ", hash: false");
  return StrCat(text, "}");
}

const std::string& PathOf(const v1::DatasetSource& set) {
  return !set.root().empty() ? set.root() : !set.manifest().empty() ? set.manifest() : set.listing();
}

void AddInfo(const v1::PlanInfo& info, std::string& out) {
  StrAppend(&out, "run: ", Text(info.run()), "\n");
  if (!info.node().empty()) StrAppend(&out, "node: ", Text(info.node()), "\n");
  if (RoleWord(info.role()) != "run") StrAppend(&out, "role: ", RoleWord(info.role()), "\n");
  for (const auto& [key, value] : {std::pair("platform", info.platform()), std::pair("framework", info.framework())}) {
    if (!value.empty()) StrAppend(&out, key, ": ", value, "\n");
  }
  if (info.has_world_size()) StrAppend(&out, "world_size: ", info.world_size(), "\n");
}

void AddSources(const v1::Plan& plan, const PlanRemarks& remarks, std::string& out) {
  Section datasets("datasets", remarks, out);
  for (const v1::DatasetSource& set : plan.datasets()) datasets.Add(PathOf(set), DatasetText(set));
  Section logs("logs", remarks, out);
  for (const v1::LogSource& log : plan.logs()) {
    logs.Add(log.file(), log.format().empty() ? Text(log.file())
                                              : StrCat("{file: ", Text(log.file()), ", format: ", log.format(), "}"));
  }
  Section settings("settings", remarks, out);
  for (const v1::SettingsSource& one : plan.settings()) {
    settings.Add(one.file(), one.kind().empty() ? Text(one.file())
                                                : StrCat("{file: ", Text(one.file()), ", kind: ", one.kind(), "}"));
  }
  Section scripts("scripts", remarks, out);
  for (const v1::ScriptSource& one : plan.scripts()) scripts.Add(one.path(), Text(one.path()));
  Section shards("shards", remarks, out);
  for (const v1::ShardSource& one : plan.shards()) {
    const bool trace = !one.trace().empty();
    const std::string& path = trace ? one.trace() : one.list();
    const std::string dataset = one.dataset().empty() ? "" : StrCat(", dataset: ", Text(one.dataset()));
    shards.Add(path, StrCat("{", trace ? "trace: " : "list: ", Text(path), dataset, "}"));
  }
  Section observed("observed", remarks, out);
  for (const v1::ObservedSource& one : plan.observed()) observed.Add(one.path(), Text(one.path()));
  Section weights("weights", remarks, out);
  for (const v1::WeightsSource& one : plan.weights()) {
    const std::string stage = one.stage().empty() ? "" : StrCat(", stage: ", one.stage());
    weights.Add(one.file(), StrCat("{step: ", one.step(), ", file: ", Text(one.file()), stage, "}"));
  }
  Section tensors("tensors", remarks, out);
  for (const v1::TensorsSource& one : plan.tensors()) {
    tensors.Add(one.file(), StrCat("{step: ", one.step(), ", file: ", Text(one.file()), "}"));
  }
}

}  // namespace

std::string YamlQuoted(absl::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\') {
      StrAppend(&out, "\\", text.substr(i, 1));
    } else if (c < 0x20 || c == 0x7F) {
      StrAppend(&out, "\\x", absl::Hex(c, absl::kZeroPad2));
    } else {
      out.push_back(text[i]);
    }
  }
  return JsonEscapes(StrCat(out, "\""));
}

std::string YamlList(const google::protobuf::RepeatedPtrField<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) {
    if (IsValidUtf8(text)) quoted.push_back(YamlQuoted(text));
  }
  return StrCat("[", absl::StrJoin(quoted, ", "), "]");
}

std::string PlanToText(const v1::Plan& plan, const PlanRemarks& remarks) {
  std::string out;
  for (const std::string& line : remarks.head) StrAppend(&out, "# ", line, "\n");
  AddInfo(plan.info(), out);
  AddSources(plan, remarks, out);
  if (!remarks.end.empty()) StrAppend(&out, "\n");
  for (const std::string& line : remarks.end) StrAppend(&out, "# ", line, "\n");
  return out;
}

}  // namespace paritect
