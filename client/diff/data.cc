// diff data A B: two data sets as a tree of folders, each with what differs below it. A, B: a folder (of data, or of a
// run that holds some), a list, a plan or an evidence bundle.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/collect.h"
#include "agent/datasets/digest_cache.h"
#include "agent/datasets/follow_up.h"
#include "checks/datasets/follow_up.h"
#include "client/diff/dataset_comparison.h"
#include "client/diff/dataset_lists.h"
#include "client/diff/diff_kind.h"
#include "client/diff/diff_side.h"
#include "client/manifest/progress.h"
#include "client/plan/side_input.h"
#include "client/render/table_writer.h"
#include "client/report/json.h"
#include "client/report/offline_audit.h"
#include "client/report/reading.h"
#include "common/document.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/bundle.h"
#include "report/summary.h"
#include "report/view.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr std::size_t kHeadBytes = 1 << 20;
constexpr std::size_t kFilesShown = 20;  // of one folder, without --all

struct DataSide {
  std::vector<v1::Bundle> bundles;  // at least one; of a run or an audit one a node
  bool here = true;                 // its files can be read on this machine
};

// A plan names data sets; everything else of it is not collected.
absl::StatusOr<bool> IsPlan(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const FileInfo info, fs.Stat(path));
  if (info.type == FileInfo::Type::kDirectory) return fs.Stat(JoinPath(path, "plan.yaml")).ok();
  if (info.size_bytes > kHeadBytes) return false;
  PARITECT_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(fs, path, kHeadBytes));
  if (LooksLikeBundle(text)) return false;
  const auto root = ParseDocument(text);
  if (!root.ok() || !root->is_map()) return BaseName(path) == "plan.yaml";
  const DocumentNode* datasets = root->Find("datasets");
  return BaseName(path) == "plan.yaml" || (datasets != nullptr && datasets->is_list() && !datasets->items.empty() &&
                                           datasets->items[0].Find("name") != nullptr);
}

absl::StatusOr<v1::Bundle> CollectDatasets(CommandEnv& env, const v1::Plan& whole) {
  v1::Plan plan;
  *plan.mutable_info() = whole.info();
  plan.set_base(whole.base());
  *plan.mutable_datasets() = whole.datasets();
  PARITECT_RETURN_IF_ERROR(CheckPlanPaths(env.fs, plan));
  return CollectPlan(Reading(env, {}, plan).env(), plan);
}

// A folder or a list that no plan names.
absl::StatusOr<v1::FileList> ReadBare(CommandEnv& env, const std::string& path) {
  ManifestProgress bar(env, "auto");
  const std::unique_ptr<DigestCache> cache =
      DigestCache::Open({.folder = UserCacheFolder(env.getenv("XDG_CACHE_HOME"), env.getenv("HOME"))});
  HashOptions hash;
  hash.cache = cache.get();
  hash.progress = [&bar](const HashProgress& now) { bar.Show(now); };
  auto list = ReadDatasetAny(env, path, {}, hash);
  bar.Clear();
  return list;
}

absl::StatusOr<bool> IsBundleFile(FileSystem& fs, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const FileInfo info, fs.Stat(path));
  if (info.type != FileInfo::Type::kRegular) return false;
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<File> file, fs.Open(path));
  char head[8];
  PARITECT_ASSIGN_OR_RETURN(const std::size_t n, file->Read(absl::MakeSpan(head)));
  return LooksLikeBundle(absl::string_view(head, n));
}

