// When, where and by whom a report was made: what stands at its head beside the verdict. Made at the edge; the same
// evidence gives the same verdicts whatever stands here.
#ifndef PARITECT_CLIENT_REPORT_META_H_
#define PARITECT_CLIENT_REPORT_META_H_

#include "paritect/v1/pictures.pb.h"

namespace paritect {

struct CommandEnv;

// Of a report that this process makes. SOURCE_DATE_EPOCH (seconds, as reproducible builds use it) stands in for the
// clock, so that the same inputs can give the same bytes; one that is no number is passed over.
v1::ReportMeta MetaOfNow(const CommandEnv& env);

}  // namespace paritect

#endif  // PARITECT_CLIENT_REPORT_META_H_
