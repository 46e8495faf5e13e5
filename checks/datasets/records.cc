// data.dataset.records: are record counts of known formats equal, and is their framing whole?
// Source: pre-tuning checklist, 数据集与基准一致 (数据集不完整): a copy can be equal to a baseline that is damaged
// itself. Files are looked at where the audit asks for it (checks/datasets/follow_up.h); what nobody looked at never
// passes.
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "checks/check.h"
#include "checks/datasets/difference.h"
#include "checks/datasets/explain.h"
#include "checks/datasets/pairs.h"
#include "checks/finding_budget.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_DATASET_FILES}};
constexpr int kProblemsShown = 20;

// Known by their text: what looks wrong may be another dialect, as long as both sides hold the same.
bool IsTextForm(absl::string_view format) {
  return format == "jsonl" || format == "json" || format == "csv" || format == "text";
}

class RecordsEvaluation {
 public:
  RecordsEvaluation(const CheckContext& context, v1::CheckResult& result)
      : context_(context), result_(result), budget_(context, result) {}

  void Pair(const DatasetPair& pair) {
    if (!RequirePair(context_, pair, result_)) return;
    for (const DatasetView& migrated : pair.migrated) {
      dataset_ = pair.name;
      baseline_ = &pair.baseline[0];
      migrated_ = &migrated;
      totals_ = Totals();
      ReportUnseenFiles(context_, *baseline_, result_);
      ReportUnseenFiles(context_, migrated, result_);
      const DatasetDifference difference = CompareViews(*baseline_, migrated);
      for (const FilePair& file : difference.common) Compare(file);
      for (const FilePair& file : difference.renamed) Compare(file);
      Summarise();
    }
  }

  void Finish() { budget_.Finish(); }

 private:
  struct Totals {
    std::int64_t whole = 0;  // files followed to their end
    std::uint64_t records = 0;
    std::int64_t single = 0;  // one file, one sample
    std::int64_t texts = 0;   // files of lines, followed to their end
    std::uint64_t lines = 0;
    std::int64_t stand_ins = 0;
    std::int64_t unknown = 0;  // of no known form
    std::int64_t partly = 0;
    std::int64_t unseen = 0;  // nobody looked
    std::int64_t problems = 0;
  };

  static bool HasContent(const v1::FileEntry& entry) {
    if (!IsDataFile(entry) || entry.type() == v1::FILE_TYPE_SPECIAL) return false;
    for (v1::FileHint hint : {v1::FILE_HINT_EMPTY, v1::FILE_HINT_LFS_POINTER, v1::FILE_HINT_LFS_POINTER_DAMAGED,
                              v1::FILE_HINT_HTML_PAGE, v1::FILE_HINT_OS_JUNK}) {
      if (HasFileHint(entry, hint)) return false;  // of data.dataset.kind
    }
    return !entry.has_size_bytes() || entry.size_bytes() > 0;
  }

  // What should be there instead has records that nobody saw.
  static bool IsStandIn(const v1::FileEntry& entry) {
    return HasFileHint(entry, v1::FILE_HINT_LFS_POINTER) || HasFileHint(entry, v1::FILE_HINT_LFS_POINTER_DAMAGED) ||
           HasFileHint(entry, v1::FILE_HINT_HTML_PAGE);
  }

  void Compare(const FilePair& pair) {
    const v1::FileEntry& b = *pair.baseline->entry;
    const v1::FileEntry& m = *pair.migrated->entry;
    if (IsStandIn(b) || IsStandIn(m)) return ReportStandIn(pair, IsStandIn(m) ? *migrated_ : *baseline_);
    if (b.has_error() || m.has_error() || !HasContent(b) || !HasContent(m)) return;  // an error was told above
    const ContentVerdict content = CompareContent(b, m);
    if (content == ContentVerdict::kEqual) {
      const v1::FileEntry& seen = m.has_record_look() ? m : b;
      Look(pair, seen, absl::StrCat(baseline_->where, ", ", migrated_->where), true);
      return;
    }
    Look(pair, b, baseline_->where, false);
    // One file, whichever side nobody looked at.
    if (b.has_record_look() || m.has_record_look()) Look(pair, m, migrated_->where, false);
    const bool lines = b.record_look().format() == "text" || m.record_look().format() == "text";
    if (b.has_records() && m.has_records() && b.records() != m.records() && !lines) ReportCounts(pair, b, m);
  }

  void ReportStandIn(const FilePair& pair, const DatasetView& view) {
    if (++totals_.stand_ins > kProblemsShown) return;
    AddMissing(context_, result_, "records_of_stand_in", view.where, {{"source", DisplayBytes(pair.baseline->path())}});
  }

  // The data beside a Megatron index: whoever followed the index compared its size with what the index states.
  bool IsIndexed(const FilePair& pair) const {
    absl::string_view stem = pair.migrated->path();
    if (!absl::ConsumeSuffix(&stem, ".bin")) return false;
    for (const DatasetView* view : {migrated_, baseline_}) {
      const NamedFile* index = view->Find(absl::StrCat(stem, ".idx"));
      const bool followed = index != nullptr && index->entry->record_look().format() == "megatron-idx";
      if (followed && index->entry->record_look().whole()) return true;
    }
    return false;
  }

