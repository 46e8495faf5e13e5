#include "formats/shards/trace_assembler.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/recorded_formats.h"
#include "common/utf8.h"
#include "formats/shards/trace_epochs.h"
#include "rules/file_names.h"

namespace paritect {
namespace {

// A rank opens a few of its files once more: at most one of so many, or a single one.
constexpr std::size_t kFilesToOneReopened = 4;

constexpr std::int64_t kTickNs = 10'000'000;  // births are told in hundredths of a second

using Place = std::pair<std::int64_t, std::int64_t>;  // start, pid: sorts by birth

void AddNote(v1::ShardList& list, absl::string_view kind, std::string message) {
  v1::Note& note = *list.add_notes();
  note.set_kind(std::string(kind));
  note.set_message(std::move(message));
}

v1::Problem MakeProblem(absl::string_view id, absl::string_view what) {
  v1::Problem problem;
  problem.set_id(std::string(id));
  (*problem.mutable_args())["what"] = std::string(what);
  return problem;
}

// --- ranks of processes that no variable tells ---------------------------------------------------------

// From the root of the tree down to the process itself.
std::vector<Place> PathTo(const TraceImage& image) {
  std::vector<Place> path;
  for (auto it = image.ancestors.rbegin(); it != image.ancestors.rend(); ++it) path.emplace_back(it->second, it->first);
  path.emplace_back(image.start, image.pid);
  return path;
}

// Gives the children of the process that is above all of them ranks by birth. False: the tree does not tell.
bool RankByBirth(const std::vector<TraceImage*>& images, int world_size) {
  std::vector<std::vector<Place>> paths;
  for (const TraceImage* image : images) paths.push_back(PathTo(*image));
  std::size_t common = paths[0].size();
  for (const auto& path : paths) {
    std::size_t same = 0;
    while (same < std::min(common, path.size()) && path[same] == paths[0][same]) ++same;
    common = same;
  }
  std::set<Place> children;
  for (const auto& path : paths) {
    // The process above all reads itself: one rank, its workers below.
    if (path.size() == common) return false;
    children.insert(path[common]);
  }
  if (static_cast<int>(children.size()) != world_size) return false;
  // Forked children are the workers of one rank as well: only processes that were started anew are ranks.
  for (std::size_t i = 0; i < images.size(); ++i) {
    const bool child = paths[i].size() == common + 1;
    if (child && images[i]->executed != true) return false;
  }
  for (std::size_t i = 0; i < images.size(); ++i) {
    const auto rank = static_cast<std::int32_t>(std::distance(children.begin(), children.find(paths[i][common])));
    for (TraceOpen& open : images[i]->opens) {
      open.rank.rank = rank;
      open.rank.world_size = world_size;
    }
  }
  return true;
}

// --- ranks below a process that a launcher counts as one rank -------------------------------------------

struct NodeRank {
  std::vector<TraceImage*> images;  // that the variable gives this rank; each opened something
  std::set<Place> children;         // of the process above all of them, by birth
  std::size_t depth = 0;            // of these children in a path
};

NodeRank BelowOne(std::vector<TraceImage*> images) {
  NodeRank out;
  out.depth = PathTo(*images[0]).size();
  for (const TraceImage* image : images) {
    const auto first = PathTo(*images[0]), path = PathTo(*image);
    std::size_t same = 0;
    while (same < std::min({out.depth, path.size(), first.size()}) && path[same] == first[same]) ++same;
    out.depth = same;
  }
  for (const TraceImage* image : images) {
    const auto path = PathTo(*image);
    if (path.size() > out.depth) out.children.insert(path[out.depth]);
  }
  out.images = std::move(images);
  return out;
}

bool IsPython(const TraceImage& image) {
  const std::size_t slash = image.executable.rfind('/') + 1;
  return absl::string_view(image.executable).substr(slash).substr(0, 6) == "python";
}

// Whether the children may be ranks of their own: interpreters that were started anew, or that have workers. Forked
// children are workers (the default of data loaders); other programs are helpers (`tar`, `cat`).
bool MayBeRanks(const NodeRank& node) {
  for (const Place& child : node.children) {
    for (const TraceImage* image : node.images) {
      if (image->start != child.first || image->pid != child.second) continue;
      if (image->executed != true || !IsPython(*image)) return false;
    }
  }
  return true;
}

void GiveRanks(const NodeRank& node, std::int32_t first, std::int32_t world_size) {
  for (TraceImage* image : node.images) {
    const auto path = PathTo(*image);
    if (path.size() <= node.depth) {
      image->opens.clear();  // of the process that starts the ranks: nobody's share
      continue;
    }
    const auto child = node.children.find(path[node.depth]);
    for (TraceOpen& open : image->opens) {
      open.rank.rank = first + static_cast<std::int32_t>(std::distance(node.children.begin(), child));
      open.rank.world_size = world_size;
    }
  }
}

// --- one rank ------------------------------------------------------------------------------------------

struct RankReads {
  std::optional<std::int32_t> world_size;
  bool threads = false;                  // several of one process read side by side
  bool once = false;                     // opens were not counted: several epochs look like one
  std::map<Place, ProcessOpens> images;  // by birth
  std::vector<v1::Problem> problems;
  std::string disagreement;  // of variables, on the rank
};

Names FirstOpens(const RankReads& reads) {
  Names out;
  absl::flat_hash_set<absl::string_view> seen;
  for (const auto& [place, process] : reads.images) {
    for (const std::string& name : process.names) {
      if (seen.insert(name).second) out.push_back(name);
    }
  }
  return out;
}

std::vector<ProcessOpens> ProcessesOf(const RankReads& reads) {
  std::vector<ProcessOpens> processes;
  for (const auto& [place, process] : reads.images) processes.push_back(process);
  return processes;
}

std::size_t SideBySide(const std::vector<ProcessOpens>& processes) {
  std::size_t most = 0;
  for (const auto& generation : Generations(processes)) most = std::max(most, generation.size());
  return most;
}

// All that the rank opened, in its order in time as far as that is known; nullopt: it is not.
std::optional<Names> InTime(const RankReads& reads) {
  Names all;
  const std::vector<ProcessOpens> processes = ProcessesOf(reads);
  if (reads.once || reads.threads || ShareFilesSideBySide(processes)) return std::nullopt;
  for (const auto& generation : Generations(processes)) {
    for (const ProcessOpens* process : generation) all.insert(all.end(), process->names.begin(), process->names.end());
  }
  return all;
}

// Every file was opened equally often, and more than once: then none was merely looked through beforehand.
bool OpenedEvenly(const RankReads& reads) {
  absl::flat_hash_map<absl::string_view, std::size_t> opens;
  for (const auto& [place, process] : reads.images) {
    for (const std::string& name : process.names) ++opens[name];
  }
  if (reads.once || opens.empty() || opens.begin()->second < 2) return false;
  return std::all_of(opens.begin(), opens.end(), [&](const auto& one) { return one.second == opens.begin()->second; });
}

bool IsOneOf(const std::vector<std::string>& programs, absl::string_view program) {
  return std::find(programs.begin(), programs.end(), program.substr(program.rfind('/') + 1)) != programs.end();
}

// A tool that looks at the machine or builds code, and reads no data.
bool IsHelper(absl::string_view program) {
  return IsOneOf(BuiltInFileNames().helper_programs, program);
}

// --- one node ------------------------------------------------------------------------------------------

class NodeAssembler {
 public:
  NodeAssembler(std::vector<TraceImage*> images, int world_size) : images_(std::move(images)), stated_(world_size) {}

