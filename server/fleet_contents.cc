// What agents ask before they send: which contents the store holds already. What is told to be held is kept by a lease
// until the task that asked has ended and its pieces refer to it.
#include "absl/strings/str_cat.h"
#include "server/fleet.h"
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

// Under the node's mutex. False: it is refused, and the session ends.
bool Fleet::TakeQuestion(Node& node, const v1::ContentQuestion& question) {
  NoteClock(node, 0);
  const std::size_t digests_max = static_cast<std::size_t>(options_.question_digests_max);
  const bool sound = question.id() != 0 && !question.task_id().empty() &&
                     LeaseKey(node.name, question.task_id(), question.id()).size() <= kKeyBytesMax &&
                     question.digests().size() % kDigestBytes == 0 && CountOf(question) <= digests_max;
  if (!sound) {
    HangUp(node, absl::InvalidArgumentError("a question of contents that cannot be answered"));
  } else if (node.question != 0) {
    HangUp(node, absl::ResourceExhaustedError("a question of contents before the last was answered"));
  } else {
    node.question = question.id();
    return true;
  }
  return false;
}

// Errors count as not held: the agent then sends it.
std::string Fleet::HeldBits(const v1::ContentQuestion& question) {
  std::string bits((CountOf(question) + 7) / 8, '\0');
  for (std::size_t i = 0; i < CountOf(question); ++i) {
    const std::string digest = DigestAt(question, i);
    const auto held = question.level() == 0 ? store_.HasContent(digest) : store_.HasNode(digest, question.level());
    if (held.ok() && *held) bits[i / 8] = static_cast<char>(bits[i / 8] | 1 << (i % 8));
  }
  return bits;
}

void Fleet::AnswerQuestion(const std::shared_ptr<Node>& node, SessionId session, const v1::ContentQuestion& question) {
  const std::string found = HeldBits(question);
  WriteSet set;
  DocumentWrite lease;
  lease.collection = "lease";
  lease.key = LeaseKey(node->name, question.task_id(), question.id());
  for (std::size_t i = 0; i < CountOf(question); ++i) {
    if (IsSet(found, i)) lease.references.push_back(DigestAt(question, i));
  }
  const std::string none(found.size(), '\0');
  if (lease.references.empty()) return Answer(*node, session, question, none);
  v1::ContentLease value;
  value.set_given_unix_ms(clock_());
  lease.value = value.SerializeAsString();
  set.documents.push_back(std::move(lease));
  const auto done = [this, node, session, question, none](const absl::Status& status) {
    ports_.defer([this, node, session, question, none, ok = status.ok()] {
      // Looked at again: before the lease counted, it could have been dropped.
      Answer(*node, session, question, ok ? HeldBits(question) : none);
    });
  };
  if (!ports_.submit(std::move(set), done).ok()) Answer(*node, session, question, none);
}

void Fleet::Answer(Node& node, SessionId session, const v1::ContentQuestion& question, const std::string& held) {
  v1::ServerMessage message;
  message.mutable_answer()->set_id(question.id());
  message.mutable_answer()->set_held(held);
  std::lock_guard<std::mutex> lock(node.mutex);
  if (node.session != session || node.question != question.id()) return;
  node.question = 0;
  if (node.link != nullptr) node.link->Send(message);
}

void Fleet::DropLeases(const std::string& node, const std::string& task) {
  WriteSet set;
  const auto scanned = store_.Scan("lease", LeasePrefix(node, task), "", [&](absl::string_view key, absl::string_view) {
    set.documents.push_back({"lease", std::string(key), std::nullopt, {}});
    return true;
  });
  // One that stays is dropped with its age.
  if (scanned.ok() && !set.documents.empty()) (void)ports_.submit(std::move(set), [](const absl::Status&) {});
}

}  // namespace paritect
