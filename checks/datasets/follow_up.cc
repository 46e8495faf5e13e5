#include "checks/datasets/follow_up.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/strings/match.h"
#include "checks/datasets/difference.h"
#include "checks/datasets/explain.h"
#include "checks/datasets/pairs.h"

namespace paritect {
namespace {

class Asker {
 public:
  explicit Asker(const FollowUpLimits& limits) : limits_(limits) {}

  void Pair(const DatasetView& baseline, const DatasetView& migrated) {
    const DatasetDifference difference = CompareViews(baseline, migrated);
    const ExplainContext context = MakeExplainContext(difference, baseline, migrated);
    for (const auto* pairs : {&difference.common, &difference.renamed}) {
      for (const FilePair& pair : *pairs) {
        const ContentVerdict verdict = CompareContent(*pair.baseline->entry, *pair.migrated->entry);
        if (verdict == ContentVerdict::kEqual) continue;
        const ContentQuestions questions = QuestionsFor(pair, context);
        if (verdict == ContentVerdict::kUnknown) {
          AskDigests(baseline, *pair.baseline, questions.baseline);
          AskDigests(migrated, *pair.migrated, questions.migrated);
          continue;
        }
        if (asked_ >= limits_.pairs_max) continue;
        const bool b = Ask(baseline, *pair.baseline, questions.baseline);
        const bool m = Ask(migrated, *pair.migrated, questions.migrated);
        if (b || m) ++asked_;
      }
    }
  }

  // One look a content: of equal files the migrated side's, where it can be asked.
  void Records(const DatasetView& baseline, const DatasetView& migrated) {
    const DatasetDifference difference = CompareViews(baseline, migrated);
    for (const auto* pairs : {&difference.common, &difference.renamed}) {
      for (const FilePair& pair : *pairs) {
        const bool equal = CompareContent(*pair.baseline->entry, *pair.migrated->entry) == ContentVerdict::kEqual;
        if (equal && (pair.baseline->entry->has_record_look() || pair.migrated->entry->has_record_look())) continue;
        const bool asked = AskRecords(migrated, *pair.migrated);
        if (!equal || !asked) AskRecords(baseline, *pair.baseline);
      }
    }
  }

  std::vector<DatasetQuestion> Take() { return std::move(questions_); }

 private:
  bool Ask(const DatasetView& view, const NamedFile& file, const std::vector<std::string>& laws) {
    const DatasetOrigin& origin = view.origins[static_cast<std::size_t>(file.origin)];
    if (laws.empty() || origin.list->format() != "tree" || file.entry->type() != v1::FILE_TYPE_REGULAR) return false;
    const std::uint64_t size = file.entry->size_bytes();
    if (size > limits_.bytes_max - bytes_) return false;
    bytes_ += size;
    Add(origin, file.entry->path(), laws);
    return true;
  }

  void AskDigests(const DatasetView& view, const NamedFile& file, const std::vector<std::string>& laws) {
    const DatasetOrigin& origin = view.origins[static_cast<std::size_t>(file.origin)];
    if (laws.empty() || origin.list->format() != "tree" || file.entry->type() != v1::FILE_TYPE_REGULAR) return;
    const std::uint64_t size = file.entry->size_bytes();
    if (digest_files_ >= limits_.digest_files_max || size > limits_.digest_bytes_max - digest_bytes_) return;
    ++digest_files_;
    digest_bytes_ += size;
    Add(origin, file.entry->path(), laws);
  }

  static bool IsStandIn(const v1::FileEntry& entry) {
    return HasFileHint(entry, v1::FILE_HINT_LFS_POINTER) || HasFileHint(entry, v1::FILE_HINT_LFS_POINTER_DAMAGED) ||
           HasFileHint(entry, v1::FILE_HINT_HTML_PAGE) || HasFileHint(entry, v1::FILE_HINT_OS_JUNK);
  }

