// The archive of msprobe's config_check: what one side collected before training.
//   env                                   JSON, every environment variable      -> "env.NAME"
//   pip                                   "Name=version" lines                  -> "package.NAME"
//   hyperparameters/*_{static,dynamic}.json   flat JSON, from scripts / from the running process
//   dataset/, weights/, random/           statistics of the first steps: counted in a note, not compared by settings
// A name that stands several times counts as it stands last (the tool appends). Numbers may be bare NaN or Infinity.
// Source: msprobe, core/config_check and docs/zh/user_guide/config_check_instruct.md.
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/document.h"
#include "common/status_macros.h"
#include "formats/archives/zip.h"
#include "formats/settings/builder.h"
#include "formats/settings/forms/packages.h"
#include "formats/settings/readable_text.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr char kName[] = "msprobe-config-check";
constexpr std::size_t kEntryBytesMax = 16 << 20;
constexpr std::size_t kUnpackedBytesMax = 64 << 20;

bool IsStatistics(absl::string_view name) {
  return absl::StartsWith(name, "dataset/") || absl::StartsWith(name, "weights/") || absl::StartsWith(name, "random/");
}

bool IsOwn(absl::string_view name) {
  return name == "env" || name == "pip" || absl::StartsWith(name, "hyperparameters/") ||
         absl::StartsWith(name, "dataset/step") || absl::StartsWith(name, "weights/step") ||
         absl::StartsWith(name, "random/rank");
}

int Sniff(absl::string_view head) {
  if (!LooksLikeZip(head)) return 0;
  bool own = false;
  bool leaves = false;
  for (const std::string& name : ZipNamesInHead(head)) {
    if (absl::EndsWith(name, "/data.pkl")) return 0;  // torch.save
    own = own || IsOwn(name);
    leaves = leaves || absl::StrContains(name, "..") || absl::StartsWith(name, "/");
  }
  return own ? 96 : leaves ? 60 : 0;
}

absl::Status AddJson(absl::string_view text, absl::string_view prefix, SettingsBuilder& builder) {
  DocumentLimits limits;
  limits.bytes_max = kEntryBytesMax;
  limits.nodes_max = 400'000;
  auto root = ParseJson(text, limits);
  if (!root.ok()) return root.status();
  if (!root->is_map()) return absl::DataLossError("not an object");
  if (prefix.empty()) {
    builder.AddTree("", *root);
    return absl::OkStatus();
  }
  for (const auto& [name, value] : root->fields) builder.Add(StrCat(prefix, name.text), value.text, name.line);
  return absl::OkStatus();
}

void AddPackages(absl::string_view text, SettingsBuilder& builder) {
  ForEachLine(text, [&](absl::string_view line, std::int64_t number) {
    PackageLine package;
    if (SplitPackageLine(line, package)) {
      builder.AddText(StrCat("package.", NormalisedPackageName(package.name)), package.version, number);
    }
  });
}

absl::Status AddEntry(absl::string_view name, absl::string_view text, SettingsBuilder& builder) {
  if (name == "env") return AddJson(text, "env.", builder);
  if (name == "pip") {
    AddPackages(text, builder);
    return absl::OkStatus();
  }
  return AddJson(text, "", builder);
}

absl::StatusOr<v1::SettingsDocument> Parse(absl::string_view text, absl::string_view label) {
  const RandomAccess archive = AccessTo(text);
  ZipRules rules;
  rules.names_again = true;  // the tool appends under the same name each time it collects
  PARITECT_ASSIGN_OR_RETURN(const std::vector<ZipEntry> entries, ReadZipDirectory(archive, rules));
  std::map<std::string, const ZipEntry*> last;
  std::size_t statistics = 0;
  for (const ZipEntry& entry : entries) {
    statistics += IsStatistics(entry.name) ? 1 : 0;
    if (IsOwn(entry.name) && !IsStatistics(entry.name)) last[entry.name] = &entry;
  }
  if (last.empty() && statistics == 0) return absl::DataLossError("no entry of a configuration check");
  SettingsBuilder builder(kName, "arguments", label);
  std::size_t unpacked = 0;
  for (const auto& [name, entry] : last) {
    unpacked += entry->size;
    if (unpacked > kUnpackedBytesMax) return absl::DataLossError("unpacks to more than 64 MiB");
    auto bytes = ReadZipEntry(archive, *entry, kEntryBytesMax);
    if (!bytes.ok()) return absl::DataLossError(bytes.status().message());
    const ReadableText readable(*bytes, StrayBytes::kReplace);
    builder.SetLabel(StrCat(label, "!", name));
    const absl::Status status = AddEntry(name, readable.view(), builder);
    if (!status.ok()) builder.AddNote("unreadable_entry", 0, StrCat(name, ": ", status.message()));
  }
  if (statistics > 0) {
    builder.AddNote("statistics_not_compared", 0,
                    StrCat(statistics, " entries hold statistics of tensors or random calls; they are no settings"));
  }
  return builder.Finish();
}

}  // namespace

extern const SettingsFormat kMsprobePackSettings;
const SettingsFormat kMsprobePackSettings = {kName, "arguments", &Sniff, &Parse};

}  // namespace paritect
