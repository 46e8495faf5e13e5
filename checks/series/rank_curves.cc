#include "checks/series/rank_curves.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "checks/numbers/statistics.h"
#include "checks/series/curves.h"
#include "checks/series/repeats.h"

namespace paritect {
namespace {

constexpr std::size_t kStepsMin = 20;
constexpr std::size_t kRanksForScatter = 4;

// How far each rank lies from the median of all, relative, step by step; and that median.
std::vector<std::vector<double>> Deviations(const Grid& grid, std::vector<double>& medians) {
  std::vector<std::vector<double>> result(grid.ranks.size());
  std::vector<double> sizes;
  for (std::size_t i = 0; i < grid.steps.size(); ++i) {
    std::vector<double> values;
    for (const auto& points : grid.points) values.push_back(points[i]->value);
    medians.push_back(Median(std::move(values)));
    sizes.push_back(std::fabs(medians.back()));
  }
  const double floor = SizeFloor(medians);
  for (std::size_t r = 0; r < grid.ranks.size(); ++r) {
    for (std::size_t i = 0; i < grid.steps.size(); ++i) {
      const double size = std::max(sizes[i], floor);
      result[r].push_back(size > 0 ? (grid.points[r][i]->value - medians[i]) / size : 0);
    }
  }
  return result;
}

// What a rank's deviation is measured from: that of the same rank of the other side, else its own first fifth.
std::vector<double> Expected(const Grid& grid, std::size_t r, const std::vector<double>& deviation, const Grid& other,
                             const std::vector<std::vector<double>>& of_other) {
  const auto same = std::find(other.ranks.begin(), other.ranks.end(), grid.ranks[r]);
  const bool comparable =
      other.ranks.size() == grid.ranks.size() && same != other.ranks.end() && other.steps.size() >= kStepsMin;
  if (comparable) {
    const std::vector<double>& theirs = of_other[static_cast<std::size_t>(same - other.ranks.begin())];
    return std::vector<double>(deviation.size(), Mean(theirs));
  }
  const std::size_t head = std::max<std::size_t>(5, deviation.size() / 5);
  return std::vector<double>(deviation.size(), Mean(absl::MakeConstSpan(deviation).subspan(0, head)));
}

double ErrorOfMean(absl::Span<const double> values, std::size_t count) {
  const double variance = LongRunVariance(values, values.size() >= 200 ? 10 : values.size() >= 15 ? 5 : 1);
  return std::sqrt(variance / static_cast<double>(std::max<std::size_t>(1, count)));
}

RankParting Told(const Grid& grid, std::size_t r, std::size_t at, double apart, double others) {
  RankParting parting;
  parting.rank = grid.ranks[r];
  parting.since = grid.steps[at];
  parting.apart = apart;
  parting.at = *grid.points[r][at];
  parting.others = others;
  return parting;
}

// With two ranks both stand as far from their middle: the one that moved more from its own beginning is told first.
std::optional<RankParting> PartingOf(const Grid& grid, std::size_t r, const std::vector<double>& deviation,
                                     const std::vector<double>& expected, const std::vector<double>& medians,
                                     const RankLimits& limits) {
  std::vector<double> moved;
  for (std::size_t i = 0; i < deviation.size(); ++i) moved.push_back(deviation[i] - expected[i]);
  const std::size_t tail = std::max<std::size_t>(5, moved.size() / 10);
  const double apart = Mean(absl::MakeConstSpan(moved).subspan(moved.size() - tail));
  const double error = ErrorOfMean(deviation, tail) * std::sqrt(2.0);
  if (std::fabs(apart) <= limits.tail || std::fabs(apart) <= limits.errors * error) return std::nullopt;
  // The last stretch in which the smoothed deviation stays beyond half of where it ends.
  const std::vector<double> smooth = Smooth(moved, 5);
  std::size_t at = smooth.size() - 1;
  const double level = std::max(limits.dead_zone, std::fabs(apart) / 4);
  while (at > 0 && smooth[at - 1] * apart > 0 && std::fabs(smooth[at - 1]) > level) --at;
  return Told(grid, r, at, apart, medians[at]);
}

// A rank outside the scatter of the others from the start.
std::optional<RankParting> OutlierOf(const Grid& grid, std::size_t r, const std::vector<double>& means,
                                     const std::vector<double>& deviation, const std::vector<double>& medians,
                                     const RankLimits& limits) {
  if (means.size() < kRanksForScatter) return std::nullopt;
  std::vector<double> others = means;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(r));
  const double middle = Median(others);
  for (double& one : others) one = std::fabs(one - middle);
  const double spread = std::max(1.4826 * Median(std::move(others)), ErrorOfMean(deviation, deviation.size()));
  const double apart = means[r] - middle;
  if (std::fabs(apart) <= limits.tail || std::fabs(apart) <= limits.spreads * spread) return std::nullopt;
  RankParting parting = Told(grid, r, 0, apart, medians[0]);
  parting.from_the_start = true;
  return parting;
}

// How well the first differences of the two follow each other; -2: not to be told.
double Follows(const std::vector<CurvePoint>& points, const Curve& other) {
  Curve curve;
  curve.points = points;
  curve.interval_means = other.interval_means;
  const AlignedCurves aligned = Align(FiniteOnly(curve), FiniteOnly(other));
  if (aligned.steps.size() < kStepsMin) return -2;
  return DifferenceCorrelation(aligned.a, aligned.b).value_or(-2);
}

// `gain`: so much better must a rank follow than what stands there.
void ChooseRank(Curve& with_ranks, const Curve& single, double gain) {
  double best = Follows(with_ranks.points, single);
  const std::vector<CurvePoint>* chosen = nullptr;
  for (const RankPoints& rank : with_ranks.ranks) {
    if (&rank != &with_ranks.ranks.front() && &rank != &with_ranks.ranks.back()) continue;  // whose log is kept alone
    const double follows = Follows(rank.points, single);
    if (follows <= best + gain) continue;
    best = follows;
    chosen = &rank.points;
  }
  if (chosen == nullptr) return;
  with_ranks.points = *chosen;
  with_ranks.mean_of_ranks = false;
}

}  // namespace

