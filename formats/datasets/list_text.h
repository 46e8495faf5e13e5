// The bytes of a list as text: gzip unpacked, byte order marks taken away, UTF-16 and a Windows program's GBK as UTF-8.
#ifndef PARITECT_FORMATS_DATASETS_LIST_TEXT_H_
#define PARITECT_FORMATS_DATASETS_LIST_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace paritect {

struct ReadableList {
  std::string text;
  bool cut = false;     // gzip's end is missing, or its check failed
  bool gbk = false;     // it was GBK
  std::string refused;  // why it is not read: it unpacks to more than a list may have
};

// Names are bytes: text that is not UTF-8 is read as GBK only where the list's own words (a header, a program's
// message) are GBK, or its names are those of a Windows disk.
ReadableList ListText(absl::string_view bytes);

}  // namespace paritect

#endif  // PARITECT_FORMATS_DATASETS_LIST_TEXT_H_
