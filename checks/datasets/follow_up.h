// What the data.dataset checks would like to know of single files: why two differ, and how many records a file has.
// Asked once, where the files are at hand, before the checks run; without answers they say less, never something else.
#ifndef PARITECT_CHECKS_DATASETS_FOLLOW_UP_H_
#define PARITECT_CHECKS_DATASETS_FOLLOW_UP_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "checks/evidence_set.h"

namespace paritect {

struct DatasetQuestion {
  Side side = Side::kBaseline;
  int bundle = 0;                 // index into the side's bundles
  int evidence = 0;               // index into the bundle's evidence: a FileList
  std::string path;               // of the list's entry, as bytes
  std::vector<std::string> laws;  // AlternateDigest laws; "records": RecordLook
};

struct FollowUpLimits {
  std::size_t pairs_max = 300;
  std::uint64_t bytes_max = 16ull << 30;  // to be read, by the sizes known
  // Files of which one side states only SHA-256 or CRC-32.
  std::size_t digest_files_max = 2000;
  std::uint64_t digest_bytes_max = 16ull << 30;
  // Records: affordable at the end of an audit that has just read the same files.
  std::size_t record_files_max = 2000;
  std::uint64_t record_bytes_max = 2ull << 30;
};

// Only of walked trees (a list's files are elsewhere), in a fixed order.
std::vector<DatasetQuestion> DatasetQuestions(const EvidenceSet& evidence, const FollowUpLimits& limits = {});

// Writes what it finds out into the entry of the question's path in `own()`; leaves a question alone that it cannot
// answer. `list` tells of what kind the list is: it may hold no files where another list holds the same (own() does).
using OwnList = absl::FunctionRef<v1::FileList&()>;
using DatasetAnswer = absl::FunctionRef<void(const DatasetQuestion& question, const v1::FileList& list, OwnList own)>;

// The bundles as evidence, after each question about them was put to `answer`. `lists`: where equal lists of theirs are
// kept once.
std::unique_ptr<EvidenceSet> AnsweredEvidence(std::vector<v1::Bundle> baseline, std::vector<v1::Bundle> migrated,
                                              const FollowUpLimits& limits, DatasetAnswer answer,
                                              std::shared_ptr<SharedLists> lists = nullptr);

}  // namespace paritect

#endif  // PARITECT_CHECKS_DATASETS_FOLLOW_UP_H_
