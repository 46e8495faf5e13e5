// Protobuf messages as bytes that can be compared, digested and read back.
#ifndef PARITECT_COMMON_MESSAGE_BYTES_H_
#define PARITECT_COMMON_MESSAGE_BYTES_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace paritect {

// Replaces every text of the tree that is not UTF-8 by its display form (common/utf8.h). `bytes` fields keep what they
// hold. Evidence passes through it when it is made, so that it reads the same with and without a bundle in between.
void MakeTextsUtf8(google::protobuf::Message& message);

// Equal messages give equal bytes (maps sorted). Texts that are not UTF-8 are replaced by their display
// form in `message` first: protobuf writes them but refuses to read them back.
std::string SerializeStable(google::protobuf::Message& message);

// What reading messages from outside may cost, all that is read under it taken together: two bytes on the wire can make
// an object of some hundred in memory, and a part that is named often is read as often.
struct MessageBudget {
  std::uint64_t entries = 20'000'000;                   // messages within messages
  std::uint64_t memory_bytes = std::uint64_t{3} << 30;  // of objects and texts, estimated before they are made
};

// Takes from the budget what reading `bytes` as `message` would cost; nothing is built. ResourceExhausted, saying how
// much is allowed, where it does not suffice. Bytes that are no such message cost what they are read to; ParseStable
// refuses them.
absl::Status TakeFromBudget(absl::string_view bytes, const google::protobuf::Message& message, MessageBudget& budget);

// False: not such a message, nested deeper than 64 levels, or bytes are left over.
bool ParseStable(absl::string_view bytes, google::protobuf::Message& message);

}  // namespace paritect

#endif  // PARITECT_COMMON_MESSAGE_BYTES_H_
