// What configuration files and launch scripts of a folder decide by themselves, each judged alone: a value that an
// option does not know, two options of which only one may be set.
#ifndef PARITECT_CLIENT_COMMANDS_SCAN_SETTINGS_H_
#define PARITECT_CLIENT_COMMANDS_SCAN_SETTINGS_H_

#include <string>
#include <vector>

#include "client/command.h"
#include "paritect/v1/report.pb.h"

namespace paritect {

struct ScanFinding {
  std::string kind;
  std::string check;
  v1::Severity severity = v1::SEVERITY_ERROR;
  std::string file;
  std::int64_t line = 0;
  v1::Text message;
  v1::Text remedy;
  std::vector<std::string> evidence;
  std::string waived;  // the reason
};

struct SettingsScan {
  std::vector<ScanFinding> findings;  // errors and warnings
  std::size_t files = 0;              // that were read as settings
  bool cut = false;                   // there are more than are read
};

// Of the files below a folder; of a script, none: what lies beside it may be another run's.
SettingsScan ScanSettings(CommandEnv& env, const std::string& root);

}  // namespace paritect

#endif  // PARITECT_CLIENT_COMMANDS_SCAN_SETTINGS_H_
