// The files that Ascend's precision options name (mixlist, customize_dtypes, op_precision_mode): found again among the
// settings files of the same node by their path, compared by what they say and not by their names.
#ifndef PARITECT_CHECKS_SETTINGS_MODE_FILES_H_
#define PARITECT_CHECKS_SETTINGS_MODE_FILES_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "checks/settings/view.h"

namespace paritect {

// One option that names a file, on one node.
struct ModeFile {
  std::string option;  // canonical key: modify_mixlist | customize_dtypes | op_precision_mode
  std::string node;
  std::string path;                                // as the option names it
  std::string option_origin;                       // "session.pbtxt:12"
  const v1::SettingsDocument* document = nullptr;  // nullptr: the plan gives no such file
  std::string source;                              // of the document, as the plan names it
  std::set<std::string> entries;                   // "white-list.to-add Conv2D", in byte order
};

// Every mode file that the run's settings name, by option and node. Points into `run`.
std::vector<ModeFile> ModeFilesOf(const SettingsView& view, const RunView& run);

// What only one of two files says, at most `shown` entries: "black-list.to-add Softmax"; the count in `total`.
std::string OnlyIn(const std::set<std::string>& a, const std::set<std::string>& b, std::size_t shown,
                   std::size_t& total);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SETTINGS_MODE_FILES_H_
