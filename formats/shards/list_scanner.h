// Lists as Python, NumPy and C++ print them: [0, 1], [0 1 2], ['a', "b"], [PosixPath('a')], tensor([3, 4]).
#ifndef PARITECT_FORMATS_SHARDS_LIST_SCANNER_H_
#define PARITECT_FORMATS_SHARDS_LIST_SCANNER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace paritect {

struct ScannedList {
  std::vector<std::string> items;
  bool numbers = true;  // whole numbers only (an empty list: true)
  bool elided = false;  // "..." stands in it
  bool cut = false;     // the text ends within it
  std::size_t end = 0;  // offset after ']'
};

// The list whose '[' stands at text[begin]; it may go over several lines. nullopt: not a flat list of
// strings or whole numbers. Linear: reads on only while what it reads is a list.
std::optional<ScannedList> ScanList(absl::string_view text, std::size_t begin);

// WebDataset and its like read through commands: "pipe:curl -s URL || true" is the shard at URL. Where `name` is such a
// command, it becomes the one address or path in it. False: it holds none, or several.
bool TakeNameOutOfPipe(std::string& name);

}  // namespace paritect

#endif  // PARITECT_FORMATS_SHARDS_LIST_SCANNER_H_
