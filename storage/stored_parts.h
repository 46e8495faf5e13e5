// A bundle taken apart into what a backend keeps, and back: one law for all backends.
#ifndef PARITECT_STORAGE_STORED_PARTS_H_
#define PARITECT_STORAGE_STORED_PARTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "storage/store.h"

namespace paritect {

// Serialized message with its SHA-256 (raw).
struct StoredContent {
  std::string digest;
  std::string payload;
};

StoredContent MakeContent(google::protobuf::Message& message);

// DataLoss where the payload does not have the digest or is not such a message.
absl::Status ReadContent(absl::string_view digest, absl::string_view payload, google::protobuf::Message& message);

// The bundle without its evidence.
v1::Bundle BundleHead(const v1::Bundle& bundle);

// The row of one piece; `digest` is left empty.
StoredEvidence DescribeEvidence(StoredSide side, const v1::Bundle& bundle, const v1::Evidence& evidence);

}  // namespace paritect

#endif  // PARITECT_STORAGE_STORED_PARTS_H_