absl::StatusOr<DataSide> LoadSide(CommandEnv& env, const std::string& path) {
  DataSide side;
  if (!env.fs.Stat(path).ok()) {
    PARITECT_ASSIGN_OR_RETURN(side.bundles, LoadServerSide(env, path, "give a folder, a list, a plan or a bundle"));
    side.here = false;
    return side;
  }
  PARITECT_ASSIGN_OR_RETURN(const bool bundle, IsBundleFile(env.fs, path));
  if (bundle) {
    PARITECT_ASSIGN_OR_RETURN(*side.bundles.insert(side.bundles.end(), v1::Bundle()), LoadSidePlan(env, path));
    side.here = false;
    return side;
  }
  PARITECT_ASSIGN_OR_RETURN(const bool plan, IsPlan(env.fs, path));
  if (plan) {
    PARITECT_ASSIGN_OR_RETURN(const v1::Plan named, LoadPlan(env.fs, path, env.host_name));
    PARITECT_ASSIGN_OR_RETURN(*side.bundles.insert(side.bundles.end(), v1::Bundle()), CollectDatasets(env, named));
    return side;
  }
  // A run's folder stands for its data sets, not for its logs and scripts.
  const std::optional<v1::Plan> drafted = DraftOfRun(env, path);
  if (drafted.has_value() && drafted->datasets_size() > 0) {
    PARITECT_ASSIGN_OR_RETURN(*side.bundles.insert(side.bundles.end(), v1::Bundle()), CollectDatasets(env, *drafted));
    return side;
  }
  PARITECT_ASSIGN_OR_RETURN(v1::FileList list, ReadBare(env, path));
  v1::Bundle& bundle_of_path = side.bundles.emplace_back();
  bundle_of_path.mutable_plan()->set_run(DisplayBytes(path));
  bundle_of_path.mutable_plan()->set_node(DisplayBytes(path));
  bundle_of_path.mutable_plan()->set_role(v1::ROLE_RUN);
  v1::Evidence& evidence = *bundle_of_path.add_evidence();
  evidence.set_kind(v1::EVIDENCE_KIND_DATASET_FILES);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.set_source(path);
  *evidence.mutable_files() = std::move(list);
  return side;
}

std::vector<v1::Evidence*> ListsOf(std::vector<v1::Bundle>& bundles) {
  std::vector<v1::Evidence*> lists;
  for (v1::Bundle& bundle : bundles) {
    for (v1::Evidence& one : *bundle.mutable_evidence()) {
      if (one.kind() == v1::EVIDENCE_KIND_DATASET_FILES && one.has_files()) lists.push_back(&one);
    }
  }
  return lists;
}

// A folder or a list has no name: against a plan with one data set it is that one.
void NameAlike(std::vector<v1::Bundle>& from, std::vector<v1::Bundle>& to) {
  const auto named = ListsOf(from);
  const auto unnamed = ListsOf(to);
  if (named.empty() || unnamed.size() != 1 || !unnamed[0]->files().dataset().empty()) return;
  const std::string& name = named[0]->files().dataset();
  const bool one_name = std::all_of(named.begin(), named.end(), [&](auto* e) { return e->files().dataset() == name; });
  if (one_name) unnamed[0]->mutable_files()->set_dataset(name);
}

bool HasTree(std::vector<v1::Bundle>& bundles) {
  const std::vector<v1::Evidence*> lists = ListsOf(bundles);
  return std::any_of(lists.begin(), lists.end(),
                     [](const v1::Evidence* one) { return one->files().format() == "tree"; });
}

// What keeps equal from being known. A list never names what stands behind a folder link: `links` says
// whether those count.
void AddGaps(CommandEnv& env, const v1::Bundle& bundle, bool links, std::vector<v1::Text>& gaps) {
  for (const v1::Evidence& one : bundle.evidence()) {
    if (one.kind() != v1::EVIDENCE_KIND_DATASET_FILES) continue;
    if (one.outcome() != v1::OUTCOME_COLLECTED) {
      MessageArgs args;
      for (const auto& [name, value] : one.problem().args()) args.emplace_back(name, DisplayBytes(value));
      gaps.push_back(env.rules.messages.Say(one.problem().id(), args));
      continue;
    }
    for (const ListGap& gap : GapsOf(env, one.files())) {
      if (links || gap.id != "folder_link_not_entered") gaps.push_back(gap.text);
    }
  }
}

struct Counts {
  std::size_t equal = 0;
  std::map<std::string, std::size_t> kinds;

  std::size_t different() const {
    std::size_t sum = 0;
    for (const auto& [kind, count] : kinds) sum += count;
    return sum;
  }
};

// Counts of every folder above a file, the set itself under "".
std::map<std::string, Counts> FoldersOf(const DatasetComparison& one) {
  std::map<std::string, Counts> folders;
  const auto Above = [&](const std::string& path, const std::string& kind) {
    for (auto slash = path.rfind('/');; slash = path.rfind('/', slash - 1)) {
      const bool root = slash == std::string::npos;
      Counts& counts = folders[root ? "" : path.substr(0, slash)];
      ++(kind.empty() ? counts.equal : counts.kinds[kind]);
      if (root || slash == 0) break;
    }
  };
  for (const std::string& path : one.equal) Above(path, "");
  for (const FileDifference& difference : one.differences) Above(difference.path, difference.kind);
  return folders;
}

