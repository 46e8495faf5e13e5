#include "formats/observer/tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "formats/observer/record.h"

namespace paritect {
namespace {

constexpr std::size_t kDimensionsMax = 64;
constexpr std::size_t kBinsMax = 8192;
constexpr std::size_t kSketchMax = 1 << 16;

std::string TextOf(const DocumentNode& node, absl::string_view field) {
  const DocumentNode* found = node.Find(field);
  return found != nullptr && found->is_scalar() ? found->text : "";
}

std::optional<double> NumberOf(const DocumentNode& node, absl::string_view field) {
  const DocumentNode* found = node.Find(field);
  return found == nullptr ? std::nullopt : NumberIn(*found);
}

// A count is no negative number.
std::optional<std::uint64_t> CountOf(const DocumentNode& node, absl::string_view field) {
  const DocumentNode* found = node.Find(field);
  const auto count = found == nullptr ? std::nullopt : IntegerIn(*found);
  if (!count.has_value() || *count < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*count);
}

bool IsHex(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isxdigit(static_cast<unsigned char>(c)); });
}

std::uint64_t FromHex(absl::string_view digits) {
  std::uint64_t value = 0;
  for (const char c : absl::AsciiStrToLower(digits)) {
    value = value << 4 | static_cast<std::uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  return value;
}

// Low half first, 16 digits each.
bool ReadValueHash(const DocumentNode& node, absl::string_view field, v1::ValueHash& hash) {
  const std::string text = TextOf(node, field);
  if (text.size() != 32 || !IsHex(text)) return false;
  hash.set_low(FromHex(absl::string_view(text).substr(0, 16)));
  hash.set_high(FromHex(absl::string_view(text).substr(16)));
  return true;
}

void ReadStatistics(const DocumentNode& node, v1::TensorFingerprint& tensor) {
  const auto min = NumberOf(node, "min"), max = NumberOf(node, "max"), sum = NumberOf(node, "sum");
  const auto squares = NumberOf(node, "sum_of_squares"), fourths = NumberOf(node, "sum_of_fourths");
  const auto finite = CountOf(node, "finite");
  if (!min && !max && !sum && !squares && !finite) return;
  v1::TensorStatistics& statistics = *tensor.mutable_statistics();
  if (min) statistics.set_min(*min);
  if (max) statistics.set_max(*max);
  if (sum) statistics.set_sum(*sum);
  if (squares) statistics.set_sum_of_squares(*squares);
  if (fourths) statistics.set_sum_of_fourths(*fourths);
  statistics.set_finite(finite.value_or(0));
  // Counts that are 0 are left out of the record.
  statistics.set_nan(CountOf(node, "nan").value_or(0));
  statistics.set_positive_infinity(CountOf(node, "positive_infinity").value_or(0));
  statistics.set_negative_infinity(CountOf(node, "negative_infinity").value_or(0));
  statistics.set_zero(CountOf(node, "zero").value_or(0));
  statistics.set_negative_zero(CountOf(node, "negative_zero").value_or(0));
  statistics.set_subnormal(CountOf(node, "subnormal").value_or(0));
}

void ReadHistogram(const DocumentNode& node, v1::TensorFingerprint& tensor) {
  const DocumentNode* histogram = node.Find("histogram");
  const DocumentNode* bins = histogram == nullptr ? nullptr : histogram->Find("bins");
  const DocumentNode* counts = histogram == nullptr ? nullptr : histogram->Find("counts");
  if (bins == nullptr || counts == nullptr || bins->items.size() != counts->items.size()) return;
  if (bins->items.size() > kBinsMax) return;
  v1::ValueHistogram made;
  for (std::size_t i = 0; i < bins->items.size(); ++i) {
    const auto bin = IntegerIn(bins->items[i]), count = IntegerIn(counts->items[i]);
    if (!bin || !count || *bin < 0 || *bin > 4095 || *count < 0) return;
    made.add_bins(static_cast<std::uint32_t>(*bin));
    made.add_counts(static_cast<std::uint64_t>(*count));
  }
  *tensor.mutable_histogram() = std::move(made);
}

void ReadSketch(const DocumentNode& node, v1::TensorFingerprint& tensor) {
  std::string bytes;
  if (!absl::Base64Unescape(TextOf(node, "sketch"), &bytes) || bytes.size() % 8 != 0) return;
  if (bytes.size() / 8 > kSketchMax) return;
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    std::uint64_t word = 0;
    for (std::size_t k = 8; k-- > 0;) word = word << 8 | static_cast<unsigned char>(bytes[i + k]);
    tensor.add_sketch(std::bit_cast<double>(word));
  }
}

}  // namespace

