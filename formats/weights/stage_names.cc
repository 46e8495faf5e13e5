#include "formats/weights/stage_names.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/numbers.h"

namespace paritect {
namespace {

constexpr absl::string_view kModel = "model";
constexpr absl::string_view kLayers = "layers.";
// One layer an expert, or all in one layer that numbers its matrices (core/transformer/moe/experts.py).
constexpr absl::string_view kExperts[] = {"local_experts.", "experts.linear_fc1.weight", "experts.linear_fc2.weight",
                                          "experts.linear_fc1.bias", "experts.linear_fc2.bias"};
constexpr std::int64_t kNumberMax = 1'000'000;

// A number behind `word` in a name, and where it stands.
struct Number {
  std::size_t begin = 0;
  std::size_t length = 0;
  std::int64_t value = 0;
};

// Followed by a dot; `last`: or by nothing.
std::optional<Number> NumberAt(absl::string_view name, std::size_t begin, bool last = false) {
  std::size_t end = begin;
  while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
  if (end == begin || (end == name.size() ? !last : name[end] != '.')) return std::nullopt;
  const auto value = ParseInt(name.substr(begin, end - begin));
  if (!value || *value > kNumberMax) return std::nullopt;
  return Number{begin, end - begin, *value};
}

std::optional<Number> NumberBehind(absl::string_view name, absl::string_view word, bool last = false) {
  const std::size_t at = name.find(word);
  if (at == absl::string_view::npos) return std::nullopt;
  return NumberAt(name, at + word.size(), last);
}

std::optional<Number> ExpertOf(absl::string_view name) {
  for (const absl::string_view word : kExperts) {
    if (const auto number = NumberBehind(name, word, true)) return number;
  }
  return std::nullopt;
}

// "model1." at the front: chunk 1.
std::optional<Number> ChunkOf(absl::string_view name) {
  return absl::StartsWith(name, kModel) ? NumberAt(name, kModel.size()) : std::nullopt;
}

std::string Replaced(absl::string_view name, const Number& number, std::int64_t value) {
  return absl::StrCat(name.substr(0, number.begin), value, name.substr(number.begin + number.length));
}

}  // namespace

void StageNames::Add(const StagePlace& place, absl::string_view name) {
  const std::optional<Number> chunk = ChunkOf(name);
  if (const auto layer = NumberBehind(name, kLayers)) {
    std::int64_t& count = layers_[{chunk ? chunk->value : 0, place.pipeline}];
    count = std::max(count, layer->value + 1);
  }
  if (const auto expert = ExpertOf(name)) {
    std::int64_t& count = experts_[place.expert];
    count = std::max(count, expert->value + 1);
  }
}

std::string StageNames::Whole(const StagePlace& place, absl::string_view name) const {
  std::string whole(name);
  const std::optional<Number> chunk = ChunkOf(name);
  if (const auto expert = ExpertOf(whole)) {
    std::int64_t before = 0;
    for (const auto& [rank, count] : experts_) before += rank < place.expert ? count : 0;
    whole = Replaced(whole, *expert, before + expert->value);
  }
  if (const auto layer = NumberBehind(whole, kLayers)) {
    const Stage stage = {chunk ? chunk->value : 0, place.pipeline};
    std::int64_t before = 0;
    for (const auto& [other, count] : layers_) before += other < stage ? count : 0;
    whole = Replaced(whole, *layer, before + layer->value);
  }
  if (chunk) whole.erase(chunk->begin, chunk->length);
  return whole;
}

}  // namespace paritect
