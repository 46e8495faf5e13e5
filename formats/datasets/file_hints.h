// What a file of a data set looks like, by its name and by its first and last bytes: stand-ins (Git LFS
// pointers, HTML pages), junk of operating systems, unfinished transfers, empty or cut archives.
//
// A hint explains; it never fails a check by itself. Sources: the pointer format of git-lfs
// (docs/spec.md), the magic numbers of ZIP (APPNOTE 4.3), ustar (POSIX.1-1988), gzip (RFC 1952), bzip2,
// Parquet, Arrow, safetensors and npy; names as the transfer programs' own documentation gives them.
#ifndef PARITECT_FORMATS_DATASETS_FILE_HINTS_H_
#define PARITECT_FORMATS_DATASETS_FILE_HINTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "paritect/v1/dataset.pb.h"

namespace paritect {

// How much of a file's beginning and end AddContentHints can use.
inline constexpr std::size_t kHintHeadBytes = 64 << 10;
inline constexpr std::size_t kHintTailBytes = 4 << 10;

// OS_JUNK, UNFINISHED_TRANSFER.
void AddNameHints(absl::string_view path, v1::FileEntry& entry);

// The final name that an unfinished transfer's name stands for ("a/.x.bin.7Kq2Zf" -> "a/x.bin"); nullopt
// where the name is not of that kind.
std::optional<std::string> FinalNameOfTransfer(absl::string_view path);

// EMPTY, LFS_POINTER(_DAMAGED) with its oid and size, HTML_PAGE, EMPTY_ARCHIVE, PARTIAL_ARCHIVE.
// `head` is the beginning (the whole file where it is not longer than kHintHeadBytes), `tail` the end.
void AddContentHints(absl::string_view head, absl::string_view tail, std::uint64_t size_bytes, v1::FileEntry& entry);

bool HasHint(const v1::FileEntry& entry, v1::FileHint hint);

}  // namespace paritect

#endif  // PARITECT_FORMATS_DATASETS_FILE_HINTS_H_
