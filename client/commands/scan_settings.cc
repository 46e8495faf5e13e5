#include "client/commands/scan_settings.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/collect.h"
#include "checks/runner.h"
#include "common/numbers.h"
#include "common/utf8.h"
#include "rules/folder_words.h"

namespace paritect {
namespace {

constexpr std::size_t kFilesMax = 400;
constexpr std::uint64_t kFileBytesMax = 1 << 20;
constexpr int kDepthMax = 12;
constexpr std::size_t kToldEachMax = 3;
constexpr std::size_t kEvidenceMax = 400;

bool MayBeSettings(absl::string_view name) {
  for (absl::string_view end : {".yaml", ".yml", ".json", ".toml", ".sh"}) {
    if (absl::EndsWith(name, end)) return true;
  }
  return false;
}

// Paths below the root, sorted.
std::vector<std::string> SettingsFiles(FileSystem& fs, const std::string& root, bool& cut) {
  struct Open {
    std::string path;
    int depth;
  };
  std::vector<std::string> files;
  std::vector<Open> open = {{"", 0}};
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  while (!open.empty()) {
    const Open folder = open.back();
    open.pop_back();
    std::vector<std::string> names;
    const std::string path = folder.path.empty() ? root : JoinPath(root, folder.path);
    if (!fs.List(path, [&](const DirectoryEntry& entry) { names.push_back(entry.name); }).ok()) continue;
    for (const std::string& name : names) {
      const std::string below = folder.path.empty() ? name : absl::StrCat(folder.path, "/", name);
      const auto info = fs.Stat(JoinPath(root, below));
      if (!info.ok()) continue;
      if (info->type == FileInfo::Type::kDirectory) {
        if (folder.depth < kDepthMax && !IsForeignCode(name) && seen.insert({info->device, info->inode}).second)
          open.push_back({below, folder.depth + 1});
      } else if (info->type == FileInfo::Type::kRegular && MayBeSettings(name) && info->size_bytes <= kFileBytesMax) {
        files.push_back(below);
      }
    }
  }
  std::sort(files.begin(), files.end());
  cut = files.size() > kFilesMax;
  if (cut) files.resize(kFilesMax);
  return files;
}

// The line of "FILE:LINE" among what a finding rests on; 0.
std::int64_t LineIn(const v1::Finding& finding, const std::string& file) {
  for (const std::string& evidence : finding.evidence()) {
    absl::string_view rest = evidence;
    if (!absl::ConsumePrefix(&rest, absl::StrCat(file, ":"))) continue;
    if (const auto line = ParseInt(rest.substr(0, rest.find_first_not_of("0123456789")))) return *line;
  }
  return 0;
}

void AddFindings(const v1::Report& report, const std::string& file, std::vector<ScanFinding>& findings) {
  std::set<std::string> told;
  for (const v1::ItemResult& item : report.items()) {
    for (const v1::CheckResult& check : item.checks()) {
      for (const v1::Finding& one : check.findings()) {
        if (one.severity() == v1::SEVERITY_NOTE || !told.insert(absl::StrCat(one.kind(), one.subject())).second)
          continue;
        ScanFinding finding;
        finding.kind = one.kind();
        finding.check = check.id();
        finding.severity = one.severity();
        finding.file = DisplayBytes(file);
        finding.line = LineIn(one, file);
        finding.message = one.message();
        finding.remedy = one.remedy();
        finding.evidence.assign(one.evidence().begin(), one.evidence().end());
        findings.push_back(std::move(finding));
      }
    }
  }
}

// A hundred recipes of one habit are one warning: the first file, and where else. What has to be mended is told at each
// place. The files are in order.
void TellOnce(const Messages& messages, std::vector<ScanFinding>& findings) {
  std::map<std::tuple<std::string, std::string, v1::Severity>, std::vector<ScanFinding*>> alike;
  for (ScanFinding& one : findings) {
    if (one.severity != v1::SEVERITY_ERROR) alike[{one.kind, one.check, one.severity}].push_back(&one);
  }
  for (auto& [what, all] : alike) {
    if (all.size() <= kToldEachMax) continue;
    ScanFinding& first = *all[0];
    const v1::Text more = messages.Say("ui_scan_more", {{"findings", absl::StrCat(all.size() - 1)}});
    first.message.set_en(absl::StrCat(first.message.en(), more.en()));
    first.message.set_zh(absl::StrCat(first.message.zh(), more.zh()));
    for (std::size_t i = 1; i < all.size(); ++i) {
      ScanFinding& one = *all[i];
      if (first.evidence.size() < kEvidenceMax)
        first.evidence.push_back(one.line > 0 ? absl::StrCat(one.file, ":", one.line) : one.file);
      one.file.clear();  // told with the first
    }
  }
  std::erase_if(findings, [](const ScanFinding& one) { return one.file.empty(); });
}

}  // namespace

SettingsScan ScanSettings(CommandEnv& env, const std::string& root) {
  SettingsScan scan;
  const auto info = env.fs.Stat(root);
  if (!info.ok() || info->type != FileInfo::Type::kDirectory) return scan;
  for (const std::string& file : SettingsFiles(env.fs, root, scan.cut)) {
    v1::Plan plan;
    plan.mutable_info()->set_run("scan");
    plan.mutable_info()->set_node("scan");
    plan.mutable_info()->set_role(v1::ROLE_RUN);
    plan.mutable_info()->set_platform("auto");
    plan.mutable_info()->set_framework("auto");
    plan.set_base(root);
    plan.add_settings()->set_file(file);
    v1::Bundle bundle = CollectPlan({env.fs, env.rules}, plan);
    const bool read = std::any_of(bundle.evidence().begin(), bundle.evidence().end(), [](const v1::Evidence& one) {
      return one.has_settings() && one.settings().settings_size() > 0;
    });
    if (!read) continue;
    ++scan.files;
    std::vector<v1::Bundle> migrated;
    migrated.push_back(std::move(bundle));
    const EvidenceSet evidence({}, std::move(migrated));
    AuditOptions options;
    options.today = env.today;
    AddFindings(RunAudit(evidence, env.rules.profile, env.rules, options), file, scan.findings);
  }
  TellOnce(env.rules.messages, scan.findings);
  return scan;
}

}  // namespace paritect
