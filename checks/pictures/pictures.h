// What a report's pictures are drawn from, taken from the evidence that was judged: curves, folder trees, shard maps,
// updates of weights, and the list of what was looked at. Bounded whatever the evidence holds, and of no influence on
// any verdict.
#ifndef PARITECT_CHECKS_PICTURES_PICTURES_H_
#define PARITECT_CHECKS_PICTURES_PICTURES_H_

#include "checks/check.h"
#include "paritect/v1/pictures.pb.h"

namespace paritect {

// Of each list; what is left out is counted beside it.
struct PictureBounds {
  std::size_t curves_max = 32;
  std::size_t curve_points_max = 1200;
  std::size_t marks_max = 400;
  std::size_t folders_max = 1000;
  std::size_t files_max = 1000;
  std::size_t shard_rows_max = 400;
  std::size_t shard_maps_max = 16;
  std::size_t readers_max = 64;  // ranks named in one row
  std::size_t layers_max = 1000;
  std::size_t evidence_max = 5000;
};

v1::ReportPictures MakePictures(const CheckContext& context, const PictureBounds& bounds = {});

// The parts, each into its list.
void AddCurvePictures(const CheckContext& context, const PictureBounds& bounds, v1::ReportPictures& out);
void AddTreePictures(const CheckContext& context, const PictureBounds& bounds, v1::ReportPictures& out);
void AddShardMaps(const CheckContext& context, const PictureBounds& bounds, v1::ReportPictures& out);
void AddUpdatePictures(const CheckContext& context, const PictureBounds& bounds, v1::ReportPictures& out);
void AddEvidenceRows(const CheckContext& context, const PictureBounds& bounds, v1::ReportPictures& out);

// Which of `values` (one or several series over the same positions) to draw, at most about `points_max`, ascending: of
// every stretch its first position and where each series is lowest and highest, so that no spike is lost. NaN counts as
// no value.
std::vector<std::size_t> DrawnPoints(absl::Span<const std::vector<double>> series, std::size_t points_max);

}  // namespace paritect

#endif  // PARITECT_CHECKS_PICTURES_PICTURES_H_
