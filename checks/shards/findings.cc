#include "checks/shards/findings.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "checks/coverage.h"
#include "checks/shards/inferred_rule.h"
#include "common/recorded_formats.h"
#include "common/utf8.h"

namespace paritect {
namespace {

MessageArgs ArgsIn(const TextArgs& args, bool chinese) {
  MessageArgs out;
  for (const auto& [name, text] : args) out.emplace_back(name, chinese ? text.zh() : text.en());
  return out;
}

v1::Text Both(const v1::Text& english, const v1::Text& chinese) {
  v1::Text text;
  text.set_en(english.en());
  text.set_zh(chinese.zh());
  return text;
}

}  // namespace

v1::Text PlainText(absl::string_view text) {
  v1::Text out;
  out.set_en(std::string(text));
  out.set_zh(std::string(text));
  return out;
}

v1::Finding& AddShardFinding(const CheckContext& context, v1::CheckResult& result, v1::Severity severity,
                             absl::string_view message_id, absl::string_view subject, const TextArgs& args) {
  v1::Finding& finding = AddFinding(context, result, severity, message_id, subject, ArgsIn(args, false));
  const Messages& messages = context.rules.messages;
  *finding.mutable_message() = Both(finding.message(), messages.Say(message_id, ArgsIn(args, true)));
  *finding.mutable_remedy() = Both(finding.remedy(), messages.Fix(message_id, ArgsIn(args, true)));
  return finding;
}

void AddShardMissing(const CheckContext& context, v1::CheckResult& result, absl::string_view message_id,
                     absl::string_view from, const TextArgs& args) {
  AddMissing(context, result, message_id, from, ArgsIn(args, false));
  v1::Missing& missing = *result.mutable_missing(result.missing_size() - 1);
  const Messages& messages = context.rules.messages;
  *missing.mutable_what() = Both(missing.what(), messages.Say(message_id, ArgsIn(args, true)));
  *missing.mutable_how() = Both(missing.how(), messages.Fix(message_id, ArgsIn(args, true)));
}

v1::Text WhereText(const CheckContext& context, const ShardRun& run, const ShardEpoch* epoch) {
  const v1::Text side = context.rules.messages.Say(absl::StrCat("side_", SideName(run.side)));
  v1::Text text;
  text.set_en(absl::StrCat(side.en(), " side, run ", run.run));
  text.set_zh(absl::StrCat(side.zh(), "侧，运行 ", run.run));
  if (epoch != nullptr && epoch->epoch) {
    text.set_en(absl::StrCat(text.en(), ", epoch ", *epoch->epoch));
    text.set_zh(absl::StrCat(text.zh(), "，第 ", *epoch->epoch, " 轮"));
  }
  return text;
}

void RequireShards(const CheckContext& context, v1::CheckResult& result) {
  for (const Side side : kBothSides) RequireEvidence(context, result, side, v1::EVIDENCE_KIND_SHARDS);
}

void AddWhatIsMissing(const CheckContext& context, v1::CheckResult& result, const ShardRun& run) {
  if (!run.missing_ranks.empty()) {
    const std::string ranks = FormatRanks(run.missing_ranks, 20);
    const int size = run.world_size() > 0 ? run.world_size() : run.missing_ranks.back() + 2;
    AddMissing(context, result, "shard_ranks_missing", absl::StrCat("rank ", ranks),
               {{"ranks", ranks}, {"world_size", absl::StrCat(size)}, {"run", run.run}});
  }
  for (const ShardEpoch& epoch : run.epochs) {
    for (const ShardReader& reader : epoch.readers) {
      const std::string from = reader.rank >= 0 ? absl::StrCat("rank ", reader.rank, " of ", reader.node) : reader.node;
      for (const v1::Problem& problem : reader.evidence->shards().incomplete()) {
        AddMissing(context, result, problem, from);
      }
      if (reader.cut) AddMissing(context, result, "shard_list_cut", from, {{"source", reader.evidence->source()}});
      if (reader.suspiciously_empty) {
        AddMissing(context, result, "shard_list_empty", from, {{"source", reader.evidence->source()}});
      }
      // What the recorder could not tell of ranks stands among its problems.
      const bool told =
          reader.evidence->shards().format() == kTraceFormat && reader.evidence->shards().incomplete_size() > 0;
      if (reader.rank < 0 && !told) {
        const bool traced = reader.evidence->shards().format() == kTraceFormat;
        AddMissing(context, result, traced ? "shard_rank_unknown/trace" : "shard_rank_unknown", reader.node,
                   {{"source", reader.evidence->source()}});
      }
    }
  }
}

void AddUntoldEpochs(const CheckContext& context, v1::CheckResult& result, const ShardRun& run) {
  const bool again = std::any_of(run.epochs.begin(), run.epochs.end(), [](const ShardEpoch& epoch) {
    return std::any_of(epoch.readers.begin(), epoch.readers.end(),
                       [](const ShardReader& reader) { return reader.opened_again; });
  });
  if (again) AddMissing(context, result, "shard_epochs_unclear/order", run.run, {{"run", run.run}});
}

void AddWhatOpensHide(const CheckContext& context, v1::CheckResult& result, const ShardPair& pair,
                      const ShardRun& run) {
  const ShardEpoch *unclear = nullptr, *containers = nullptr;  // the first of each: told once
  bool all_alike = false, scan = false;
  for (const ShardEpoch& epoch : run.epochs) {
    if (unclear == nullptr && !epoch.unclear_common.empty()) unclear = &epoch;
    if (containers == nullptr && epoch.containers_shared) containers = &epoch;
    all_alike = all_alike || epoch.all_opened_alike;
    scan = scan || epoch.maybe_scan;
  }
  if (unclear != nullptr) {
    const std::string example = DisplayBytes(pair.names[unclear->unclear_common[0]]);
    AddMissing(context, result, "shard_common_unclear", example,
               {{"run", run.run}, {"count", absl::StrCat(unclear->unclear_common.size())}, {"example", example}});
  }
  if (containers != nullptr) AddMissing(context, result, "shard_containers_shared", run.run, {{"run", run.run}});
  if (all_alike) AddMissing(context, result, "shard_all_opened_alike", run.run, {{"run", run.run}});
  if (scan) AddMissing(context, result, "shard_maybe_scan", run.run, {{"run", run.run}});
  AddUntoldEpochs(context, result, run);
}

bool BothSides(const CheckContext& context, v1::CheckResult& result, const ShardPair& pair) {
  if (!pair.migrated.empty()) {
    for (const std::string& run : pair.migrated_without) {
      AddMissing(context, result, "shard_run_without_lists", run,
                 {{"run", run}, {"dataset", DisplayBytes(pair.dataset)}});
    }
  }
  if (pair.baseline && !pair.migrated.empty()) return true;
  const Side absent = pair.baseline ? Side::kMigrated : Side::kBaseline;
  AddShardMissing(context, result, "shard_no_partner", SideName(absent),
                  {{"dataset", PlainText(pair.dataset)},
                   {"side", context.rules.messages.Say(absl::StrCat("side_", SideName(absent)))}});
  return false;
}

bool Comparable(const CheckContext& context, v1::CheckResult& result, const ShardPair& pair) {
  if (!BothSides(context, result, pair)) return false;
  if (!pair.numbers_against_names) return true;
  AddShardMissing(context, result, "shard_numbers_against_names", SideName(Side::kMigrated),
                  {{"dataset", PlainText(pair.dataset)}});
  return false;
}

bool Unordered(const ShardEpoch& a, const ShardEpoch& b) {
  const auto unordered = [](const ShardReader& reader) { return reader.unordered; };
  return std::any_of(a.readers.begin(), a.readers.end(), unordered) ||
         std::any_of(b.readers.begin(), b.readers.end(), unordered);
}

namespace {

bool IsSubset(std::vector<ItemId> part, std::vector<ItemId> whole) {
  std::sort(part.begin(), part.end());
  std::sort(whole.begin(), whole.end());
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

}  // namespace

bool EndsEarlier(const ShardRun& run, const ShardEpoch& epoch, const ShardRun& other, const ShardEpoch& other_epoch) {
  if (!run.recorded_by_step || !other.recorded_by_step || &epoch != &run.epochs.back()) return false;
  const auto lists = ListsByRank(run, epoch), others = ListsByRank(other, other_epoch);
  if (lists.empty() || lists.size() != others.size()) return false;
  bool shorter = false;
  for (std::size_t rank = 0; rank < lists.size(); ++rank) {
    if (lists[rank].size() > others[rank].size()) return false;
    const bool head = std::equal(lists[rank].begin(), lists[rank].end(), others[rank].begin());
    if (!head && !(Unordered(epoch, other_epoch) && IsSubset(lists[rank], others[rank]))) return false;
    shorter = shorter || lists[rank].size() < others[rank].size();
  }
  return shorter;
}

namespace {

const ShardReader* ReaderOf(const RankReading& one) {
  for (const ShardReader& reader : one.epoch.readers) {
    if (reader.rank == one.rank) return &reader;
  }
  return nullptr;
}

bool IsTracedReader(const ShardReader& reader) {
  return reader.evidence->shards().format() == kTraceFormat;
}

// What a rank opened once in all, in an epoch before.
std::set<ItemId> HeldByRank(const ShardRun& run, const ShardEpoch& epoch, int rank) {
  std::map<ItemId, int> opens;
  std::set<ItemId> before;
  bool earlier = true;
  for (const ShardEpoch& one : run.epochs) {
    if (&one == &epoch) earlier = false;
    for (const ShardReader& reader : one.readers) {
      if (reader.rank != rank || !IsTracedReader(reader)) continue;
      for (const std::vector<ItemId>* list : {&reader.items, &reader.common, &reader.evaluation}) {
        for (ItemId id : *list) {
          ++opens[id];
          if (earlier) before.insert(id);
        }
      }
    }
  }
  std::set<ItemId> held;
  for (ItemId id : before) {
    if (opens[id] == 1) held.insert(id);
  }
  return held;
}

std::vector<ItemId> Without(const std::vector<ItemId>& list, const std::set<ItemId>& left_out) {
  std::vector<ItemId> out;
  std::copy_if(list.begin(), list.end(), std::back_inserter(out), [&](ItemId id) { return !left_out.contains(id); });
  return out;
}

bool IsPartOf(const RankReading& part, const RankReading& whole, bool in_order) {
  if (!in_order) return IsSubset(part.list, whole.list);
  std::size_t at = 0;
  for (ItemId id : whole.list) {
    if (at < part.list.size() && part.list[at] == id) ++at;
  }
  return at == part.list.size();
}

// One rank alone opened files, all of them: it may have copied them for the others.
bool OpensAllAlone(const RankReading& one, const RankReading& other) {
  if (one.run.missing_ranks.empty() || one.epoch.readers.size() != 1 || !IsTracedReader(one.epoch.readers[0])) {
    return false;
  }
  const std::set<ItemId> own(one.list.begin(), one.list.end());
  for (const ShardReader& reader : other.epoch.readers) {
    for (ItemId id : reader.items) {
      if (!own.contains(id)) return false;
    }
  }
  return own.size() > std::set<ItemId>(other.list.begin(), other.list.end()).size();
}

// What is unclear of `one` explains what sets it apart from `other`.
bool LeavesOpen(const RankReading& one, const RankReading& other) {
  const ShardReader* reader = ReaderOf(one);
  if (reader == nullptr) return false;
  if (reader->opened_again) {
    if (IsSubset(one.list, other.list) && IsSubset(other.list, one.list)) return true;
    if (!reader->opened_evenly && IsSubset(other.list, one.list)) return true;
  }
  if (reader->begins_late) return IsPartOf(one, other, false);
  return (reader->partial || reader->cut) && IsPartOf(one, other, !Unordered(one.epoch, other.epoch));
}

}  // namespace

std::optional<std::string> WhyLeftOpen(const RankReading& a, const RankReading& b) {
  if (a.epoch.maybe_scan || b.epoch.maybe_scan || LeavesOpen(a, b) || LeavesOpen(b, a)) return "";
  if (OpensAllAlone(a, b) || OpensAllAlone(b, a)) return "shard_one_rank_opens_all";
  const std::set<ItemId> in_a(a.list.begin(), a.list.end()), in_b(b.list.begin(), b.list.end());
  std::set<ItemId> only_a, only_b;
  std::set_difference(in_a.begin(), in_a.end(), in_b.begin(), in_b.end(), std::inserter(only_a, only_a.end()));
  std::set_difference(in_b.begin(), in_b.end(), in_a.begin(), in_a.end(), std::inserter(only_b, only_b.end()));
  if (only_a.empty() && only_b.empty()) return std::nullopt;
  const std::set<ItemId> held_a = HeldByRank(a.run, a.epoch, a.rank), held_b = HeldByRank(b.run, b.epoch, b.rank);
  if (!std::includes(held_a.begin(), held_a.end(), only_b.begin(), only_b.end()) ||
      !std::includes(held_b.begin(), held_b.end(), only_a.begin(), only_a.end())) {
    return std::nullopt;
  }
  std::vector<ItemId> rest[2] = {Without(a.list, only_a), Without(b.list, only_b)};
  if (Unordered(a.epoch, b.epoch)) {
    for (std::vector<ItemId>& list : rest) std::sort(list.begin(), list.end());
  }
  return rest[0] == rest[1] ? std::optional<std::string>("shard_held_unknown") : std::nullopt;
}

std::vector<bool> HeldFromBefore(const ShardPair& pair, const ShardRun& run, const ShardEpoch& epoch) {
  if (!pair.traced || run.epochs.empty() || &epoch == &run.epochs.front()) return {};
  std::vector<bool> held(pair.names.size(), false);
  std::set<int> ranks;
  for (const ShardReader& reader : epoch.readers) ranks.insert(reader.rank);
  for (int rank : ranks) {
    for (ItemId id : HeldByRank(run, epoch, rank)) held[id] = true;
  }
  return held;
}

bool TellsNoRule(const ShardEpoch& epoch) {
  return epoch.maybe_scan || std::any_of(epoch.readers.begin(), epoch.readers.end(), [](const ShardReader& reader) {
           return reader.opened_again || reader.begins_late;
         });
}

std::vector<bool> PaddingOf(const ShardPair& pair, const ShardRun& run, const ShardEpoch& epoch) {
  const ShardRule rule = InferShardRule(pair, ListsByRank(run, epoch));
  if (!rule.regular || rule.padding.empty()) return {};
  std::vector<bool> padding(pair.names.size(), false);
  for (ItemId id : rule.padding) padding[id] = true;
  return padding;
}

SharedItems FindSharedItems(const ShardPair& pair, const ShardEpoch& epoch, const std::vector<bool>& allowed) {
  SharedItems out;
  // First pass: who read each item first, and which items have a second reader.
  constexpr std::uint32_t kNobody = UINT32_MAX;
  const auto same = [&](std::uint32_t a, std::uint32_t b) {
    return epoch.readers[a].rank == epoch.readers[b].rank && epoch.readers[a].node == epoch.readers[b].node;
  };
  std::vector<std::uint32_t> first(pair.names.size(), kNobody);
  std::vector<bool> shared(pair.names.size(), false);
  std::size_t read = 0;
  for (std::uint32_t r = 0; r < epoch.readers.size(); ++r) {
    for (ItemId id : epoch.readers[r].items) {
      if (first[id] == kNobody) {
        first[id] = r;
        ++read;
      } else if (!same(first[id], r) && (allowed.empty() || !allowed[id])) {
        shared[id] = true;
      }
    }
  }
  struct Counted {
    SharedItem shared;
    const ShardReader* last = nullptr;
  };
  std::map<ItemId, Counted> items;
  std::set<std::pair<std::string, int>> ranks;
  bool everything = true;
  for (std::uint32_t r = 0; r < epoch.readers.size(); ++r) {
    const ShardReader& reader = epoch.readers[r];
    if (reader.rank >= 0) ranks.insert({reader.node, reader.rank});
    everything = everything && reader.items.size() >= read;
    for (ItemId id : reader.items) {
      if (!shared[id]) continue;
      Counted& item = items[id];
      item.shared.item = id;
      if (item.last == &reader) continue;
      item.last = &reader;
      ++item.shared.reader_count;
      if (item.shared.readers.size() < kSharedReadersMax) item.shared.readers.push_back(&reader);
    }
  }
  for (auto& [id, counted] : items) {
    SharedItem& item = counted.shared;
    everything = everything && item.reader_count >= ranks.size();
    std::set<std::string> nodes;
    for (const ShardReader* reader : item.readers) nodes.insert(reader->node);
    out.within_node = out.within_node || nodes.size() < item.readers.size();
    out.across_nodes = out.across_nodes || nodes.size() > 1;
    out.items.push_back(std::move(item));
  }
  out.not_sharded = everything && ranks.size() > 1 && read > 1 && out.items.size() == read;
  return out;
}

}  // namespace paritect
