#include "agent/drafting/drafted_data.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/drafting/path_parts.h"
#include "common/glob.h"
#include "rules/evaluation_words.h"
#include "rules/folder_words.h"

namespace paritect {
namespace {

// Containers of records: what stands in the run's own folder in such a form is data. A picture or a table there may be
// a result.
bool IsBulk(absl::string_view format) {
  for (absl::string_view bulk : {"jsonl", "parquet", "arrow-file", "arrow-stream", "tfrecord", "recordio", "mindrecord",
                                 "megatron-idx", "lmdb", "hdf5"}) {
    if (format == bulk) return true;
  }
  return false;
}

// "train" of "train.md5.txt", "data" of "MD5SUMS": what the list is of.
std::string StemOfList(absl::string_view path) {
  static const auto* const endings = new std::vector<std::string>{
      "md5",      "md5sum", "md5sums", "sha256", "sha256sum", "sha256sums", "sums", "checksum", "checksums",
      "manifest", "hash",   "hashes",  "list",   "files",     "txt",        "csv",  "json"};
  absl::string_view name = BaseName(path);
  for (std::size_t dot = name.rfind('.'); dot != absl::string_view::npos && dot > 0; dot = name.rfind('.')) {
    if (!HasWord(name.substr(dot + 1), *endings) && name.substr(dot + 1) != "gz") break;
    name = name.substr(0, dot);
  }
  for (const std::string& ending : *endings) {
    for (const char* sign : {"_", "-"}) absl::ConsumeSuffix(&name, absl::StrCat(sign, ending));
  }
  return HasWord(name, *endings) || name.empty() ? "data" : std::string(name);
}

class Drafting {
 public:
  Drafting(FileSystem& fs, const std::string& root, const FolderScan& scan, const RecognisedFiles& files,
           const DraftOptions& options, std::uint64_t& left)
      : fs_(fs), root_(root), scan_(scan), files_(files), options_(options), left_(left) {}

  DraftedData Run() {
    for (const ScannedData& tree : scan_.data) trees_.push_back(tree);
    const std::vector<std::string> folders = IsDataAsAWhole() ? std::vector<std::string>{""} : FoldersOfRecords();
    for (const std::string& folder : folders) trees_.push_back(MeasureData(fs_, root_, folder));
    for (const ScannedData& tree : trees_) out_.folders.push_back(tree.path);
    for (const auto& [path, file] : files_) {
      if (file.kind == FileKind::kFileList && !IsInTree(path)) lists_.push_back(path);
    }
    for (const ScannedData& tree : trees_) AddTree(tree);
    for (const std::string& list : lists_) {
      if (!used_lists_.contains(list)) AddList(list, NameFor(StemOfList(list)));
    }
    AddLooseRecords();
    return std::move(out_);
  }

 private:
  bool IsInTree(absl::string_view path) const {
    return std::any_of(trees_.begin(), trees_.end(),
                       [&](const ScannedData& tree) { return StandsBelow(path, tree.path); });
  }

  // Folders of samples and nothing of a run: the data set itself was named.
  bool IsDataAsAWhole() const {
    return scan_.data.empty() && !scan_.folders.empty() && !files_.empty() &&
           std::all_of(files_.begin(), files_.end(),
                       [](const auto& one) { return one.second.kind == FileKind::kData; });
  }

  // Topmost folders in which every file is a record of samples. A folder named for a split may hold what no reader
  // knows, too: tokens in a form of one's own.
  std::vector<std::string> FoldersOfRecords() const {
    std::map<std::string, std::pair<int, int>> counts;  // of a folder: data, anything else
    std::set<std::string> strange;                      // holds files that nobody recognises
    for (const auto& [path, file] : files_) {
      const bool unknown = file.kind == FileKind::kUnknown && file.why == "not_taken_unknown";
      for (std::string folder = FolderOf(path); !folder.empty(); folder = FolderOf(folder)) {
        if (unknown) strange.insert(folder);
        ++(file.kind == FileKind::kData || unknown ? counts[folder].first : counts[folder].second);
      }
    }
    std::vector<std::string> found;
    for (const auto& [folder, count] : counts) {
      const bool below = std::any_of(found.begin(), found.end(),
                                     [&folder = folder](const std::string& one) { return StandsBelow(folder, one); });
      if (below || count.second > 0 || count.first == 0) continue;
      const std::string name(BaseName(folder));
      const bool split = HasWord(name, BuiltInFolderWords().train_splits) || NamesEvaluationSet(name);
      if (!strange.contains(folder) || split) found.push_back(folder);
    }
    return found;
  }

