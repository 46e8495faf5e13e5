#include "agent/drafting/draft.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "agent/drafting/drafted_data.h"
#include "agent/drafting/folder_scan.h"
#include "agent/drafting/one_of_several.h"
#include "agent/drafting/path_parts.h"
#include "agent/drafting/recognise.h"
#include "common/numbers.h"
#include "common/recorded_formats.h"
#include "common/rooted_file_system.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/plan.h"
#include "formats/plan_identity.h"
#include "formats/weights/weights_format.h"
#include "rules/folder_words.h"

namespace paritect {
namespace {

constexpr std::size_t kShardLogBytesMax = 64 << 20;
constexpr std::size_t kPlanBytesMax = 1 << 20;
constexpr absl::string_view kRecordedCommand = "command.sh";  // as client/run/run_folder.cc names it

// "train.log" of "train.log.2.gz": the parts of one log that was rotated.
std::string RotatedName(absl::string_view path) {
  std::string name(path);
  if (absl::EndsWith(name, ".gz")) name.resize(name.size() - 3);
  const std::size_t dot = name.rfind('.');
  if (dot != std::string::npos && dot > 0 && ParseInt(name.substr(dot + 1))) name.resize(dot);
  return name;
}

// What the files of one run are under the keys of a plan. Order of work: data first, so that nothing within a data set
// is taken for anything else.
class Drafting {
 public:
  Drafting(FileSystem& fs, const Rules& rules, std::string root, const DraftOptions& options)
      : fs_(fs), rules_(rules), root_(std::move(root)), options_(options) {}

  absl::StatusOr<Draft> Run(FolderScan scan) {
    scan_ = std::move(scan);
    for (const PassedOver& one : scan_.passed_over) out_.not_taken.push_back({one.path, one.why, one.seen});
    if (scan_.left_out > 0) out_.not_taken.push_back({"", "not_taken_too_many", absl::StrCat(scan_.left_out)});
    for (const ScannedFile& file : scan_.files) {
      files_[file.path] = RecogniseFile(fs_, rules_, JoinPath(root_, file.path), file.size_bytes);
    }
    if (TakeRecorded() && !KeepBesideRecorded()) return std::move(out_);
    const DraftedData data = DraftData(fs_, root_, scan_, files_, options_, left_);
    for (const std::string& folder : data.folders) LeaveOut(folder);
    FindWeightFolders();
    PARITECT_RETURN_IF_ERROR(ChooseOneRun());
    FindNodes();
    *PlanOf("").mutable_datasets() = {data.sources.begin(), data.sources.end()};
    out_.taken = data.taken;
    out_.not_taken.insert(out_.not_taken.end(), data.not_taken.begin(), data.not_taken.end());
    TakeLogs();
    TakeSettings();
    TakeScripts();
    TakeShards();
    TakeObserved();
    TakeWeights();
    TakeTensors();
    LeaveOutSeveralNodes();
    NameTheRest();
    return Finish();
  }

 private:
  // --- which files ---------------------------------------------------------------------------------------

  std::vector<std::string> PathsOf(FileKind kind) const {
    std::vector<std::string> paths;
    for (const auto& [path, file] : files_) {
      if (file.kind == kind) paths.push_back(path);
    }
    return paths;
  }

  void LeaveOut(const std::string& folder) {
    std::erase_if(files_, [&](const auto& one) { return StandsBelow(one.first, folder); });
  }

  // What a run recorded by itself, or a person wrote down, stands in place of a draft.
  bool TakeRecorded() {
    if (options_.anew) {
      std::erase_if(files_, [](const auto& one) { return one.second.kind == FileKind::kPlan; });
      return false;
    }
    for (const std::string& folder : scan_.recorded) out_.recorded.push_back(JoinPath(root_, folder));
    for (const std::string& path : PathsOf(FileKind::kPlan)) {
      if (FolderOf(path).empty()) out_.recorded.push_back(JoinPath(root_, path));
    }
    for (const std::string& path : PathsOf(FileKind::kBundle)) {
      const std::string folder = JoinPath(root_, std::string(absl::StripSuffix(path, ".pbundle")));
      const bool packed = std::find(out_.recorded.begin(), out_.recorded.end(), folder) != out_.recorded.end();
      if (!packed) out_.bundles.push_back(JoinPath(root_, path));
    }
    return !out_.recorded.empty() || !out_.bundles.empty();
  }

