#include "checks/observed/observed_run.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/numbers.h"
#include "common/recorded_formats.h"

namespace paritect {
namespace {

// Of a value that was withheld its hash by the audit's key: two that are equal have the same. Empty: not known.
std::string ValueOf(const v1::Setting& setting) {
  if (!setting.raw_value().empty() || setting.has_value() || setting.keyed_hash().empty()) return setting.raw_value();
  return absl::StrCat("withheld ", absl::BytesToHexString(setting.keyed_hash()));
}

ObservedRank RankOf(const v1::Bundle& bundle, const v1::Evidence& evidence, int& world_size) {
  ObservedRank rank;
  rank.rank = evidence.has_rank() ? evidence.rank() : -1;
  rank.where = WhereFrom(bundle, evidence);
  for (const v1::Setting& setting : evidence.settings().settings()) {
    absl::string_view key = setting.raw_key();
    if (key == "world_size") world_size = static_cast<int>(ParseInt(setting.raw_value()).value_or(0));
    if (!absl::ConsumePrefix(&key, "observed.")) continue;
    ObservedFact fact = {std::string(key), ValueOf(setting), setting.scope(), setting.origin()};
    (key == "gap" ? rank.gaps : rank.facts).push_back(std::move(fact));
  }
  return rank;
}

}  // namespace

const ObservedFact* ObservedRank::Find(absl::string_view key, absl::string_view scope) const {
  for (const ObservedFact& fact : facts) {
    if (fact.key == key && fact.scope == scope) return &fact;
  }
  return nullptr;
}

std::optional<std::int64_t> ObservedRank::Count(absl::string_view key, absl::string_view scope) const {
  const ObservedFact* found = Find(key, scope);
  return found == nullptr ? std::nullopt : ParseInt(found->value);
}

bool ObservedRank::Is(absl::string_view key, absl::string_view scope) const {
  const ObservedFact* found = Find(key, scope);
  return found != nullptr && found->value == "true";
}

std::vector<std::string> ObservedRank::ScopesOf(absl::string_view key) const {
  std::vector<std::string> scopes;
  for (const ObservedFact& fact : facts) {
    if (fact.key == key && std::find(scopes.begin(), scopes.end(), fact.scope) == scopes.end()) {
      scopes.push_back(fact.scope);
    }
  }
  return scopes;
}

const ObservedRun& ObservedRun::Of(const CheckContext& context, const RunView& run) {
  const Views::Key key(run.nodes.begin(), run.nodes.end());
  return context.views->Get<ObservedRun>(key, [&] {
    ObservedRun observed;
    for (const v1::Bundle* bundle : run.nodes) {
      for (const v1::Evidence& evidence : bundle->evidence()) {
        if (evidence.outcome() != v1::OUTCOME_COLLECTED || evidence.settings().format() != kObservedFormat) continue;
        observed.ranks_.push_back(RankOf(*bundle, evidence, observed.world_size_));
      }
    }
    std::stable_sort(observed.ranks_.begin(), observed.ranks_.end(), [](const ObservedRank& a, const ObservedRank& b) {
      return static_cast<std::uint32_t>(a.rank) < static_cast<std::uint32_t>(b.rank);
    });
    return observed;
  });
}

bool ObservedRun::whole() const {
  const bool all_there = world_size_ == 0 || static_cast<std::size_t>(world_size_) <= ranks_.size();
  return all_there && std::all_of(ranks_.begin(), ranks_.end(), [](const ObservedRank& rank) {
           return std::all_of(rank.gaps.begin(), rank.gaps.end(),
                              [](const ObservedFact& gap) { return gap.scope == "cut"; });
         });
}

std::vector<ObservedPair> ObservedPairs(const CheckContext& context) {
  std::vector<ObservedPair> pairs;
  for (const RunView& baseline : context.evidence.Runs(Side::kBaseline)) {
    if (!ObservedRun::Of(context, baseline).seen()) continue;
    for (const RunView& migrated : context.evidence.Runs(Side::kMigrated)) {
      if (ObservedRun::Of(context, migrated).seen()) pairs.push_back({baseline, migrated});
    }
    break;
  }
  return pairs;
}

void AddObservedGaps(const CheckContext& context, v1::CheckResult& result, const ObservedRun& observed) {
  for (const ObservedRank& rank : observed.ranks()) {
    for (const ObservedFact& gap : rank.gaps) {
      if (gap.scope == "cut") continue;  // killed: all until then is told
      AddMissing(context, result, "observed_gap", rank.where, {{"kind", gap.scope}, {"what", gap.value}});
    }
  }
  const std::size_t world = static_cast<std::size_t>(std::max(0, observed.world_size()));
  if (observed.seen() && observed.ranks().size() < world) {
    AddMissing(context, result, "observed_ranks_missing", observed.first().where,
               {{"seen", absl::StrCat(observed.ranks().size())}, {"world", absl::StrCat(world)}});
  }
}

}  // namespace paritect
