#include "common/nearest.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace paritect {
namespace {

constexpr std::size_t kWordBytesMax = 80;  // the distance costs the product of the lengths

// Levenshtein distance.
std::size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j - 1] + 1, above + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string NearestWord(absl::string_view word, absl::Span<const std::string> known) {
  word = word.substr(0, kWordBytesMax);
  if (word.empty()) return "";
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(3, word.size() / 3 + 1);
  for (const std::string& candidate : known) {
    const std::size_t distance = EditDistance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (!best.empty()) return best;
  const std::string tail = absl::StrCat(".", word);
  int tails = 0;
  for (const std::string& candidate : known) {
    if (!absl::EndsWith(candidate, tail)) continue;
    ++tails;
    best = candidate;
  }
  return tails == 1 ? best : "";
}

std::string DidYouMean(absl::string_view word, absl::Span<const std::string> known) {
  const std::string nearest = NearestWord(word, known);
  return nearest.empty() ? "" : absl::StrCat("; did you mean '", nearest, "'?");
}

}  // namespace paritect
