// data.dataset.nodes: do all nodes of one side hold the same data?
// Node against node within a side; parts of one run (`part: true`) are united first and must not contradict each
// other. What most nodes hold counts as right, the others are named; of two, the first in the order given.
#include "checks/datasets/nodes.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/datasets/difference.h"
#include "checks/datasets/explain.h"
#include "checks/datasets/pairs.h"
#include "checks/finding_budget.h"
#include "common/digest.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_DATASET_FILES}};
constexpr int kUnknownShown = 20;  // files without digest that are named one by one

// "npu-01" where one run is concerned, else "npu-01 (run a)".
std::string HolderName(const DatasetView& view, bool several_runs) {
  return several_runs && view.where != view.run ? absl::StrCat(view.where, " (", view.run, ")") : view.where;
}

class NodesEvaluation {
 public:
  NodesEvaluation(const CheckContext& context, v1::CheckResult& result)
      : context_(context), result_(result), budget_(context, result) {}

  // True where several holders were compared.
  bool OneSide(Side side) {
    side_ = side;
    bool several = false;
    for (const DatasetSet& set : DatasetsOf(context_, side)) {
      name_ = set.name;
      Empty(set);
      for (const DatasetView& view : set.views) Contradictions(view);
      Silent(set);
      if (set.views.size() > 1) {
        several = true;
        Compare(set.views);
      } else if (set.views[0].origins.size() > 1) {
        several = true;
      }
    }
    return several;
  }

  void Finish() { budget_.Finish(); }

 private:
  // Nothing was seen to agree on.
  void Empty(const DatasetSet& set) {
    for (const DatasetView& view : set.views) {
      if (!view.files.empty() || !view.empty_folders.empty()) return;
    }
    AddMissing(context_, result_, "dataset_empty/side", SideName(side_), {{"dataset", DisplayBytes(set.name)}});
  }

  void Contradictions(const DatasetView& view) {
    for (const auto& [a, b] : view.contradictions) {
      const std::string nodes[] = {view.origins[static_cast<std::size_t>(a.origin)].where,
                                   view.origins[static_cast<std::size_t>(b.origin)].where};
      v1::Finding* finding = Add("content_differs/parts", a.path(), absl::StrJoin(nodes, ", "));
      if (finding != nullptr) SetFact(*finding, "nodes", absl::Span<const std::string>(nodes));
    }
  }

  // Nodes of the same run that say nothing of this data set; lists that are not whole.
  void Silent(const DatasetSet& set) {
    for (const RunView& run : context_.evidence.Runs(side_)) {
      std::set<const v1::Bundle*> holders;
      for (const DatasetView& view : set.views) {
        for (const DatasetOrigin& origin : view.origins) {
          holders.insert(&context_.evidence.bundles(side_)[static_cast<std::size_t>(origin.bundle)]);
        }
      }
      const bool any = std::any_of(run.nodes.begin(), run.nodes.end(), [&](auto* b) { return holders.contains(b); });
      for (const v1::Bundle* bundle : run.nodes) {
        if (!any || holders.contains(bundle)) continue;
        AddMissing(context_, result_, "node_without_dataset", bundle->plan().node(),
                   {{"dataset", DisplayBytes(set.name)}});
      }
    }
    for (const DatasetView& view : set.views) {
      ReportUnseenFiles(context_, view, result_);
      for (const DatasetOrigin& origin : view.origins) {
        for (const v1::Problem& problem : origin.list->incomplete())
          AddMissing(context_, result_, problem, origin.where);
        for (const v1::UnreadFolder& f : origin.list->unread_folders()) {
          AddMissing(context_, result_, f.problem(), origin.where);
        }
      }
    }
  }

  void Compare(const std::vector<DatasetView>& views) {
    const bool several_runs = std::any_of(views.begin(), views.end(), [&](auto& v) { return v.run != views[0].run; });
    std::set<std::string> paths;
    bool all_same = true;
    for (const DatasetView& view : views) all_same = all_same && SameFiles(views[0], view);
    if (all_same) return;
    std::vector<const DatasetView*> lists;  // one of those that share one
    for (const DatasetView& view : views) {
      const auto shared = [&](const DatasetView* known) { return known->files.IsSharedWith(view.files); };
      if (std::any_of(lists.begin(), lists.end(), shared)) continue;
      lists.push_back(&view);
      for (const NamedFile& file : view.files) {
        if (IsDataFile(*file.entry)) paths.insert(file.path());
      }
    }
    unknown_ = 0;
    for (const std::string& path : paths) {
      if (!AllHold(path, lists)) ComparePath(path, views, several_runs);
    }
    if (unknown_ > kUnknownShown) {
      AddMissing(context_, result_, "more_without_digest", SideName(side_),
                 {{"count", absl::StrCat(unknown_ - kUnknownShown)}, {"dataset", DisplayBytes(name_)}});
    }
  }

