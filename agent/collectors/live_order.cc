// live: true — in which order this node enumerates the plan's data folders, and on which file system they stand.
// A loader that does not sort its listing would split the data otherwise on another node: seen before training.
// Two nodes with local ext4 copies of one folder always differ (the order follows a seed of the file system).
// Source: pre-tuning checklist, 多节点分片方式与基准一致 (不同节点对文件名排序不同).
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/live/live_parts.h"
#include "common/rooted_file_system.h"
#include "common/utf8.h"
#include "formats/settings/builder.h"

namespace paritect {
namespace {

constexpr std::size_t kNamesMax = 10'000;
constexpr std::size_t kFoldersMax = 1'000;

// Names below `root` as an unsorted walk meets them, at most kNamesMax.
absl::Status Walk(FileSystem& fs, const std::string& root, v1::DirectoryListing& listing) {
  std::vector<std::string> left = {""};
  std::size_t folders = 0;
  while (!left.empty() && ++folders <= kFoldersMax) {
    const std::string folder = left.back();
    left.pop_back();
    std::vector<std::string> below;
    const absl::Status status = fs.List(JoinPath(root, folder), [&](const DirectoryEntry& one) {
      if (static_cast<std::size_t>(listing.names_size()) >= kNamesMax) return;
      const std::string name = JoinPath(folder, one.name);
      auto info = fs.LStat(JoinPath(root, name));
      if (info.ok() && info->type == FileInfo::Type::kDirectory) {
        below.push_back(name);
      } else {
        listing.add_names(name);
      }
    });
    if (!status.ok() && folder.empty()) return status;
    left.insert(left.end(), below.rbegin(), below.rend());
  }
  return absl::OkStatus();
}

// The type of the file system that `path` stands on, by the longest mount point above it.
std::string FileSystemType(FileSystem& node, const std::string& path) {
  auto mounts = ReadNodeText(node, "/proc/self/mountinfo", 16 << 20);
  if (!mounts.ok()) return "";
  std::string type;
  std::size_t longest = 0;
  for (absl::string_view line : absl::StrSplit(*mounts, '\n')) {
    const std::vector<absl::string_view> halves = absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    const std::vector<absl::string_view> left = absl::StrSplit(halves[0], ' ');
    if (halves.size() != 2 || left.size() < 5 || !IsBelow(path, left[4]) || left[4].size() < longest) continue;
    longest = left[4].size();
    type = std::string(halves[1].substr(0, halves[1].find(' ')));
  }
  return type;
}

void Collect(const CollectorEnv& env, const v1::Plan& plan, EvidenceSink sink) {
  if (!plan.info().live() || env.live == nullptr) return;
  LiveReport report(env, sink);
  SettingsBuilder builder("host", "host", "live");
  for (const v1::DatasetSource& source : plan.datasets()) {
    if (source.root().empty()) continue;
    const std::string root = ResolvePath(plan, source.root());
    v1::Evidence evidence = CollectedEvidence(v1::EVIDENCE_KIND_DATASET_LISTING, source.root());
    evidence.set_subject(source.name());
    v1::DirectoryListing& listing = *evidence.mutable_listing();
    listing.set_dataset(source.name());
    if (!Walk(env.fs, root, listing).ok()) continue;  // the collector of data sets says why
    v1::Note& note = *listing.add_notes();
    note.set_kind("live");
    note.set_message("the order in which this node enumerates the folder");
    sink(std::move(evidence));
    const std::string absolute = JoinPath(env.live->fs.ReadLink("/proc/self/cwd").value_or("/"), root);
    const std::string type = FileSystemType(env.live->fs, NormalPath(absolute));
    if (type.empty()) continue;
    builder.AddText(absl::StrCat("host.file_system.", DisplayBytes(source.name())), type, 1)
        ->set_origin("/proc/self/mountinfo");
  }
  report.Document(builder.Finish(), "live:file-systems");
}

}  // namespace

extern const Collector kLiveOrderCollector;
const Collector kLiveOrderCollector = {"live", "how this node enumerates the data folders", &Collect};

}  // namespace paritect
