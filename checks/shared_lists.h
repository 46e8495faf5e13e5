// Equal file lists of many nodes, kept once. A thousand nodes that hold the same data set cost one list: the others
// give their files back and stand for it.
#ifndef PARITECT_CHECKS_SHARED_LISTS_H_
#define PARITECT_CHECKS_SHARED_LISTS_H_

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
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

  // A list of the bundle that an earlier bundle holds, file by file, gives its files back. What they cost of a budget
  // is added to `given_back`.
  void Take(v1::Bundle& bundle, MessageBudget* given_back = nullptr);

  // The files of a list that may stand for another.
  const google::protobuf::RepeatedPtrField<v1::FileEntry>& FilesOf(const v1::FileList& list) const;

  // For whoever changes files of `list`: it has its own afterwards, and nobody else stands for it.
  void Part(v1::FileList& list);

 private:
  absl::flat_hash_map<std::string, v1::FileList*> by_content_;
  // Of each list that holds no files: itself, and who holds them.
  absl::flat_hash_map<const v1::FileList*, std::pair<v1::FileList*, v1::FileList*>> holder_of_;
};

}  // namespace paritect

#endif  // PARITECT_CHECKS_SHARED_LISTS_H_