  ShardLists Assemble() {
    DropCopies();
    FindRanks();
    FindRanksBelowNodes();
    for (const TraceImage* image : images_) {
      for (const TraceOpen& open : image->opens) AddOpen(*image, open);
    }
    for (const TraceImage* image : images_) AddProblems(*image);
    ShardLists lists;
    for (auto& [rank, reads] : ranks_) {
      parts_[rank] = reads.once ? std::nullopt : EpochsOfRank(ProcessesOf(reads));
    }
    CutTogether();
    AlignEpochs();
    for (auto& [rank, reads] : ranks_) EmitRank(rank, reads, lists);
    return lists;
  }

 private:
  void FindRanks() {
    std::vector<TraceImage*> unknown;
    int size = stated_;
    for (TraceImage* image : images_) {
      for (const TraceOpen& open : image->opens) last_start_ = std::max(last_start_, open.rank.restarts);
      if (!image->opens.empty() && !image->opens[0].rank.rank) unknown.push_back(image);
      if (size == 0) size = image->rank.world_size.value_or(0);
    }
    DropLaunchers(unknown);
    DropHelpers(unknown);
    if (unknown.empty()) return;
    if (size == 1) {
      for (TraceImage* image : unknown) {
        for (TraceOpen& open : image->opens) open.rank.rank = 0;
      }
      return;
    }
    if (size > 1) by_birth_ = RankByBirth(unknown, size);
  }

