#include "storage/fleet_store.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/digest.h"
#include "common/message_bytes.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr std::size_t kKeyBytesMax = 1024;
constexpr std::size_t kNodeBytesMax = 512;
constexpr std::size_t kValueBytesMax = 512u << 20;  // SQLite's own limit of a row is 1 GB
constexpr std::size_t kDigestBytes = 32;

absl::Status CheckDigests(const std::vector<std::string>& digests, absl::string_view of) {
  for (const std::string& digest : digests) {
    if (digest.size() == kDigestBytes) continue;
    return absl::InvalidArgumentError(absl::StrCat("a reference of ", of, " is no SHA-256"));
  }
  return absl::OkStatus();
}

absl::Status CheckSize(absl::string_view value, absl::string_view of) {
  if (value.size() <= kValueBytesMax) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(of, ": ", value.size(), " bytes; at most ", kValueBytesMax));
}

absl::Status CheckDocument(const DocumentWrite& document) {
  for (const char c : document.collection) {
    if (!absl::ascii_islower(static_cast<unsigned char>(c)) && c != '_') {
      return absl::InvalidArgumentError(absl::StrCat("'", document.collection, "' cannot name a collection"));
    }
  }
  if (document.collection.empty()) return absl::InvalidArgumentError("a document without a collection");
  if (document.key.empty() || document.key.size() > kKeyBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a key of ", document.key.size(), " bytes in ", document.collection, "; 1 to ", kKeyBytesMax));
  }
  PARITECT_RETURN_IF_ERROR(CheckDigests(document.references, document.collection));
  return document.value ? CheckSize(*document.value, document.collection) : absl::OkStatus();
}

absl::Status CheckBatch(const BatchWrite& batch) {
  if (batch.first_sequence == 0 || batch.last_sequence < batch.first_sequence) {
    return absl::InvalidArgumentError(
        absl::StrCat("a batch from sequence ", batch.first_sequence, " to ", batch.last_sequence));
  }
  if (batch.node.empty() || batch.node.size() > kNodeBytesMax) {
    return absl::InvalidArgumentError("a batch of a node without a name, or with too long a one");
  }
  PARITECT_RETURN_IF_ERROR(CheckDigests(batch.references, "a batch"));
  return CheckSize(batch.payload, "a batch");
}

std::string HashOf(const v1::AuditLogEntry& entry) {
  v1::AuditLogEntry copy = entry;
  copy.clear_hash();
  return Sha256(SerializeStable(copy));
}

}  // namespace

#define PARITECT_FLEET_STORE(name) extern const FleetBackend k##name##FleetBackend;
#include "storage/all_fleet_stores.inc"
#undef PARITECT_FLEET_STORE

absl::StatusOr<std::unique_ptr<FleetStore>> OpenFleetStore(absl::string_view uri, const FleetStoreOptions& options) {
  static constexpr const FleetBackend* kAll[] = {
#define PARITECT_FLEET_STORE(name) &k##name##FleetBackend,
#include "storage/all_fleet_stores.inc"
#undef PARITECT_FLEET_STORE
  };
  const std::size_t colon = uri.find(':');
  const absl::string_view scheme = uri.substr(0, colon == absl::string_view::npos ? 0 : colon);
  for (const FleetBackend* backend : kAll) {
    if (backend->scheme == scheme) return backend->open(uri.substr(colon + 1), options);
  }
  const std::string known = absl::StrJoin(
      kAll, ", ", [](std::string* out, const FleetBackend* one) { absl::StrAppend(out, one->scheme, ":"); });
  return absl::InvalidArgumentError(absl::StrCat("no storage of this kind: '", uri, "'; there are ", known));
}

std::vector<std::string> ContentChildren(absl::string_view node) {
  std::vector<std::string> children;
  for (std::size_t at = 0; at < node.size(); at += kDigestBytes) children.emplace_back(node.substr(at, kDigestBytes));
  return children;
}

absl::Status CheckWriteSet(const WriteSet& set) {
  for (const DocumentWrite& document : set.documents) PARITECT_RETURN_IF_ERROR(CheckDocument(document));
  for (const ContentWrite& content : set.contents) {
    if (content.sha256.size() != kDigestBytes) return absl::InvalidArgumentError("a content without its SHA-256");
    PARITECT_RETURN_IF_ERROR(CheckSize(content.bytes, "a content"));
    if (content.level < 0 ||
        (content.level > 0 && (content.bytes.empty() || content.bytes.size() % kDigestBytes > 0))) {
      return absl::InvalidArgumentError("a node that is no list of digests");
    }
  }
  for (const BatchWrite& batch : set.batches) PARITECT_RETURN_IF_ERROR(CheckBatch(batch));
  return absl::OkStatus();
}

absl::Status CheckBatchFollows(const BatchWrite& batch, std::uint64_t last_sequence) {
  if (batch.first_sequence == last_sequence + 1) return absl::OkStatus();
  const std::string what = absl::StrCat("a batch of node ", batch.node, " from sequence ", batch.first_sequence,
                                        "; stored are those up to ", last_sequence);
  return batch.first_sequence <= last_sequence ? absl::AlreadyExistsError(what) : absl::OutOfRangeError(what);
}

void ChainLogEntry(const v1::AuditLogEntry* previous, v1::AuditLogEntry& entry) {
  // As it will be read back: a text that is not UTF-8 would hash differently then.
  MakeTextsUtf8(entry);
  entry.set_number(previous == nullptr ? 1 : previous->number() + 1);
  entry.set_previous(previous == nullptr ? "" : previous->hash());
  entry.set_hash(HashOf(entry));
}

std::string CheckLogHead(const v1::AuditLogEntry* head, const v1::AuditLogEntry* last) {
  const std::int64_t written = head == nullptr ? 0 : head->number();
  const std::int64_t there = last == nullptr ? 0 : last->number();
  if (there < written) {
    return absl::StrCat("the log's end was cut off: ", written, " entries were written, ", there, " are there");
  }
  if (there > written) return absl::StrCat("log entry ", there, " was not written by this program");
  if (head != nullptr && head->hash() != last->hash()) {
    return absl::StrCat("log entry ", there, " is not the one that was written");
  }
  return "";
}

std::string CheckLogLink(const v1::AuditLogEntry* previous, const v1::AuditLogEntry& entry) {
  const std::int64_t expected = previous == nullptr ? 1 : previous->number() + 1;
  if (entry.number() != expected) {
    return absl::StrCat("log entry ", expected, " is missing: entry ", entry.number(), " stands in its place");
  }
  if (entry.previous() != (previous == nullptr ? "" : previous->hash())) {
    return absl::StrCat("log entry ", entry.number(), " does not follow the one before: one of them was changed");
  }
  if (entry.hash() != HashOf(entry)) return absl::StrCat("log entry ", entry.number(), " was changed");
  return "";
}

}  // namespace paritect
