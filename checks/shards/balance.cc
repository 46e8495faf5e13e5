// data.sharding.balance: do the ranks read about equally much? Never an error: it costs time, not precision.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "checks/check.h"
#include "checks/shards/findings.h"
#include "common/numbers.h"

namespace paritect {
namespace {

struct Amounts {
  std::size_t least = 0, most = 0, total = 0, ranks = 0;
};

Amounts Measure(const ShardEpoch& epoch) {
  std::map<int, std::size_t> counts;
  for (const ShardReader& reader : epoch.readers) counts[reader.rank] += reader.items.size();
  Amounts out;
  for (const auto& [rank, count] : counts) {
    out.least = out.ranks == 0 ? count : std::min(out.least, count);
    out.most = std::max(out.most, count);
    out.total += count;
    ++out.ranks;
  }
  return out;
}

// One entry more or less is what any split of a number that does not divide gives.
bool Unbalanced(const Profile& profile, const Amounts& amounts) {
  if (amounts.most - amounts.least <= 1) return amounts.least == 0 && amounts.most > 0;
  return static_cast<double>(amounts.most - amounts.least) * static_cast<double>(amounts.ranks) >
         profile.threshold("shards_unbalanced") * static_cast<double>(amounts.total);
}

void CheckEpoch(const CheckContext& context, v1::CheckResult& result, const ShardRun& run, const ShardEpoch& epoch) {
  const Amounts amounts = Measure(epoch);
  const std::string least = absl::StrCat(amounts.least), most = absl::StrCat(amounts.most);
  v1::Finding* finding = nullptr;
  if (Unbalanced(context.profile, amounts)) {
    finding = &AddShardFinding(
        context, result, v1::SEVERITY_WARNING, "unbalanced", run.run,
        {{"min", PlainText(least)}, {"max", PlainText(most)}, {"where", WhereText(context, run, &epoch)}});
  } else {
    finding = &AddNote(context, result, "measured", run.run,
                       {{"figures", absl::StrCat(SideName(run.side), " ", least, "-", most, " / rank")}});
  }
  SetFact(*finding, "side", SideName(run.side));
  SetFact(*finding, "min", static_cast<std::uint64_t>(amounts.least));
  SetFact(*finding, "max", static_cast<std::uint64_t>(amounts.most));
  SetFact(*finding, "ranks", static_cast<std::uint64_t>(amounts.ranks));
}

void Judge(const CheckContext& context, v1::CheckResult& result) {
  for (const ShardPair& pair : PairShards(context)) {
    for (const ShardRun* run : pair.Runs()) {
      for (const ShardEpoch& epoch : run->epochs) CheckEpoch(context, result, *run, epoch);
      AddWhatIsMissing(context, result, *run);
    }
    BothSides(context, result, pair);
  }
}

}  // namespace

extern const Check kShardingBalance;
const Check kShardingBalance = {"data.sharding.balance", {}, &EvaluateSharding<&Judge>};

}  // namespace paritect
