// Digests of a file's content after a law has been applied: what tells a harmless-looking cause of a
// difference (line ends, a byte order mark, another order) from damage. The laws are listed at
// AlternateDigest in proto/paritect/v1/dataset.proto.
#ifndef PARITECT_FORMATS_DATASETS_ALTERNATES_H_
#define PARITECT_FORMATS_DATASETS_ALTERNATES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "paritect/v1/dataset.pb.h"

namespace paritect {

// The largest content that the laws below "whole content in memory" are applied to.
inline constexpr std::uint64_t kAlternateBytesMax = 128 << 20;

// "prefix:1442" gives 1442.
std::optional<std::uint64_t> PrefixOfLaw(absl::string_view law);

// MD5 of `bytes` (a whole file named `path`) after "lf", "no-bom", "sorted-lines", "members" or
// "members-in-order"; "" where the law does not apply (a binary file has no lines, a text no members).
std::string AlternateMd5(absl::string_view law, absl::string_view path, absl::string_view bytes);

// Adds "lf", "no-bom" and "sorted-lines" of a small text file; nothing for anything else.
void AddTextAlternates(absl::string_view bytes, v1::FileEntry& entry);

// Whether the name is one of an archive whose members can be listed.
bool IsArchiveName(absl::string_view path);

}  // namespace paritect

#endif  // PARITECT_FORMATS_DATASETS_ALTERNATES_H_
