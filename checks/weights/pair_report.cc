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

PairedStates::PairedStates(const CheckContext& context, const ModelState& a, const ModelState& b)
    : a_(a), b_(b), match_(MatchModels(context, a, b)) {
  for (const TensorPair& pair : match_.pairs) sameness_.push_back(Compare(pair));
  const Orientation orientation(match_.pairs, sameness_);
  for (std::size_t i = 0; i < sameness_.size(); ++i) {
    sameness_[i] = orientation.Judge(i);
    shape_.push_back(orientation.ShapeOf(i));
  }
  FindExchanged();
}

namespace {

// Two draws have nothing to do with each other: the cosine of their sketches (128 places) is within about a tenth of 0.
// Values that were scaled, negated or disturbed keep it near 1 or -1. Only where the mean does not make it.
bool AreRelated(const Profile& profile, const TensorPair& pair) {
  constexpr std::uint64_t kElementsMin = 256;
  if (!pair.one_to_one() || pair.a.front()->elements() < kElementsMin) return false;
  const DifferenceFigures figures = FiguresOf(pair.a.front()->first(), pair.b.front()->first());
  const auto centred = [](double mean, double deviation) { return std::fabs(mean) < 0.25 * deviation; };
  return figures.cosine.has_value() && std::fabs(*figures.cosine) > profile.threshold("weights_related") &&
         centred(figures.a_mean, figures.a_deviation) && centred(figures.b_mean, figures.b_deviation);
}

}  // namespace

bool PairedStates::LooksRandom(const Profile& profile) const {
  double same = 0, all = 0;
  for (std::size_t i = 0; i < match_.pairs.size(); ++i) {
    const ModelTensor& one = *match_.pairs[i].a.front();
    if (one.role == v1::TENSOR_ROLE_BUFFER || IsConstant(one.first())) continue;
    const auto elements = static_cast<double>(one.elements());
    all += elements;
    const bool same_origin =
        HoldsSameValues(sameness_[i]) || sameness_[i] == Sameness::kTruncated || AreRelated(profile, match_.pairs[i]);
    same += same_origin ? elements : 0;
  }
  return same < profile.threshold("weights_same_by_chance") * all;
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
  std::set<ValueHashes> matched;  // values of the same side that have a partner
  for (const TensorPair& pair : match_.pairs) {
    for (const ModelTensor* one : baseline ? pair.a : pair.b) matched.insert(one->values().value_or(ValueHashes()));
  }
  std::vector<std::string> names;
  for (const ModelTensor* one : baseline ? match_.only_a : match_.only_b) {
    const std::optional<ValueHashes> values = one->values();
    const bool tied =
        values.has_value() && *values != ValueHashes() && !IsConstant(one->first()) && matched.contains(*values);
    if (!tied && !one->derived) names.push_back(one->name);
  }
  return names;
}

int PairedStates::DerivedAlone() const {
  int count = 0;
  for (const std::vector<const ModelTensor*>* side : {&match_.only_a, &match_.only_b}) {
    for (const ModelTensor* one : *side) count += one->derived ? 1 : 0;
  }
  return count;
}

std::string NamesOf(const std::vector<const ModelTensor*>& tensors) {
  return absl::StrJoin(tensors, ", ",
                       [](std::string* out, const ModelTensor* one) { absl::StrAppend(out, one->name); });
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