  // What a program opens that copies, packs or checks files is staged, not read.
  void DropCopies() {
    for (TraceImage* image : images_) {
      if (IsOneOf(BuiltInFileNames().copy_programs, image->executable)) image->opens.clear();
    }
  }

  // Where a rank's own list does not repeat, all ranks together may tell the epochs; so they may where ranks looked
  // through the files before.
  void CutTogether() {
    std::map<std::int32_t, Names> opens;
    std::map<std::int32_t, std::vector<ProcessOpens>> processes;
    bool all_here = !ranks_.empty(), plain = true;
    for (const auto& [rank, reads] : ranks_) {
      processes[rank] = ProcessesOf(reads);
      auto names = InTime(reads);
      all_here = all_here && rank >= 0 && names;
      plain = plain && reads.images.size() == 1;
      // Of some ranks alone the parts prove nothing.
      if (reads.world_size && *reads.world_size != static_cast<std::int32_t>(ranks_.size())) all_here = false;
      if (names) opens[rank] = *std::move(names);
    }
    if (all_here) {
      auto together = plain ? SplitTogether(opens) : SplitByIterators(processes);
      if (together.empty()) {
        together = SplitBehindScan(opens);
        scanned_ = !together.empty();
      }
      for (auto& [rank, epochs] : together) parts_[rank] = std::move(epochs);
      if (!together.empty()) return;
    }
    // Ranks that may have looked through what others read: what is an epoch of theirs is not known.
    for (const std::int32_t rank : MayHaveScanned(opens)) parts_[rank] = std::nullopt;
  }

  // A rank that opens a few of its files once more at the end (a sample that it logs or evaluates) has no epoch more
  // than the others.
  void AlignEpochs() {
    std::size_t least = SIZE_MAX;
    for (const auto& [rank, epochs] : parts_) {
      if (epochs) least = std::min(least, epochs->size());
    }
    for (auto& [rank, epochs] : parts_) {
      if (!epochs || epochs->size() != least + 1 || least == 0) continue;
      // Half of them is an epoch that has begun.
      if (epochs->back().size() > 1 && epochs->back().size() * kFilesToOneReopened > epochs->front().size()) continue;
      epochs->pop_back();
      reopened_.insert(rank);
    }
    for (const auto& [rank, epochs] : parts_) numbered_ = numbered_ || (epochs && epochs->size() > 1);
  }

  // A rank of srun or mpirun may count nodes: then each process that was started below is a rank.
  void FindRanksBelowNodes() {
    if (by_birth_) return;
    std::map<std::int32_t, std::vector<TraceImage*>> by_rank;
    for (TraceImage* image : images_) {
      if (image->opens.empty() || !image->opens[0].rank.rank || image->opens[0].rank.local) continue;
      by_rank[*image->opens[0].rank.rank].push_back(image);
    }
    for (auto& [rank, images] : by_rank) {
      const NodeRank node = BelowOne(std::move(images));
      if (node.children.size() < 2 || node.depth == 0) continue;
      const auto count = static_cast<std::int32_t>(node.children.size());
      const std::int32_t launched = node.images[0]->opens[0].rank.world_size.value_or(0);
      if (stated_ > 0 && stated_ == launched) continue;  // the variable counts ranks: these are workers
      if (stated_ > 0 && launched > 0 && stated_ == launched * count) {
        GiveRanks(node, rank * count, stated_);
        node_ranks_told_ = true;
      } else if (MayBeRanks(node)) {
        for (TraceImage* image : node.images) {
          for (TraceOpen& open : image->opens) open.rank.rank.reset(), open.rank.world_size.reset();
        }
        unrankable_.push_back(absl::StrCat("rank ", rank, ": ", count));
      }
    }
  }

  // Scripts of a launcher (a shell, a version manager) beside processes that have a rank are none: only interpreters
  // that may train count.
  void DropHelpers(std::vector<TraceImage*>& unknown) const {
    const bool ranked = std::any_of(images_.begin(), images_.end(), [](const TraceImage* image) {
      return !image->opens.empty() && image->opens[0].rank.rank;
    });
    if (!ranked) return;
    const auto shell = [](const TraceImage* image) {
      const absl::string_view name = absl::string_view(image->executable).substr(image->executable.rfind('/') + 1);
      return name == "bash" || name == "sh" || name == "dash" || name == "zsh" || name == "env" || name == "busybox";
    };
    for (TraceImage* image : unknown) {
      if (shell(image)) image->opens.clear();
    }
    unknown.erase(std::remove_if(unknown.begin(), unknown.end(), shell), unknown.end());
  }