  // Whether the plan is one that a wrapped run wrote of itself. It names what the run did; a person's names all he
  // meant.
  bool IsOfWrappedRun(const std::string& folder) const {
    const auto bytes = ReadWholeFile(fs_, JoinPath(folder, "plan.yaml"), kPlanBytesMax);
    if (!bytes.ok()) return false;
    const auto plan = ParsePlan(*bytes);
    if (!plan.ok() || plan->datasets_size() + plan->scripts_size() > 0) return false;
    // Its command, written down by the wrapper also where it could look neither into the process nor at its files.
    const bool command = std::any_of(plan->settings().begin(), plan->settings().end(),
                                     [](const auto& one) { return one.file() == kRecordedCommand; });
    return command || plan->observed_size() > 0 || std::any_of(plan->shards().begin(), plan->shards().end(),
                                                    [](const auto& one) { return !one.trace().empty(); });
  }

  // Beside one wrapped run: what holds for every run of this folder and no run records of itself (data, scripts, lists
  // of packages, devices) is taken as well; logs and states may be of an earlier run. False: nothing is left to take.
  bool KeepBesideRecorded() {
    const bool wrapped = out_.recorded.size() == 1 && out_.bundles.empty() && IsOfWrappedRun(out_.recorded[0]);
    bool any = false;
    for (auto it = files_.begin(); it != files_.end();) {
      const FileKind kind = it->second.kind;
      const bool lasts = kind == FileKind::kScript || kind == FileKind::kSettings || kind == FileKind::kFileList ||
                         kind == FileKind::kData || kind == FileKind::kUnknown;
      if (wrapped && lasts) {
        any = any || kind != FileKind::kUnknown;
        ++it;
        continue;
      }
      const bool taken = kind == FileKind::kBundle || (kind == FileKind::kPlan && FolderOf(it->first).empty());
      if (!taken) out_.not_taken.push_back({it->first, "not_taken_beside_recorded", ""});
      it = files_.erase(it);
    }
    any = any || !scan_.data.empty();
    return wrapped && any;
  }

  absl::Status ChooseOneRun() {
    LeaveOutCopies(files_, out_.not_taken);
    const std::vector<std::string> logs = LeaveOutOtherRuns(files_, out_.not_taken);
    PARITECT_RETURN_IF_ERROR(CheckOneRun());
    if (!logs.empty() && nodes_.empty()) return SeveralRuns(logs, ", or leave one of these logs in the folder");
    LeaveOutOtherSettings(files_, out_.not_taken);
    return absl::OkStatus();
  }

  absl::Status SeveralRuns(const std::vector<std::string>& runs, absl::string_view or_else) const {
    std::vector<std::string> shown;
    for (const std::string& run : runs) shown.push_back(DisplayBytes(JoinPath(root_, run)));
    return absl::InvalidArgumentError(
        absl::StrCat(DisplayBytes(root_), ": the folder holds several runs: ", absl::StrJoin(shown, ", "),
                     "; give each run by itself (--baseline RUN --baseline RUN …)", or_else));
  }

  absl::Status CheckOneRun() {
    std::vector<std::string> curves;
    for (const auto& [path, file] : files_) {
      if (file.curve) curves.push_back(path);
    }
    const std::vector<std::string> runs = RunFolders(curves);
    if (runs.empty()) return absl::OkStatus();
    if (HoldOtherRanks(runs, curves)) {
      for (const std::string& folder : runs) nodes_[folder] = std::string(BaseName(folder));
      return absl::OkStatus();
    }
    return SeveralRuns(runs, "");
  }

  // --- nodes ---------------------------------------------------------------------------------------------

  // Folders named for nodes count where there are several.
  void FindNodes() {
    if (!nodes_.empty()) return;
    std::map<std::string, std::string> found;
    for (const auto& [path, file] : files_) {
      const std::string node = NodeFolderOf(path);
      if (node.empty()) continue;
      const std::size_t at = path.find(node + "/");
      found[path.substr(0, at + node.size())] = node;
    }
    std::set<std::string> names;
    for (const auto& [folder, name] : found) names.insert(name);
    if (names.size() > 1) nodes_ = std::move(found);
  }

  std::string NodeOf(absl::string_view path) const {
    for (const auto& [folder, name] : nodes_) {
      if (StandsBelow(path, folder)) return name;
    }
    return nodes_.empty() ? "" : nodes_.begin()->second;  // what all share stands with the first
  }