  // Names are unique; the path tells two of one name apart.
  std::string NameFor(absl::string_view wanted, absl::string_view path = "") {
    std::string name(wanted);
    if (!names_.insert(name).second) {
      name = path.empty() ? absl::StrCat(wanted, "-", names_.size()) : std::string(path);
      names_.insert(name);
    }
    return name;
  }

  // The list that stands for a folder: named as it, or the only one beside the only folder.
  const std::string* ListOf(const ScannedData& tree) {
    for (const std::string& list : lists_) {
      if (!used_lists_.contains(list) && StemOfList(list) == BaseName(tree.path)) return &list;
    }
    return lists_.size() == 1 && trees_.size() == 1 ? &lists_[0] : nullptr;
  }

  void AddTree(const ScannedData& tree) {
    const std::string name = NameFor(tree.path.empty() ? "data" : BaseName(tree.path), tree.path);
    const bool large = !options_.hash_data && (tree.more || tree.size_bytes > left_);
    const std::string* list = ListOf(tree);
    if (list != nullptr) used_lists_.insert(*list);
    if (large && list != nullptr) {
      AddList(*list, name);
      out_.not_taken.push_back({tree.path, "not_taken_list_stands", *list});
      return;
    }
    if (list != nullptr) out_.not_taken.push_back({*list, "not_taken_folder_read", tree.path});
    v1::DatasetSource source;
    source.set_name(name);
    source.set_root(tree.path.empty() ? "." : tree.path);
    if (tree.path.empty()) source.add_exclude("plan.yaml");
    source.set_names_only(large);
    TakenSource taken = {.key = "datasets", .path = source.root() + "/", .format = "tree"};
    taken.files = static_cast<std::int64_t>(tree.files);
    taken.size_bytes = tree.size_bytes;
    taken.at_least = tree.more;
    taken.names_only = large;
    if (!large) left_ -= std::min(left_, tree.size_bytes);
    Add(std::move(source), std::move(taken));
  }

  void AddList(const std::string& path, const std::string& name) {
    v1::DatasetSource source;
    source.set_name(name);
    source.set_manifest(path);
    const RecognisedFile& file = files_.at(path);
    Add(std::move(source), {.key = "datasets", .path = path, .format = file.format, .count = file.entries});
  }

  // Containers that lie in the run's own folder, beside its other evidence.
  void AddLooseRecords() {
    v1::DatasetSource source;
    TakenSource taken = {.key = "datasets", .path = "", .format = "", .files = 0};
    for (const ScannedFile& one : scan_.files) {
      const auto found = files_.find(one.path);
      if (found == files_.end() || found->second.kind != FileKind::kData || IsInTree(one.path)) continue;
      const RecognisedFile& file = found->second;
      if (!FolderOf(one.path).empty() || !IsBulk(file.format) || IsPathPattern(one.path)) {
        out_.not_taken.push_back({one.path, "not_taken_loose_data", file.format});
        continue;
      }
      source.add_include(one.path);
      ++taken.files;
      taken.size_bytes += one.size_bytes;
      absl::StrAppend(&taken.path, taken.path.empty() ? "" : ", ", one.path);
      taken.format = file.format;
    }
    if (source.include_size() == 0) return;
    const bool large = !options_.hash_data && taken.size_bytes > left_;
    source.set_name(NameFor("data"));
    source.set_root(".");
    source.set_names_only(large);
    taken.names_only = large;
    if (!large) left_ -= taken.size_bytes;
    Add(std::move(source), std::move(taken));
  }

  void Add(v1::DatasetSource source, TakenSource taken) {
    out_.sources.push_back(std::move(source));
    out_.taken.push_back(std::move(taken));
  }

  FileSystem& fs_;
  const std::string& root_;
  const FolderScan& scan_;
  const RecognisedFiles& files_;
  const DraftOptions& options_;
  std::uint64_t& left_;
  std::vector<ScannedData> trees_;
  std::vector<std::string> lists_;
  std::set<std::string> used_lists_;
  std::set<std::string> names_;
  DraftedData out_;
};

}  // namespace

DraftedData DraftData(FileSystem& fs, const std::string& root, const FolderScan& scan, const RecognisedFiles& files,
                      const DraftOptions& options, std::uint64_t& left) {
  return Drafting(fs, root, scan, files, options, left).Run();
}

}  // namespace paritect