  // A process above one that has a rank started it: what it opened itself is no rank's share.
  void DropLaunchers(std::vector<TraceImage*>& unknown) {
    std::set<Place> above;
    for (const TraceImage* image : images_) {
      if (image->opens.empty() || !image->opens[0].rank.rank) continue;
      for (const auto& [pid, start] : image->ancestors) above.insert({start, pid});
    }
    const auto launcher = [&](const TraceImage* image) { return above.contains({image->start, image->pid}); };
    for (TraceImage* image : unknown) {
      if (launcher(image)) image->opens.clear();
    }
    unknown.erase(std::remove_if(unknown.begin(), unknown.end(), launcher), unknown.end());
  }

  void AddOpen(const TraceImage& image, const TraceOpen& open) {
    // What ran before the last restart was thrown away from its last checkpoint on, which nobody recorded.
    if (open.rank.restarts != last_start_) return;
    RankReads& reads = ranks_[open.rank.rank.value_or(-1)];
    if (open.rank.world_size) reads.world_size = open.rank.world_size;
    if (reads.disagreement.empty()) reads.disagreement = open.rank.disagreement;
    ProcessOpens& process = reads.images[{image.start, image.pid}];
    process.born_ns = image.start * kTickNs;
    process.first_ns = process.names.empty() ? open.at_ns : std::min(process.first_ns, open.at_ns);
    process.last_ns = process.names.empty() ? open.at_ns : std::max(process.last_ns, open.at_ns);
    process.names.push_back(open.path);
    reads.once = reads.once || image.once;
    reads.threads = reads.threads || open.thread != image.opens.front().thread;
  }

  void AddProblems(const TraceImage& image) {
    const auto rank = image.opens.empty() ? image.rank.rank : image.opens.back().rank.rank;
    for (const auto& [program, told] : image.unseen_ranks) {
      auto list = ranks_.find(told);
      if (list != ranks_.end() && !IsHelper(program)) {
        list->second.problems.push_back(MakeProblem("trace_program_unseen", DisplayBytes(program)));
      }
    }
    std::vector<v1::Problem> problems;
    if (image.lost > 0) problems.push_back(MakeProblem("trace_lost", absl::StrCat(image.lost)));
    if (image.joined_late) problems.push_back(MakeProblem("trace_attached", absl::StrCat("pid ", image.pid)));
    if (image.stopped) problems.push_back(MakeProblem("trace_stopped", absl::StrCat("pid ", image.pid)));
    if (image.full) problems.push_back(MakeProblem("trace_full", absl::StrCat("pid ", image.pid)));
    // What a program without a rank starts (a launcher's helper) reads no shards, unless it is given a rank.
    if (rank) {
      for (const std::string& program : image.unseen) {
        if (IsHelper(program)) continue;
        problems.push_back(MakeProblem("trace_program_unseen", DisplayBytes(program)));
      }
    }
    auto it = ranks_.find(rank.value_or(-1));
    if (it == ranks_.end()) return;
    it->second.problems.insert(it->second.problems.end(), problems.begin(), problems.end());
  }