v1::TensorFingerprint ObservedTensor(const DocumentNode& node) {
  v1::TensorFingerprint tensor;
  tensor.set_name(TextOf(node, "name"));
  if (tensor.name().empty()) tensor.set_name(TextOf(node, "path"));
  tensor.set_dtype(TextOf(node, "dtype"));
  tensor.set_device(TextOf(node, "device"));
  if (const DocumentNode* shape = node.Find("shape"); shape != nullptr && shape->items.size() <= kDimensionsMax) {
    for (const DocumentNode& extent : shape->items) {
      tensor.add_shape(std::max<std::int64_t>(0, IntegerIn(extent).value_or(0)));
    }
  }
  if (const std::string digest = TextOf(node, "xxh3"); digest.size() == 32 && IsHex(digest)) {
    tensor.set_xxh3(absl::AsciiStrToLower(digest));
  }
  v1::ValueHash hash;
  if (ReadValueHash(node, "values", hash)) *tensor.mutable_values() = hash;
  if (ReadValueHash(node, "values_as_bf16", hash)) *tensor.mutable_values_as_bf16() = hash;
  if (ReadValueHash(node, "values_as_fp16", hash)) *tensor.mutable_values_as_fp16() = hash;
  ReadStatistics(node, tensor);
  ReadHistogram(node, tensor);
  ReadSketch(node, tensor);
  absl::Base64Unescape(TextOf(node, "signs"), tensor.mutable_sampled_signs());
  const std::string trained = TextOf(node, "requires_grad");
  if (trained == "true" || trained == "false") tensor.set_requires_grad(trained == "true");
  if (const std::string why = TextOf(node, "problem"); !why.empty()) {
    tensor.mutable_problem()->set_id("observed_tensor_unread");
    (*tensor.mutable_problem()->mutable_args())["why"] = why;
  }
  return tensor;
}

std::string DigestOfTensors(const ObservedRecord& record) {
  std::vector<std::string> digests;
  for (const DocumentNode& tensor : record.List("tensors")) {
    const DocumentNode* digest = tensor.Find("xxh3");
    if (digest == nullptr || digest->text.empty()) return "";
    digests.push_back(digest->text);
  }
  std::sort(digests.begin(), digests.end());  // arguments may be passed on in another order
  return absl::StrJoin(digests, " ");
}

std::uint64_t ElementsOf(const DocumentNode& shape) {
  std::uint64_t elements = 1;
  for (const DocumentNode& extent : shape.items) {
    elements *= static_cast<std::uint64_t>(std::max<std::int64_t>(0, IntegerIn(extent).value_or(0)));
  }
  return elements;
}

std::vector<std::string> DigestsBySize(const ObservedRecord& record) {
  std::vector<std::pair<std::uint64_t, std::string>> found;
  for (const DocumentNode& tensor : record.List("tensors")) {
    const DocumentNode* digest = tensor.Find("xxh3");
    const DocumentNode* shape = tensor.Find("shape");
    if (digest == nullptr || digest->text.empty()) continue;
    found.emplace_back(shape == nullptr ? 0 : ElementsOf(*shape), digest->text);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> digests;
  for (auto& [elements, digest] : found) digests.push_back(std::move(digest));
  return digests;
}

v1::DumpedTensor AsDumped(const v1::TensorFingerprint& tensor, absl::string_view place) {
  v1::DumpedTensor dumped;
  dumped.set_place(std::string(place));
  dumped.set_dtype(tensor.dtype());
  *dumped.mutable_shape() = tensor.shape();
  const v1::TensorStatistics& statistics = tensor.statistics();
  if (statistics.has_min()) dumped.set_min(statistics.min());
  if (statistics.has_max()) dumped.set_max(statistics.max());
  if (statistics.has_sum() && statistics.finite() > 0) {
    dumped.set_mean(statistics.sum() / static_cast<double>(statistics.finite()));
  }
  if (statistics.has_sum_of_squares()) dumped.set_l2(std::sqrt(statistics.sum_of_squares()));
  if (!tensor.xxh3().empty()) dumped.set_digest(absl::StrCat("xxh3:", tensor.xxh3()));
  return dumped;
}

}  // namespace paritect
