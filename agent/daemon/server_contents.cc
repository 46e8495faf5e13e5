#include "agent/daemon/server_contents.h"

#include <algorithm>

namespace paritect {
namespace {

// So often it looks whether the task is still wanted.
constexpr auto kLook = absl::Milliseconds(200);

}  // namespace

void ServerContents::OnConnected(int digests_max) {
  v1::ContentQuestion open;
  {
    absl::MutexLock lock(&mutex_);
    online_ = true;
    digests_max_ = std::max(0, digests_max);
    if (digests_max_ > 0) open = open_;
  }
  if (open.id() != 0) ports_.ask(std::move(open));
}

void ServerContents::OnDisconnected() {
  absl::MutexLock lock(&mutex_);
  online_ = false;
}

void ServerContents::OnAnswer(const v1::ContentAnswer& answer) {
  absl::MutexLock lock(&mutex_);
  if (answer.id() == open_.id()) answer_ = answer.held();
}

bool ServerContents::Answers(Cancellation& cancellation) {
  const absl::Time until = absl::Now() + ports_.patience;
  absl::MutexLock lock(&mutex_);
  while (!online_ && absl::Now() < until && !cancellation.stopped()) {
    mutex_.AwaitWithTimeout(absl::Condition(&online_), kLook);
  }
  return online_ && digests_max_ > 0;
}

std::vector<bool> ServerContents::Held(const std::string& task_id, const std::vector<std::string>& digests, int level,
                                       Cancellation& cancellation) {
  std::vector<bool> held(digests.size(), false);
  for (std::size_t from = 0; from < digests.size();) {
    v1::ContentQuestion question;
    question.set_task_id(task_id);
    question.set_level(level);
    {
      absl::MutexLock lock(&mutex_);
      if (digests_max_ == 0) return held;
      question.set_id(++last_id_);
      const std::size_t count = std::min(digests.size() - from, static_cast<std::size_t>(digests_max_));
      for (std::size_t i = 0; i < count; ++i) question.mutable_digests()->append(digests[from + i]);
    }
    const std::size_t count = question.digests().size() / 32;
    const auto answer = Ask(std::move(question), cancellation);
    if (!answer) return held;
    for (std::size_t i = 0; i < count && i / 8 < answer->size(); ++i) {
      held[from + i] = (static_cast<unsigned char>((*answer)[i / 8]) >> (i % 8) & 1) != 0;
    }
    from += count;
  }
  return held;
}

std::optional<std::string> ServerContents::Ask(v1::ContentQuestion question, Cancellation& cancellation) {
  {
    absl::MutexLock lock(&mutex_);
    open_ = question;
    answer_.reset();
  }
  ports_.ask(std::move(question));
  const absl::Time until = absl::Now() + ports_.patience;
  absl::MutexLock lock(&mutex_);
  const auto answered = [this] {
    mutex_.AssertReaderHeld();
    return answer_.has_value();
  };
  while (!answered() && absl::Now() < until && !cancellation.stopped()) {
    mutex_.AwaitWithTimeout(absl::Condition(&answered), kLook);
  }
  open_.Clear();
  return std::move(answer_);
}

}  // namespace paritect
