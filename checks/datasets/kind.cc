// data.dataset.kind: are there no stand-ins, junk, empty or half files?
// Those that make the sides differ are findings of `files` and `content`, where each stands with its name; here
// they are counted, and the check fails. Those that both sides hold alike make no difference between the sides; but
// what stands in for data (a pointer, a page, half an archive, a link to nothing) shows nothing of the data itself, so
// the check cannot pass.
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/check.h"
#include "checks/datasets/difference.h"
#include "checks/datasets/explain.h"
#include "checks/datasets/pairs.h"
#include "checks/datasets/stand_ins.h"
#include "checks/finding_budget.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_DATASET_FILES}};

struct HintKind {
  v1::FileHint hint;
  const char* kind;  // on one side: counted
  const char* both;  // message id where both sides have it
  v1::Severity both_severity;
  bool hides_data = false;  // on both sides: the data itself was not seen
};

constexpr HintKind kHints[] = {
    {v1::FILE_HINT_LFS_POINTER, "lfs_pointer", "lfs_pointer/both", v1::SEVERITY_WARNING, true},
    {v1::FILE_HINT_LFS_POINTER_DAMAGED, "lfs_pointer_damaged", "lfs_pointer_damaged/both", v1::SEVERITY_WARNING, true},
    {v1::FILE_HINT_HTML_PAGE, "html_page", "html_page/both", v1::SEVERITY_NOTE, true},
    {v1::FILE_HINT_OS_JUNK, "os_junk", "os_junk/both", v1::SEVERITY_NOTE},
    {v1::FILE_HINT_UNFINISHED_TRANSFER, "unfinished_transfer", "unfinished_transfer/both", v1::SEVERITY_NOTE},
    {v1::FILE_HINT_EMPTY, "empty_file", "empty_file/both", v1::SEVERITY_NOTE},
    {v1::FILE_HINT_EMPTY_ARCHIVE, "empty_archive", "empty_archive/both", v1::SEVERITY_NOTE},
    {v1::FILE_HINT_PARTIAL_ARCHIVE, "partial_archive", "partial_archive/both", v1::SEVERITY_WARNING, true},
    {v1::FILE_HINT_DANGLING_LINK, "dangling_link", "dangling_link/both", v1::SEVERITY_WARNING, true},
    {v1::FILE_HINT_LINK_LOOP, "link_loop", "link_loop/both", v1::SEVERITY_WARNING},
};

class KindEvaluation {
 public:
  KindEvaluation(const CheckContext& context, v1::CheckResult& result)
      : context_(context), result_(result), budget_(context, result, 500) {}

  void Pair(const DatasetPair& pair) {
    if (!RequirePair(context_, pair, result_)) return;
    for (const DatasetView& migrated : pair.migrated) {
      const DatasetView& baseline = pair.baseline[0];
      if (!baseline.is_tree && !migrated.is_tree) {
        AddMissing(context_, result_, "hints_need_a_tree", migrated.where, {{"dataset", DisplayBytes(pair.name)}});
      }
      ReportUnseenFiles(context_, baseline, result_);
      ReportUnseenFiles(context_, migrated, result_);
      counts_.clear();
      hidden_ = 0;
      unknown_ = 0;
      pages_are_data_ = IsSetOfPages(baseline) || IsSetOfPages(migrated);
      const DatasetDifference difference = CompareViews(baseline, migrated);
      for (const FilePair& file : difference.common) Common(pair.name, file, baseline.is_tree && migrated.is_tree);
      for (const FilePair& file : difference.renamed) Common(pair.name, file, baseline.is_tree && migrated.is_tree);
      // A list cannot name a broken link: such a link of the other side's folder makes no difference.
      for (const NamedFile* file : difference.missing) OneSide(*file->entry, migrated.is_tree);
      for (const NamedFile* file : difference.extra) OneSide(*file->entry, baseline.is_tree);
      ReportCounts(pair.name, migrated);
      ReportHidden(pair.name, migrated);
    }
  }