  v1::Plan& PlanOf(absl::string_view path) { return plans_[NodeOf(path)]; }

  // --- logs ----------------------------------------------------------------------------------------------

  // Event files of one folder are one log, metrics of one MLflow run too.
  std::string LogFolder(const std::string& path, const std::string& format) const {
    if (format == "tensorboard") return FolderOf(path).empty() ? "." : FolderOf(path);
    if (format != "mlflow") return "";
    const std::size_t metrics = path.rfind("metrics/");
    if (metrics == std::string::npos || (metrics > 0 && path[metrics - 1] != '/')) return "";
    return metrics == 0 ? "." : path.substr(0, metrics - 1);
  }

  // Every checkpoint of the Hugging Face Trainer holds the whole history up to it: the longest counts.
  void DropOlderHistories() {
    const std::string* longest = nullptr;
    std::vector<std::string> older;
    for (const auto& [path, file] : files_) {
      if (file.kind != FileKind::kLog || file.format != "hf-trainer-state") continue;
      const bool better = longest == nullptr || file.records > files_.at(*longest).records;
      if (better && longest != nullptr) older.push_back(*longest);
      if (!better) older.push_back(path);
      if (better) longest = &path;
    }
    for (const std::string& path : older) {
      out_.not_taken.push_back({path, "not_taken_older_history", *longest});
      files_.erase(path);
    }
  }

  void TakeLogs() {
    DropOlderHistories();
    std::map<std::string, TakenSource> sources;  // by the path of the plan
    std::set<std::string> folders;
    for (const std::string& path : PathsOf(FileKind::kLog)) {
      const RecognisedFile& file = files_.at(path);
      const std::string folder = LogFolder(path, file.format);
      if (!folder.empty()) folders.insert(folder);
      const std::string pattern = folder.empty() ? LogPattern(path) : folder;
      TakenSource& one = sources.try_emplace(pattern, TakenSource{"logs", pattern, file.format, 0}).first->second;
      ++one.files;
      one.count = folder.empty() ? std::max(one.count, file.records) : one.count + file.records;
      one.at_least = one.at_least || file.more;
    }
    for (const auto& [pattern, one] : sources) {
      v1::LogSource& source = *PlanOf(pattern).add_logs();
      source.set_file(pattern);
      if (folders.contains(pattern)) source.set_format(one.format);
      out_.taken.push_back(one);
    }
  }

  // A pattern says more than the paths do: of ranks, that those in between are lacking; of a rotated log, that the
  // parts are one. It stands where all that fits it are logs, and of ranks where they are whole.
  std::string LogPattern(const std::string& path) const {
    const RankedPath ranked = RankedPathOf(path);
    if (ranked.rank) return AreAllRanks(ranked.pattern) ? ranked.pattern : path;
    const std::string rotated = RotatedName(path);
    int parts = 0;
    const bool whole = AllAreLogs([&](const std::string& other) {
      parts += RotatedName(other) == rotated ? 1 : 0;
      return absl::StartsWith(other, rotated) && FolderOf(other) == FolderOf(path);
    });
    return whole && parts > 1 ? rotated + "*" : path;
  }

  bool AreAllRanks(const std::string& pattern) const {
    std::set<std::int64_t> ranks;
    const bool logs = AllAreLogs([&](const std::string& other) {
      const RankedPath ranked = RankedPathOf(other);
      const bool fits = ranked.rank && ranked.pattern == pattern;
      if (fits) ranks.insert(*ranked.rank);
      return fits;
    });
    return logs && ranks.size() > 1 && *ranks.rbegin() + 1 == static_cast<std::int64_t>(ranks.size());
  }

  bool AllAreLogs(absl::FunctionRef<bool(const std::string&)> fits) const {
    return std::all_of(files_.begin(), files_.end(),
                       [&](const auto& one) { return !fits(one.first) || one.second.kind == FileKind::kLog; });
  }

  // --- settings, scripts ---------------------------------------------------------------------------------

  void TakeSettings() {
    for (const std::string& path : PathsOf(FileKind::kSettings)) {
      v1::SettingsSource& source = *PlanOf(path).add_settings();
      source.set_file(path);
      out_.taken.push_back({"settings", path, files_.at(path).format});
    }
  }

