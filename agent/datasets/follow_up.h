// Answers what a comparison wants to know of single files: digests after a law (proto: AlternateDigest).
#ifndef PARITECT_AGENT_DATASETS_FOLLOW_UP_H_
#define PARITECT_AGENT_DATASETS_FOLLOW_UP_H_

#include <string>
#include <vector>

#include "common/file_system.h"
#include "paritect/v1/dataset.pb.h"

namespace paritect {

// Adds the answers to `list`'s entry of that path; the file is read at list.root(). Laws over the whole content
// are answered for files up to kAlternateBytesMax; "prefix:N" and "sha256" for any size, in bounded memory.
// A file that is not what the list says any more (other size), or cannot be read, is left unanswered.
void AnswerDatasetQuestion(FileSystem& fs, const std::string& path, const std::vector<std::string>& laws,
                           v1::FileList& list);

// Looks at the records of a walked tree's files (law "records") where nobody can ask later: in path order, until
// `files_max` files or `bytes_max` bytes were read. Stand-ins and files with an error are passed over.
class RecordLooks {
 public:
  // `list` says what it is of; its files need not be in it.
  RecordLooks(FileSystem& fs, const v1::FileList& list, std::size_t files_max, std::uint64_t bytes_max);
  void Add(v1::FileEntry& file);

 private:
  FileSystem& fs_;
  const std::string root_;
  std::size_t files_left_;  // 0: no more are looked at
  std::uint64_t bytes_left_;
  bool root_is_file_ = false;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_DATASETS_FOLLOW_UP_H_
