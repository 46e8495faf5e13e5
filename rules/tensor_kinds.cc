#include "rules/tensor_kinds.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "rules/built_in.h"

namespace paritect {
namespace {

std::optional<TensorKind> KindOf(absl::string_view word) {
  if (word == "copied") return TensorKind::kCopied;
  if (word == "vocabulary") return TensorKind::kVocabulary;
  if (word == "rotary") return TensorKind::kRotary;
  if (word == "flat_master") return TensorKind::kFlatMaster;
  if (word == "expert") return TensorKind::kExpert;
  return std::nullopt;
}

}  // namespace

absl::StatusOr<TensorKinds> TensorKinds::Read(const DocumentNode& root) {
  TensorKinds kinds;
  RE2::Options quiet;
  quiet.set_log_errors(false);
  for (const auto& [list, items] : root.fields) {
    if (list.text != "kinds" || !items.is_list()) return ErrorAt(list, "there is one list, `kinds`");
    for (const DocumentNode& item : items.items) {
      std::string pattern, is, source;
      for (const auto& [key, value] : item.fields) {
        if (key.text != "pattern" && key.text != "is" && key.text != "source") {
          return ErrorAt(key, absl::StrCat("unknown key '", key.text, "'; there are pattern, is, source"));
        }
        (key.text == "pattern" ? pattern : key.text == "is" ? is : source) = value.text;
      }
      if (pattern.empty() || source.empty()) return ErrorAt(item, "a kind needs `pattern`, `is` and `source`");
      const std::optional<TensorKind> kind = KindOf(is);
      if (!kind.has_value()) return ErrorAt(item, "`is` is copied, vocabulary, rotary, flat_master or expert");
      auto compiled = std::make_unique<RE2>(pattern, quiet);
      if (!compiled->ok()) return ErrorAt(item, absl::StrCat("no pattern that RE2 takes: ", compiled->error()));
      kinds.patterns_[static_cast<std::size_t>(*kind)].push_back(std::move(compiled));
    }
  }
  return kinds;
}

bool TensorKinds::Is(TensorKind kind, absl::string_view canonical) const {
  const re2::StringPiece name(canonical.data(), canonical.size());
  const auto& patterns = patterns_[static_cast<std::size_t>(kind)];
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::unique_ptr<RE2>& one) { return RE2::PartialMatch(name, *one); });
}

const TensorKinds& BuiltInTensorKinds() {
  return BuiltInTable<&TensorKinds::Read>("tensor_kinds.yaml");
}

}  // namespace paritect
