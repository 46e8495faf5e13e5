#include "storage/stored_parts.h"

#include "absl/strings/str_cat.h"
#include "common/digest.h"
#include "common/message_bytes.h"

namespace paritect {

StoredContent MakeContent(google::protobuf::Message& message) {
  StoredContent content;
  content.payload = SerializeStable(message);
  content.digest = Sha256(content.payload);
  return content;
}

absl::Status ReadContent(absl::string_view digest, absl::string_view payload, google::protobuf::Message& message) {
  if (Sha256(payload) != digest || !ParseStable(payload, message)) {
    return absl::DataLossError(absl::StrCat("stored content ", ToHex(digest), " was changed"));
  }
  return absl::OkStatus();
}

v1::Bundle BundleHead(const v1::Bundle& bundle) {
  v1::Bundle head;
  *head.mutable_plan() = bundle.plan();
  head.set_collected_by(bundle.collected_by());
  head.set_collected_at_unix_ms(bundle.collected_at_unix_ms());
  return head;
}

StoredEvidence DescribeEvidence(StoredSide side, const v1::Bundle& bundle, const v1::Evidence& evidence) {
  StoredEvidence row;
  row.side = side;
  row.run = bundle.plan().run();
  row.node = bundle.plan().node();
  row.kind = evidence.kind();
  row.outcome = evidence.outcome();
  if (evidence.has_rank()) row.rank = evidence.rank();
  row.subject = evidence.subject();
  row.source = evidence.source();
  return row;
}

}  // namespace paritect
