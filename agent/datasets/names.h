// Names of files in other character sets: what a name may have been before an unpacking or copying
// program read it in the wrong one.
#ifndef PARITECT_AGENT_DATASETS_NAMES_H_
#define PARITECT_AGENT_DATASETS_NAMES_H_

#include "paritect/v1/dataset.pb.h"

namespace paritect {

// A name that is not UTF-8: its readings in the character sets of East Asia and Western Europe, the
// likeliest also as decoded_name. A UTF-8 name outside ASCII: what it was if it was UTF-8 or GBK and then
// shown in a Western character set (how ZIP programs spoil names). An ASCII name: nothing.
void AddNameReadings(v1::FileEntry& entry);

}  // namespace paritect

#endif  // PARITECT_AGENT_DATASETS_NAMES_H_
