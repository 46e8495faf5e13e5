// The lines of the observer's record (docs/observer.md), one JSON object each, and what of them could not be used.
#ifndef PARITECT_FORMATS_OBSERVER_RECORD_H_
#define PARITECT_FORMATS_OBSERVER_RECORD_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "common/document.h"

namespace paritect {

inline constexpr std::size_t kObserverFileBytesMax = 256 << 20;
inline constexpr std::size_t kObserverLineBytesMax = 1 << 20;

// A number of the record: "nan", "inf" and "-inf" are texts there. nullopt: none.
std::optional<double> NumberIn(const DocumentNode& node);
std::optional<std::int64_t> IntegerIn(const DocumentNode& node);

// One line. Borrows its tree; a field that is null counts as not there.
class ObservedRecord {
 public:
  ObservedRecord(const DocumentNode& fields, std::int64_t line) : fields_(fields), line_(line) {}

  std::string kind() const { return Text("k"); }
  std::int64_t line() const { return line_; }  // 1-based
  const DocumentNode& fields() const { return fields_; }

  const DocumentNode* Find(absl::string_view field) const;
  std::string Text(absl::string_view field) const;  // "" where it is not there, or a list or map
  std::optional<double> Number(absl::string_view field) const;
  std::optional<std::int64_t> Integer(absl::string_view field) const;
  std::optional<bool> Boolean(absl::string_view field) const;
  const std::vector<DocumentNode>& List(absl::string_view field) const;  // empty where it is not there, or no list

 private:
  const DocumentNode& fields_;
  std::int64_t line_;
};

struct RecordCounts {
  std::int64_t records = 0;
  std::int64_t unread = 0;  // lines that are no record: damaged, too long, too deep
  std::int64_t first_unread = 0;
  bool cut = false;  // the last line has no line end: the process was killed while it wrote
  // Kinds and fields ("kind", "kind.field") that this version does not know, and how often they came.
  std::map<std::string, std::int64_t> unknown;
};

// Visits each record in order. Bytes are not trusted: lines beyond the bounds are counted and passed over.
void ForEachRecord(absl::string_view bytes, RecordCounts& counts, absl::FunctionRef<void(const ObservedRecord&)> visit);

// Whether the first lines of a file are of the observer.
bool LooksObserved(absl::string_view head);

// Whether this version reads the kind, and the field in it.
bool IsObservedKind(absl::string_view kind);
bool IsObservedField(absl::string_view kind, absl::string_view field);

}  // namespace paritect

#endif  // PARITECT_FORMATS_OBSERVER_RECORD_H_
