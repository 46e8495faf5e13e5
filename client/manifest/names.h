// Names of lists and folders as `paritect manifest` sees them.
#ifndef PARITECT_CLIENT_MANIFEST_NAMES_H_
#define PARITECT_CLIENT_MANIFEST_NAMES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "agent/datasets/tree.h"
#include "paritect/v1/dataset.pb.h"

namespace paritect {

// A list that stands in the folder that it describes is no part of the data, however either is spelt.
void ExcludeFile(absl::string_view folder, absl::string_view file, TreeOptions& tree);

// Where the list's names stand, if few stand where they should and nearly all below one folder of what was found: a
// wrong folder was given. "": no such folder. A sample of the names decides.
std::string FolderOfNames(const v1::FileList& list, const v1::FileList& found);

}  // namespace paritect

#endif  // PARITECT_CLIENT_MANIFEST_NAMES_H_
