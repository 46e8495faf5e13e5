#include "checks/shards/inferred_rule.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/numbers.h"

namespace paritect {
namespace {

using Lists = std::vector<std::vector<ItemId>>;

constexpr std::size_t kShuffledMax = 200'000;  // entries of which a seed is looked for

// The sequence that a split implies, padding still on it.
struct Candidate {
  bool fits = false;  // the lists' lengths allow this split
  std::vector<ItemId> sequence;
  std::vector<ItemId> padding;
  bool regular = false;
  NameOrders orders = 0;
};

std::size_t TotalOf(const Lists& lists) {
  std::size_t total = 0;
  for (const auto& list : lists) total += list.size();
  return total;
}

bool EqualLengths(const Lists& lists) {
  for (const auto& list : lists) {
    if (list.size() != lists[0].size()) return false;
  }
  return true;
}

Candidate StrideCandidate(const Lists& lists) {
  Candidate out;
  const std::size_t total = TotalOf(lists), ranks = lists.size();
  for (std::size_t r = 0; r < ranks; ++r) {
    if (lists[r].size() != (total + ranks - 1 - r) / ranks) return out;
  }
  out.fits = true;
  out.sequence.reserve(total);
  for (std::size_t i = 0; i < total; ++i) out.sequence.push_back(lists[i % ranks][i / ranks]);
  return out;
}

Candidate BlockCandidate(const Lists& lists) {
  Candidate out;
  out.fits = true;
  out.sequence.reserve(TotalOf(lists));
  for (const auto& list : lists) out.sequence.insert(out.sequence.end(), list.begin(), list.end());
  return out;
}

// Rank r takes every ranks-th batch of so many entries (samplers that shard batches, as Hugging Face accelerate's
// does).
Candidate BatchCandidate(const Lists& lists, std::size_t batch) {
  Candidate out;
  out.fits = true;
  out.sequence.reserve(TotalOf(lists));
  for (std::size_t begin = 0; begin < lists[0].size(); begin += batch) {
    for (const auto& list : lists) {
      const auto from = list.begin() + static_cast<std::ptrdiff_t>(begin);
      out.sequence.insert(out.sequence.end(), from, from + static_cast<std::ptrdiff_t>(batch));
    }
  }
  return out;
}

// Takes wrapped-around entries off the end. Irregular: an entry stands twice in another way.
// Padding up to the next multiple of the number of ranks (of batches) is always less than that number.
void TakePadding(std::size_t items, std::size_t ranks, bool may_pad, Candidate& candidate) {
  std::vector<ItemId>& sequence = candidate.sequence;
  std::vector<bool> seen(items, false);
  std::size_t unique = 0;
  while (unique < sequence.size() && !seen[sequence[unique]]) seen[sequence[unique++]] = true;
  bool wraps = unique == sequence.size() || (may_pad && sequence.size() - unique < ranks);
  for (std::size_t i = unique; wraps && i < sequence.size(); ++i) wraps = sequence[i] == sequence[i % unique];
  candidate.regular = wraps;
  if (!wraps) return;
  candidate.padding.assign(sequence.begin() + static_cast<std::ptrdiff_t>(unique), sequence.end());
  sequence.resize(unique);
}

std::int64_t NumberOf(absl::string_view name) {
  return ParseInt(name).value_or(-1);
}

NameOrders OrdersOf(const ShardPair& pair, const std::vector<ItemId>& sequence) {
  if (pair.sample_numbers) {
    for (std::size_t i = 1; i < sequence.size(); ++i) {
      if (NumberOf(pair.names[sequence[i - 1]]) >= NumberOf(pair.names[sequence[i]])) return 0;
    }
    return kOrderNatural;
  }
  std::vector<absl::string_view> names;
  names.reserve(sequence.size());
  for (ItemId id : sequence) names.push_back(pair.names[id]);
  return FollowedOrders(names);
}

void Examine(const ShardPair& pair, std::size_t ranks, bool may_pad, Candidate& candidate) {
  if (!candidate.fits) return;
  TakePadding(pair.names.size(), ranks, may_pad, candidate);
  if (candidate.regular) candidate.orders = OrdersOf(pair, candidate.sequence);
}

// Whether each rank's set, sorted in `order`, is what `split` of the sorted whole would give it.
bool SplitFitsSets(const ShardPair& pair, const Lists& lists, NameOrders order, ShardSplit split) {
  std::vector<ItemId> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  const auto before = [&](ItemId a, ItemId b) {
    if (pair.sample_numbers) return NumberOf(pair.names[a]) < NumberOf(pair.names[b]);
    return NameBefore(order, pair.names[a], pair.names[b]);
  };
  std::sort(all.begin(), all.end(), before);
  std::vector<std::size_t> place(pair.names.size(), 0);
  for (std::size_t i = 0; i < all.size(); ++i) place[all[i]] = i;
  std::size_t begin = 0;
  for (std::size_t r = 0; r < lists.size(); ++r) {
    for (ItemId id : lists[r]) {
      const bool fits = split == ShardSplit::kStride ? place[id] % lists.size() == r
                                                     : place[id] >= begin && place[id] < begin + lists[r].size();
      if (!fits) return false;
    }
    begin += lists[r].size();
  }
  return true;
}

// Ordered and split first, shuffled within each rank then. Only for lists without repetition.
void TryShuffledWithin(const ShardPair& pair, const Lists& lists, ShardRule& rule) {
  for (NameOrders order : {kOrderByte, kOrderNatural}) {
    if (pair.sample_numbers && order == kOrderByte) continue;
    for (ShardSplit split : {ShardSplit::kStride, ShardSplit::kBlock}) {
      if (!SplitFitsSets(pair, lists, order, split)) continue;
      rule.split = split;
      rule.orders = order;
      rule.shuffled_within = true;
      return;
    }
  }
}

bool TellsSplit(const Candidate& candidate) {
  return candidate.regular && (candidate.orders != 0 || !candidate.padding.empty());
}

void Take(Candidate& candidate, ShardSplit split, ShardRule& rule) {
  rule.split = split;
  rule.orders = candidate.orders;
  rule.sequence = std::move(candidate.sequence);
  rule.padding = std::move(candidate.padding);
  rule.regular = candidate.regular;
}

// Padded by whole batches: only that tells batches from single entries. Padding stands in the last round alone, and
// there is a round before it: lists that are all the same are no padding.
bool TakeBatches(const ShardPair& pair, const Lists& lists, ShardRule& rule) {
  constexpr std::size_t kBatchMax = 65'536;
  for (std::size_t batch = 2; batch <= std::min(lists[0].size() / 2, kBatchMax); ++batch) {
    if (lists[0].size() % batch != 0) continue;
    Candidate candidate = BatchCandidate(lists, batch);
    Examine(pair, lists.size() * batch, true, candidate);
    if (!candidate.regular || candidate.padding.empty()) continue;
    Take(candidate, ShardSplit::kStride, rule);
    rule.batch = batch;
    rule.told = true;
    return true;
  }
  return false;
}

// Where each entry of the sequence stands in `sorted`; empty: one stands nowhere.
std::vector<std::uint32_t> PlacesIn(const ShardPair& pair, const std::vector<ItemId>& sorted,
                                    const std::vector<ItemId>& sequence) {
  std::vector<std::uint32_t> place(pair.names.size(), UINT32_MAX);
  for (std::size_t i = 0; i < sorted.size(); ++i) place[sorted[i]] = static_cast<std::uint32_t>(i);
  std::vector<std::uint32_t> out;
  out.reserve(sequence.size());
  for (ItemId id : sequence) {
    if (place[id] == UINT32_MAX) return {};
    out.push_back(place[id]);
  }
  return out;
}

// The shuffle that made the sequence of a sorted list: of its own entries, or of the whole data set whose rest a
// sampler dropped.
std::optional<Shuffle> ShuffleOf(const ShardPair& pair, const std::vector<ItemId>& sequence) {
  if (sequence.size() < kShuffleMin || sequence.size() > kShuffledMax) return std::nullopt;
  std::vector<ItemId> expected;
  std::set<std::vector<ItemId>> tried;
  for (ItemId id = 0; id < pair.names.size(); ++id) {
    if (pair.expected[id]) expected.push_back(id);
  }
  for (NameOrders order : {kOrderByte, kOrderNatural}) {
    if (pair.sample_numbers && order == kOrderByte) continue;
    const auto before = [&](ItemId a, ItemId b) {
      if (pair.sample_numbers) return NumberOf(pair.names[a]) < NumberOf(pair.names[b]);
      return NameBefore(order, pair.names[a], pair.names[b]);
    };
    for (const std::vector<ItemId>* whole : {&sequence, &std::as_const(expected)}) {
      if (whole != &sequence && whole->size() <= sequence.size()) continue;
      std::vector<ItemId> sorted = *whole;
      std::sort(sorted.begin(), sorted.end(), before);
      if (!tried.insert(sorted).second) continue;
      if (auto found = FindShuffle(PlacesIn(pair, sorted, sequence), sorted.size())) return found;
    }
  }
  return std::nullopt;
}

// Of lists that follow no order and tell no split: a shuffle of which the seed is known tells both.
void TellShuffle(const ShardPair& pair, const Lists& lists, ShardRule& rule) {
  if (!rule.regular || rule.orders != 0) return;
  if (rule.split != ShardSplit::kUnknown) {
    rule.shuffle = ShuffleOf(pair, rule.sequence);
    return;
  }
  const bool may_pad = EqualLengths(lists);
  for (ShardSplit split : {ShardSplit::kStride, ShardSplit::kBlock}) {
    Candidate candidate = split == ShardSplit::kStride ? StrideCandidate(lists) : BlockCandidate(lists);
    Examine(pair, lists.size(), may_pad, candidate);
    if (!candidate.fits || !candidate.regular) continue;
    const std::optional<Shuffle> shuffle = ShuffleOf(pair, candidate.sequence);
    if (!shuffle) continue;
    Take(candidate, split, rule);
    rule.shuffle = shuffle;
    return;
  }
}

}  // namespace

ShardRule InferShardRule(const ShardPair& pair, const Lists& lists) {
  ShardRule rule;
  if (lists.empty()) return rule;
  const bool may_pad = lists.size() > 1 && EqualLengths(lists);
  Candidate stride = StrideCandidate(lists), block = BlockCandidate(lists);
  Examine(pair, lists.size(), may_pad, stride);
  Examine(pair, lists.size(), may_pad, block);
  rule.told = TellsSplit(stride) || TellsSplit(block) || lists.size() == 1;
  if (!rule.told) {
    if (stride.fits && stride.regular) rule.as_stride = stride.sequence;
    if (block.regular) rule.as_block = block.sequence;
  }
  if (may_pad && !stride.regular && !block.regular && TakeBatches(pair, lists, rule)) return rule;
  const bool single = TotalOf(lists) <= lists.size() && stride.fits;
  if (lists.size() == 1) {
    Take(block, ShardSplit::kNone, rule);
  } else if (single && stride.regular) {
    Take(stride, ShardSplit::kEither, rule);
  } else if (TellsSplit(stride) && (!TellsSplit(block) || stride.orders != 0)) {
    Take(stride, ShardSplit::kStride, rule);
  } else if (TellsSplit(block)) {
    Take(block, ShardSplit::kBlock, rule);
  } else {
    Take(stride.fits ? stride : block, ShardSplit::kUnknown, rule);
    if (rule.regular) TryShuffledWithin(pair, lists, rule);
  }
  return rule;
}

ShardRule InferShardRule(const ShardPair& pair, const ShardRun& run, const ShardEpoch& epoch) {
  const Lists lists = ListsByRank(run, epoch);
  ShardRule rule = InferShardRule(pair, lists);
  rule.unordered = std::any_of(epoch.readers.begin(), epoch.readers.end(),
                               [](const ShardReader& reader) { return reader.unordered; });
  if (!lists.empty() && !rule.unordered) TellShuffle(pair, lists, rule);
  return rule;
}

const ShardRule& ShardRuleOf(const CheckContext& context, const ShardPair& pair, const ShardRun& run,
                             const ShardEpoch& epoch) {
  // A run may stand in two pairs, whose names have other numbers.
  return context.views->Get<ShardRule>({&pair, &run, &epoch}, [&] { return InferShardRule(pair, run, epoch); });
}

namespace {

bool SameSplit(ShardSplit a, ShardSplit b) {
  return a == b || a == ShardSplit::kEither || b == ShardSplit::kEither || a == ShardSplit::kNone ||
         b == ShardSplit::kNone;
}

// The common entries of both sequences stand in the same order.
bool SameSequence(const std::vector<ItemId>& a, const std::vector<ItemId>& b) {
  if (a == b) return true;
  const std::size_t items = 1 + std::max(a.empty() ? 0 : *std::max_element(a.begin(), a.end()),
                                         b.empty() ? 0 : *std::max_element(b.begin(), b.end()));
  std::vector<bool> in_a(items, false), in_b(items, false);
  for (ItemId id : a) in_a[id] = true;
  for (ItemId id : b) in_b[id] = true;
  std::size_t i = 0, j = 0;
  for (;;) {
    while (i < a.size() && !in_b[a[i]]) ++i;
    while (j < b.size() && !in_a[b[j]]) ++j;
    if (i == a.size() || j == b.size()) return i == a.size() && j == b.size();
    if (a[i++] != b[j++]) return false;
  }
}

bool SameTwice(const ShardRule& a, const ShardRule& b) {
  const auto same = [](const std::vector<ItemId>& x, const std::vector<ItemId>& y) {
    return !x.empty() && x.size() == y.size() && x == y;
  };
  return same(a.as_stride, b.as_stride) || same(a.as_block, b.as_block);
}

// Whether a sequence of that length must be padded to give every rank equally many.
bool NeedsPadding(const ShardRule& rule, int ranks) {
  return ranks > 1 && rule.sequence.size() % static_cast<std::size_t>(ranks) != 0;
}

bool SamePadding(const ShardRule& a, int a_ranks, const ShardRule& b, int b_ranks) {
  if (a_ranks == b_ranks) return a.padding.empty() == b.padding.empty();
  // A side whose lists come out even does not show whether it would pad.
  if (!NeedsPadding(a, a_ranks) || !NeedsPadding(b, b_ranks)) return true;
  return a.padding.empty() == b.padding.empty();
}

}  // namespace

RuleDifference CompareShardRules(const ShardRule& baseline, int baseline_ranks, const ShardRule& migrated,
                                 int migrated_ranks) {
  if (!baseline.regular || !migrated.regular) return RuleDifference::kUnknown;
  // One sequence, split alike: the same rule, whatever order a few names of one side seem to follow.
  const bool told = baseline.told && migrated.told;
  if (!told && !baseline.unordered && !migrated.unordered && SameTwice(baseline, migrated))
    return RuleDifference::kNone;
  const bool known = baseline.split != ShardSplit::kUnknown && migrated.split != ShardSplit::kUnknown;
  const bool ordered = baseline.orders != 0 && migrated.orders != 0;
  if (known && !SameSplit(baseline.split, migrated.split)) return RuleDifference::kSplit;
  if (ordered && (baseline.orders & migrated.orders) == 0) return RuleDifference::kOrder;
  if (baseline.unordered || migrated.unordered) {
    return ordered && known ? RuleDifference::kNone : RuleDifference::kUnknown;
  }
  if (ordered != (baseline.orders != 0 || migrated.orders != 0)) return RuleDifference::kOrder;
  if (ordered && baseline.shuffled_within != migrated.shuffled_within) return RuleDifference::kOrder;
  if (known && !SamePadding(baseline, baseline_ranks, migrated, migrated_ranks)) return RuleDifference::kPadding;
  if (ordered && known) return RuleDifference::kNone;
  // No known order: the same rule shows as the same sequence.
  if (SameSequence(baseline.sequence, migrated.sequence)) return RuleDifference::kNone;
  return known || baseline_ranks == migrated_ranks ? RuleDifference::kOrder : RuleDifference::kUnknown;
}

v1::Text DescribeOrder(const ShardPair& pair, const ShardRule& rule) {
  v1::Text text;
  if (rule.orders == 0 && rule.shuffle) {
    const absl::string_view law = ShuffleLawName(rule.shuffle->law);
    // DistributedSampler and its like add the epoch.
    const bool torch = rule.shuffle->law == ShuffleLaw::kTorch;
    text.set_en(
        absl::StrCat("sorted, then shuffled (", law, torch ? ", seed + epoch = " : ", seed ", rule.shuffle->seed, ")"));
    text.set_zh(absl::StrCat("排序后打乱（", law, torch ? "，seed + epoch = " : "，种子 ", rule.shuffle->seed, "）"));
  } else if (rule.orders == 0) {
    text.set_en("no sorted order (shuffled, or as the folder is enumerated)");
    text.set_zh("无排序（被打乱，或为目录枚举次序）");
  } else if (pair.sample_numbers) {
    text.set_en("ascending sample numbers");
    text.set_zh("样本序号递增");
  } else if ((rule.orders & kOrderByte) != 0) {
    text.set_en("byte order");
    text.set_zh("按字节排序");
  } else if ((rule.orders & kOrderFolder) != 0) {
    text.set_en("byte order folder by folder");
    text.set_zh("逐目录按字节排序");
  } else if ((rule.orders & kOrderNatural) != 0) {
    text.set_en("natural order (digits by value)");
    text.set_zh("自然排序（数字按数值）");
  } else {
    text.set_en("locale order (letters before case)");
    text.set_zh("按 locale 排序（先字母后大小写）");
  }
  if (rule.shuffled_within) {
    text.set_en(absl::StrCat(text.en(), ", shuffled within each rank"));
    text.set_zh(absl::StrCat(text.zh(), "，各 rank 内再打乱"));
  }
  return text;
}

v1::Text DescribeSplit(const ShardRule& rule, int ranks) {
  v1::Text text;
  switch (rule.split) {
    case ShardSplit::kStride:
      text.set_en(absl::StrCat("stride (files[rank::", ranks, "])"));
      text.set_zh(absl::StrCat("跨步 stride（files[rank::", ranks, "]）"));
      if (rule.batch > 1) {
        text.set_en(absl::StrCat(text.en(), " of batches of ", rule.batch));
        text.set_zh(absl::StrCat(text.zh(), "，以 ", rule.batch, " 项为一批"));
      }
      break;
    case ShardSplit::kBlock:
      text.set_en("block (contiguous parts)");
      text.set_zh("分块 block（连续分段）");
      break;
    case ShardSplit::kNone:
      text.set_en("one rank");
      text.set_zh("单个 rank");
      break;
    default: text.set_en("unknown split"); text.set_zh("未知切分");
  }
  if (!rule.padding.empty()) {
    text.set_en(absl::StrCat(text.en(), ", padded by wrap-around (", rule.padding.size(), ")"));
    text.set_zh(absl::StrCat(text.zh(), "，回绕补齐（", rule.padding.size(), " 项）"));
  }
  return text;
}

}  // namespace paritect
