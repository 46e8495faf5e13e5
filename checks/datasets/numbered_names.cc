#include "checks/datasets/numbered_names.h"

#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace paritect {
namespace {

constexpr std::size_t kDigitsMin = 2;
constexpr std::size_t kDigitsMax = 9;

struct Numbered {
  std::string series;
  std::int64_t number = 0;
  std::int64_t count = 0;
};

std::size_t DigitsBefore(absl::string_view text, std::size_t end) {
  std::size_t n = 0;
  while (n < end && absl::ascii_isdigit(static_cast<unsigned char>(text[end - n - 1]))) ++n;
  return n;
}

// "a-00007-of-00010.tar": series "a-#-of-00010.tar".
std::optional<Numbered> Parse(absl::string_view path) {
  constexpr absl::string_view kOf = "-of-";
  for (std::size_t at = path.rfind(kOf); at != absl::string_view::npos && at > 0; at = path.rfind(kOf, at - 1)) {
    const std::size_t before = DigitsBefore(path, at);
    std::size_t after = 0;
    const std::size_t begin = at + kOf.size();
    while (begin + after < path.size() && absl::ascii_isdigit(static_cast<unsigned char>(path[begin + after]))) ++after;
    if (before < kDigitsMin || after < kDigitsMin || before > kDigitsMax || after > kDigitsMax) continue;
    Numbered out;
    if (!absl::SimpleAtoi(path.substr(at - before, before), &out.number) ||
        !absl::SimpleAtoi(path.substr(begin, after), &out.count)) {
      continue;
    }
    out.series = absl::StrCat(path.substr(0, at - before), "#", path.substr(at));
    return out;
  }
  return std::nullopt;
}

// Forms that hold many samples a file and are cut into numbered pieces; pictures and texts are numbered with gaps.
bool IsShardForm(absl::string_view name) {
  for (absl::string_view packed : {".gz", ".zst", ".bz2"}) absl::ConsumeSuffix(&name, packed);
  for (absl::string_view ending :
       {".tar", ".tgz", ".tfrecord", ".tfrecords", ".parquet", ".arrow", ".jsonl", ".mindrecord", ".rec", ".bin",
        ".npz", ".h5", ".hdf5", ".zip", ".avro", ".msgpack"}) {
    if (absl::EndsWith(name, ending)) return true;
  }
  return false;
}

// "a/shard-000007.tar": series "a/shard-#.tar" of six digits. The count is known only by the others.
std::optional<Numbered> ParsePlain(absl::string_view path) {
  const auto slash = path.rfind('/');
  const std::size_t base = slash == absl::string_view::npos ? 0 : slash + 1;
  const auto dot = path.find('.', base);
  if (dot == absl::string_view::npos || !IsShardForm(path)) return std::nullopt;
  const std::size_t digits = DigitsBefore(path, dot);
  Numbered out;
  if (digits < kDigitsMin || digits > kDigitsMax || dot - digits < base) return std::nullopt;
  if (!absl::SimpleAtoi(path.substr(dot - digits, digits), &out.number)) return std::nullopt;
  out.series = absl::StrCat(path.substr(0, dot - digits), std::string(digits, '#'), path.substr(dot));
  return out;
}

// Numbers from 0 or 1 on, mostly there: what lacks in between was once there.
void AddPlainGaps(const std::string& series, const std::set<std::int64_t>& numbers,
                  std::map<std::string, ShardSeries>& gaps) {
  constexpr std::size_t kPresentMin = 3;
  const std::int64_t first = *numbers.begin();
  const std::int64_t last = *numbers.rbegin();
  if (numbers.size() < kPresentMin || first > 1) return;
  ShardSeries gap;
  gap.count = last - first + 1;
  gap.missing_total = gap.count - static_cast<std::int64_t>(numbers.size());
  if (gap.missing_total <= 0 || gap.missing_total > static_cast<std::int64_t>(numbers.size())) return;
  for (std::int64_t i = first; i < last && gap.missing.size() < kShardNumbersMax; ++i) {
    if (!numbers.contains(i)) gap.missing.push_back(i);
  }
  gaps.emplace(series, std::move(gap));
}

}  // namespace

std::map<std::string, ShardSeries> ShardGaps(const DatasetView& view) {
  std::map<std::string, std::pair<std::int64_t, std::set<std::int64_t>>> found;
  std::map<std::string, std::set<std::int64_t>> plain;
  for (const NamedFile& file : view.files) {
    const auto numbered = Parse(file.path());
    if (!numbered) {
      if (const auto one = ParsePlain(file.path())) plain[one->series].insert(one->number);
      continue;
    }
    auto& series = found[numbered->series];
    series.first = numbered->count;
    series.second.insert(numbered->number);
  }
  std::map<std::string, ShardSeries> gaps;
  for (const auto& [name, series] : found) {
    const auto& [count, numbers] = series;
    const std::int64_t first = numbers.contains(0) ? 0 : numbers.contains(count) ? 1 : -1;
    // Without either end nobody can tell from which number they count; 0 is the usual one.
    const std::int64_t from = first < 0 ? 0 : first;
    ShardSeries gap;
    gap.count = count;
    gap.missing_total = count - static_cast<std::int64_t>(numbers.size());
    if (gap.missing_total <= 0) continue;
    for (std::int64_t i = from; i < from + count && gap.missing.size() < kShardNumbersMax; ++i) {
      if (!numbers.contains(i)) gap.missing.push_back(i);
    }
    gaps.emplace(name, std::move(gap));
  }
  for (const auto& [name, numbers] : plain) AddPlainGaps(name, numbers, gaps);
  return gaps;
}

}  // namespace paritect
