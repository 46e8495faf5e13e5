// Protobuf messages as bytes that can be compared, digested and read back.
#ifndef PARITECT_COMMON_MESSAGE_BYTES_H_
#define PARITECT_COMMON_MESSAGE_BYTES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace paritect {

// Replaces every text of the tree that is not UTF-8 by its display form (common/utf8.h). `bytes` fields keep what they
// hold. Evidence passes through it when it is made, so that it reads the same with and without a bundle in between.
void MakeTextsUtf8(google::protobuf::Message& message);

// Equal messages give equal bytes (maps sorted). Texts that are not UTF-8 are replaced by their display
// form in `message` first: protobuf writes them but refuses to read them back.
std::string SerializeStable(google::protobuf::Message& message);

// False: not such a message, nested deeper than 64 levels, or bytes are left over.
bool ParseStable(absl::string_view bytes, google::protobuf::Message& message);

}  // namespace paritect

#endif  // PARITECT_COMMON_MESSAGE_BYTES_H_
