// Bytes to a descriptor, all of them: signals, short writes and full pipes are waited out.
#ifndef PARITECT_COMMON_WRITE_ALL_H_
#define PARITECT_COMMON_WRITE_ALL_H_

#include "absl/strings/string_view.h"

namespace paritect {

// 0 or errno. May block, also where the descriptor is set not to.
int WriteAll(int fd, absl::string_view bytes);

}  // namespace paritect

#endif  // PARITECT_COMMON_WRITE_ALL_H_