  // The script that the launch line starts; the only one; else the folders that hold some.
  void TakeScripts() {
    const std::vector<std::string> scripts = PathsOf(FileKind::kScript);
    if (scripts.empty()) return;
    std::set<std::string> wanted;
    for (const std::string& path : PathsOf(FileKind::kSettings)) {
      const std::string& entry = files_.at(path).command_entry;
      if (entry.empty()) continue;
      for (const std::string& script : scripts) {
        if (BaseName(script) == BaseName(entry)) wanted.insert(script);
      }
    }
    if (wanted.size() != 1 && scripts.size() == 1) wanted = {scripts[0]};
    if (wanted.size() != 1) wanted = ScriptFolders(scripts);
    for (const std::string& path : wanted) {
      PlanOf(path).add_scripts()->set_path(path);
      TakenSource taken = {"scripts", path, "python", 0};
      const std::string folder = absl::EndsWith(path, ".py") ? FolderOf(path) : path == "." ? "" : path;
      for (const std::string& script : scripts) taken.files += script == path || StandsBelow(script, folder) ? 1 : 0;
      out_.taken.push_back(std::move(taken));
    }
  }

  static std::set<std::string> ScriptFolders(const std::vector<std::string>& scripts) {
    std::set<std::string> folders;
    for (const std::string& script : scripts) {
      const std::size_t slash = script.find('/');
      folders.insert(slash == std::string::npos ? "." : script.substr(0, slash));
    }
    return folders.contains(".") ? std::set<std::string>{"."} : folders;
  }

  // --- shards --------------------------------------------------------------------------------------------

  std::string DatasetLabel() const {
    const auto plan = plans_.find(NodeOf(""));
    return plan != plans_.end() && plan->second.datasets_size() == 1 ? plan->second.datasets(0).name() : "";
  }

  void TakeShards() {
    std::map<std::string, TakenSource> sources;
    for (const std::string& path : PathsOf(FileKind::kShards)) {
      const RecognisedFile& file = files_.at(path);
      const std::string pattern = file.states_rank ? path : RankedPathOf(path).pattern;
      TakenSource& one = sources.try_emplace(pattern, TakenSource{"shards", pattern, file.format, 0}).first->second;
      ++one.files;
      one.count += file.entries;
    }
    for (const std::string& path : PathsOf(FileKind::kTrace)) {
      const std::string folder = FolderOf(path).empty() ? "." : FolderOf(path);
      ++sources.try_emplace(folder, TakenSource{"shards", folder, "trace", 0}).first->second.files;
    }
    for (const auto& [pattern, one] : sources) {
      v1::ShardSource& source = *PlanOf(pattern).add_shards();
      *(one.format == kTraceFormat ? source.mutable_trace() : source.mutable_list()) = pattern;
      source.set_dataset(DatasetLabel());
      out_.taken.push_back(one);
    }
  }

  // A folder with what was recorded inside the processes of a training.
  void TakeObserved() {
    std::map<std::string, TakenSource> folders;
    for (const std::string& path : PathsOf(FileKind::kObserved)) {
      const std::string folder = FolderOf(path).empty() ? "." : FolderOf(path);
      const auto [found, fresh] = folders.try_emplace(folder, TakenSource{"observed", folder, "observed", 0});
      ++found->second.files;
      if (fresh) PlanOf(folder).add_observed()->set_path(folder);
    }
    for (const auto& [folder, one] : folders) out_.taken.push_back(one);
  }

  // --- weights, tensors ----------------------------------------------------------------------------------

  // Checkpoints that are folders: their files are no weights by themselves.
  void FindWeightFolders() {
    for (const std::string& folder : scan_.folders) {
      const bool taken = std::any_of(weight_folders_.begin(), weight_folders_.end(),
                                     [&](const auto& one) { return StandsBelow(folder, one.first); });
      const bool holds = std::any_of(files_.begin(), files_.end(), [&](const auto& one) {
        return one.second.kind == FileKind::kWeights && StandsBelow(one.first, folder);
      });
      if (taken || !holds) continue;
      auto sample = SampleWeights(fs_, JoinPath(root_, folder));
      const WeightsFormat* format = sample.ok() ? RecogniseWeights(*sample) : nullptr;
      if (format != nullptr) weight_folders_[folder] = std::string(format->name);
    }
    // In a checkpoint the history and the arguments of the run count, no other document: it describes the model.
    for (const auto& [folder, format] : weight_folders_) {
      std::erase_if(files_, [&folder = folder](const auto& one) {
        const bool kept = one.second.kind == FileKind::kLog || one.second.format == "hf-training-args";
        return StandsBelow(one.first, folder) && !kept;
      });
    }
  }