OrderedJson CountsJson(const Counts& counts) {
  OrderedJson json = {{"equal", counts.equal}, {"different", counts.different()}};
  for (const auto& [kind, count] : counts.kinds) json["kinds"][kind] = count;
  return json;
}

OrderedJson DifferenceJson(const FileDifference& one) {
  OrderedJson json = {{"path", DisplayBytes(one.path)}, {"kind", one.kind}};
  if (!one.other.empty()) json["other"] = DisplayBytes(one.other);
  if (one.a_size) json["a_size"] = *one.a_size;
  if (one.b_size) json["b_size"] = *one.b_size;
  if (!one.message.en().empty()) json["message"] = {{"en", one.message.en()}, {"zh", one.message.zh()}};
  return json;
}

OrderedJson ToJson(const DiffRequest& request, const std::vector<DatasetComparison>& sets,
                   const std::vector<v1::Text>& gaps, bool equal) {
  OrderedJson json = {{"schema", "paritect.diff/1"},  {"kind", "data"}, {"a", DisplayBytes(request.a)},
                      {"b", DisplayBytes(request.b)}, {"equal", equal}, {"datasets", OrderedJson::array()}};
  for (const DatasetComparison& one : sets) {
    OrderedJson set = {{"name", DisplayBytes(one.name)}, {"incomplete", one.incomplete}};
    if (one.only_a || one.only_b) set["only"] = one.only_a ? "a" : "b";
    const std::map<std::string, Counts> folders = FoldersOf(one);
    const auto root = folders.find("");
    set["counts"] = CountsJson(root == folders.end() ? Counts() : root->second);
    set["folders"] = OrderedJson::array();
    for (const auto& [path, counts] : folders) {
      if (path.empty() || (counts.kinds.empty() && !request.all)) continue;
      OrderedJson folder = CountsJson(counts);
      folder["path"] = DisplayBytes(path);
      set["folders"].push_back(std::move(folder));
    }
    set["differences"] = OrderedJson::array();
    for (const FileDifference& difference : one.differences) set["differences"].push_back(DifferenceJson(difference));
    json["datasets"].push_back(std::move(set));
  }
  json["unread"] = OrderedJson::array();
  for (const v1::Text& gap : gaps) json["unread"].push_back(gap.en());
  return json;
}

class Tree {
 public:
  Tree(CommandEnv& env, const DiffRequest& request)
      : rules_(env.rules), request_(request), w_(request.render, env.out) {}

  void Print(const DatasetComparison& one) {
    const std::map<std::string, Counts> folders = FoldersOf(one);
    const auto root = folders.find("");
    const Counts counts = root == folders.end() ? Counts() : root->second;
    w_.Heading(one.name.empty() ? DisplayBytes(request_.a) : DisplayBytes(one.name));
    if (one.only_a || one.only_b) {
      w_.Wrapped(2, "", Say(one.only_a ? "ui_diff_data_only_a" : "ui_diff_data_only_b"), Style::kRed);
      return;
    }
    std::map<std::string, std::vector<const FileDifference*>> files;
    for (const FileDifference& difference : one.differences) {
      const absl::string_view folder = DirName(difference.path);
      files[folder == "." ? "" : std::string(folder)].push_back(&difference);
    }
    for (const auto& [path, folder] : folders) {
      if (folder.kinds.empty() && !request_.all) continue;
      Folder(path, folder);
      auto found = files.find(path);
      if (found != files.end()) Files(DepthOf(path) + 1, found->second);
    }
    w_.Line();
    if (one.incomplete) w_.Wrapped(0, "", Say("ui_diff_data_incomplete"), Style::kYellow);
    w_.Wrapped(
        0, "",
        Say(counts.kinds.empty() ? "ui_diff_data_all_equal" : "ui_diff_data_counts",
            {{"equal", StrCat(counts.equal)}, {"different", StrCat(counts.different())}, {"kinds", InWords(counts)}}));
  }

  void Gap(const v1::Text& text) {
    w_.WrappedText(0, StrCat(Say("ui_diff_unread"), LabelColon(request_.render.languages[0])), text, Style::kYellow);
  }

 private:
  std::string Say(absl::string_view id, const MessageArgs& args = {}) const {
    return InAll(request_.render.languages, rules_.messages.Say(id, args));
  }
  std::string KindInWords(const std::string& kind) const {
    const std::string id = StrCat("ui_file_kind/", kind);
    return rules_.messages.Has(id) ? Say(id) : kind;
  }
  absl::string_view Comma() const { return request_.render.languages[0] == Language::kChinese ? "，" : ", "; }

