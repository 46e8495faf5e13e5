// The data sets of a folder without a plan: folders named so, folders of records alone, lists with digests.
#ifndef PARITECT_AGENT_DRAFTING_DRAFTED_DATA_H_
#define PARITECT_AGENT_DRAFTING_DRAFTED_DATA_H_

#include <map>
#include <string>
#include <vector>

#include "agent/drafting/folder_scan.h"
#include "agent/drafting/recognise.h"
#include "agent/drafting/taken.h"
#include "paritect/v1/plan.pb.h"

namespace paritect {

using RecognisedFiles = std::map<std::string, RecognisedFile>;  // by path

struct DraftedData {
  std::vector<v1::DatasetSource> sources;
  std::vector<TakenSource> taken;
  std::vector<NotTaken> not_taken;
  std::vector<std::string> folders;  // that are data as a whole: nothing in them is anything else
};

// `left`: bytes that may be hashed unasked; what is taken is subtracted.
DraftedData DraftData(FileSystem& fs, const std::string& root, const FolderScan& scan, const RecognisedFiles& files,
                      const DraftOptions& options, std::uint64_t& left);

}  // namespace paritect

#endif  // PARITECT_AGENT_DRAFTING_DRAFTED_DATA_H_
