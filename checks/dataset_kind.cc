// data.dataset.kind: are there no stand-ins, junk, empty or half files?
// Those that make the sides differ are findings of `files` and `content`, where each stands with its name; here
// they are counted. Those that both sides hold alike make no difference between the sides, but are worth knowing.
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/check.h"
#include "checks/dataset_difference.h"
#include "checks/dataset_explain.h"
#include "checks/dataset_pairs.h"
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
};

constexpr HintKind kHints[] = {
    {v1::FILE_HINT_LFS_POINTER, "lfs_pointer", "lfs_pointer/both", v1::SEVERITY_WARNING},
    {v1::FILE_HINT_LFS_POINTER_DAMAGED, "lfs_pointer_damaged", "lfs_pointer_damaged/both", v1::SEVERITY_WARNING},
    {v1::FILE_HINT_HTML_PAGE, "html_page", "html_page/both", v1::SEVERITY_NOTE},
    {v1::FILE_HINT_OS_JUNK, "os_junk", "os_junk/both", v1::SEVERITY_NOTE},
    {v1::FILE_HINT_UNFINISHED_TRANSFER, "unfinished_transfer", "unfinished_transfer/both", v1::SEVERITY_NOTE},
    {v1::FILE_HINT_EMPTY, "empty_file", "empty_file/both", v1::SEVERITY_NOTE},
    {v1::FILE_HINT_EMPTY_ARCHIVE, "empty_archive", "empty_archive/both", v1::SEVERITY_NOTE},
    {v1::FILE_HINT_PARTIAL_ARCHIVE, "partial_archive", "partial_archive/both", v1::SEVERITY_WARNING},
    {v1::FILE_HINT_DANGLING_LINK, "dangling_link", "dangling_link/both", v1::SEVERITY_WARNING},
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
      counts_.clear();
      const DatasetDifference difference = CompareViews(baseline, migrated);
      for (const FilePair& file : difference.common) Common(pair.name, file, baseline.is_tree && migrated.is_tree);
      for (const FilePair& file : difference.renamed) Common(pair.name, file, baseline.is_tree && migrated.is_tree);
      for (const auto* files : {&difference.missing, &difference.extra}) {
        for (const NamedFile* file : *files) OneSide(*file->entry);
      }
      ReportCounts(pair.name, migrated);
    }
  }

  void Finish() { budget_.Finish(); }

 private:
  // Files that only one side names: junk and broken links make the lists differ; what else is missing or
  // extra is no matter of kind.
  void OneSide(const v1::FileEntry& entry) {
    for (const HintKind& kind : kHints) {
      const bool of_name = kind.hint == v1::FILE_HINT_OS_JUNK || kind.hint == v1::FILE_HINT_UNFINISHED_TRANSFER ||
                           kind.hint == v1::FILE_HINT_DANGLING_LINK || kind.hint == v1::FILE_HINT_LINK_LOOP;
      if (of_name && HasFileHint(entry, kind.hint)) ++counts_[kind.kind];
    }
  }

  void Common(const std::string& dataset, const FilePair& pair, bool trees) {
    const v1::FileEntry& b = *pair.baseline->entry;
    const v1::FileEntry& m = *pair.migrated->entry;
    const bool equal = CompareContent(b, m) == ContentVerdict::kEqual;
    for (const HintKind& kind : kHints) {
      const bool in_baseline = HasFileHint(b, kind.hint);
      const bool in_migrated = HasFileHint(m, kind.hint);
      if (!in_baseline && !in_migrated) continue;
      const bool link = kind.hint == v1::FILE_HINT_DANGLING_LINK || kind.hint == v1::FILE_HINT_LINK_LOOP;
      if ((in_baseline && in_migrated) || (equal && !link)) {
        budget_.Add(kind.both_severity, kind.both, pair.baseline->path, {{"dataset", DisplayBytes(dataset)}});
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
        budget_.Add(v1::SEVERITY_WARNING, "stand_ins", dataset,
                    {{"counts", text}, {"dataset", DisplayBytes(dataset)}, {"node", migrated.where}});
    if (finding == nullptr) return;
    for (const auto& [kind, count] : counts_) SetFact(*finding, kind, count);
  }

  const CheckContext& context_;
  v1::CheckResult& result_;
  FindingBudget budget_;
  std::map<std::string, std::int64_t> counts_;
};

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  KindEvaluation evaluation(context, result);
  for (const DatasetPair& pair : PairDatasets(context.evidence)) evaluation.Pair(pair);
  evaluation.Finish();
}

}  // namespace

extern const Check kDatasetKind;
const Check kDatasetKind = {"data.dataset.kind", kNeeds, &Evaluate};

}  // namespace paritect
