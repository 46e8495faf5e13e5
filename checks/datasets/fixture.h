// For tests: nodes that hold a file of a data set.
#ifndef PARITECT_CHECKS_DATASETS_FIXTURE_H_
#define PARITECT_CHECKS_DATASETS_FIXTURE_H_

#include <string>

#include "common/digest.h"
#include "paritect/v1/evidence.pb.h"

namespace paritect {

// The bundle with the data set "train" of one file, of that content, added.
inline v1::Bundle WithDataFile(v1::Bundle bundle, const std::string& path, const std::string& content) {
  v1::Evidence& evidence = *bundle.add_evidence();
  evidence.set_kind(v1::EVIDENCE_KIND_DATASET_FILES);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.set_source("data");
  evidence.mutable_files()->set_dataset("train");
  evidence.mutable_files()->set_format("tree");
  v1::FileEntry& file = *evidence.mutable_files()->add_files();
  file.set_path(path);
  file.set_type(v1::FILE_TYPE_REGULAR);
  file.set_size_bytes(content.size());
  file.set_md5(Md5(content));
  return bundle;
}

}  // namespace paritect

#endif  // PARITECT_CHECKS_DATASETS_FIXTURE_H_
