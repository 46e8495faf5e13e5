#include "server/content_question.h"

#include "storage/fleet_keys.h"

namespace paritect {
namespace {

constexpr std::size_t kDigestBytes = 32;
constexpr std::size_t kKeyBytesMax = 1024;

std::size_t CountOf(const v1::ContentQuestion& question) {
  return question.digests().size() / kDigestBytes;
}

std::string DigestAt(const v1::ContentQuestion& question, std::size_t at) {
  return question.digests().substr(at * kDigestBytes, kDigestBytes);
}

bool IsSet(const std::string& bits, std::size_t at) {
  return at / 8 < bits.size() && (static_cast<unsigned char>(bits[at / 8]) >> (at % 8) & 1) != 0;
}

}  // namespace

bool IsSound(const v1::ContentQuestion& question, absl::string_view node, std::size_t digests_max) {
  return question.id() != 0 && !question.task_id().empty() &&
         LeaseKey(node, question.task_id(), question.id()).size() <= kKeyBytesMax &&
         question.digests().size() % kDigestBytes == 0 && CountOf(question) <= digests_max;
}

std::string NoneHeld(const v1::ContentQuestion& question) {
  return std::string((CountOf(question) + 7) / 8, '\0');
}

std::string HeldBits(FleetStore& store, const v1::ContentQuestion& question) {
  std::string bits = NoneHeld(question);
  for (std::size_t i = 0; i < CountOf(question); ++i) {
    const std::string digest = DigestAt(question, i);
    const auto held = question.level() == 0 ? store.HasContent(digest) : store.HasNode(digest, question.level());
    if (held.ok() && *held) bits[i / 8] = static_cast<char>(bits[i / 8] | 1 << (i % 8));
  }
  return bits;
}

DocumentWrite LeaseOf(const v1::ContentQuestion& question, absl::string_view node, const std::string& held,
                      std::int64_t now_unix_ms) {
  v1::ContentLease value;
  value.set_given_unix_ms(now_unix_ms);
  DocumentWrite lease;
  lease.collection = "lease";
  lease.key = LeaseKey(node, question.task_id(), question.id());
  lease.value = value.SerializeAsString();
  for (std::size_t i = 0; i < CountOf(question); ++i) {
    if (IsSet(held, i)) lease.references.push_back(DigestAt(question, i));
  }
  return lease;
}

}  // namespace paritect
