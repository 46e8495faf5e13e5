// Data sets of the two sides, paired by name; what the data.dataset checks share.
#ifndef PARITECT_CHECKS_DATASETS_PAIRS_H_
#define PARITECT_CHECKS_DATASETS_PAIRS_H_

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "checks/check.h"
#include "checks/evidence_set.h"

namespace paritect {

// Where a list came from; the indices find it again in the EvidenceSet.
struct DatasetOrigin {
  Side side = Side::kBaseline;
  int bundle = 0;
  int evidence = 0;
  std::string where;   // node, or run where the node is not known
  std::string source;  // as the plan names it
  const v1::FileList* list = nullptr;
};

// Small, for there is one a file and holder: the name stands in the entry, or in the view's `names`.
struct NamedFile {
  const std::string* name = nullptr;
  const v1::FileEntry* entry = nullptr;
  int origin = 0;

  // As compared: of a list it may be shifted to fit the other side's root.
  const std::string& path() const { return *name; }
};

// What one holder (a node; or the nodes whose parts are united; or nodes that hold the same) has of a data set.
// Of a folder whose content was not read, because the plan asks for names alone.
bool IsNamesOnly(const v1::FileList& list);

// A holder's files, which holders of the same list share until one of them is changed.
class FileRows {
 public:
  using Rows = std::vector<NamedFile>;

  FileRows() = default;
  explicit FileRows(Rows rows) : rows_(std::make_shared<Rows>(std::move(rows))) {}

  Rows::const_iterator begin() const { return rows_->begin(); }
  Rows::const_iterator end() const { return rows_->end(); }
  std::size_t size() const { return rows_->size(); }
  bool empty() const { return rows_->empty(); }
  const NamedFile& front() const { return rows_->front(); }
  const NamedFile& back() const { return rows_->back(); }
  // Whether both are one and the same, not only equal.
  bool IsSharedWith(const FileRows& other) const { return rows_ == other.rows_; }

  // Whether each row is known to have an MD5; false says nothing.
  bool all_have_digests() const { return all_have_digests_; }
  void FindDigests() {
    all_have_digests_ = std::none_of(begin(), end(), [](const NamedFile& file) { return file.entry->md5().empty(); });
  }

  // To be changed by the holder that asks.
  Rows& own() {
    all_have_digests_ = false;
    if (rows_.use_count() > 1) rows_ = std::make_shared<Rows>(*rows_);
    return *rows_;
  }
  template <typename Condition>
  void EraseIf(Condition condition) {
    if (std::any_of(begin(), end(), condition)) std::erase_if(own(), condition);
  }

 private:
  std::shared_ptr<Rows> rows_ = std::make_shared<Rows>();
  bool all_have_digests_ = false;
};

struct DatasetView {
  std::string where;  // "npu-01" or "npu-01, npu-02"
  std::string run;
  std::vector<DatasetOrigin> origins;
  FileRows files;  // sorted by path; regular files, links, special files
  std::vector<std::string> empty_folders;
  std::vector<std::string> silent_folders;  // not read or not entered: nothing is known below
  bool is_tree = true;                      // walked, so links and empty folders are known
  bool incomplete = false;                  // what it does not name says nothing
  bool beside_whole = false;                // a part, while another node of the run holds the whole set
  bool lone_part = false;                   // the only part that was shown: where the rest is, nobody said
  // The same path in two parts with different content.
  std::vector<std::pair<NamedFile, NamedFile>> contradictions;

  // Names that no entry has: shifted, spelled as on the other side, behind a link. They stay where they are.
  std::shared_ptr<std::deque<std::string>> names = std::make_shared<std::deque<std::string>>();
  const std::string* Keep(std::string name) { return &names->emplace_back(std::move(name)); }

  const NamedFile* Find(absl::string_view path) const;
  // Whether not naming `path` says nothing: the list is incomplete, or a folder above was not read.
  bool IsSilentOn(absl::string_view path) const;
  bool IsBelowSilent(absl::string_view path) const;
};

struct DatasetSet {
  std::string name;
  std::vector<DatasetView> views;  // one a holder, in the order given
};

// One side's data sets by name. Parts of one run, and several entries of one plan, are united; a list beside a
// folder adds no name that the folder does not hold.
std::vector<DatasetSet> DatasetsOf(const EvidenceSet& evidence, Side side);
// The same, made once an audit.
const std::vector<DatasetSet>& DatasetsOf(const CheckContext& context, Side side);

// One name on both sides. `migrated` holds each different content once; empty where the side has none.
struct DatasetPair {
  std::string name;
  std::vector<DatasetView> baseline;  // at most one: the reference
  std::vector<DatasetView> migrated;
};

std::vector<DatasetPair> PairDatasets(const EvidenceSet& evidence);
// The same, made once an audit.
const std::vector<DatasetPair>& PairDatasets(const CheckContext& context);

// A name without partner, both sides empty, lists that are incomplete: what keeps `files` and `content` from
// passing, whatever they find. True when there is something to compare.
bool RequirePair(const CheckContext& context, const DatasetPair& pair, v1::CheckResult& result);

// What keeps any check over this holder's files from passing: lists that are cut, folders that could not be read, two
// folders under one name, one part without the others.
void ReportIncomplete(const CheckContext& context, const DatasetView& view, v1::CheckResult& result);

// Same names, sizes and MD5s.
// Files and folder links of which nothing is known but their name, why each, at most 20 one by one.
void ReportUnseenFiles(const CheckContext& context, const DatasetView& view, v1::CheckResult& result);

bool SameFiles(const DatasetView& a, const DatasetView& b);

}  // namespace paritect

#endif  // PARITECT_CHECKS_DATASETS_PAIRS_H_
