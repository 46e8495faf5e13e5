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
constexpr absl::string_view kExperts = "local_experts.";
constexpr std::int64_t kNumberMax = 1'000'000;

// A number behind `word` in a name, and where it stands.
struct Number {
  std::size_t begin = 0;
  std::size_t length = 0;
  std::int64_t value = 0;
};

std::optional<Number> NumberAt(absl::string_view name, std::size_t begin) {
  std::size_t end = begin;
  while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
  if (end == begin || end == name.size() || name[end] != '.') return std::nullopt;
  const auto value = ParseInt(name.substr(begin, end - begin));
  if (!value || *value > kNumberMax) return std::nullopt;
  return Number{begin, end - begin, *value};
}

std::optional<Number> NumberBehind(absl::string_view name, absl::string_view word) {
  const std::size_t at = name.find(word);
  if (at == absl::string_view::npos) return std::nullopt;
  return NumberAt(name, at + word.size());
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
  if (const auto expert = NumberBehind(name, kExperts)) {
    std::int64_t& count = experts_[place.expert];
    count = std::max(count, expert->value + 1);
  }
}

std::string StageNames::Whole(const StagePlace& place, absl::string_view name) const {
  std::string whole(name);
  const std::optional<Number> chunk = ChunkOf(name);
  if (const auto expert = NumberBehind(whole, kExperts)) {
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