  // Without a digest nothing shows that this node holds the same.
  void Unknown(const NamedFile& file, const DatasetView& view) {
    if (file.entry->type() == v1::FILE_TYPE_SPECIAL || ++unknown_ > kUnknownShown) return;
    if (file.entry->has_error()) {
      AddMissing(context_, result_, file.entry->error(), view.where);
    } else {
      AddMissing(context_, result_, "no_md5_stated", view.where,
                 {{"source", DisplayBytes(file.path())}, {"dataset", DisplayBytes(name_)}});
    }
  }

  // Whether it is there with one content in all of them; a thousand nodes are few lists.
  static bool AllHold(const std::string& path, const std::vector<const DatasetView*>& lists) {
    const std::string* content = nullptr;
    for (const DatasetView* view : lists) {
      const NamedFile* file = view->Find(path);
      if (file == nullptr || file->entry->md5().empty()) return false;
      if (content != nullptr && *content != file->entry->md5()) return false;
      content = &file->entry->md5();
    }
    return true;
  }

  void ComparePath(const std::string& path, const std::vector<DatasetView>& views, bool several_runs) {
    std::map<std::string, std::vector<std::string>> holders;  // content, or "" for absent
    std::vector<std::string> order;
    for (const DatasetView& view : views) {
      const NamedFile* file = view.Find(path);
      if (file == nullptr && view.IsSilentOn(path)) continue;
      if (file != nullptr && file->entry->md5().empty()) {
        Unknown(*file, view);
        continue;
      }
      const std::string content = file == nullptr ? "" : file->entry->md5();
      if (!holders.contains(content)) order.push_back(content);
      holders[content].push_back(HolderName(view, several_runs));
    }
    if (order.size() < 2) return;
    const std::string usual = *std::max_element(order.begin(), order.end(), [&](const auto& a, const auto& b) {
      return holders[a].size() < holders[b].size();
    });
    for (const std::string& content : order) {
      if (content == usual) continue;
      const std::string id = content.empty() ? "missing/node" : usual.empty() ? "extra/node" : "content_differs/node";
      v1::Finding* finding = Add(id, path, absl::StrJoin(holders[content], ", "));
      if (finding == nullptr) continue;
      std::string& here = *(side_ == Side::kBaseline ? finding->mutable_baseline() : finding->mutable_migrated());
      here = absl::StrCat(absl::StrJoin(holders[usual], ", "), ": ", usual.empty() ? "-" : ToHex(usual), "; ",
                          absl::StrJoin(holders[content], ", "), ": ", content.empty() ? "-" : ToHex(content));
      SetFact(*finding, "nodes", absl::Span<const std::string>(holders[content]));
      SetFact(*finding, "others", absl::Span<const std::string>(holders[usual]));
    }
  }

  v1::Finding* Add(const std::string& id, absl::string_view path, const std::string& nodes) {
    v1::Finding* finding =
        budget_.Add(v1::SEVERITY_ERROR, id, path, {{"nodes", DisplayBytes(nodes)}, {"dataset", DisplayBytes(name_)}});
    if (finding != nullptr) {
      SetFact(*finding, "side", SideName(side_));
      SetFact(*finding, "dataset", name_);
    }
    return finding;
  }

  const CheckContext& context_;
  v1::CheckResult& result_;
  FindingBudget budget_;
  Side side_ = Side::kBaseline;
  std::string name_;
  int unknown_ = 0;
};

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  for (Side side : kBothSides) {
    const std::string side_name(SideName(side));
    if (!CompareDatasetNodes(context, result, side) && context.evidence.Has(side, v1::EVIDENCE_KIND_DATASET_FILES)) {
      AddNote(context, result, absl::StrCat("not_applicable/one_node_", side_name), side_name);
    }
  }
}

}  // namespace

bool CompareDatasetNodes(const CheckContext& context, v1::CheckResult& result, Side side) {
  NodesEvaluation evaluation(context, result);
  const bool several = evaluation.OneSide(side);
  evaluation.Finish();
  return several;
}

extern const Check kDatasetNodes;
const Check kDatasetNodes = {"data.dataset.nodes", kNeeds, &Evaluate};

}  // namespace paritect
