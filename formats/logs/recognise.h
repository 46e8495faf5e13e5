// Which reader a log is for. A log may hold lines of several dialects: the one whose lines give the curve reads it, the
// others help.
#ifndef PARITECT_FORMATS_LOGS_RECOGNISE_H_
#define PARITECT_FORMATS_LOGS_RECOGNISE_H_

#include <memory>
#include <vector>

#include "formats/logs/log_format.h"

namespace paritect {

struct LogClaim {
  const LogFormat* format = nullptr;  // nullptr: nobody claims what was seen
  std::vector<const LogFormat*> helpers;
  std::int64_t losses = 0;  // that its lines give in the window

  // The last resort, which gives way to a dialect that shows later.
  bool is_general() const;
  // Takes what a later window of the same log tells into account.
  void Add(const LogClaim& later);
  std::unique_ptr<LogParser> MakeParser(TextEncoding encoding) const;
};

// All formats that claim the window, in order of trial. `speaks_of_loss`, where it is given: whether some line holds
// the word "loss" and a number.
std::vector<const LogFormat*> FormatsThatClaim(const LogHead& head, bool* speaks_of_loss = nullptr);

// Who claims the window. Of several dialects the one that gives most losses; of those that give about as many (half)
// the first in order of trial.
LogClaim ClaimLog(const LogHead& head, bool* speaks_of_loss = nullptr);

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_RECOGNISE_H_
