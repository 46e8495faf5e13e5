// YAML and JSON documents as one tree with positions: plans, profiles, rules, and the configuration
// files of training frameworks all come through here.
//
// yaml-cpp 0.7 accepts duplicate keys and invalid UTF-8 in silence and refuses JSON's surrogate
// escapes; so documents that begin with '{' or '[' go to nlohmann-json, and both are checked here:
// InvalidArgument "LINE:COLUMN: message" for a duplicate key, bytes that are not UTF-8, a document
// that is too deep or too large, a syntax error. An alias bomb is bounded by the node count.
#ifndef PARITECT_COMMON_DOCUMENT_H_
#define PARITECT_COMMON_DOCUMENT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paritect {

struct DocumentNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  // The scalar's text as written (JSON: strings decoded, numbers as spelled, "true", "false").
  std::string text;
  // A quoted YAML scalar or a JSON string: "1" in quotes is a text, not a number.
  bool quoted = false;
  std::string tag;  // YAML tag where one is written, e.g. "!!python/tuple"
  int line = 0;     // 1-based
  int column = 0;   // 1-based, in bytes
  std::vector<DocumentNode> items;                            // of a list
  std::vector<std::pair<DocumentNode, DocumentNode>> fields;  // of a map, in order; keys are scalars

  bool is_map() const { return kind == Kind::kMap; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_null() const { return kind == Kind::kNull; }
  // The field's value or nullptr.
  const DocumentNode* Find(absl::string_view key) const;
};

struct DocumentLimits {
  std::size_t bytes_max = 64 << 20;
  std::size_t nodes_max = 4'000'000;
  int depth_max = 64;
};

// One YAML document ("---" may stand before it; several documents are refused).
absl::StatusOr<DocumentNode> ParseYaml(absl::string_view text, const DocumentLimits& limits = {});

// One JSON value. NaN, Infinity and -Infinity are accepted as scalars (Python writes them); anything
// after the value but blanks is refused.
absl::StatusOr<DocumentNode> ParseJson(absl::string_view text, const DocumentLimits& limits = {});

// JSON where the first character that is not blank is '{' or '[', else YAML. A document that looks
// like JSON and is not is tried as YAML flow style before it is refused. A UTF-8 byte order mark is skipped.
absl::StatusOr<DocumentNode> ParseDocument(absl::string_view text, const DocumentLimits& limits = {});

// "LINE:COLUMN: message" as InvalidArgument, for readers that find something wrong with a node.
absl::Status ErrorAt(const DocumentNode& node, absl::string_view message);

}  // namespace paritect

#endif  // PARITECT_COMMON_DOCUMENT_H_
