// Equal file lists of many nodes, kept once. A thousand nodes that hold the same data set cost one list: the others
// give their files back and stand for it.
#ifndef PARITECT_CHECKS_SHARED_LISTS_H_
#define PARITECT_CHECKS_SHARED_LISTS_H_

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "common/message_bytes.h"
#include "google/protobuf/repeated_field.h"
#include "paritect/v1/evidence.pb.h"

namespace paritect {

// Lists are known by where they stand in memory: a bundle may be moved afterwards, not copied, and must live as long
// as any other whose list it holds. Not thread-safe.
class SharedLists {
 public:
  // Files whose equality is worth looking for.
  static constexpr int kFilesMin = 256;

  explicit SharedLists(int files_min = kFilesMin) : files_min_(files_min) {}

  // A list of the bundle that an earlier bundle holds, file by file, gives its files back. What they cost of a budget
  // is added to `given_back`.
  void Take(v1::Bundle& bundle, MessageBudget* given_back = nullptr);
  void Take(v1::FileList& list, MessageBudget* given_back = nullptr);

  // Calls the files of a list by a name, for those who know by it that they have the same without having them.
  void Name(std::string name, v1::FileList& list);
  // `list`, which holds no files, stands for the one of that name. False: there is none.
  bool StandFor(absl::string_view name, v1::FileList& list);

  // The files of a list that may stand for another. Whoever reads a list of an audit asks here (or
  // EvidenceSet::FilesOf): to all others a list that stands for another looks empty, and empty lists agree. A test of
  // the house looks for them.
  const google::protobuf::RepeatedPtrField<v1::FileEntry>& FilesOf(const v1::FileList& list) const;

  // For whoever changes files of `list`: it has its own afterwards, and nobody else stands for it.
  void Part(v1::FileList& list);

 private:
  const int files_min_;
  absl::flat_hash_map<std::string, v1::FileList*> by_content_;  // by the digest of the files, and by names
  // Of each list that holds no files: itself, and who holds them.
  absl::flat_hash_map<const v1::FileList*, std::pair<v1::FileList*, v1::FileList*>> holder_of_;
};

}  // namespace paritect

#endif  // PARITECT_CHECKS_SHARED_LISTS_H_
