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
void LookAtAllRecords(FileSystem& fs, std::size_t files_max, std::uint64_t bytes_max, v1::FileList& list);

}  // namespace paritect

#endif  // PARITECT_AGENT_DATASETS_FOLLOW_UP_H_
