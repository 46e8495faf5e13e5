#include "checks/shards/view.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/shards/common.h"
#include "checks/shards/cut_lists.h"
#include "checks/shards/epochs.h"
#include "checks/shards/evaluation_set.h"
#include "checks/shards/roots.h"
#include "checks/shards/segments.h"
#include "common/numbers.h"
#include "common/recorded_formats.h"
#include "rules/launchers.h"

namespace paritect {
namespace {

constexpr int kLiveNamesMax = 10'000;              // a node's own listing ends there (agent/collectors/live_order.cc)
constexpr std::size_t kMissingRanksMax = 100'000;  // a list may state any world size

std::string NodeOf(const v1::Bundle& bundle, const v1::Evidence& evidence) {
  return evidence.shards().node().empty() ? bundle.plan().node() : evidence.shards().node();
}

// What the environment of the job says, where the plan does not.
int WorldSizeOfEnvironment(const v1::Bundle& bundle) {
  for (const v1::Evidence& evidence : bundle.evidence()) {
    for (const v1::Setting& setting : evidence.settings().settings()) {
      if (!BuiltInLaunchers().IsProcessCount(setting.raw_key())) continue;
      auto value = ParseInt(setting.raw_value());
      if (value && *value > 0 && *value < (1 << 24)) return static_cast<int>(*value);
    }
  }
  return 0;
}

// --- gathering the lists of one run -----------------------------------------------------------------

class RunBuilder {
 public:
  RunBuilder(Side side, const RunView& run, const std::string& dataset)
      : run_view_(run), dataset_(dataset), segments_(run, dataset) {
    run_.side = side;
    run_.run = run.name;
  }

  // nullopt: this run has no list of that label.
  std::optional<ShardRun> Build() {
    for (const v1::Bundle* bundle : run_view_.nodes) {
      for (const v1::Evidence& evidence : bundle->evidence()) {
        if (evidence.kind() != v1::EVIDENCE_KIND_SHARDS || evidence.subject() != dataset_) continue;
        AddEvidence(*bundle, evidence);
      }
    }
    if (lists_ == 0) return std::nullopt;
    for (auto& [epoch, readers] : readers_) run_.epochs.push_back(OneEpoch(epoch, std::move(readers)));
    SettleWorldSizes();
    return std::move(run_);
  }

 private:
  void AddEvidence(const v1::Bundle& bundle, const v1::Evidence& evidence) {
    if (evidence.outcome() != v1::OUTCOME_COLLECTED) {
      run_.partly_unreadable = true;
      return;
    }
    ++lists_;
    const v1::ShardList& list = evidence.shards();
    ShardReader reader;
    reader.rank = list.has_rank() ? list.rank() : -1;
    reader.node = NodeOf(bundle, evidence);
    reader.segment = segments_.Of(bundle, evidence);
    reader.world_size = list.world_size();
    reader.evidence = &evidence;
    for (const v1::Note& note : list.notes()) {
      reader.unordered = reader.unordered || note.kind() == "unordered";
      reader.epochs_unclear = reader.epochs_unclear || note.kind() == "epochs_unclear";
      reader.opened_again = reader.opened_again || note.kind() == "opened_again";
      if (note.kind() == "rank_variables_disagree") reader.rank_disagreement = note.message();
      reader.rank_guessed = reader.rank_guessed || note.kind() == "rank_by_birth";
      reader.opened_evenly = reader.opened_evenly || note.kind() == "opened_evenly";
      reader.ends_openly = reader.ends_openly || note.kind() == "no_final_line_end";
    }
    for (const v1::Problem& problem : list.incomplete()) {
      reader.begins_late = reader.begins_late || problem.id() == "trace_attached" || problem.id() == "trace_restarted";
    }
    reader.partial = list.incomplete_size() > 0;
    if (!list.sample_numbers()) SpellPlainly(reader);
    run_.partly_unreadable = run_.partly_unreadable || list.incomplete_size() > 0;
    run_.recorded_by_step = run_.recorded_by_step || list.format() == "index-log" || list.format() == kTraceFormat ||
                            list.format() == kObservedFormat;
    if (!list.has_rank()) ++run_.unranked;
    NoteWorldSize(reader.segment, list.world_size(), reader.node);
    readers_[list.has_epoch() ? std::optional<int>(list.epoch()) : std::nullopt].push_back(std::move(reader));
  }

