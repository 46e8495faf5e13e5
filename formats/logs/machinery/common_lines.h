// What any log may print beside its records: overflow messages of loss scalers, restarts, banners, errors.
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_COMMON_LINES_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_COMMON_LINES_H_

#include "formats/logs/log_format.h"

namespace paritect {

// Whether the line speaks of an overflow, or of a step left out because a gradient is no number.
bool TellsOfOverflow(absl::string_view text);

class CommonLines {
 public:
  // Whether the line was one of these.
  bool Line(const LogLine& line, RunLogBuilder& out);

 private:
  bool OverflowLine(const LogLine& line, RunLogBuilder& out);
  bool ResumeLine(const LogLine& line, RunLogBuilder& out);
  bool EndLine(const LogLine& line, RunLogBuilder& out);
  bool AbortLine(const LogLine& line, RunLogBuilder& out);

  // A traceback that ends nothing, and how far it has come.
  struct Noise {
    enum State { kNone, kExpected, kInside, kOver };
    State state = kNone;
    std::int64_t line = 0;
  };
  bool IsNoise(const LogLine& line, bool aborts);

  Noise noise_;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_COMMON_LINES_H_
