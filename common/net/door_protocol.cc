#include "common/net/door_protocol.h"

#include "absl/strings/str_cat.h"

namespace paritect {

std::string Frame(absl::string_view body) {
  std::string frame;
  for (int shift = 24; shift >= 0; shift -= 8) frame.push_back(static_cast<char>(body.size() >> shift));
  return absl::StrCat(frame, body);
}

absl::StatusOr<std::optional<absl::string_view>> BodyOfFrame(absl::string_view received, std::size_t body_bytes_max) {
  if (received.size() < kFrameHeadBytes) return std::optional<absl::string_view>();
  std::size_t size = 0;
  for (std::size_t i = 0; i < kFrameHeadBytes; ++i) size = size << 8 | static_cast<unsigned char>(received[i]);
  if (size > body_bytes_max) {
    return absl::InvalidArgumentError(absl::StrCat("a message of ", size, " bytes; at most ", body_bytes_max));
  }
  const absl::string_view rest = received.substr(kFrameHeadBytes);
  if (rest.size() > size) return absl::InvalidArgumentError("something follows the message");
  if (rest.size() < size) return std::optional<absl::string_view>();
  return std::optional<absl::string_view>(rest);
}

}  // namespace paritect