  static void SpellPlainly(ShardReader& reader) {
    const auto& items = reader.evidence->shards().items();
    if (std::all_of(items.begin(), items.end(), [](const std::string& item) { return IsPlainName(item); })) return;
    auto plain = std::make_shared<google::protobuf::RepeatedPtrField<std::string>>();
    plain->Reserve(items.size());
    for (const std::string& item : items) *plain->Add() = IsPlainName(item) ? item : PlainName(item);
    reader.plain_names = std::move(plain);
  }

  void NoteWorldSize(int segment, int size, const std::string& node) {
    if (size > 0) stated_[segment][size].insert(node);
  }

  static bool SameItems(const ShardReader& a, const ShardReader& b) {
    const auto& x = a.names();
    const auto& y = b.names();
    return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin());
  }

  static ShardEpoch OneEpoch(std::optional<int> epoch, std::vector<ShardReader> readers) {
    std::stable_sort(readers.begin(), readers.end(), [](const ShardReader& a, const ShardReader& b) {
      return std::tie(a.segment, a.rank, a.node) < std::tie(b.segment, b.rank, b.node);
    });
    ShardEpoch out;
    out.epoch = epoch;
    for (ShardReader& reader : readers) {
      if (!out.readers.empty() && reader.rank >= 0) {
        const ShardReader& last = out.readers.back();
        const bool same_rank = last.segment == reader.segment && last.rank == reader.rank;
        // The same list found twice on one node (two plans, two patterns) is one list.
        if (same_rank && last.node == reader.node && SameItems(last, reader)) continue;
        reader.repeats_rank = same_rank;
      }
      out.readers.push_back(std::move(reader));
    }
    return out;
  }

  void SettleWorldSizes() {
    std::set<int> segments;
    for (const ShardEpoch& epoch : run_.epochs) {
      for (const ShardReader& reader : epoch.readers) segments.insert(reader.segment);
    }
    std::map<int, std::set<std::string>> by_plan, by_environment;
    for (const v1::Bundle* bundle : run_view_.nodes) {
      if (bundle->plan().world_size() > 0) by_plan[bundle->plan().world_size()].insert(bundle->plan().node());
      if (const int size = WorldSizeOfEnvironment(*bundle); size > 0)
        by_environment[size].insert(bundle->plan().node());
    }
    // A plan speaks for the whole run; where lists state another size in a single segment, that is a conflict.
    for (int segment : segments) {
      std::map<int, std::set<std::string>>& sizes = stated_[segment];
      if (segments.size() == 1) {
        for (const auto& [size, nodes] : by_plan) sizes[size].insert(nodes.begin(), nodes.end());
      }
      if (sizes.empty()) sizes = by_plan.empty() ? by_environment : by_plan;
      if (sizes.empty()) continue;
      run_.world_sizes[segment] = sizes.rbegin()->first;
      if (sizes.size() < 2) continue;
      std::vector<std::string> parts;
      WorldSizeConflict conflict;
      for (const auto& [size, nodes] : sizes) {
        parts.push_back(absl::StrCat(size, " (", absl::StrJoin(nodes, ", "), ")"));
        conflict.sizes.push_back(size);
      }
      conflict.text = absl::StrJoin(parts, ", ");
      run_.world_size_conflicts.push_back(std::move(conflict));
    }
  }

