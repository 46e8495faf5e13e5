// An Evidence message taken apart for the wire and the store, and put together again. No I/O.
//
// The concatenation of the parts is a serialized Evidence. What says where evidence comes from (source, subject, rank,
// notes) is a part of its own, apart from what was found there: nodes that hold the same file list or the same packages
// give the same parts, although their paths and ranks differ, and a store keeps each once. A file list is cut at files
// whose names decide it: lists with k differences differ in at most 2k + 2 parts of about 10 KiB, at any size. Over
// these parts stands a tree (content_tree.h), so that a piece of any size names its files by one digest.
#ifndef PARITECT_FORMATS_EVIDENCE_PARTS_H_
#define PARITECT_FORMATS_EVIDENCE_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/message_bytes.h"
#include "formats/content_tree.h"
#include "paritect/v1/fleet.pb.h"

namespace paritect {

inline constexpr std::size_t kContentPartBytesMax = 256u << 10;
inline constexpr std::size_t kHeldFilesBytesMax = 1u << 20;
inline constexpr std::int64_t kEvidenceBytesMax = std::int64_t{1} << 30;

struct EvidenceParts {
  struct Content {
    std::string sha256;
    std::string bytes;
  };
  v1::Piece piece;                // without task_id, attempt and index
  std::vector<Content> contents;  // of part_sha256, the tree's leaves, tail_sha256; equal ones may stand more than once
  ContentTree tree;               // over the files of a long list; depth 0: there is none
  // contents[files_begin, files_end) hold the files of a list; without_files: but for their bytes (ForEachFilePart).
  std::size_t files_begin = 0;
  std::size_t files_end = 0;
  bool without_files = false;
};

// Texts that are not UTF-8 are replaced by their display form in `evidence`. ResourceExhausted above kEvidenceBytesMax.
absl::StatusOr<EvidenceParts> TakeApart(v1::Evidence& evidence);

// Calls the function given to it with the files of a list, one after the other; with the same each time.
using FilesOfList = absl::FunctionRef<void(absl::FunctionRef<void(v1::FileEntry&)>)>;

// The same parts of a list that is no message: as one, a file costs 500 bytes of memory, its bytes are about 75.
// `evidence` has its list without files. Files of more than `held_bytes_max` are not held, but asked for again.
absl::StatusOr<EvidenceParts> TakeApart(v1::Evidence& evidence, FilesOfList files,
                                        std::size_t held_bytes_max = kHeldFilesBytesMax);

// The bytes of contents[files_begin + n], n = 0, 1, ...
void ForEachFilePart(FilesOfList files, absl::FunctionRef<void(std::size_t n, absl::string_view bytes)> visit);

// The same without a tree, as every server understands it: all contents stand in part_sha256.
void WithoutTree(EvidenceParts& parts);

// What a piece refers to itself; what stands below a tree's root is referred to by its nodes.
std::vector<std::string> ReferencesOf(const v1::Piece& piece);

// Whether a piece has the form that TakeApart gives; InvalidArgument says what is wrong. Says nothing of its parts.
absl::Status CheckPiece(const v1::Piece& piece);

// `part` gives the bytes of a digest, of a tree's node too. DataLoss, naming the piece: a part is missing or another
// one, the whole has another digest, or it is no Evidence. Other errors of `part` are passed on. What it costs is taken
// from `budget`, which an audit may share among all of its pieces: ResourceExhausted, before anything is built.
absl::StatusOr<v1::Evidence> PutTogether(const v1::Piece& piece,
                                         absl::FunctionRef<absl::StatusOr<std::string>(absl::string_view sha256)> part,
                                         MessageBudget& budget);
// The same with a budget of its own.
absl::StatusOr<v1::Evidence> PutTogether(const v1::Piece& piece,
                                         absl::FunctionRef<absl::StatusOr<std::string>(absl::string_view sha256)> part);

// File lists that an audit put together before, by the tree that names their files: a thousand nodes that hold one data
// set name one tree. What is kept is bounded; a list beyond that is put together each time. Not thread-safe.
class KnownLists {
 public:
  // The files of that tree as they stand in a serialized list, and nothing else; nullptr: it is not known.
  const std::string* Find(const std::string& tree) const;
  void Keep(const std::string& tree, std::string files);

 private:
  static constexpr std::size_t kBytesMax = std::size_t{256} << 20;
  absl::flat_hash_map<std::string, std::string> files_;
  std::size_t bytes_ = 0;
};

struct ListEvidence {
  v1::Evidence evidence;
  std::string tree;            // names all files of its list and nothing else; empty: nothing does
  bool without_files = false;  // `tree` is known: the list has all that is said beside its files
  std::string files;           // else, for KnownLists::Keep
};

// Like PutTogether, with every digest checked; files of a tree that is known are neither fetched nor read again, and
// cost nothing of the budget.
absl::StatusOr<ListEvidence> PutTogetherList(
    const v1::Piece& piece, absl::FunctionRef<absl::StatusOr<std::string>(absl::string_view sha256)> part,
    MessageBudget& budget, const KnownLists& known);

}  // namespace paritect

#endif  // PARITECT_FORMATS_EVIDENCE_PARTS_H_