  // False: this file cannot be asked of.
  bool AskRecords(const DatasetView& view, const NamedFile& file) {
    const DatasetOrigin& origin = view.origins[static_cast<std::size_t>(file.origin)];
    const v1::FileEntry& entry = *file.entry;
    if (origin.list->format() != "tree" || entry.type() != v1::FILE_TYPE_REGULAR || entry.has_error()) return false;
    if (entry.size_bytes() == 0 || IsStandIn(entry) || entry.has_record_look()) return true;
    const std::uint64_t cost = RecordCost(entry);
    if (record_files_ >= limits_.record_files_max || cost > limits_.record_bytes_max - record_bytes_) return true;
    ++record_files_;
    record_bytes_ += cost;
    Add(origin, entry.path(), {"records"});
    return true;
  }

  // What a look reads, at a guess by the name: formats with a directory of their own need no more than that.
  static std::uint64_t RecordCost(const v1::FileEntry& entry) {
    constexpr std::uint64_t kDirectoryBytes = 1 << 20;
    for (absl::string_view ending : {".parquet", ".arrow", ".feather", ".idx", ".bin", ".mindrecord", ".mdb", ".h5",
                                     ".hdf5", ".npy", ".rec", ".jpg", ".jpeg", ".png", ".JPEG"}) {
      if (absl::EndsWith(entry.path(), ending)) return std::min<std::uint64_t>(entry.size_bytes(), kDirectoryBytes);
    }
    return entry.size_bytes();
  }

  void Add(const DatasetOrigin& origin, const std::string& path, const std::vector<std::string>& laws) {
    const auto key = std::make_tuple(origin.side, origin.bundle, origin.evidence, path);
    const auto [it, added] = known_.emplace(key, questions_.size());
    if (added) {
      questions_.push_back({origin.side, origin.bundle, origin.evidence, path, laws});
      return;
    }
    std::vector<std::string>& known = questions_[it->second].laws;
    for (const std::string& law : laws) {
      if (std::find(known.begin(), known.end(), law) == known.end()) known.push_back(law);
    }
  }

  const FollowUpLimits& limits_;
  std::vector<DatasetQuestion> questions_;
  std::map<std::tuple<Side, int, int, std::string>, std::size_t> known_;  // to the index of its question
  std::size_t digest_files_ = 0;
  std::uint64_t digest_bytes_ = 0;
  std::size_t record_files_ = 0;
  std::uint64_t record_bytes_ = 0;
  std::size_t asked_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

std::vector<DatasetQuestion> DatasetQuestions(const EvidenceSet& evidence, const FollowUpLimits& limits) {
  Asker asker(limits);
  const std::vector<DatasetPair> pairs = PairDatasets(evidence);
  for (const DatasetPair& pair : pairs) {
    if (pair.baseline.empty()) continue;
    for (const DatasetView& migrated : pair.migrated) asker.Pair(pair.baseline[0], migrated);
  }
  for (const DatasetPair& pair : pairs) {
    if (pair.baseline.empty() || limits.record_files_max == 0) continue;
    for (const DatasetView& migrated : pair.migrated) asker.Records(pair.baseline[0], migrated);
  }
  return asker.Take();
}

std::unique_ptr<EvidenceSet> AnsweredEvidence(std::vector<v1::Bundle> baseline, std::vector<v1::Bundle> migrated,
                                              const FollowUpLimits& limits, DatasetAnswer answer,
                                              std::shared_ptr<SharedLists> lists) {
  EvidenceSet asking(std::move(baseline), std::move(migrated), lists);
  const std::vector<DatasetQuestion> questions = DatasetQuestions(asking, limits);
  std::vector<v1::Bundle> sides[] = {std::move(asking).Release(Side::kBaseline),
                                     std::move(asking).Release(Side::kMigrated)};
  for (const DatasetQuestion& question : questions) {
    v1::Bundle& bundle = sides[question.side == Side::kMigrated ? 1 : 0][static_cast<std::size_t>(question.bundle)];
    v1::FileList& list = *bundle.mutable_evidence(question.evidence)->mutable_files();
    answer(question, list, [&]() -> v1::FileList& {
      if (lists != nullptr) lists->Part(list);  // not before: who cannot answer needs no copy
      return list;
    });
  }
  return std::make_unique<EvidenceSet>(std::move(sides[0]), std::move(sides[1]), std::move(lists));
}

}  // namespace paritect
