// data.sharding.disjoint: is no file read by two ranks? Padding by wrap-around is legal when both sides pad.
// Source: pre-tuning checklist, 多节点分片方式与基准一致 (不同节点对文件名排序不同会导致重复分片).
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/check.h"
#include "checks/shards/findings.h"
#include "checks/shards/inferred_rule.h"

namespace paritect {
namespace {

constexpr std::size_t kFindingsMade = 1000;

std::string ReadersText(const SharedItem& item) {
  std::vector<std::string> parts;
  std::set<std::string> nodes;
  for (const ShardReader* reader : item.readers) nodes.insert(reader->node);
  for (const ShardReader* reader : item.readers) {
    std::string part = reader->rank >= 0 ? absl::StrCat("rank ", reader->rank) : reader->evidence->source();
    if (nodes.size() > 1) absl::StrAppend(&part, " (", reader->node, ")");
    if (parts.empty() || parts.back() != part) parts.push_back(std::move(part));
  }
  if (item.reader_count > item.readers.size()) parts.push_back("...");
  return absl::StrJoin(parts, ", ");
}

std::size_t Count(const std::vector<bool>& bits) {
  return static_cast<std::size_t>(std::count(bits.begin(), bits.end(), true));
}

// Whether the other side pads as well, or comes out even and so does not show it.
bool OtherPadsToo(const ShardPair& pair, const ShardRun& run, const ShardRun& other, const ShardEpoch& other_epoch) {
  if (!PaddingOf(pair, other, other_epoch).empty()) return true;
  const std::size_t items = Count(ItemsRead(pair, other_epoch));
  const int ranks = std::max(1, other.world_size());
  return other.world_size() != run.world_size() && items % static_cast<std::size_t>(ranks) == 0;
}

class RunCheck {
 public:
  RunCheck(const CheckContext& context, v1::CheckResult& result, const ShardPair& pair, const ShardRun& run,
           const ShardRun* other)
      : context_(context), result_(result), pair_(pair), run_(run), other_(other) {}

  void Run() {
    NoteReadWhole();
    for (const ShardEpoch& epoch : run_.epochs) CheckEpoch(epoch);
  }

 private:
  void NoteReadWhole() {
    const bool every = run_.evaluation == EvaluationRead::kByEvery;
    if (!every && run_.evaluation != EvaluationRead::kByOne) return;
    v1::Finding& note = AddShardFinding(context_, result_, v1::SEVERITY_NOTE, every ? "read_whole" : "read_whole/one",
                                        pair_.dataset, {{"where", WhereText(context_, run_)}});
    SetFact(note, "side", SideName(run_.side));
    SetFact(note, "ranks", every ? "every" : "one");
  }

  void CheckEpoch(const ShardEpoch& epoch) {
    const ShardEpoch* other_epoch = other_ == nullptr ? nullptr : FindEpoch(run_, epoch, *other_);
    const std::vector<bool> padding = PaddingOf(pair_, run_, epoch);
    // Without the other side nothing tells whether padding is right: it is no error yet, and the check is
    // not performed anyway.
    const bool legal = other_epoch == nullptr || OtherPadsToo(pair_, run_, *other_, *other_epoch);
    const SharedItems shared = FindSharedItems(pair_, epoch, legal ? padding : std::vector<bool>());
    if (!padding.empty() && legal && other_epoch != nullptr && run_.side == Side::kMigrated)
      NotePadding(epoch, Count(padding));
    // AddWhatOpensHide says it
    if (epoch.containers_shared || epoch.all_opened_alike || epoch.maybe_scan) return;
    if (shared.not_sharded && !OpenedUnevenly(epoch)) {
      ReportNotSharded(epoch);
      return;
    }
    if (!shared.items.empty() && EpochsUnclear(epoch)) {
      // A file that two ranks read may have been read in two epochs.
      AddMissing(context_, result_, "shard_epochs_unclear", run_.run, {{"run", run_.run}});
      return;
    }
    const bool only_padding = !padding.empty() && FindSharedItems(pair_, epoch, padding).items.empty();
    for (std::size_t i = 0; i < shared.items.size() && i < kFindingsMade; ++i) {
      ReportItem(epoch, shared.items[i], only_padding ? "read_twice/padding" : "read_twice", shared.items.size());
    }
  }

  static bool EpochsUnclear(const ShardEpoch& epoch) {
    return std::any_of(epoch.readers.begin(), epoch.readers.end(),
                       [](const ShardReader& reader) { return reader.epochs_unclear; });
  }

  // As after a look through all files, or over several epochs of which each dealt the files anew.
  static bool OpenedUnevenly(const ShardEpoch& epoch) {
    return std::any_of(epoch.readers.begin(), epoch.readers.end(),
                       [](const ShardReader& reader) { return reader.opened_again && !reader.opened_evenly; });
  }

  void NotePadding(const ShardEpoch& epoch, std::size_t count) {
    v1::Finding& finding = AddNote(context_, result_, "padding", pair_.dataset, {{"count", absl::StrCat(count)}});
    SetFact(finding, "padded", static_cast<std::uint64_t>(count));
    if (epoch.epoch) SetFact(finding, "epoch", *epoch.epoch);
  }

  void ReportNotSharded(const ShardEpoch& epoch) {
    std::set<int> ranks;
    for (const ShardReader& reader : epoch.readers) ranks.insert(reader.rank);
    v1::Finding& finding = AddShardFinding(
        context_, result_, v1::SEVERITY_ERROR, "not_sharded", pair_.dataset,
        {{"ranks", PlainText(absl::StrCat(ranks.size()))}, {"where", WhereText(context_, run_, &epoch)}});
    SetFact(finding, "ranks", static_cast<std::uint64_t>(ranks.size()));
    SetFact(finding, "side", SideName(run_.side));
  }

  void ReportItem(const ShardEpoch& epoch, const SharedItem& item, absl::string_view id, std::size_t total) {
    v1::Finding& finding =
        AddShardFinding(context_, result_, v1::SEVERITY_ERROR, id, pair_.names[item.item],
                        {{"readers", PlainText(ReadersText(item))}, {"where", WhereText(context_, run_, &epoch)}});
    SetFact(finding, "side", SideName(run_.side));
    SetFact(finding, "readers", static_cast<std::uint64_t>(item.reader_count));
    SetFact(finding, "read_twice_total", static_cast<std::uint64_t>(total));
    for (const ShardReader* reader : item.readers) finding.add_evidence(reader->evidence->source());
  }

  const CheckContext& context_;
  v1::CheckResult& result_;
  const ShardPair& pair_;
  const ShardRun& run_;
  const ShardRun* other_;
};

void Judge(const CheckContext& context, v1::CheckResult& result) {
  for (const ShardPair& pair : PairShards(context)) {
    const ShardRun* baseline = pair.baseline ? &*pair.baseline : nullptr;
    if (baseline != nullptr) {
      RunCheck(context, result, pair, *baseline, pair.migrated.empty() ? nullptr : &pair.migrated[0]).Run();
    }
    for (const ShardRun& run : pair.migrated) RunCheck(context, result, pair, run, baseline).Run();
    for (const ShardRun* run : pair.Runs()) {
      AddWhatIsMissing(context, result, *run);
      AddWhatOpensHide(context, result, pair, *run);
    }
    BothSides(context, result, pair);
  }
}

}  // namespace

extern const Check kShardingDisjoint;
const Check kShardingDisjoint = {"data.sharding.disjoint", {}, &EvaluateSharding<&Judge>};

}  // namespace paritect
