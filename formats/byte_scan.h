// Questions to many bytes at once, for the readers of text. The loops are written so that the compiler turns them into
// vector code.
#ifndef PARITECT_FORMATS_BYTE_SCAN_H_
#define PARITECT_FORMATS_BYTE_SCAN_H_

#include "absl/strings/string_view.h"

namespace paritect {

// Whether the text holds a control character beside LF and tab, or a byte that is not ASCII.
bool HasOddBytes(absl::string_view text);

}  // namespace paritect

#endif  // PARITECT_FORMATS_BYTE_SCAN_H_
