#include "client/diff/sparkline.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace paritect {
namespace {

constexpr absl::string_view kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr absl::string_view kAscii[] = {"_", ".", ",", "-", "=", "+", "*", "#"};
constexpr std::size_t kLevels = std::size(kBlocks);

std::vector<double> Columns(absl::Span<const double> values, std::size_t columns) {
  std::vector<double> result;
  for (std::size_t c = 0; c < columns; ++c) {
    const std::size_t begin = c * values.size() / columns;
    const std::size_t end = std::max(begin + 1, (c + 1) * values.size() / columns);
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += values[i];
    result.push_back(sum / static_cast<double>(end - begin));
  }
  return result;
}

std::string Draw(const std::vector<double>& columns, const SparklinePair& pair, bool ascii) {
  const auto scaled = [&](double value) { return pair.logarithmic ? std::log(value) : value; };
  const double low = scaled(pair.low);
  const double height = scaled(pair.high) - low;
  std::string line;
  for (double value : columns) {
    const double share = height > 0 ? (scaled(value) - low) / height : 0;
    const auto level = std::min(kLevels - 1, static_cast<std::size_t>(std::max(0.0, share) * kLevels));
    absl::StrAppend(&line, ascii ? kAscii[level] : kBlocks[level]);
  }
  return line;
}

}  // namespace

SparklinePair DrawPair(absl::Span<const double> a, absl::Span<const double> b, std::size_t columns, bool ascii) {
  SparklinePair pair;
  pair.values = std::min(a.size(), b.size());
  pair.columns = std::min(columns, pair.values);
  if (pair.columns == 0) return pair;
  const std::vector<double> left = Columns(a.subspan(0, pair.values), pair.columns);
  const std::vector<double> right = Columns(b.subspan(0, pair.values), pair.columns);
  pair.low = std::min(*std::min_element(left.begin(), left.end()), *std::min_element(right.begin(), right.end()));
  pair.high = std::max(*std::max_element(left.begin(), left.end()), *std::max_element(right.begin(), right.end()));
  pair.logarithmic = pair.low > 0 && pair.high > 100 * pair.low;
  pair.a = Draw(left, pair, ascii);
  pair.b = Draw(right, pair, ascii);
  return pair;
}

}  // namespace paritect
