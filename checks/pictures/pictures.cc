#include "checks/pictures/pictures.h"

#include <cmath>

namespace paritect {

std::vector<std::size_t> DrawnPoints(absl::Span<const std::vector<double>> series, std::size_t points_max) {
  const std::size_t size = series.empty() ? 0 : series[0].size();
  std::vector<std::size_t> drawn;
  if (size <= points_max) {
    for (std::size_t i = 0; i < size; ++i) drawn.push_back(i);
    return drawn;
  }
  const std::size_t of_stretch = 1 + 2 * series.size();
  const std::size_t stretches = std::max<std::size_t>(1, points_max / of_stretch);
  for (std::size_t stretch = 0; stretch < stretches; ++stretch) {
    const std::size_t begin = stretch * size / stretches, end = (stretch + 1) * size / stretches;
    std::set<std::size_t> kept = {begin};
    if (stretch + 1 == stretches) kept.insert(size - 1);
    for (const std::vector<double>& values : series) {
      std::optional<std::size_t> low, high;
      for (std::size_t i = begin; i < end; ++i) {
        if (std::isnan(values[i])) continue;
        if (!low || values[i] < values[*low]) low = i;
        if (!high || values[i] > values[*high]) high = i;
      }
      if (low) kept.insert({*low, *high});
    }
    drawn.insert(drawn.end(), kept.begin(), kept.end());
  }
  return drawn;
}

v1::ReportPictures MakePictures(const CheckContext& context, const PictureBounds& bounds) {
  v1::ReportPictures pictures;
  AddCurvePictures(context, bounds, pictures);
  AddTreePictures(context, bounds, pictures);
  AddShardMaps(context, bounds, pictures);
  AddUpdatePictures(context, bounds, pictures);
  AddEvidenceRows(context, bounds, pictures);
  return pictures;
}

}  // namespace paritect
