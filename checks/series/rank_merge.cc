#include "checks/series/rank_merge.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace paritect {

bool HasValues(const RankPoints& rank) {
  return std::any_of(rank.points.begin(), rank.points.end(),
                     [](const CurvePoint& point) { return std::isfinite(point.value) && point.value != 0; });
}

Grid GridOf(const std::vector<RankPoints>& ranks) {
  std::map<std::int64_t, std::vector<const CurvePoint*>> by_step;
  Grid grid;
  for (const RankPoints& rank : ranks) {
    if (!HasValues(rank)) continue;
    grid.ranks.push_back(rank.rank);
    for (const CurvePoint& point : rank.points) {
      if (std::isfinite(point.value)) by_step[point.step].push_back(&point);
    }
  }
  grid.points.resize(grid.ranks.size());
  for (const auto& [step, points] : by_step) {
    if (points.size() != grid.ranks.size()) continue;
    grid.steps.push_back(step);
    for (std::size_t r = 0; r < points.size(); ++r) grid.points[r].push_back(points[r]);
  }
  return grid;
}

std::vector<CurvePoint> MeanOverRanks(const std::vector<RankPoints>& ranks) {
  const Grid grid = GridOf(ranks);
  std::vector<CurvePoint> result;
  for (std::size_t i = 0; i < grid.steps.size(); ++i) {
    CurvePoint point = *grid.points[0][i];
    double sum = 0;
    for (const auto& points : grid.points) {
      sum += points[i]->value;
      point.resolution = std::max(point.resolution, points[i]->resolution);
    }
    point.value = sum / static_cast<double>(grid.points.size());
    result.push_back(std::move(point));
  }
  return result;
}

bool AllRanks(const std::vector<RankPoints>& ranks, int world_size) {
  if (ranks.size() < 2) return false;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].rank != static_cast<std::int64_t>(i)) return false;
  }
  return world_size <= 0 || static_cast<int>(ranks.size()) == world_size;
}

}  // namespace paritect
