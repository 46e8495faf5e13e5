// What an agent asks before it sends: which contents the store holds already. What is told to be held is kept by a
// lease until the task that asked has ended and its pieces refer to it.
#ifndef PARITECT_SERVER_CONTENT_QUESTION_H_
#define PARITECT_SERVER_CONTENT_QUESTION_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "paritect/v1/fleet.pb.h"
#include "storage/fleet_store.h"

namespace paritect {

// Whether it can be answered at all; `node`: who asks.
bool IsSound(const v1::ContentQuestion& question, absl::string_view node, std::size_t digests_max);
// One bit a digest, as ContentAnswer has them. Errors count as not held: the agent then sends it.
std::string HeldBits(FleetStore& store, const v1::ContentQuestion& question);
std::string NoneHeld(const v1::ContentQuestion& question);
// Keeps what is held; without references: there is nothing to keep.
DocumentWrite LeaseOf(const v1::ContentQuestion& question, absl::string_view node, const std::string& held,
                      std::int64_t now_unix_ms);

}  // namespace paritect

#endif  // PARITECT_SERVER_CONTENT_QUESTION_H_
