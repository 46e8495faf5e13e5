// data.dataset.files: are the two lists of relative paths equal, byte by byte?
// Source: pre-tuning checklist, 数据集与基准一致, step 1. A name that is gone and one that is new are told as
// one finding where they are the same file (other Unicode form, other character set, renamed, moved).
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/check.h"
#include "checks/datasets/difference.h"
#include "checks/datasets/explain.h"
#include "checks/datasets/numbered_names.h"
#include "checks/datasets/pairs.h"
#include "checks/finding_budget.h"
#include "common/file_system.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_DATASET_FILES}};

// Immediate sub-folders by folder ("" is the root), and how many files stand in the folder itself.
struct FolderView {
  std::map<std::string, std::set<std::string>> children;
  std::map<std::string, std::size_t> files;
};

bool IsFolderLink(const v1::FileEntry& entry) {
  return entry.type() == v1::FILE_TYPE_SYMLINK && !HasFileHint(entry, v1::FILE_HINT_DANGLING_LINK) &&
         !HasFileHint(entry, v1::FILE_HINT_LINK_LOOP);
}

FolderView FoldersOf(const DatasetView& view) {
  FolderView folders;
  const auto AddAbove = [&](absl::string_view path) {
    for (auto slash = path.rfind('/'); slash != absl::string_view::npos; slash = path.rfind('/')) {
      path = path.substr(0, slash);
      const auto up = path.rfind('/');
      const absl::string_view parent = up == absl::string_view::npos ? absl::string_view() : path.substr(0, up);
      if (!folders.children[std::string(parent)].insert(std::string(BaseName(path))).second) return;
    }
  };
  for (const NamedFile& file : view.files) {
    AddAbove(file.path());
    // A link to a folder is a folder for who lists them.
    if (IsFolderLink(*file.entry)) AddAbove(absl::StrCat(file.path(), "/x"));
    const auto slash = file.path().rfind('/');
    if (IsDataFile(*file.entry)) ++folders.files[slash == std::string::npos ? "" : file.path().substr(0, slash)];
  }
  return folders;
}

class FilesEvaluation {
 public:
  FilesEvaluation(const CheckContext& context, v1::CheckResult& result)
      : context_(context), result_(result), budget_(context, result) {}

  void Pair(const DatasetPair& pair) {
    if (!RequirePair(context_, pair, result_)) return;
    for (const DatasetView& migrated : pair.migrated) {
      name_ = pair.name;
      baseline_ = &pair.baseline[0];
      migrated_ = &migrated;
      others_.clear();
      for (const DatasetView& other : pair.migrated) {
        if (&other != &migrated) others_.push_back(&other);
      }
      several_ = !others_.empty();
      const DatasetDifference difference = CompareViews(*baseline_, migrated);
      CommonLinks(difference);
      for (const NamedFile* file : difference.missing) Missing(*file);
      for (const NamedFile* file : difference.extra) Extra(*file);
      for (const FilePair& renamed : difference.renamed) Renamed(renamed);
      for (const CaseCollision& c : difference.collisions) {
        const auto nfc = NormalizeNfc(c.gone->path());
        const bool same_name = nfc && nfc == NormalizeNfc(c.kept->path());
        const absl::string_view id = same_name ? "unicode_form/collision" : "case_collision";
        Report(id, c.gone->path(), {{"other", c.kept->path()}}, c.gone->path(), c.kept->path());
      }
      SpecialFiles(difference);
      ClassFolders();
      MissingNumbers();
    }
  }

  void Finish() { budget_.Finish(); }

 private:
  void Report(absl::string_view id, absl::string_view subject, MessageArgs args, absl::string_view baseline,
              absl::string_view migrated, v1::Severity severity = v1::SEVERITY_ERROR) {
    for (auto& [name, value] : args) value = DisplayBytes(value);
    args.emplace_back("dataset", DisplayBytes(name_));
    v1::Finding* finding = budget_.Add(severity, id, subject, args);
    if (finding == nullptr) return;
    finding->set_baseline(DisplayBytes(baseline));
    finding->set_migrated(DisplayBytes(migrated));
    SetFact(*finding, "dataset", name_);
    finding->add_evidence(absl::StrCat(baseline_->where, ": ", DisplayBytes(baseline_->origins[0].source)));
    finding->add_evidence(absl::StrCat(migrated_->where, ": ", DisplayBytes(migrated_->origins[0].source)));
    if (several_) SetFact(*finding, "node", migrated_->where);
  }

