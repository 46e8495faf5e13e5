// data.dataset.content: is the MD5 of every file equal?
// Source: pre-tuning checklist, 数据集与基准一致, step 2. Only the MD5 of the whole content makes files equal; sizes
// that differ make them unequal without it. The most particular cause that the evidence proves is told.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "checks/check.h"
#include "checks/datasets/difference.h"
#include "checks/datasets/explain.h"
#include "checks/datasets/pairs.h"
#include "checks/datasets/stand_ins.h"
#include "checks/finding_budget.h"
#include "common/digest.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_DATASET_FILES}};
constexpr int kAlgorithmFilesMin = 3;
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
    SayWhen(pair);
    for (const DatasetView& migrated : pair.migrated) {
      name_ = pair.name;
      migrated_ = &migrated;
      baseline_ = &pair.baseline[0];
      several_ = pair.migrated.size() > 1;
      unknown_ = 0;
      unhashed_ = 0;
      pages_are_data_ = IsSetOfPages(*baseline_) || IsSetOfPages(migrated);
      const DatasetDifference difference = CompareViews(*baseline_, migrated);
      const ExplainContext explain = MakeExplainContext(difference, *baseline_, migrated);
      for (const FilePair& file : difference.common) Compare(file, explain);
      for (const FilePair& file : difference.renamed) Compare(file, explain);
      for (const auto& [kept, other] : migrated.contradictions) {
        Compare({baseline_->Find(kept.path()), &other, "", ""}, explain);
      }
      for (const auto& [kept, other] : baseline_->contradictions) {
        Compare({&other, migrated.Find(kept.path()), "", ""}, explain);
      }
      UnseenFolders(*baseline_);
      UnseenFolders(migrated);
      SayDigests();
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
  // A digest of the cache is one of then: it proves nothing about a medium that went bad since.
  void SayWhen(const DatasetPair& pair) {
    SayWhen(pair.name, pair.baseline[0], Side::kBaseline);
    for (const DatasetView& view : pair.migrated) SayWhen(pair.name, view, Side::kMigrated);
  }
  void SayWhen(const std::string& name, const DatasetView& view, Side side) {
    v1::DigestSources sum;
    for (const DatasetOrigin& origin : view.origins) {
      if (!origin.list->has_digests()) continue;
      const v1::DigestSources& one = origin.list->digests();
      sum.set_files_now(sum.files_now() + one.files_now());
      sum.set_files_cached(sum.files_cached() + one.files_cached());
      sum.set_past_page_cache(sum.past_page_cache() || one.past_page_cache());
      if (one.files_cached() == 0) continue;
      const bool first = sum.oldest_unix_ms() == 0;
      sum.set_oldest_unix_ms(first ? one.oldest_unix_ms() : std::min(sum.oldest_unix_ms(), one.oldest_unix_ms()));
    }
    if (sum.files_now() + sum.files_cached() == 0) return;
    const absl::string_view id = sum.files_cached() > 0  ? "measured/digests_cached"
                                 : sum.past_page_cache() ? "measured/digests_now_media"
                                                         : "measured/digests_now";
    const std::string oldest =
        absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixMillis(sum.oldest_unix_ms()), absl::UTCTimeZone());
    v1::Finding& note = AddNote(context_, result_, id, name,
                                {{"dataset", DisplayBytes(name)},
                                 {"side", absl::StrCat(SideName(side), " ", view.where)},
                                 {"files", absl::StrCat(sum.files_now())},
                                 {"cached", absl::StrCat(sum.files_cached())},
                                 {"oldest", oldest}});
    SetFact(note, "side", SideName(side));
    SetFact(note, "hashed_now", static_cast<std::uint64_t>(sum.files_now()));
    SetFact(note, "from_cache", static_cast<std::uint64_t>(sum.files_cached()));
    if (sum.files_cached() > 0) SetFact(note, "oldest", oldest);
  }

  // Of a file that two parts hold with different content, every copy is compared.
  void Compare(const FilePair& pair, const ExplainContext& explain) {
    if (pair.baseline == nullptr || pair.migrated == nullptr) return;
    const v1::FileEntry& baseline = *pair.baseline->entry;
    const v1::FileEntry& migrated = *pair.migrated->entry;
    switch (CompareContent(baseline, migrated)) {
      case ContentVerdict::kEqual:
        CountDigests(baseline, migrated, true);
        if (StandsForData(baseline, pages_are_data_) || StandsForData(migrated, pages_are_data_)) {
          const bool page =
              HasFileHint(baseline, v1::FILE_HINT_HTML_PAGE) || HasFileHint(migrated, v1::FILE_HINT_HTML_PAGE);
          Unknown(pair.baseline->path(), page ? "stand_in_on_both_sides/page" : "stand_in_on_both_sides",
                  migrated_->where);
        }
        return;
      case ContentVerdict::kUnknown: ReportUnknown(pair); return;
      case ContentVerdict::kDiffers: CountDigests(baseline, migrated, false); return ReportDifference(pair, explain);
    }
  }

  void CountDigests(const v1::FileEntry& baseline, const v1::FileEntry& migrated, bool equal) {
    const bool b = AlternateOf(baseline, "sha256").has_value();
    const bool m = AlternateOf(migrated, "sha256").has_value();
    if (!baseline.md5().empty() && !migrated.md5().empty()) {
      only_md5_ += equal && b != m ? 1 : 0;
    } else if (b && m) {
      ++(equal ? sha256_equal_ : sha256_differs_);
    }
  }

  // What a list states beside MD5 was not looked at; and where no digest of a list fits any file, it is likelier of
  // another algorithm with as many digits.
  void SayDigests() {
    const MessageArgs args = {{"dataset", DisplayBytes(name_)}, {"count", absl::StrCat(only_md5_)}};
    if (only_md5_ > 0) AddNote(context_, result_, "sha256_not_compared", name_, args);
    if (sha256_equal_ == 0 && sha256_differs_ >= kAlgorithmFilesMin) {
      AddNote(context_, result_, "digest_algorithm_doubtful", name_,
              {{"dataset", DisplayBytes(name_)}, {"count", absl::StrCat(sha256_differs_)}});
    }
    only_md5_ = sha256_equal_ = sha256_differs_ = 0;
  }

  // What lies behind a link to a folder that was not entered was read by nobody.
  void UnseenFolders(const DatasetView& view) {
    for (const NamedFile& file : view.files) {
      if (file.entry->type() != v1::FILE_TYPE_SYMLINK || !file.entry->has_error()) continue;
      if (++unknown_ <= kUnknownShown) AddMissing(context_, result_, file.entry->error(), view.where);
    }
  }

  void ReportUnknown(const FilePair& pair) {
    const v1::FileEntry& baseline = *pair.baseline->entry;
    const v1::FileEntry& migrated = *pair.migrated->entry;
    const bool dangling_b = HasFileHint(baseline, v1::FILE_HINT_DANGLING_LINK);
    const bool dangling_m = HasFileHint(migrated, v1::FILE_HINT_DANGLING_LINK);
    if (dangling_b != dangling_m) {
      // That it dangles is a fault that data.dataset.files reports; what should be behind it was not compared.
      Unknown(pair.baseline->path(), "link_dangles", migrated_->where);
      return;
    }
    if (dangling_b) {
      Unknown(pair.baseline->path(), "link_dangles_on_both_sides", migrated_->where);
      return;
    }
    for (const auto* side : {&baseline, &migrated}) {
      const DatasetView& view = side == &baseline ? *baseline_ : *migrated_;
      if (side->has_error() && side->type() == v1::FILE_TYPE_SYMLINK) continue;  // UnseenFolders names it
      if (side->has_error()) {
        if (++unknown_ <= kUnknownShown) AddMissing(context_, result_, side->error(), view.where);
      } else if (side->md5().empty() && SayNotHashed(view)) {
        ++unhashed_;
      } else if (side->md5().empty()) {
        Unknown(pair.baseline->path(), "no_md5_stated", view.where);
      }
    }
  }

  // True: the set's content was left unread as a whole; said once.
  bool SayNotHashed(const DatasetView& view) {
    const bool names_only = std::any_of(view.origins.begin(), view.origins.end(),
                                        [](const DatasetOrigin& origin) { return IsNamesOnly(*origin.list); });
    if (names_only && unhashed_ == 0) {
      AddMissing(context_, result_, "data_not_hashed", view.where, {{"dataset", DisplayBytes(name_)}});
    }
    return names_only;
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
    v1::Finding* finding = budget_.Add(v1::SEVERITY_ERROR, why.message_id, pair.baseline->path(), why.args);
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
  bool pages_are_data_ = false;
  int unknown_ = 0;
  std::int64_t unhashed_ = 0;
  int only_md5_ = 0;
  int sha256_equal_ = 0;
  int sha256_differs_ = 0;
};

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  ContentEvaluation evaluation(context, result);
  for (const DatasetPair& pair : PairDatasets(context)) evaluation.Pair(pair);
  evaluation.Finish();
}

}  // namespace

extern const Check kDatasetContent;
const Check kDatasetContent = {"data.dataset.content", kNeeds, &Evaluate};

}  // namespace paritect