void PairRanks(const Profile& profile, Curve& a, Curve& b) {
  if (a.ranks.empty() && b.ranks.empty()) return;
  if (b.ranks.empty()) return ChooseRank(a, b, profile.threshold("rank_pairing_gain"));
  if (a.ranks.empty()) return ChooseRank(b, a, profile.threshold("rank_pairing_gain"));
  if (a.mean_of_ranks && b.mean_of_ranks) return;
  std::vector<RankPoints> both[2];
  for (const RankPoints& one : a.ranks) {
    for (const RankPoints& other : b.ranks) {
      if (one.rank != other.rank) continue;
      both[0].push_back(one);
      both[1].push_back(other);
    }
  }
  if (both[0].empty()) return;
  a.points = MeanOverRanks(both[0]);
  b.points = MeanOverRanks(both[1]);
}

RankLimits RankLimitsOf(const Profile& profile) {
  return {profile.threshold("loss_tail_relative_difference"), profile.threshold("rank_errors"),
          profile.threshold("rank_spreads"), profile.threshold("onset_dead_zone")};
}

std::vector<RankParting> FindPartingRanks(const Curve& curve, const Curve* other, bool other_is_reference,
                                          const RankLimits& limits) {
  std::vector<RankParting> found;
  const Grid grid = GridOf(curve.ranks);
  if (grid.ranks.size() < 2 || grid.steps.size() < kStepsMin) return found;
  const Grid theirs = other != nullptr ? GridOf(other->ranks) : Grid();
  std::vector<double> medians;
  std::vector<double> medians_of_other;
  const std::vector<std::vector<double>> deviations = Deviations(grid, medians);
  const std::vector<std::vector<double>> of_other = Deviations(theirs, medians_of_other);
  std::vector<double> means;
  for (const std::vector<double>& one : deviations) means.push_back(Mean(one));
  for (std::size_t r = 0; r < grid.ranks.size(); ++r) {
    const std::vector<double> expected =
        Expected(grid, r, deviations[r], other_is_reference ? theirs : Grid(), of_other);
    std::optional<RankParting> parting = PartingOf(grid, r, deviations[r], expected, medians, limits);
    if (!parting && theirs.ranks.size() != grid.ranks.size())
      parting = OutlierOf(grid, r, means, deviations[r], medians, limits);
    if (parting) found.push_back(std::move(*parting));
  }
  return found;
}

v1::Finding& ReportRank(const CheckContext& context, v1::CheckResult& result, const RunSeries& run, const Curve& curve,
                        const RankParting& parting) {
  v1::Finding& finding =
      AddError(context, result, parting.from_the_start ? "rank_parts/from_start" : "rank_parts", SubjectOf(run, curve),
               {{"run", SubjectOf(run, curve)},
                {"rank", absl::StrCat(parting.rank)},
                {"others", absl::StrCat(curve.ranks.size() - 1)},
                {"step", absl::StrCat(parting.since)},
                {"relative", Percent(parting.apart)},
                {"value", Short(parting.at.value)},
                {"median", Short(parting.others)}});
  const std::string text = absl::StrCat("rank ", parting.rank, ", step ", parting.since, ": ", Short(parting.at.value));
  (run.side == Side::kBaseline ? finding.mutable_baseline() : finding.mutable_migrated())->assign(text);
  SetFact(finding, "rank", parting.rank);
  SetFact(finding, "first_divergent_step", parting.since);
  SetFact(finding, "relative_difference", parting.apart);
  SetFact(finding, "run", run.name);
  finding.add_evidence(parting.at.where);
  return finding;
}

}  // namespace paritect