  // A link that leads nowhere (or in a circle) where the other side has something else.
  void CommonLinks(const DatasetDifference& difference) {
    for (const FilePair& pair : difference.common) {
      const v1::FileEntry& b = *pair.baseline->entry;
      const v1::FileEntry& m = *pair.migrated->entry;
      for (const auto& [hint, kind] : {std::make_pair(v1::FILE_HINT_DANGLING_LINK, "dangling_link"),
                                       std::make_pair(v1::FILE_HINT_LINK_LOOP, "link_loop")}) {
        const bool in_baseline = HasFileHint(b, hint);
        if (in_baseline == HasFileHint(m, hint)) continue;
        // A list names the link and its target, and cannot say whether something stands there.
        const bool lists = !baseline_->is_tree || !migrated_->is_tree;
        if (lists && b.link_target() == m.link_target()) continue;
        const v1::FileEntry& link = in_baseline ? b : m;
        Report(absl::StrCat(kind, in_baseline ? "/baseline" : ""), pair.baseline->path(),
               {{"target", link.link_target()}}, in_baseline ? absl::StrCat("-> ", b.link_target()) : "",
               in_baseline ? "" : absl::StrCat("-> ", m.link_target()));
      }
      // Neither walked: an unseen folder may hold anything.
      for (const v1::FileEntry* entry : {&b, &m}) Unseen(*entry);
    }
  }

  void Unseen(const v1::FileEntry& entry) {
    if (entry.type() == v1::FILE_TYPE_SYMLINK && entry.has_error()) {
      AddMissing(context_, result_, entry.error(), name_);
    }
  }

  // Links that are no data: lists of other tools do not name them.
  bool OnlyInTrees(const NamedFile& file, const DatasetView& other) const {
    const bool link = file.entry->type() == v1::FILE_TYPE_SYMLINK;
    return (link || file.entry->type() == v1::FILE_TYPE_SPECIAL) && !other.is_tree;
  }

  // A link to a folder on one side, the folder itself on the other: its files are reported, not the link.
  static bool HasBelow(const DatasetView& view, absl::string_view path) {
    const std::string folder = absl::StrCat(path, "/");
    auto it = std::lower_bound(view.files.begin(), view.files.end(), folder,
                               [](const NamedFile& f, const std::string& p) { return f.path() < p; });
    return it != view.files.end() && absl::StartsWith(it->path(), folder);
  }

  // Whether another node of the migrated side has what this one lacks.
  bool OthersHold(absl::string_view path) const {
    return std::any_of(others_.begin(), others_.end(), [&](const DatasetView* v) { return v->Find(path) != nullptr; });
  }

  void Missing(const NamedFile& file) {
    const v1::FileEntry& entry = *file.entry;
    Unseen(entry);
    if (OnlyInTrees(file, *migrated_) || (entry.type() == v1::FILE_TYPE_SYMLINK && HasBelow(*migrated_, file.path())))
      return;
    if (HasFileHint(entry, v1::FILE_HINT_OS_JUNK)) {
      Report("os_junk/baseline", file.path(), {}, file.path(), "");
    } else if (HasFileHint(entry, v1::FILE_HINT_UNFINISHED_TRANSFER)) {
      Report("unfinished_transfer/baseline", file.path(), {}, file.path(), "");
    } else if (HasFileHint(entry, v1::FILE_HINT_DANGLING_LINK)) {
      Report("dangling_link/baseline", file.path(), {{"target", entry.link_target()}}, file.path(), "");
    } else if (HasFileHint(entry, v1::FILE_HINT_LINK_LOOP)) {
      Report("link_loop/baseline", file.path(), {{"target", entry.link_target()}}, file.path(), "");
    } else if (OthersHold(file.path())) {
      Report("missing/node", file.path(), {{"nodes", migrated_->where}}, file.path(), "");
    } else {
      Report("missing", file.path(), {}, file.path(), "");
    }
  }

  void Extra(const NamedFile& file) {
    const v1::FileEntry& entry = *file.entry;
    Unseen(entry);
    const bool dangling = HasFileHint(entry, v1::FILE_HINT_DANGLING_LINK);
    const bool loop = HasFileHint(entry, v1::FILE_HINT_LINK_LOOP);
    if (dangling || loop) {
      // A list of another tool cannot name such a link: only worth a warning then.
      Report(dangling ? "dangling_link/extra" : "link_loop", file.path(), {{"target", entry.link_target()}}, "",
             file.path(), baseline_->is_tree ? v1::SEVERITY_ERROR : v1::SEVERITY_WARNING);
      return;
    }
    if (OnlyInTrees(file, *baseline_) || (entry.type() == v1::FILE_TYPE_SYMLINK && HasBelow(*baseline_, file.path())))
      return;
    if (HasFileHint(entry, v1::FILE_HINT_OS_JUNK)) {
      Report("os_junk", file.path(), {}, "", file.path());
    } else if (HasFileHint(entry, v1::FILE_HINT_UNFINISHED_TRANSFER)) {
      Report("unfinished_transfer", file.path(), {}, "", file.path());
    } else if (several_ && !OthersHold(file.path())) {
      Report("extra/node", file.path(), {{"nodes", migrated_->where}}, "", file.path());
    } else {
      Report("extra", file.path(), {}, "", file.path());
    }
  }