  const RunView& run_view_;
  const std::string& dataset_;
  const SegmentMap segments_;
  ShardRun run_;
  int lists_ = 0;
  std::map<std::optional<int>, std::vector<ShardReader>> readers_;
  std::map<int, std::map<int, std::set<std::string>>> stated_;  // segment, size: nodes
};

// --- what is missing --------------------------------------------------------------------------------

// Shares differ by one entry at most: an empty list beside one of two or more was lost on its way, or its rank read
// nothing for a reason that nobody knows.
void FindSuspiciouslyEmpty(ShardRun& run) {
  for (ShardEpoch& epoch : run.epochs) {
    int largest = 0;
    for (const ShardReader& reader : epoch.readers) largest = std::max(largest, reader.names().size());
    for (ShardReader& reader : epoch.readers) {
      reader.suspiciously_empty = largest > 1 && reader.names().empty();
      run.partly_unreadable = run.partly_unreadable || reader.suspiciously_empty;
    }
  }
}

void FindMissingRanks(ShardRun& run) {
  std::set<int> missing;
  for (const ShardEpoch& epoch : run.epochs) {
    std::map<int, std::set<int>> ranks;  // by segment
    for (const ShardReader& reader : epoch.readers) ranks[reader.segment].insert(reader.rank);
    for (const auto& [segment, seen] : ranks) {
      auto size = run.world_sizes.find(segment);
      // Without a stated size only a hole below the largest rank can be seen.
      const int count = size != run.world_sizes.end() ? size->second : *seen.rbegin() + 1;
      for (int rank = 0; rank < count && missing.size() < kMissingRanksMax; ++rank) {
        if (!seen.contains(rank)) missing.insert(rank);
      }
    }
  }
  run.missing_ranks.assign(missing.begin(), missing.end());
}

// --- names ------------------------------------------------------------------------------------------

// The names that a data set of that label holds by its list, of the first side that has one.
struct DeclaredFiles {
  NameSet names;
  bool declared = false;  // a plan names the data set, whether or not its list could be made
  bool incomplete = false;
};

DeclaredFiles FilesOf(const EvidenceSet& evidence, const std::string& dataset) {
  DeclaredFiles out;
  std::set<const void*> seen;  // lists that several nodes hold
  for (Side side : kBothSides) {
    evidence.ForEach(side, v1::EVIDENCE_KIND_DATASET_FILES, [&](const v1::Bundle&, const v1::Evidence& one) {
      if (one.subject() != dataset && one.files().dataset() != dataset) return;
      out.declared = true;
      if (one.outcome() != v1::OUTCOME_COLLECTED) {
        out.incomplete = true;
        return;
      }
      out.incomplete = out.incomplete || one.files().incomplete_size() > 0 || one.files().unread_folders_size() > 0;
      const auto& files = evidence.FilesOf(one.files());
      if (!seen.insert(&files).second) return;
      for (const v1::FileEntry& file : files) {
        // A folder link that was not entered hides what stands below it.
        out.incomplete = out.incomplete || (file.type() == v1::FILE_TYPE_SYMLINK && file.has_error());
        if (file.type() == v1::FILE_TYPE_UNSPECIFIED || file.type() == v1::FILE_TYPE_REGULAR ||
            file.type() == v1::FILE_TYPE_SYMLINK) {
          out.names.insert(file.path());
        }
      }
    });
    if (!out.names.empty()) return out;
  }
  for (Side side : kBothSides) {
    evidence.ForEach(side, v1::EVIDENCE_KIND_DATASET_LISTING, [&](const v1::Bundle&, const v1::Evidence& one) {
      if (one.listing().dataset() != dataset) return;
      // The recorder's: what a program listed, by full path. No list of the data set.
      if (one.listing().names_size() > 0 && absl::StartsWith(one.listing().names(0), "/")) return;
      for (const std::string& name : one.listing().names()) out.names.insert(name);
      out.incomplete = out.incomplete || one.listing().names_size() >= kLiveNamesMax;
    });
  }
  return out;
}

// Fills names, items and what is expected of one pair.
class PairBuilder {
 public:
  PairBuilder(const EvidenceSet& evidence, ShardPair& pair) : evidence_(evidence), pair_(pair) {
    if (pair_.baseline) sides_[0].push_back(&*pair_.baseline);
    for (ShardRun& run : pair_.migrated) sides_[1].push_back(&run);
  }

  void Build() {
    pair_.sample_numbers = AllNumbers({0, 1});
    pair_.numbers_against_names =
        !pair_.sample_numbers && !sides_[0].empty() && !sides_[1].empty() && (AllNumbers({0}) || AllNumbers({1}));
    DeclaredFiles files;
    if (!pair_.sample_numbers && !pair_.dataset.empty()) files = FilesOf(evidence_, pair_.dataset);
    SideNames names[2] = {SideNames(Views(0)), SideNames(Views(1))};
    for (SideNames& side : names) side.UseCommonRoot();
    const bool by_list = !files.names.empty() && AlignToFiles(files.names, names);
    pair_.file_list_other = !by_list && (!files.names.empty() || (files.declared && !files.incomplete));
    pair_.file_list_incomplete = files.incomplete;
    if (!by_list && !pair_.sample_numbers && !sides_[0].empty() && !sides_[1].empty()) AlignSides(names[0], names[1]);
    NameInterner interner;
    for (int side = 0; side < 2; ++side) {
      for (ShardRun* run : sides_[side]) InternRun(*run, names[side], interner);
    }
    std::vector<ItemId> declared;
    for (absl::string_view name : files.names) {
      if (by_list) declared.push_back(interner.Intern(name));
    }
    pair_.names = std::move(interner).TakeNames();
    MarkCutLists(pair_, declared);
    SetEvaluationApart(pair_, IsEvaluationLabel(evidence_, pair_.dataset), declared);
    for (auto& side : sides_) {
      for (ShardRun* run : side) {
        for (ShardEpoch& epoch : run->epochs) {
          pair_.traced = pair_.traced || IsTraced(epoch);
          SetCommonApart(pair_, epoch);
        }
        TellEpochs(pair_, *run);
        TellScans(pair_, *run);
        // What is evaluated by one rank alone is missing on no other.
        if (pair_.evaluation_set && run->evaluation == EvaluationRead::kByOne) continue;
        FindSuspiciouslyEmpty(*run);
        FindMissingRanks(*run);
      }
    }
    FindAllOpenedAlike();
    Expect(by_list, declared);
  }

