#include "agent/daemon/renewal.h"

#include <algorithm>

#include "common/pki/certificate.h"

namespace paritect {
namespace {

// After a failure: a hundredth of the remaining life, so that many tries fit into it, but no hammering.
constexpr std::int64_t kTriesInRemainingLife = 100;
constexpr std::int64_t kRetrySecondsMin = 5;
constexpr std::int64_t kRetrySecondsMax = 600;

}  // namespace

Renewal::Renewal(LoadedCredential loaded, Ports ports) : ports_(std::move(ports)) {
  Replace(loaded);
}

void Renewal::Replace(const LoadedCredential& loaded) {
  credential_ = loaded.credential;
  not_after_ = loaded.not_after;
  due_ = RenewalTime(loaded.not_before, loaded.not_after, 2 * ports_.random() - 1);
}

Renewal::~Renewal() {
  if (thread_.joinable()) thread_.join();
}

// A certificate begins some minutes before it was made: half of a very short life would be over at once.
void Renewal::Plan(std::int64_t not_before, std::int64_t not_after, std::int64_t now) {
  not_after_ = not_after;
  due_ = std::max(RenewalTime(not_before, not_after, 2 * ports_.random() - 1), now + (not_after - now) / 4);
}

std::optional<absl::StatusOr<Credential>> Renewal::Poll(std::int64_t now) {
  if (!asking_) {
    if (now < due_) return std::nullopt;
    asking_ = true;
    thread_ = std::thread([this, credential = credential_] {
      auto answer = ports_.ask(credential);
      {
        absl::MutexLock lock(&mutex_);
        answer_ = std::move(answer);
      }
      ports_.wake();
    });
    return std::nullopt;
  }
  std::optional<absl::StatusOr<Credential>> answer;
  {
    absl::MutexLock lock(&mutex_);
    answer.swap(answer_);
  }
  if (!answer) return std::nullopt;
  thread_.join();
  asking_ = false;
  if (answer->ok()) {
    const auto certificate = Certificate::FromPem((*answer)->certificate_pem);
    if (certificate.ok()) {
      credential_ = **answer;
      Plan(certificate->NotBefore(), certificate->NotAfter(), now);
      return answer;
    }
    answer = certificate.status();
  }
  const std::int64_t pause = std::clamp((not_after_ - now) / kTriesInRemainingLife, kRetrySecondsMin, kRetrySecondsMax);
  due_ = now + pause / 2 + static_cast<std::int64_t>(ports_.random() * static_cast<double>(pause));
  return answer;
}

}  // namespace paritect
