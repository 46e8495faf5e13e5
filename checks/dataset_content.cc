// data.dataset.content: is the MD5 of every file equal?
// Source: pre-tuning checklist, 数据集与基准一致, step 2. Only the MD5 of the whole content makes files equal; sizes
// that differ make them unequal without it. The most particular cause that the evidence proves is told.
#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/dataset_difference.h"
#include "checks/dataset_explain.h"
#include "checks/dataset_pairs.h"
#include "checks/finding_budget.h"
#include "common/digest.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_DATASET_FILES}};
constexpr int kUnknownShown = 20;  // files without digest that are named one by one

std::string Describe(const v1::FileEntry& entry) {
  const std::string md5 = entry.md5().empty() ? "" : absl::StrCat("md5 ", ToHex(entry.md5()));
  const std::string size = entry.has_size_bytes() ? absl::StrCat(entry.size_bytes(), " bytes") : "";
  return absl::StrCat(md5, md5.empty() || size.empty() ? "" : ", ", size);
}

class ContentEvaluation {
 public:
  ContentEvaluation(const CheckContext& context, v1::CheckResult& result)
      : context_(context), result_(result), budget_(context, result) {}

  void Pair(const DatasetPair& pair) {
    if (!RequirePair(context_, pair, result_)) return;
    for (const DatasetView& migrated : pair.migrated) {
      name_ = pair.name;
      migrated_ = &migrated;
      baseline_ = &pair.baseline[0];
      several_ = pair.migrated.size() > 1;
      unknown_ = 0;
      const DatasetDifference difference = CompareViews(*baseline_, migrated);
      const ExplainContext explain = MakeExplainContext(difference, *baseline_);
      for (const FilePair& file : difference.common) Compare(file, explain);
      for (const FilePair& file : difference.renamed) Compare(file, explain);
      const bool nothing = difference.common.empty() && difference.renamed.empty();
      if (nothing && !(baseline_->files.empty() && migrated.files.empty())) {
        AddMissing(context_, result_, "no_common_files", migrated.where, {{"dataset", DisplayBytes(name_)}});
      }
      if (unknown_ > kUnknownShown) {
        AddMissing(context_, result_, "more_without_digest", migrated.where,
                   {{"count", absl::StrCat(unknown_ - kUnknownShown)}, {"dataset", DisplayBytes(name_)}});
      }
    }
  }

  void Finish() { budget_.Finish(); }

 private:
  void Compare(const FilePair& pair, const ExplainContext& explain) {
    const v1::FileEntry& baseline = *pair.baseline->entry;
    const v1::FileEntry& migrated = *pair.migrated->entry;
    switch (CompareContent(baseline, migrated)) {
      case ContentVerdict::kEqual:
        // Two equal pointers say nothing of the data that they stand for.
        if (HasFileHint(baseline, v1::FILE_HINT_LFS_POINTER) || HasFileHint(migrated, v1::FILE_HINT_LFS_POINTER) ||
            HasFileHint(baseline, v1::FILE_HINT_LFS_POINTER_DAMAGED)) {
          Unknown(pair.baseline->path, "stand_in_on_both_sides", migrated_->where);
        }
        return;
      case ContentVerdict::kUnknown: ReportUnknown(pair); return;
      case ContentVerdict::kDiffers: ReportDifference(pair, explain); return;
    }
  }

  void ReportUnknown(const FilePair& pair) {
    const v1::FileEntry& baseline = *pair.baseline->entry;
    const v1::FileEntry& migrated = *pair.migrated->entry;
    const bool dangling_b = HasFileHint(baseline, v1::FILE_HINT_DANGLING_LINK);
    const bool dangling_m = HasFileHint(migrated, v1::FILE_HINT_DANGLING_LINK);
    if (dangling_b != dangling_m) return;  // data.dataset.files reports it
    if (dangling_b) {
      Unknown(pair.baseline->path, "link_dangles_on_both_sides", migrated_->where);
      return;
    }
    for (const auto* side : {&baseline, &migrated}) {
      const DatasetView& view = side == &baseline ? *baseline_ : *migrated_;
      if (side->has_error()) {
        if (++unknown_ <= kUnknownShown) AddMissing(context_, result_, side->error(), view.where);
      } else if (side->md5().empty()) {
        Unknown(pair.baseline->path, "no_md5_stated", view.where);
      }
    }
  }

  void Unknown(absl::string_view path, absl::string_view id, absl::string_view from) {
    if (++unknown_ > kUnknownShown) return;
    AddMissing(context_, result_, id, from, {{"source", DisplayBytes(path)}, {"dataset", DisplayBytes(name_)}});
  }

  void ReportDifference(const FilePair& pair, const ExplainContext& explain) {
    const v1::FileEntry& baseline = *pair.baseline->entry;
    const v1::FileEntry& migrated = *pair.migrated->entry;
    Explanation why = ExplainContent(pair, explain);
    for (auto& [name, value] : why.args) value = DisplayBytes(value);
    why.args.emplace_back("dataset", DisplayBytes(name_));
    v1::Finding* finding = budget_.Add(v1::SEVERITY_ERROR, why.message_id, pair.baseline->path, why.args);
    if (finding == nullptr) return;
    finding->set_baseline(Describe(baseline));
    finding->set_migrated(Describe(migrated));
    if (baseline.has_size_bytes())
      SetFact(*finding, "baseline_size", static_cast<std::uint64_t>(baseline.size_bytes()));
    if (migrated.has_size_bytes())
      SetFact(*finding, "migrated_size", static_cast<std::uint64_t>(migrated.size_bytes()));
    if (!baseline.md5().empty()) SetFact(*finding, "baseline_md5", ToHex(baseline.md5()));
    if (!migrated.md5().empty()) SetFact(*finding, "migrated_md5", ToHex(migrated.md5()));
    for (const char* fact : {"at", "end"}) {
      for (const auto& [name, value] : why.args) {
        if (name == fact) SetFact(*finding, fact, value);
      }
    }
    SetFact(*finding, "dataset", name_);
    if (several_) SetFact(*finding, "node", migrated_->where);
    finding->add_evidence(absl::StrCat(baseline_->where, ": ", DisplayBytes(baseline_->origins[0].source)));
    finding->add_evidence(absl::StrCat(migrated_->where, ": ", DisplayBytes(migrated_->origins[0].source)));
  }

  const CheckContext& context_;
  v1::CheckResult& result_;
  FindingBudget budget_;
  std::string name_;
  const DatasetView* baseline_ = nullptr;
  const DatasetView* migrated_ = nullptr;
  bool several_ = false;
  int unknown_ = 0;
};

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  ContentEvaluation evaluation(context, result);
  for (const DatasetPair& pair : PairDatasets(context.evidence)) evaluation.Pair(pair);
  evaluation.Finish();
}

}  // namespace

extern const Check kDatasetContent;
const Check kDatasetContent = {"data.dataset.content", kNeeds, &Evaluate};

}  // namespace paritect