 private:
  std::vector<const ShardRun*> Views(int side) const { return {sides_[side].begin(), sides_[side].end()}; }

  bool AllNumbers(std::initializer_list<int> sides) const {
    bool any = false, all = true;
    for (const int side : sides) {
      for (const ShardRun* run : sides_[side]) {
        ForEachReader(*run, [&](const ShardReader& reader) {
          if (reader.names().size() == 0) return;
          any = true;
          all = all && reader.evidence->shards().sample_numbers();
        });
      }
    }
    return any && all;
  }

  // False where the list names something else than the shards do (half of the names are not in it).
  static bool AlignToFiles(const NameSet& files, SideNames (&names)[2]) {
    SideNames aligned[2] = {names[0], names[1]};
    if (!AlignToList(aligned[0], files) || !AlignToList(aligned[1], files)) return false;
    names[0] = std::move(aligned[0]);
    names[1] = std::move(aligned[1]);
    return true;
  }

  // "007" and "7" are the same sample.
  static absl::string_view CanonicalNumber(absl::string_view text) {
    while (text.size() > 1 && text[0] == '0') text.remove_prefix(1);
    return text;
  }

  void InternRun(ShardRun& run, const SideNames& names, NameInterner& interner) const {
    for (ShardEpoch& epoch : run.epochs) {
      for (ShardReader& reader : epoch.readers) {
        reader.items.reserve(static_cast<std::size_t>(reader.names().size()));
        for (const std::string& item : reader.names()) {
          reader.items.push_back(
              interner.Intern(pair_.sample_numbers ? CanonicalNumber(item) : names.Relative(reader, item)));
        }
      }
    }
  }

  // Opens do not tell which samples a rank kept: ranks that open everything on both sides are no fault.
  void FindAllOpenedAlike() {
    if (!pair_.baseline || pair_.migrated.empty()) return;
    ShardRun& baseline = *pair_.baseline;
    for (ShardRun& run : pair_.migrated) {
      for (ShardEpoch& epoch : run.epochs) {
        const ShardEpoch* found = FindEpoch(run, epoch, baseline);
        if (found == nullptr || !EveryRankReadsAll(pair_, epoch) || !EveryRankReadsAll(pair_, *found)) continue;
        for (ShardEpoch& theirs : baseline.epochs) {
          if (&theirs == found) theirs.all_opened_alike = IsTraced(theirs) && !theirs.containers_shared;
        }
        epoch.all_opened_alike = IsTraced(epoch) && !epoch.containers_shared;
      }
    }
  }

  void Expect(bool by_list, const std::vector<ItemId>& declared) {
    pair_.expected.assign(pair_.names.size(), false);
    // What stands beside the shards of one side need not stand on the other.
    for (const ShardRun* run : pair_.Runs()) {
      for (const ShardEpoch& epoch : run->epochs) {
        if (by_list) break;
        for (ItemId id : epoch.unclear_common) pair_.expected[id] = true;
        for (const ShardReader& reader : epoch.readers) {
          for (ItemId id : reader.items) pair_.expected[id] = true;
          for (ItemId id : reader.evaluation) pair_.expected[id] = true;
        }
      }
    }
    pair_.expected_from = by_list                ? ExpectedFrom::kFileList
                          : pair_.sample_numbers ? ExpectedFrom::kNumbers
                                                 : ExpectedFrom::kUnion;
    for (ItemId id : declared) pair_.expected[id] = true;
  }

