// What readers of Python sources share.
#ifndef PARITECT_FORMATS_SETTINGS_PYTHON_TEXT_H_
#define PARITECT_FORMATS_SETTINGS_PYTHON_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace paritect {

// `text` with comments and texts in three quotes as blanks; of the same length and lines, so that positions stay.
std::string WithoutPythonComments(absl::string_view text);

}  // namespace paritect

#endif  // PARITECT_FORMATS_SETTINGS_PYTHON_TEXT_H_
