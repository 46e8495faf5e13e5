// "did you mean": the known word nearest to a mistyped one.
#ifndef PARITECT_COMMON_NEAREST_H_
#define PARITECT_COMMON_NEAREST_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace paritect {

// The nearest by edit distance, "" where none is near: more than a third of the word, or three letters, would
// have to change. A word that is the tail of exactly one id ("content" of "data.dataset.content") is near.
std::string NearestWord(absl::string_view word, absl::Span<const std::string> known);

// ", did you mean 'X'?" or "".
std::string DidYouMean(absl::string_view word, absl::Span<const std::string> known);

}  // namespace paritect

#endif  // PARITECT_COMMON_NEAREST_H_