  const EvidenceSet& evidence_;
  ShardPair& pair_;
  std::vector<ShardRun*> sides_[2];
};

// Labels of samples that were observed as they were dealt out. Numbers say who reads what only within one data set: a
// sampler that knows the ranks deals it out. Where each rank's sampler knows of itself alone, its data set may be its
// share already; then equal first batches of equal numbers show that it is not.
std::set<std::string> ObservedLabels(const EvidenceSet& evidence, Side side) {
  struct Seen {
    std::set<std::int64_t> ranks;
    std::set<std::string> first_batches;  // of ranks whose sampler knows of itself alone
    bool own_numbers = false;
  };
  std::map<std::string, std::map<std::string, Seen>> labels;  // by label and run
  evidence.ForEach(side, v1::EVIDENCE_KIND_SHARDS, [&](const v1::Bundle& bundle, const v1::Evidence& one) {
    if (one.shards().format() != kObservedFormat) return;
    Seen& seen = labels[one.subject()][bundle.plan().run()];
    seen.ranks.insert(one.has_rank() ? one.rank() : 0);
    for (const v1::Note& note : one.shards().notes()) {
      if (note.kind() != "own_numbers" || one.shards().epoch() != 0) continue;
      seen.own_numbers = true;
      seen.first_batches.insert(note.message());
    }
  });
  std::set<std::string> usable;
  for (const auto& [label, runs] : labels) {
    const bool all = std::all_of(runs.begin(), runs.end(), [](const auto& run) {
      const Seen& seen = run.second;
      const bool same = seen.first_batches.size() == 1 && !seen.first_batches.contains("");
      return !seen.own_numbers || seen.ranks.size() == 1 || same;
    });
    if (all) usable.insert(label);
  }
  return usable;
}

// Labels of the lists that count: where both sides' samples were observed, opens of files say less than these.
std::set<std::string> Labels(const EvidenceSet& evidence, Side side) {
  const std::set<std::string> of_side = ObservedLabels(evidence, side);
  const Side other = side == Side::kBaseline ? Side::kMigrated : Side::kBaseline;
  const bool observed = !of_side.empty() && !ObservedLabels(evidence, other).empty();
  std::set<std::string> labels;
  evidence.ForEach(side, v1::EVIDENCE_KIND_SHARDS, [&](const v1::Bundle&, const v1::Evidence& one) {
    if (observed && one.shards().format() == kTraceFormat) return;
    if (one.shards().format() == kObservedFormat && !of_side.contains(one.subject())) return;
    if (one.outcome() == v1::OUTCOME_COLLECTED) labels.insert(one.subject());
  });
  return labels;
}

}  // namespace

namespace {

std::vector<ShardPair> PairsOf(const EvidenceSet& evidence) {
  const std::set<std::string> labels[2] = {Labels(evidence, Side::kBaseline), Labels(evidence, Side::kMigrated)};
  std::set<std::string> all = labels[0];
  all.insert(labels[1].begin(), labels[1].end());
  // One label a side, and one of them empty: they mean the same.
  const bool joined = labels[0].size() == 1 && labels[1].size() == 1 && all.size() == 2 && all.contains("");
  std::vector<ShardPair> pairs;
  for (const std::string& label : all) {
    if (joined && label.empty()) continue;
    ShardPair& pair = pairs.emplace_back();
    pair.dataset = label;
    for (Side side : kBothSides) {
      const std::set<std::string>& known = labels[side == Side::kBaseline ? 0 : 1];
      const std::string wanted = joined ? *known.begin() : label;
      for (const RunView& view : evidence.Runs(side)) {
        // Lists of a label that does not count on this side are not looked at for the other side's sake.
        std::optional<ShardRun> run;
        if (known.contains(wanted)) run = RunBuilder(side, view, wanted).Build();
        if (!run) {
          if (side == Side::kMigrated) pair.migrated_without.push_back(view.name);
          continue;
        }
        if (side == Side::kMigrated) {
          pair.migrated.push_back(*std::move(run));
        } else if (!pair.baseline) {
          pair.baseline = std::move(run);
        }
      }
    }
    PairBuilder(evidence, pair).Build();
  }
  return pairs;
}

}  // namespace

std::vector<ShardPair> MakeShardPairs(const EvidenceSet& evidence) {
  return PairsOf(evidence);
}

const std::vector<ShardPair>& PairShards(const CheckContext& context) {
  return context.views->Get<std::vector<ShardPair>>({}, [&] { return PairsOf(context.evidence); });
}

}  // namespace paritect