  void Renamed(const FilePair& pair) {
    const std::string id = pair.how == "case" ? "renamed/case" : pair.how;
    const bool same = CompareContent(*pair.baseline->entry, *pair.migrated->entry) == ContentVerdict::kEqual;
    Report(absl::StrCat(id, same || id == "renamed" || id == "moved" ? "" : "/other_content"), pair.baseline->path(),
           {{"other", pair.migrated->path()}, {"charset", pair.detail}}, pair.baseline->path(), pair.migrated->path());
  }

  // Frameworks number the folders below one folder as classes: one folder more or less moves every label.
  void ClassFolders() {
    if (baseline_->incomplete || migrated_->incomplete) return;
    EmptyFolders();
    const FolderView baseline = FoldersOf(*baseline_);
    const FolderView migrated = FoldersOf(*migrated_);
    for (const auto& [folder, b] : baseline.children) {
      auto it = migrated.children.find(folder);
      if (it == migrated.children.end() || it->second.size() == b.size()) continue;
      const std::set<std::string>& m = it->second;
      if (OnlyUnreadDiffer(folder, b, m)) continue;
      const std::size_t most = std::max(b.size(), m.size());
      const auto files = baseline.files.find(folder);
      if (most < 2 || (files != baseline.files.end() && files->second >= most)) continue;
      if (baseline_->IsSilentOn(folder + "/x") || migrated_->IsSilentOn(folder + "/x")) continue;
      ReportFolders(folder, b, m);
    }
  }

  // A folder that could not be read is there; what it holds is unknown, not missing.
  bool OnlyUnreadDiffer(const std::string& folder, const std::set<std::string>& b,
                        const std::set<std::string>& m) const {
    const auto is_unread = [&](const DatasetView& side, const std::string& name) {
      return side.IsSilentOn(absl::StrCat(folder, folder.empty() ? "" : "/", name, "/x"));
    };
    return std::all_of(b.begin(), b.end(),
                       [&](const auto& one) { return m.contains(one) || is_unread(*migrated_, one); }) &&
           std::all_of(m.begin(), m.end(),
                       [&](const auto& one) { return b.contains(one) || is_unread(*baseline_, one); });
  }

  // Whether two folders or more that hold files stand beside this one, and fewer files than folders.
  static bool StandsAmongClasses(const FolderView& folders, absl::string_view folder) {
    const auto slash = folder.rfind('/');
    const std::string parent(slash == absl::string_view::npos ? absl::string_view() : folder.substr(0, slash));
    const auto children = folders.children.find(parent);
    if (children == folders.children.end()) return false;
    std::size_t holding = 0;
    for (const std::string& child : children->second) {
      const std::string path = parent.empty() ? child : absl::StrCat(parent, "/", child);
      holding += folders.files.contains(path) ? 1 : 0;
    }
    const auto files = folders.files.find(parent);
    return holding >= 2 && (files == folders.files.end() || files->second < children->second.size());
  }

  // Folders without a file are no data: lists do not name them and object stores drop them. Programs that take every
  // folder for a class count them all the same.
  void EmptyFolders() {
    if (!baseline_->is_tree || !migrated_->is_tree) return;
    std::vector<std::string> only;
    std::vector<std::string> classes;
    const FolderView folders = FoldersOf(*baseline_);
    const auto Collect = [&](const DatasetView& here, const DatasetView& there) {
      for (const std::string& folder : here.empty_folders) {
        const bool known = std::binary_search(there.empty_folders.begin(), there.empty_folders.end(), folder);
        if (known || HasBelow(there, folder) || there.IsSilentOn(folder + "/x")) continue;
        (StandsAmongClasses(folders, folder) ? classes : only).push_back(DisplayBytes(folder));
      }
    };
    Collect(*baseline_, *migrated_);
    Collect(*migrated_, *baseline_);
    SayEmptyFolders(v1::SEVERITY_NOTE, "empty_folders_differ", std::move(only));
    SayEmptyFolders(v1::SEVERITY_WARNING, "empty_folders_differ/classes", classes);
    if (classes.empty()) return;
    AddMissing(context_, result_, "empty_class_folders", migrated_->where, ArgsOfFolders(std::move(classes)));
  }

