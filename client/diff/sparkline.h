// Curves drawn in one line of characters each.
#ifndef PARITECT_CLIENT_DIFF_SPARKLINE_H_
#define PARITECT_CLIENT_DIFF_SPARKLINE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace paritect {

// Two lines on one scale, so that equal heights are equal values.
struct SparklinePair {
  std::string a;
  std::string b;
  double low = 0;  // of the scale
  double high = 0;
  bool logarithmic = false;  // where values span more than two decades
  std::size_t columns = 0;   // drawn: as many as wanted, or one a value where there are fewer
  // The column that shows the value at an index.
  std::size_t ColumnOf(std::size_t index) const { return values == 0 ? 0 : index * columns / values; }
  std::size_t values = 0;
};

// `a` and `b` have one length, all finite. Each column is the mean of the values it covers; `ascii`: characters of
// ASCII alone.
SparklinePair DrawPair(absl::Span<const double> a, absl::Span<const double> b, std::size_t columns, bool ascii);

}  // namespace paritect

#endif  // PARITECT_CLIENT_DIFF_SPARKLINE_H_
