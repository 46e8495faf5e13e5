// Reading maps of a document with closed keys: plans, audit files, configuration. Every error is ErrorAt: it tells the
// place and what would have been right.
#ifndef PARITECT_COMMON_DOCUMENT_FIELDS_H_
#define PARITECT_COMMON_DOCUMENT_FIELDS_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/document.h"
#include "google/protobuf/repeated_field.h"

namespace paritect {

// One key of a map and what reads its value.
struct Field {
  absl::string_view name;
  absl::FunctionRef<absl::Status(const DocumentNode&)> read;
};

// `where` names the map in messages ("a plan").
absl::Status ReadMap(const DocumentNode& node, absl::string_view where, absl::Span<const Field> fields);
// A text that is not empty.
absl::Status ReadText(const DocumentNode& node, absl::string_view name, std::string& slot);
absl::Status ReadBool(const DocumentNode& node, absl::string_view name, bool& slot);
// A whole number from `min` to 2^31 - 1.
absl::StatusOr<std::int64_t> ReadCount(const DocumentNode& node, absl::string_view name, std::int64_t min);
absl::Status ReadWord(const DocumentNode& node, absl::string_view name, absl::Span<const absl::string_view> words,
                      std::string& slot);
absl::Status ReadTexts(const DocumentNode& node, absl::string_view name,
                       google::protobuf::RepeatedPtrField<std::string>& slot);
// Nothing is an empty list.
absl::Status ReadList(const DocumentNode& node, absl::string_view name,
                      absl::FunctionRef<absl::Status(const DocumentNode&)> item);

}  // namespace paritect

#endif  // PARITECT_COMMON_DOCUMENT_FIELDS_H_
