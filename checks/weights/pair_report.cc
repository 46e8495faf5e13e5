#include "checks/weights/pair_report.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/weights/law.h"
#include "common/numbers.h"

namespace paritect {
namespace {

bool Differs(Sameness sameness) {
  return sameness == Sameness::kDiffers || IsMisplaced(sameness);
}

std::string Figures(const ModelTensor& tensor) {
  const v1::TensorFingerprint& one = tensor.first();
  if (!one.has_statistics()) return ShapeText(one);
  return absl::StrCat(ShapeText(one), ", mean ", FormatShort(MeanOf(one)), ", std ", FormatShort(DeviationOf(one)));
}

// Where in the tensor, in words; "" where that is not known.
std::string PlaceText(const v1::TensorFingerprint& a, const v1::TensorFingerprint& b) {
  const DifferencePlace place = PlaceOf(a, b);
  if (place.word.has_value()) {
    return absl::StrCat(" in element ", ElementText(a, *place.word, place.word_bytes), " alone",
                        place.one_bit ? ", by one bit" : "");
  }
  if (place.chunks.empty()) return "";
  return absl::StrCat(" in ", place.chunks.size(), " of ", a.chunk_xxh3_size(), " parts of 4 MiB, first in part ",
                      place.chunks.front());
}

}  // namespace

namespace {

// "layers.12.fc1.weight": "layers..fc.weight" and {12, 1}.
std::pair<std::string, std::vector<std::int64_t>> KindAndNumbers(absl::string_view name) {
  std::pair<std::string, std::vector<std::int64_t>> result;
  bool in_number = false;
  for (const char letter : name) {
    const bool digit = letter >= '0' && letter <= '9';
    if (!digit) {
      result.first.push_back(letter);
    } else if (!in_number) {
      result.second.push_back(letter - '0');
    } else {
      std::int64_t& number = result.second.back();
      number = number < 100'000'000 ? 10 * number + (letter - '0') : number;
    }
    in_number = digit;
  }
  return result;
}

}  // namespace

PairedStates::PairedStates(const CheckContext& context, const ModelState& a, const ModelState& b)
    : a_(a), b_(b), match_(MatchModels(context, a, b)) {
  for (const TensorPair& pair : match_.pairs) sameness_.push_back(Compare(pair));
  const Orientation orientation(match_.pairs, sameness_);
  for (std::size_t i = 0; i < sameness_.size(); ++i) {
    sameness_[i] = orientation.Judge(i);
    shape_.push_back(orientation.ShapeOf(i));
  }
  DoubtValues();
  FindExchanged();
}

namespace {

// Two draws have nothing to do with each other: the cosine of their sketches (128 places) is within about a tenth of 0.
// Values that were scaled, negated or disturbed keep it near 1 or -1. Only where the mean does not make it. Nor do
// draws differ in one element alone, or hold the same bytes as another type.
bool AreRelated(const Profile& profile, const TensorPair& pair) {
  constexpr std::uint64_t kElementsMin = 256;
  if (!pair.one_to_one()) return false;
  const v1::TensorFingerprint &a = pair.a.front()->first(), &b = pair.b.front()->first();
  if (pair.a.front()->whole() && pair.b.front()->whole() && pair.a.front()->elements() > 1) {
    if (!a.xxh3().empty() && a.xxh3() == b.xxh3()) return true;
    if (a.dtype() == b.dtype() && PlaceOf(a, b).word.has_value()) return true;
  }
  if (pair.a.front()->elements() < kElementsMin) return false;
  const DifferenceFigures figures = FiguresOf(pair.a.front()->first(), pair.b.front()->first());
  const double of_deviation = profile.threshold("weights_related_mean");
  const auto centred = [of_deviation](double mean, double deviation) {
    return std::fabs(mean) < of_deviation * deviation;
  };
  return figures.cosine.has_value() && std::fabs(*figures.cosine) > profile.threshold("weights_related") &&
         centred(figures.a_mean, figures.a_deviation) && centred(figures.b_mean, figures.b_deviation);
}

}  // namespace

bool PairedStates::LooksRandom(const Profile& profile) const {
  double same = 0, all = 0;
  for (std::size_t i = 0; i < match_.pairs.size(); ++i) {
    const ModelTensor& one = *match_.pairs[i].a.front();
    if (one.role == v1::TENSOR_ROLE_BUFFER || IsConstant(one.first()) || sameness_[i] == Sameness::kMoreRows) continue;
    const auto elements = static_cast<double>(one.elements());
    all += elements;
    const bool same_origin =
        HoldsSameValues(sameness_[i]) || sameness_[i] == Sameness::kTruncated || AreRelated(profile, match_.pairs[i]);
    same += same_origin ? elements : 0;
  }
  return same < profile.threshold("weights_same_by_chance") * all;
}

// Tensors that only their values brought together have to be in one order on both sides: of one kind on one side (names
// without numbers) all are of one kind on the other, and a greater number has a greater one. Else a layer may stand in
// another's place, and whether it does is in no name.
void PairedStates::DoubtValues() {
  struct Kind {
    std::vector<std::size_t> pairs;
    std::map<std::vector<std::int64_t>, std::vector<std::int64_t>> numbers;
    std::string other;
    bool in_order = true;
  };
  std::map<std::string, Kind> kinds;
  for (std::size_t i = 0; i < match_.pairs.size(); ++i) {
    const TensorPair& pair = match_.pairs[i];
    if (pair.by != MatchedBy::kValues) continue;
    const auto& [kind_a, numbers_a] = KindAndNumbers(pair.a[0]->name);
    const auto& [kind_b, numbers_b] = KindAndNumbers(pair.b[0]->name);
    Kind& kind = kinds[kind_a];
    if (kind.pairs.empty()) kind.other = kind_b;
    kind.in_order = kind.in_order && kind.other == kind_b;
    kind.pairs.push_back(i);
    kind.numbers[numbers_a] = numbers_b;
  }
  for (auto& [name, kind] : kinds) {
    const std::vector<std::int64_t>* before = nullptr;
    for (const auto& [a, b] : kind.numbers) {
      kind.in_order = kind.in_order && (before == nullptr || *before < b);
      before = &b;
    }
    if (kind.in_order) continue;
    for (const std::size_t i : kind.pairs) sameness_[i] = Sameness::kUnplaced;
  }
}

void PairedStates::FindExchanged() {
  std::map<std::pair<std::uint64_t, ValueHashes>, std::size_t> by_b;  // differing pairs, by the values of b
  for (std::size_t i = 0; i < match_.pairs.size(); ++i) {
    const TensorPair& pair = match_.pairs[i];
    if (!Differs(sameness_[i]) || !pair.one_to_one() || !pair.b[0]->values().has_value()) continue;
    by_b.emplace(std::make_pair(pair.b[0]->elements(), *pair.b[0]->values()), i);
  }
  for (std::size_t i = 0; i < match_.pairs.size(); ++i) {
    const TensorPair& pair = match_.pairs[i];
    if (!Differs(sameness_[i]) || !pair.one_to_one() || !pair.a[0]->values().has_value()) continue;
    const auto other = by_b.find({pair.a[0]->elements(), *pair.a[0]->values()});
    if (other == by_b.end() || other->second <= i) continue;
    const TensorPair& second = match_.pairs[other->second];
    if (!IsSame(Compare({pair.a, second.b})) || !IsSame(Compare({second.a, pair.b}))) continue;
    exchanged_pairs_.emplace_back(i, other->second);
    exchanged_.insert({i, other->second});
  }
}

std::vector<std::string> PairedStates::Unmatched(Side side) const {
  const bool baseline = side == Side::kBaseline;
  // What another data-parallel rank keeps is not in this one's file.
  if ((baseline ? b_ : a_).removed_redundancy) return {};
  std::map<ValueHashes, std::set<std::string>> matched;  // values of the same side that have a partner: their kinds
  for (const TensorPair& pair : match_.pairs) {
    for (const ModelTensor* one : baseline ? pair.a : pair.b) {
      matched[one->values().value_or(ValueHashes())].insert(KindAndNumbers(one->name).first);
    }
  }
  std::vector<std::string> names;
  for (const ModelTensor* one : baseline ? match_.only_a : match_.only_b) {
    // Another name of a tensor that is there; the same tensor of another layer is another tensor.
    const std::optional<ValueHashes> values = one->values();
    const auto same = matched.find(values.value_or(ValueHashes()));
    const bool shared = !one->first().alias_of().empty();
    const bool tied = values.has_value() && *values != ValueHashes() && !IsConstant(one->first()) &&
                      same != matched.end() && (shared || !same->second.contains(KindAndNumbers(one->name).first));
    if (!tied && !one->derived) names.push_back(one->name);
  }
  return names;
}

bool PairedStates::UnmatchedHoldTheSame() const {
  ValueHashes sums[2];
  std::uint64_t elements[2] = {0, 0};
  for (const int side : {0, 1}) {
    for (const ModelTensor* one : side == 0 ? match_.only_a : match_.only_b) {
      const std::optional<ValueHashes> values = one->values();
      if (one->derived) continue;
      if (!values.has_value()) return false;
      sums[side].low += values->low;
      sums[side].high += values->high;
      elements[side] += one->elements();
    }
  }
  return elements[0] > 0 && elements[0] == elements[1] && sums[0] == sums[1];
}

int PairedStates::DerivedAlone() const {
  int count = 0;
  for (const std::vector<const ModelTensor*>* side : {&match_.only_a, &match_.only_b}) {
    for (const ModelTensor* one : *side) count += one->derived ? 1 : 0;
  }
  return count;
}

std::string NamesOf(const std::vector<const ModelTensor*>& tensors) {
  constexpr std::size_t kNamesShown = 6;  // experts that are stacked in one tensor are hundreds
  const std::size_t shown = std::min(tensors.size(), kNamesShown);
  const std::string names =
      absl::StrJoin(tensors.begin(), tensors.begin() + static_cast<std::ptrdiff_t>(shown), ", ",
                    [](std::string* out, const ModelTensor* one) { absl::StrAppend(out, one->name); });
  return shown == tensors.size() ? names : absl::StrCat(names, ", … (", tensors.size(), ")");
}

MessageArgs ArgsOf(const TensorPair& pair) {
  MessageArgs args = {
      {"tensor", NamesOf(pair.a)}, {"other", NamesOf(pair.b)}, {"a", Figures(*pair.a[0])}, {"b", Figures(*pair.b[0])}};
  std::string place;
  std::string distance;
  if (pair.one_to_one() && pair.a[0]->whole() && pair.b[0]->whole()) {
    const v1::TensorFingerprint& a = pair.a[0]->first();
    const v1::TensorFingerprint& b = pair.b[0]->first();
    const DifferenceFigures figures = FiguresOf(a, b);
    const auto is_finite = [](const v1::TensorFingerprint& one) {
      return one.statistics().finite() == ElementsOf(one);  // what is no number is in no distance
    };
    if (figures.relative_l2.has_value() && is_finite(a) && is_finite(b)) {
      distance = absl::StrCat(", about ", FormatShort(100 * *figures.relative_l2), " % of its size apart");
    }
    if (a.dtype() == b.dtype() && ElementsOf(a) == ElementsOf(b)) place = PlaceText(a, b);
  }
  args.emplace_back("place", place);
  args.emplace_back("distance", distance);
  return args;
}

void AddPairFigures(const TensorPair& pair, v1::Finding& finding) {
  finding.set_baseline(Figures(*pair.a[0]));
  finding.set_migrated(Figures(*pair.b[0]));
  SetFact(finding, "migrated_name", NamesOf(pair.b));
  if (!pair.one_to_one()) return;
  const DifferenceFigures figures = FiguresOf(pair.a[0]->first(), pair.b[0]->first());
  SetFact(finding, "baseline_l2", figures.a_l2);
  SetFact(finding, "migrated_l2", figures.b_l2);
  SetFact(finding, "baseline_standard_deviation", figures.a_deviation);
  SetFact(finding, "migrated_standard_deviation", figures.b_deviation);
  if (figures.relative_l2.has_value()) SetFact(finding, "relative_l2", *figures.relative_l2);
  if (figures.cosine.has_value()) SetFact(finding, "cosine", *figures.cosine);
}

}  // namespace paritect
