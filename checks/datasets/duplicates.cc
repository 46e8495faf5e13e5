// data.dataset.duplicates: is the same content there under several names (always a note)?
// Also across data sets: a file of the training set that is in the validation set as well flatters the result.
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/check.h"
#include "checks/datasets/difference.h"
#include "checks/datasets/pairs.h"
#include "checks/finding_budget.h"
#include "common/digest.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_DATASET_FILES}};
constexpr int kGroupsShown = 200;
constexpr std::size_t kNamesShown = 10;

struct Name {
  std::string dataset;
  std::string path;
};

// Contents with the names that hold them, of the reference view of each data set of a side.
using Groups = std::map<std::string, std::vector<Name>>;

Groups ContentsOf(const EvidenceSet& evidence, Side side, std::int64_t& without_md5) {
  Groups groups;
  for (const DatasetSet& set : DatasetsOf(evidence, side)) {
    for (const NamedFile& file : set.views.front().files) {
      const v1::FileEntry& entry = *file.entry;
      const bool empty = HasFileHint(entry, v1::FILE_HINT_EMPTY) || (entry.has_size_bytes() && entry.size_bytes() == 0);
      if (!IsDataFile(entry) || empty || entry.type() == v1::FILE_TYPE_SPECIAL) continue;
      if (entry.md5().empty()) {
        ++without_md5;
      } else {
        groups[entry.md5()].push_back({set.name, file.path()});
      }
    }
  }
  return groups;
}

// A data set without a file shows no duplicate, and says nothing; nor do folders that could not be read, or a list that
// is cut.
void ReportUnseen(const CheckContext& context, v1::CheckResult& result, Side side) {
  for (const DatasetSet& set : DatasetsOf(context, side)) {
    ReportIncomplete(context, set.views.front(), result);
    ReportUnseenFiles(context, set.views.front(), result);
    if (set.views.front().files.empty()) {
      AddMissing(context, result, "dataset_empty/side", SideName(side), {{"dataset", DisplayBytes(set.name)}});
    }
  }
}

void Report(const CheckContext& context, const std::string& md5, const std::vector<Name>& names, Side side,
            FindingBudget& budget) {
  const bool across =
      std::any_of(names.begin(), names.end(), [&](const Name& n) { return n.dataset != names[0].dataset; });
  std::vector<std::string> shown;
  for (const Name& name : names) {
    if (shown.size() < kNamesShown)
      shown.push_back(absl::StrCat(across ? DisplayBytes(name.dataset) + ":" : "", DisplayBytes(name.path)));
  }
  v1::Finding* finding =
      budget.Add(v1::SEVERITY_NOTE, across ? "duplicate_content/across" : "duplicate_content", names[0].path,
                 {{"count", absl::StrCat(names.size())},
                  {"names", absl::StrJoin(shown, ", ")},
                  {"dataset", DisplayBytes(names[0].dataset)}});
  if (finding == nullptr) return;
  SetFact(*finding, "md5", ToHex(md5));
  SetFact(*finding, "names", absl::Span<const std::string>(shown));
  SetFact(*finding, "count", static_cast<std::uint64_t>(names.size()));
  SetFact(*finding, "side", SideName(side));
  (void)context;
}

bool SameNames(const std::vector<Name>& a, const std::vector<Name>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Name& x, const Name& y) { return x.dataset == y.dataset && x.path == y.path; });
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  FindingBudget budget(context, result, kGroupsShown);
  Groups sides[2];
  for (Side side : kBothSides) {
    std::int64_t without_md5 = 0;
    sides[static_cast<int>(side)] = ContentsOf(context.evidence, side, without_md5);
    if (context.evidence.Has(side, v1::EVIDENCE_KIND_DATASET_FILES)) ReportUnseen(context, result, side);
    if (without_md5 > 0) {
      AddMissing(context, result, "files_without_digest", SideName(side), {{"count", absl::StrCat(without_md5)}});
    }
  }
  for (Side side : kBothSides) {
    const Groups& other = sides[side == Side::kBaseline ? 1 : 0];
    for (const auto& [md5, names] : sides[static_cast<int>(side)]) {
      if (names.size() < 2) continue;
      auto it = other.find(md5);
      // The same group on both sides is told once.
      if (side == Side::kMigrated && it != other.end() && SameNames(names, it->second)) continue;
      Report(context, md5, names, side, budget);
    }
  }
  budget.Finish();
}

}  // namespace

extern const Check kDatasetDuplicates;
const Check kDatasetDuplicates = {"data.dataset.duplicates", kNeeds, &Evaluate};

}  // namespace paritect