  MessageArgs ArgsOfFolders(std::vector<std::string> names) const {
    constexpr std::size_t kShown = 10;
    const std::string count = absl::StrCat(names.size());
    if (names.size() > kShown) names.resize(kShown);
    return {{"dataset", DisplayBytes(name_)}, {"count", count}, {"names", absl::StrJoin(names, ", ")}};
  }

  void SayEmptyFolders(v1::Severity severity, absl::string_view id, std::vector<std::string> names) {
    if (names.empty()) return;
    budget_.Add(severity, id, name_, ArgsOfFolders(std::move(names)));
  }

  // Sockets, FIFOs and devices are never opened: what they would give nobody knows.
  void SpecialFiles(const DatasetDifference& difference) {
    std::vector<std::string> names;
    for (const FilePair& pair : difference.common) {
      if (pair.baseline->entry->type() == v1::FILE_TYPE_SPECIAL) names.push_back(DisplayBytes(pair.baseline->path()));
    }
    if (names.empty()) return;
    const std::string count = absl::StrCat(names.size());
    if (names.size() > 10) names.resize(10);
    budget_.Add(v1::SEVERITY_NOTE, "special_files", name_,
                {{"dataset", DisplayBytes(name_)}, {"count", count}, {"names", absl::StrJoin(names, ", ")}});
  }

  // What one side lacks stands under missing or extra; what both lack no comparison shows.
  void MissingNumbers() {
    if (baseline_->incomplete || migrated_->incomplete || migrated_->beside_whole || migrated_->lone_part) return;
    const std::map<std::string, ShardSeries> migrated = ShardGaps(*migrated_);
    for (const auto& [series, gap] : ShardGaps(*baseline_)) {
      auto same = migrated.find(series);
      if (same == migrated.end() || same->second.missing != gap.missing) continue;
      std::string numbers = absl::StrJoin(gap.missing, ", ");
      if (static_cast<std::size_t>(gap.missing_total) > gap.missing.size()) absl::StrAppend(&numbers, " ...");
      Report("shard_numbers_missing", series, {{"numbers", numbers}, {"count", absl::StrCat(gap.count)}}, "", "",
             v1::SEVERITY_WARNING);
    }
  }

  void ReportFolders(const std::string& folder, const std::set<std::string>& b, const std::set<std::string>& m) {
    constexpr std::size_t kShown = 10;
    std::vector<std::string> differing;
    for (const std::string& name : b) {
      if (!m.contains(name) && differing.size() < kShown) differing.push_back(DisplayBytes(name));
    }
    for (const std::string& name : m) {
      if (!b.contains(name) && differing.size() < kShown) differing.push_back(DisplayBytes(name));
    }
    v1::Finding* finding = budget_.Add(v1::SEVERITY_ERROR, "class_folders_differ", folder.empty() ? "." : folder,
                                       {{"dataset", DisplayBytes(name_)},
                                        {"names", absl::StrJoin(differing, ", ")},
                                        {"baseline", absl::StrCat(b.size())},
                                        {"migrated", absl::StrCat(m.size())}});
    if (finding == nullptr) return;
    finding->set_baseline(absl::StrCat(b.size(), " folders"));
    finding->set_migrated(absl::StrCat(m.size(), " folders"));
    SetFact(*finding, "dataset", name_);
    SetFact(*finding, "baseline_folders", static_cast<std::uint64_t>(b.size()));
    SetFact(*finding, "migrated_folders", static_cast<std::uint64_t>(m.size()));
    SetFact(*finding, "names", absl::Span<const std::string>(differing));
  }

  const CheckContext& context_;
  v1::CheckResult& result_;
  FindingBudget budget_;
  std::string name_;
  const DatasetView* baseline_ = nullptr;
  const DatasetView* migrated_ = nullptr;
  std::vector<const DatasetView*> others_;  // of the migrated side
  bool several_ = false;
};

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  FilesEvaluation evaluation(context, result);
  for (const DatasetPair& pair : PairDatasets(context)) evaluation.Pair(pair);
  evaluation.Finish();
}

}  // namespace

extern const Check kDatasetFiles;
const Check kDatasetFiles = {"data.dataset.files", kNeeds, &Evaluate};

}  // namespace paritect