  std::string InWords(const Counts& counts) const {
    return absl::StrJoin(counts.kinds, Comma(), [this](std::string* out, const auto& kind) {
      absl::StrAppend(out,
                      Say("ui_diff_data_kind", {{"count", StrCat(kind.second)}, {"kind", KindInWords(kind.first)}}));
    });
  }
  static int DepthOf(const std::string& path) {
    return path.empty() ? 0 : 1 + static_cast<int>(std::count(path.begin(), path.end(), '/'));
  }

  void Folder(const std::string& path, const Counts& counts) {
    const std::string name = path.empty() ? "." : StrCat(BaseName(path), "/");
    const std::string what = StrCat(InWords(counts), counts.kinds.empty() ? "" : Comma(), counts.equal, " =");
    w_.Wrapped(2 * DepthOf(path), DisplayBytes(name), what, counts.kinds.empty() ? Style::kDim : Style::kBold);
  }

  void Files(int depth, const std::vector<const FileDifference*>& files) {
    const std::size_t shown = request_.all ? files.size() : std::min(files.size(), kFilesShown);
    for (std::size_t i = 0; i < shown; ++i) {
      const FileDifference& one = *files[i];
      std::string text = DisplayBytes(one.other.empty() ? BaseName(one.path) : one.path);
      if (!one.other.empty()) absl::StrAppend(&text, " -> ", DisplayBytes(one.other));
      const std::string why = InAll(request_.render.languages, one.message);
      if (!why.empty()) absl::StrAppend(&text, Colon(request_.render.languages[0]), why);
      w_.Wrapped(2 * depth, KindInWords(one.kind), text, one.kind == "unknown" ? Style::kYellow : Style::kRed);
    }
    if (shown == files.size()) return;
    w_.Wrapped(2 * depth, "", Say("ui_diff_data_more", {{"count", StrCat(files.size() - shown)}}), Style::kDim);
  }

  const Rules& rules_;
  const DiffRequest& request_;
  TableWriter w_;
};

absl::StatusOr<bool> Run(CommandEnv& env, const DiffRequest& request) {
  PARITECT_ASSIGN_OR_RETURN(DataSide a, LoadSide(env, request.a));
  PARITECT_ASSIGN_OR_RETURN(DataSide b, LoadSide(env, request.b));
  NameAlike(a.bundles, b.bundles);
  NameAlike(b.bundles, a.bundles);
  const bool trees = HasTree(a.bundles) && HasTree(b.bundles);
  std::vector<v1::Text> gaps;
  for (const auto* bundles : {&a.bundles, &b.bundles}) {
    for (const v1::Bundle& bundle : *bundles) AddGaps(env, bundle, trees, gaps);
  }
  const bool here[] = {a.here, b.here};
  const std::unique_ptr<EvidenceSet> evidence =
      AnsweredEvidence(std::move(a.bundles), std::move(b.bundles), {.record_files_max = 0},
                       [&](const DatasetQuestion& question, const v1::FileList&, OwnList own) {
                         if (!here[question.side == Side::kBaseline ? 0 : 1]) return;
                         AnswerDatasetQuestion(env.fs, question.path, question.laws, own());
                       });
  const std::vector<DatasetComparison> sets = CompareDatasets(*evidence, env.rules);
  if (sets.empty()) {
    const std::string why = absl::StrJoin(
        gaps, "; ", [&env](std::string* out, const v1::Text& gap) { out->append(In(env.language, gap)); });
    return absl::InvalidArgumentError(StrCat("no data set on either side", gaps.empty() ? "" : ": ", why));
  }
  bool equal = gaps.empty();
  for (const DatasetComparison& one : sets) {
    // Two empty sets show nothing.
    equal = equal && one.differences.empty() && !one.incomplete && !one.only_a && !one.only_b && !one.equal.empty();
  }
  if (request.json) {
    env.out << DumpJson(ToJson(request, sets, gaps, equal)) << "\n";
    return equal;
  }
  Tree tree(env, request);
  for (const DatasetComparison& one : sets) tree.Print(one);
  for (const v1::Text& gap : gaps) tree.Gap(gap);
  return equal;
}

}  // namespace

extern const DiffKind kDataDiff;
const DiffKind kDataDiff = {"data", "data sets as a tree of folders with what differs", &Run};

}  // namespace paritect
