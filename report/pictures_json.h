// What a report's pictures are drawn from as JSON, for the page (report/page/). No promise to others: its form follows
// the page's needs.
#ifndef PARITECT_REPORT_PICTURES_JSON_H_
#define PARITECT_REPORT_PICTURES_JSON_H_

#include "paritect/v1/pictures.pb.h"
#include "report/json.h"

namespace paritect {

OrderedJson PicturesToJson(const v1::ReportPictures& pictures);
// One of its curves, also of a run that still trains.
OrderedJson CurveToJson(const v1::CurvePicture& curve);

}  // namespace paritect

#endif  // PARITECT_REPORT_PICTURES_JSON_H_
