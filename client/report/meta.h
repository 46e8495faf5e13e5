// When, where and by whom a report was made: what stands at its head beside the verdict. Made at the edge; the same
// evidence gives the same verdicts whatever stands here.
#ifndef PARITECT_CLIENT_REPORT_META_H_
#define PARITECT_CLIENT_REPORT_META_H_

#include <cstdint>
#include <string>

namespace paritect {

struct CommandEnv;

struct ReportMeta {
  std::string time;      // "2026-11-30T12:00:00Z"; "": not known
  std::string host;      // that judged; "": not known
  std::string audit;     // on a server; "" for a local audit
  std::int64_t run = 0;  // of that audit; 0: none
};

// "2026-11-30T12:00:00Z"; "" of 0 or less.
std::string ReportTime(std::int64_t unix_ms);

// Of a report that this process makes. SOURCE_DATE_EPOCH (seconds, as reproducible builds use it) stands in for the
// clock, so that the same inputs can give the same bytes; one that is no number is passed over.
ReportMeta MetaOfNow(const CommandEnv& env);

}  // namespace paritect

#endif  // PARITECT_CLIENT_REPORT_META_H_