  void Look(const FilePair& pair, const v1::FileEntry& entry, const std::string& where, bool on_both) {
    const v1::RecordLook& look = entry.record_look();
    if (!entry.has_record_look()) {
      // A list may state the number; whether the framing is whole it cannot.
      ++totals_.unseen;
    } else if (look.has_damage()) {
      ReportDamage(pair, entry, where, on_both);
    } else if (look.has_not_looked()) {
      if (++totals_.problems <= kProblemsShown) AddMissing(context_, result_, look.not_looked(), where);
    } else if (look.format().empty()) {
      if (!IsIndexed(pair)) ++totals_.unknown;
    } else if (look.format() == "single") {
      ++totals_.single;
    } else if (look.format() == "text" && look.whole()) {
      ++totals_.texts;
      totals_.lines += entry.records();
    } else if (!look.whole()) {
      ++totals_.partly;
    } else {
      ++totals_.whole;
      totals_.records += entry.records();
    }
  }

  void ReportDamage(const FilePair& pair, const v1::FileEntry& entry, const std::string& where, bool on_both) {
    const v1::Problem& damage = entry.record_look().damage();
    MessageArgs args(damage.args().begin(), damage.args().end());
    args.emplace_back("where", DisplayBytes(where));
    args.emplace_back("dataset", DisplayBytes(dataset_));
    const bool soft = on_both && (IsTextForm(entry.record_look().format()) || damage.id() == "record_damaged/no_end");
    v1::Finding* finding =
        budget_.Add(soft ? v1::SEVERITY_WARNING : v1::SEVERITY_ERROR, damage.id(), pair.baseline->path(), args);
    if (finding == nullptr) return;
    SetFact(*finding, "dataset", dataset_);
    SetFact(*finding, "format", entry.record_look().format());
    for (const char* fact : {"at", "stated", "found"}) {
      auto it = damage.args().find(fact);
      if (it != damage.args().end()) SetFact(*finding, fact, it->second);
    }
    finding->add_evidence(DisplayBytes(where));
  }

  void ReportCounts(const FilePair& pair, const v1::FileEntry& b, const v1::FileEntry& m) {
    v1::Finding* finding = budget_.Add(v1::SEVERITY_ERROR, "record_count_differs", pair.baseline->path(),
                                       {{"baseline", absl::StrCat(b.records())},
                                        {"migrated", absl::StrCat(m.records())},
                                        {"dataset", DisplayBytes(dataset_)}});
    if (finding == nullptr) return;
    finding->set_baseline(absl::StrCat(b.records(), " records"));
    finding->set_migrated(absl::StrCat(m.records(), " records"));
    SetFact(*finding, "dataset", dataset_);
    SetFact(*finding, "baseline_records", static_cast<std::uint64_t>(b.records()));
    SetFact(*finding, "migrated_records", static_cast<std::uint64_t>(m.records()));
  }

  void Summarise() {
    const auto Missing = [&](absl::string_view id, std::int64_t count) {
      if (count <= 0) return;
      AddMissing(context_, result_, id, migrated_->where,
                 {{"count", absl::StrCat(count)}, {"dataset", DisplayBytes(dataset_)}});
    };
    Missing("records_not_looked", totals_.unseen + std::max<std::int64_t>(0, totals_.problems - kProblemsShown));
    Missing("records_of_more_stand_ins", totals_.stand_ins - kProblemsShown);
    Missing("records_unknown_format", totals_.unknown);
    Missing("records_partly_checked", totals_.partly);
    if (totals_.whole > 0) {
      v1::Finding& note = AddNote(context_, result_, "measured/dataset_records", dataset_,
                                  {{"files", absl::StrCat(totals_.whole)},
                                   {"records", absl::StrCat(totals_.records)},
                                   {"dataset", DisplayBytes(dataset_)}});
      SetFact(note, "files", totals_.whole);
      SetFact(note, "records", totals_.records);
    }
    if (totals_.texts > 0) {
      v1::Finding& note = AddNote(context_, result_, "measured/dataset_lines", dataset_,
                                  {{"files", absl::StrCat(totals_.texts)},
                                   {"lines", absl::StrCat(totals_.lines)},
                                   {"dataset", DisplayBytes(dataset_)}});
      SetFact(note, "files", totals_.texts);
      SetFact(note, "lines", totals_.lines);
    }
    if (totals_.whole == 0 && totals_.texts == 0 && totals_.single > 0) {
      AddNote(context_, result_, "not_applicable/no_records", dataset_,
              {{"count", absl::StrCat(totals_.single)}, {"dataset", DisplayBytes(dataset_)}});
    }
  }

  const CheckContext& context_;
  v1::CheckResult& result_;
  FindingBudget budget_;
  std::string dataset_;
  const DatasetView* baseline_ = nullptr;
  const DatasetView* migrated_ = nullptr;
  Totals totals_;
};

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  RecordsEvaluation evaluation(context, result);
  for (const DatasetPair& pair : PairDatasets(context)) evaluation.Pair(pair);
  evaluation.Finish();
}

}  // namespace

extern const Check kDatasetRecords;
const Check kDatasetRecords = {"data.dataset.records", kNeeds, &Evaluate};

}  // namespace paritect
