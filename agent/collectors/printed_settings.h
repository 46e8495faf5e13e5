// Settings that logs print (argument blocks, dumps, banners), read where they stand in the log.
#ifndef PARITECT_AGENT_COLLECTORS_PRINTED_SETTINGS_H_
#define PARITECT_AGENT_COLLECTORS_PRINTED_SETTINGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_system.h"
#include "paritect/v1/settings.pb.h"

namespace paritect {

// From the first 64 MiB of a log, inflated and turned into UTF-8; a log that prints none, or is no text, gives none.
// `label` names the file in origins. The status of reading.
absl::StatusOr<std::vector<v1::SettingsDocument>> ScanPrintedSettings(FileSystem& fs, const std::string& path,
                                                                      absl::string_view label);

}  // namespace paritect

#endif  // PARITECT_AGENT_COLLECTORS_PRINTED_SETTINGS_H_