  void EmitRank(std::int32_t rank, const RankReads& reads, ShardLists& lists) const {
    const std::optional<std::vector<Names>>& epochs = parts_.at(rank);
    const std::vector<Names> parts = epochs ? *epochs : std::vector<Names>{FirstOpens(reads)};
    const std::vector<ProcessOpens> processes = ProcessesOf(reads);
    const std::size_t side_by_side = SideBySide(processes);
    const bool unclear = !epochs || reads.once;
    const bool again = unclear && (!reads.once || ShareFilesSideBySide(processes));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      v1::ShardList list;
      list.set_format(kTraceFormat);
      if (rank >= 0) list.set_rank(rank);
      if (reads.world_size) list.set_world_size(*reads.world_size);
      if (numbered_ && epochs) list.set_epoch(static_cast<std::int32_t>(i));
      if (reopened_.contains(rank)) AddNote(list, "reopened", "a few files were opened once more at the end");
      for (const std::string& name : parts[i]) list.add_items(name);
      if (unclear) {
        AddNote(list, "epochs_unclear", "files were opened again, or opens not counted; each stands once");
        if (again) AddNote(list, "opened_again", "in an order that tells no epochs");
        if (OpenedEvenly(reads)) AddNote(list, "opened_evenly", "every file was opened equally often");
      }
      if (scanned_) AddNote(list, "scanned", "a rank opened every file once before it read its own");
      if (reads.threads && reads.images.size() == 1) {
        AddNote(list, "unordered", "several threads read side by side; the order between them is not known");
      }
      if (side_by_side > 1) {
        AddNote(list, "unordered",
                absl::StrCat(side_by_side, " processes read side by side; their lists stand one after another"));
      }
      if (rank < 0) {
        for (const std::string& what : unrankable_) *list.add_incomplete() = MakeProblem("trace_node_ranks", what);
      }
      if (!reads.disagreement.empty()) AddNote(list, "rank_variables_disagree", reads.disagreement);
      if (by_birth_ || node_ranks_told_)
        AddNote(list, "rank_by_birth", "no variable tells the rank: told by the order of the processes");
      if (last_start_ > 0) *list.add_incomplete() = MakeProblem("trace_restarted", absl::StrCat(last_start_));
      for (const v1::Problem& problem : reads.problems) *list.add_incomplete() = problem;
      lists.push_back(std::move(list));
    }
  }

  std::vector<TraceImage*> images_;
  const int stated_;
  std::map<std::int32_t, std::optional<std::vector<Names>>> parts_;  // by rank: epochs; nullopt: not told
  bool numbered_ = false;
  bool scanned_ = false;  // ranks looked through the files first: the lists hold what they read then
  std::set<std::int32_t> reopened_;
  bool by_birth_ = false;
  bool node_ranks_told_ = false;
  std::vector<std::string> unrankable_;  // "rank 0: 4" processes that may be ranks or workers
  std::int32_t last_start_ = 0;
  std::map<std::int32_t, RankReads> ranks_;  // -1: not known
};

// The first whole listing of each folder; sorted ones tell nothing of the folder's own order.
void CollectListings(const std::vector<TraceImage*>& images, std::vector<v1::DirectoryListing>& out) {
  std::map<std::string, const TraceListing*> folders;
  for (const TraceImage* image : images) {
    for (const TraceListing& listing : image->listings) {
      if (listing.whole && !listing.sorted && listing.names.size() > 1) folders.try_emplace(listing.folder, &listing);
    }
  }
  for (const auto& [folder, listing] : folders) {
    v1::DirectoryListing& one = out.emplace_back();
    for (const std::string& name : listing->names) one.add_names(absl::StrCat(folder, "/", name));
    v1::Note& note = *one.add_notes();
    note.set_kind("live");
    note.set_message("the order in which the training enumerated the folder");
  }
}

}  // namespace

TraceLists AssembleTrace(const std::vector<TraceFile>& files, int world_size) {
  std::vector<TraceFile> kept = files;
  std::map<std::string, std::vector<TraceImage*>> hosts;
  std::int64_t damaged = 0;
  for (TraceFile& file : kept) {
    damaged += file.damaged;
    for (TraceImage& image : file.images) hosts[image.host].push_back(&image);
  }
  TraceLists out;
  for (auto& [host, images] : hosts) {
    std::stable_sort(images.begin(), images.end(), [](const TraceImage* a, const TraceImage* b) {
      return std::tie(a->start, a->pid) < std::tie(b->start, b->pid);
    });
    CollectListings(images, out.listings);
    for (v1::ShardList& list : NodeAssembler(images, world_size).Assemble()) {
      if (hosts.size() > 1) list.set_node(DisplayBytes(host));
      if (damaged > 0) *list.add_incomplete() = MakeProblem("trace_damaged", absl::StrCat(damaged));
      out.lists.push_back(std::move(list));
    }
  }
  return out;
}

namespace {

bool SniffTrace(absl::string_view bytes) {
  return bytes.substr(0, kTraceMagic.size()) == kTraceMagic;
}

absl::StatusOr<ShardLists> ReadTrace(absl::string_view bytes) {
  auto file = ReadTraceFile(bytes);
  if (!file.ok()) return file.status();
  return AssembleTrace({*std::move(file)}, 0).lists;
}

}  // namespace

extern const ShardFormat kTraceShardFormat;
const ShardFormat kTraceShardFormat = {kTraceFormat, &SniffTrace, &ReadTrace};

}  // namespace paritect