  std::uint64_t SizeBelow(const std::string& folder) const {
    std::uint64_t size = 0;
    for (const ScannedFile& file : scan_.files) size += StandsBelow(file.path, folder) ? file.size_bytes : 0;
    return size;
  }

  void TakeWeights() {
    std::map<std::string, TakenSource> sources;
    std::map<std::string, std::int64_t> steps;
    const auto take = [&](const std::string& path, const std::string& format, std::uint64_t size) {
      const auto step = StepOf(path);
      if (!step) return out_.not_taken.push_back({path, "not_taken_no_step", format});
      const std::string pattern = RankedPathOf(path).pattern;
      TakenSource& one = sources.try_emplace(pattern, TakenSource{"weights", pattern, format, 0}).first->second;
      ++one.files;
      one.size_bytes += size;
      one.count = *step;
    };
    for (const auto& [folder, format] : weight_folders_) take(folder, format, SizeBelow(folder));
    for (const ScannedFile& one : scan_.files) {
      const auto file = files_.find(one.path);
      if (file == files_.end() || file->second.kind != FileKind::kWeights) continue;
      if (HasWord(BaseName(one.path), BuiltInFolderWords().states)) {
        out_.not_taken.push_back({one.path, "not_taken_state", file->second.format});
        continue;
      }
      take(one.path, file->second.format, one.size_bytes);
    }
    for (auto& [pattern, one] : sources) {
      if (!options_.hash_data && one.size_bytes > left_) {
        out_.not_taken.push_back({pattern, "not_taken_large_weights", ""});
        continue;
      }
      left_ -= std::min(left_, one.size_bytes);
      v1::WeightsSource& source = *PlanOf(pattern).add_weights();
      source.set_file(pattern);
      source.set_step(one.count);
      if (HasWord(pattern, BuiltInFolderWords().pretrained)) source.set_stage("pretrained");
      out_.taken.push_back(one);
    }
  }

  void TakeTensors() {
    std::map<std::string, TakenSource> sources;
    for (const std::string& path : PathsOf(FileKind::kTensors)) {
      const auto step = StepOf(path);
      if (!step) {
        out_.not_taken.push_back({path, "not_taken_no_step", files_.at(path).format});
        continue;
      }
      const std::string pattern = RankedPathOf(path).pattern;
      TakenSource& one =
          sources.try_emplace(pattern, TakenSource{"tensors", pattern, files_.at(path).format, 0}).first->second;
      ++one.files;
      one.count = *step;
    }
    for (const auto& [pattern, one] : sources) {
      v1::TensorsSource& source = *PlanOf(pattern).add_tensors();
      source.set_file(pattern);
      source.set_step(one.count);
      out_.taken.push_back(one);
    }
  }

  // --- the end -------------------------------------------------------------------------------------------

  void NameTheRest() {
    for (const auto& [path, file] : files_) {
      if (file.kind == FileKind::kUnknown) out_.not_taken.push_back({path, file.why, file.seen});
      if (file.kind == FileKind::kPlan) out_.not_taken.push_back({path, "not_taken_plan", ""});
    }
    std::sort(out_.not_taken.begin(), out_.not_taken.end(),
              [](const NotTaken& a, const NotTaken& b) { return std::tie(a.path, a.why) < std::tie(b.path, b.why); });
  }

  // A wrapped run is of one node. What lies beside it for several says not which of them it was.
  void LeaveOutSeveralNodes() {
    if (out_.recorded.empty() || plans_.size() < 2) return;
    for (const TakenSource& one : out_.taken) out_.not_taken.push_back({one.path, "not_taken_beside_recorded", ""});
    out_.taken.clear();
    plans_.clear();
  }

