// A person's own pattern for a log: RE2 with named groups
// (step epoch loss lr grad_norm loss_scale accuracy eval_loss).
#ifndef PARITECT_FORMATS_LOGS_MACHINERY_PATTERN_LOG_H_
#define PARITECT_FORMATS_LOGS_MACHINERY_PATTERN_LOG_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/logs/log_format.h"

namespace paritect {

// InvalidArgument for a pattern that does not compile, or without a group of a known name. A pattern that matches no
// line of the log gives the note `pattern_never_matches`.
absl::StatusOr<std::unique_ptr<LogParser>> MakePatternParser(TextEncoding encoding, absl::string_view pattern);

}  // namespace paritect

#endif  // PARITECT_FORMATS_LOGS_MACHINERY_PATTERN_LOG_H_