  void Finish() { budget_.Finish(); }

 private:
  static bool IsOfLink(v1::FileHint hint) {
    return hint == v1::FILE_HINT_DANGLING_LINK || hint == v1::FILE_HINT_LINK_LOOP;
  }

  void ReportHidden(const std::string& dataset, const DatasetView& migrated) {
    const MessageArgs args = {{"dataset", DisplayBytes(dataset)}, {"count", absl::StrCat(hidden_)}};
    if (hidden_ > 0) AddMissing(context_, result_, "data_not_seen", migrated.where, args);
    if (unknown_ == 0) return;
    AddMissing(context_, result_, "stand_in_not_compared", migrated.where,
               {{"dataset", DisplayBytes(dataset)}, {"count", absl::StrCat(unknown_)}});
  }

  // Files that only one side names: junk and broken links make the lists differ; what else is missing or
  // extra is no matter of kind.
  void OneSide(const v1::FileEntry& entry, bool links_count) {
    for (const HintKind& kind : kHints) {
      const bool link = IsOfLink(kind.hint);
      const bool of_name =
          kind.hint == v1::FILE_HINT_OS_JUNK || kind.hint == v1::FILE_HINT_UNFINISHED_TRANSFER || (link && links_count);
      if (of_name && HasFileHint(entry, kind.hint)) ++counts_[kind.kind];
    }
  }

  void Common(const std::string& dataset, const FilePair& pair, bool trees) {
    const v1::FileEntry& b = *pair.baseline->entry;
    const v1::FileEntry& m = *pair.migrated->entry;
    const ContentVerdict content = CompareContent(b, m);
    const bool equal = content == ContentVerdict::kEqual;
    for (const HintKind& kind : kHints) {
      const bool in_baseline = HasFileHint(b, kind.hint);
      const bool in_migrated = HasFileHint(m, kind.hint);
      if (!in_baseline && !in_migrated) continue;
      const bool link = IsOfLink(kind.hint);
      if ((in_baseline && in_migrated) || (equal && !link)) {
        budget_.Add(kind.both_severity, kind.both, pair.baseline->path(), {{"dataset", DisplayBytes(dataset)}});
        const bool page = kind.hint == v1::FILE_HINT_HTML_PAGE;
        if (kind.hides_data && !(page && pages_are_data_)) ++hidden_;
      } else if (content == ContentVerdict::kUnknown && !link) {
        ++unknown_;  // the other side may hold the same
      } else if (trees || !in_baseline) {
        ++counts_[kind.kind];
      }
    }
  }

  void ReportCounts(const std::string& dataset, const DatasetView& migrated) {
    if (counts_.empty()) return;
    const std::string text = absl::StrJoin(counts_, ", ", [](std::string* out, const auto& count) {
      absl::StrAppend(out, count.first, ": ", count.second);
    });
    v1::Finding* finding =
        budget_.Add(v1::SEVERITY_ERROR, "stand_ins", dataset,
                    {{"counts", text}, {"dataset", DisplayBytes(dataset)}, {"node", migrated.where}});
    if (finding == nullptr) return;
    for (const auto& [kind, count] : counts_) SetFact(*finding, kind, count);
  }

  const CheckContext& context_;
  v1::CheckResult& result_;
  FindingBudget budget_;
  std::map<std::string, std::int64_t> counts_;
  std::int64_t hidden_ = 0;   // stand-ins that both sides hold
  std::int64_t unknown_ = 0;  // stand-ins whose other side has no digest
  bool pages_are_data_ = false;
};

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  KindEvaluation evaluation(context, result);
  for (const DatasetPair& pair : PairDatasets(context)) evaluation.Pair(pair);
  evaluation.Finish();
}

}  // namespace

extern const Check kDatasetKind;
const Check kDatasetKind = {"data.dataset.kind", kNeeds, &Evaluate};

}  // namespace paritect
