#include "rules/tensor_kinds.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
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

std::optional<CheckpointKind> CheckpointKindOf(absl::string_view word) {
  if (word == "any_axes") return CheckpointKind::kAnyAxes;
  if (word == "split") return CheckpointKind::kSplit;
  return std::nullopt;
}

struct Entry {
  std::string what, is, source;
};

// `what` under that key; all three are needed.
absl::StatusOr<Entry> EntryOf(const DocumentNode& item, absl::string_view what) {
  Entry entry;
  for (const auto& [key, value] : item.fields) {
    if (key.text != what && key.text != "is" && key.text != "source") {
      return ErrorAt(key, absl::StrCat("unknown key '", key.text, "'; there are ", what, ", is, source"));
    }
    (key.text == what ? entry.what : key.text == "is" ? entry.is : entry.source) = value.text;
  }
  if (entry.what.empty() || entry.source.empty()) {
    return ErrorAt(item, absl::StrCat("a kind needs `", what, "`, `is` and `source`"));
  }
  return entry;
}

}  // namespace

absl::Status TensorKinds::AddPattern(const DocumentNode& item) {
  PARITECT_ASSIGN_OR_RETURN(const Entry entry, EntryOf(item, "pattern"));
  const std::optional<TensorKind> kind = KindOf(entry.is);
  if (!kind.has_value()) return ErrorAt(item, "`is` is copied, vocabulary, rotary, flat_master or expert");
  RE2::Options quiet;
  quiet.set_log_errors(false);
  auto compiled = std::make_unique<RE2>(entry.what, quiet);
  if (!compiled->ok()) return ErrorAt(item, absl::StrCat("no pattern that RE2 takes: ", compiled->error()));
  patterns_[static_cast<std::size_t>(*kind)].push_back(std::move(compiled));
  return absl::OkStatus();
}

absl::Status TensorKinds::AddFormat(const DocumentNode& item) {
  PARITECT_ASSIGN_OR_RETURN(const Entry entry, EntryOf(item, "format"));
  const std::optional<CheckpointKind> kind = CheckpointKindOf(entry.is);
  if (!kind.has_value()) return ErrorAt(item, "`is` is any_axes or split");
  formats_[*kind].insert(entry.what);
  return absl::OkStatus();
}

absl::StatusOr<TensorKinds> TensorKinds::Read(const DocumentNode& root) {
  TensorKinds kinds;
  for (const auto& [list, items] : root.fields) {
    const bool formats = list.text == "formats";
    if ((!formats && list.text != "kinds") || !items.is_list()) {
      return ErrorAt(list, "there are two lists, `kinds` and `formats`");
    }
    for (const DocumentNode& item : items.items) {
      PARITECT_RETURN_IF_ERROR(formats ? kinds.AddFormat(item) : kinds.AddPattern(item));
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

bool TensorKinds::Is(CheckpointKind kind, absl::string_view format) const {
  const auto found = formats_.find(kind);
  return found != formats_.end() && found->second.contains(format);
}

const TensorKinds& BuiltInTensorKinds() {
  return BuiltInTable<&TensorKinds::Read>("tensor_kinds.yaml");
}

}  // namespace paritect
