// What any log may print beside its records: overflow messages of loss scalers, restarts, banners, errors.
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_COMMON_LINES_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_COMMON_LINES_H_

#include <set>

#include "formats/logs/log_format.h"

namespace paritect {

class CommonLines {
 public:
  // Whether the line was one of these.
  bool Line(const LogLine& line, RunLogBuilder& out);

 private:
  bool OverflowLine(const LogLine& line, RunLogBuilder& out);
  bool ResumeLine(const LogLine& line, RunLogBuilder& out);
  bool EndLine(const LogLine& line, RunLogBuilder& out);
  bool AbortLine(const LogLine& line, RunLogBuilder& out);

  std::int64_t ignored_at_ = -2;  // line of "Exception ignored in ...": the traceback behind it ends nothing
  std::set<std::int64_t> overflow_iterations_;  // DeepSpeed prints "Grad overflow on iteration N" on every rank
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_COMMON_LINES_H_