  absl::StatusOr<Draft> Finish() {
    if (out_.taken.empty() && !out_.recorded.empty()) return std::move(out_);
    if (out_.taken.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(DisplayBytes(root_), ": nothing in this folder is recognised as evidence of a training run ",
                       "(files looked at: ", scan_.files.size(),
                       "); `paritect inspect FILE` tells what a file is taken for, docs/plan.md "
                       "how to name it"));
    }
    const std::string folder = NormalPath(JoinPath(WorkingDirectory(), root_));
    const std::string run = folder == "/" ? "run" : DisplayBytes(BaseName(folder));
    for (auto& [node, plan] : plans_) {
      plan.set_base(root_);
      v1::PlanInfo& info = *plan.mutable_info();
      info.set_run(run);
      info.set_node(node.empty() ? run : DisplayBytes(node));
      info.set_role(v1::ROLE_RUN);
      info.set_platform("auto");
      info.set_framework("auto");
      info.set_live(false);
      info.set_drafted(true);
      info.set_plan_file(root_);
      info.mutable_identity()->set_key(PlanKey({"folder", folder, node}));
      out_.plans.push_back(std::move(plan));
    }
    return std::move(out_);
  }

  FileSystem& fs_;
  const Rules& rules_;
  const std::string root_;
  const DraftOptions& options_;
  FolderScan scan_;
  RecognisedFiles files_;
  std::uint64_t left_ = kUnaskedBytesMax;
  std::map<std::string, std::string> nodes_;           // folder -> node; empty: one node
  std::map<std::string, v1::Plan> plans_;              // by node
  std::map<std::string, std::string> weight_folders_;  // -> format
  Draft out_;
};

}  // namespace

absl::StatusOr<Draft> DraftPlan(FileSystem& fs, const Rules& rules, const std::string& path,
                                const DraftOptions& options) {
  PARITECT_ASSIGN_OR_RETURN(const FileInfo info, fs.Stat(path));
  if (info.type == FileInfo::Type::kDirectory) {
    PARITECT_ASSIGN_OR_RETURN(FolderScan scan, ScanFolder(fs, path));
    return Drafting(fs, rules, path, options).Run(std::move(scan));
  }
  FolderScan one;
  one.files.push_back({std::string(BaseName(path)), info.size_bytes});
  return Drafting(fs, rules, std::string(DirName(path)), options).Run(std::move(one));
}

namespace {

struct NamedSet {
  v1::Plan* plan = nullptr;
  v1::DatasetSource* set = nullptr;
  bool drafted() const { return plan->info().drafted(); }
};

std::vector<NamedSet> SetsOf(const std::vector<v1::Plan*>& plans) {
  std::vector<NamedSet> sets;
  for (v1::Plan* plan : plans) {
    for (v1::DatasetSource& set : *plan->mutable_datasets()) sets.push_back({plan, &set});
  }
  return sets;
}

// With the labels of what ranks read of it.
void Rename(const NamedSet& one, const std::string& name) {
  for (v1::ShardSource& shards : *one.plan->mutable_shards()) {
    if (shards.dataset() == one.set->name()) shards.set_dataset(name);
  }
  one.set->set_name(name);
}

// One folder on one side, lists (or folders) named as its sub-folders on the other.
void SplitLike(FileSystem& fs, const NamedSet& whole, const std::vector<NamedSet>& parts) {
  if (!whole.drafted() || whole.set->root().empty() || whole.set->include_size() > 0) return;
  v1::Plan split;
  for (const NamedSet& part : parts) {
    v1::DatasetSource& one = *split.add_datasets();
    one = *whole.set;
    one.set_name(part.set->name());
    one.set_root(JoinPath(whole.set->root(), part.set->name()));
    const auto info = fs.Stat(JoinPath(whole.plan->base(), one.root()));
    if (!info.ok() || info->type != FileInfo::Type::kDirectory) return;
  }
  *whole.plan->mutable_datasets() = split.datasets();
}

}  // namespace

void PairDataNames(FileSystem& fs, const std::vector<v1::Plan*>& baseline, const std::vector<v1::Plan*>& migrated) {
  const std::vector<NamedSet> a = SetsOf(baseline);
  const std::vector<NamedSet> b = SetsOf(migrated);
  if (a.size() == 1 && b.size() == 1) {
    // A name that a person gave stays.
    const NamedSet& renamed = b[0].drafted() ? b[0] : a[0];
    const NamedSet& kept = b[0].drafted() ? a[0] : b[0];
    if (renamed.drafted()) Rename(renamed, kept.set->name());
    return;
  }
  if (a.size() == 1 && b.size() > 1) SplitLike(fs, a[0], b);
  if (b.size() == 1 && a.size() > 1) SplitLike(fs, b[0], a);
}

}  // namespace paritect
