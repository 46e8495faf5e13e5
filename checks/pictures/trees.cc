// The differences of two data sets as a tree of folders, with counts rolled up.
#include "checks/datasets/difference.h"
#include "checks/datasets/explain.h"
#include "checks/pictures/pictures.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr std::int64_t kNotKnown = -1;

std::int64_t SizeOf(const NamedFile* file) {
  if (file == nullptr || !file->entry->has_size_bytes()) return kNotKnown;
  return static_cast<std::int64_t>(file->entry->size_bytes());
}

class Tree {
 public:
  Tree(const PictureBounds& bounds, v1::TreePicture& out) : bounds_(bounds), out_(out) {}

  void Fill(const DatasetView& baseline, const DatasetView& migrated) {
    const DatasetDifference difference = CompareViews(baseline, migrated);
    for (const FilePair& pair : difference.common) AddPair(pair);
    for (const FilePair& pair : difference.renamed) Add("renamed", pair.baseline, pair.migrated);
    for (const NamedFile* file : difference.missing) Add("only_baseline", file, nullptr);
    for (const NamedFile* file : difference.extra) Add("only_migrated", nullptr, file);
    for (const CaseCollision& collision : difference.collisions) Add("only_baseline", collision.gone, nullptr);
    Finish();
  }

 private:
  void AddPair(const FilePair& pair) {
    switch (CompareContent(*pair.baseline->entry, *pair.migrated->entry)) {
      case ContentVerdict::kEqual: return Add("same", pair.baseline, pair.migrated);
      case ContentVerdict::kDiffers: return Add("different", pair.baseline, pair.migrated);
      case ContentVerdict::kUnknown: return Add("unknown", pair.baseline, pair.migrated);
    }
  }

  void Add(const char* state, const NamedFile* a, const NamedFile* b) {
    const std::string& path = (a != nullptr ? a : b)->path();
    Count(state, path, SizeOf(a), SizeOf(b));
    if (absl::string_view(state) == "same") return;
    v1::FileDifferenceRow& row = rows_[path];
    row.set_path(DisplayBytes(path));
    if (a != nullptr && b != nullptr && a->path() != b->path()) row.set_other(DisplayBytes(b->path()));
    row.set_state(state);
    row.set_baseline_bytes(SizeOf(a));
    row.set_migrated_bytes(SizeOf(b));
  }

  // In every folder above it.
  void Count(absl::string_view state, const std::string& path, std::int64_t a_bytes, std::int64_t b_bytes) {
    for (std::size_t end = 0; end != std::string::npos; end = path.find('/', end + 1)) {
      v1::FolderCounts& folder = folders_[path.substr(0, end)];
      if (state == "same") folder.set_same(folder.same() + 1);
      if (state == "different" || state == "renamed") folder.set_different(folder.different() + 1);
      if (state == "only_baseline") folder.set_only_baseline(folder.only_baseline() + 1);
      if (state == "only_migrated") folder.set_only_migrated(folder.only_migrated() + 1);
      if (state == "unknown") folder.set_unknown(folder.unknown() + 1);
      folder.set_baseline_bytes(folder.baseline_bytes() + std::max<std::int64_t>(a_bytes, 0));
      folder.set_migrated_bytes(folder.migrated_bytes() + std::max<std::int64_t>(b_bytes, 0));
    }
  }

  static bool AllSame(const v1::FolderCounts& folder) {
    return folder.different() + folder.only_baseline() + folder.only_migrated() + folder.unknown() == 0;
  }

  // Folders in which something differs come before the others, where there are too many of them.
  void Finish() {
    out_.set_folders_total(static_cast<std::int64_t>(folders_.size()));
    out_.set_files_total(static_cast<std::int64_t>(rows_.size()));
    std::set<std::string> kept;
    for (const bool same : {false, true}) {
      for (const auto& [path, folder] : folders_) {
        if (kept.size() < bounds_.folders_max && AllSame(folder) == same) kept.insert(path);
      }
    }
    for (auto& [path, folder] : folders_) {
      if (!kept.contains(path)) continue;
      folder.set_path(DisplayBytes(path));
      *out_.add_folders() = std::move(folder);
    }
    for (auto& [path, row] : rows_) {
      if (static_cast<std::size_t>(out_.files_size()) == bounds_.files_max) break;
      *out_.add_files() = std::move(row);
    }
  }

  const PictureBounds& bounds_;
  v1::TreePicture& out_;
  std::map<std::string, v1::FolderCounts> folders_;
  std::map<std::string, v1::FileDifferenceRow> rows_;
};

}  // namespace

void AddTreePictures(const CheckContext& context, const PictureBounds& bounds, v1::ReportPictures& out) {
  for (const DatasetPair& pair : PairDatasets(context)) {
    if (pair.baseline.empty()) continue;
    for (const DatasetView& migrated : pair.migrated) {
      v1::TreePicture& picture = *out.add_trees();
      picture.set_dataset(DisplayBytes(pair.name));
      picture.set_baseline_where(DisplayBytes(pair.baseline[0].where));
      picture.set_migrated_where(DisplayBytes(migrated.where));
      Tree(bounds, picture).Fill(pair.baseline[0], migrated);
    }
  }
}

}  // namespace paritect
