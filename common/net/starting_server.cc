#include "common/net/starting_server.h"

#include <chrono>
#include <thread>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace paritect {
namespace {

constexpr char kMark[] = "paritect/may-be-starting";
constexpr std::chrono::milliseconds kPause(100);

}  // namespace

absl::Status AsOfStartingServer(absl::Status status) {
  status.SetPayload(kMark, absl::Cord());
  return status;
}

bool MayBeStarting(const absl::Status& status) {
  return status.GetPayload(kMark).has_value();
}

absl::Status AskWhileStarting(std::int64_t limit_ms, const TellWaiting& tell,
                              absl::FunctionRef<absl::Status()> attempt) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit_ms);
  absl::Status status = attempt();
  bool told = false;
  while (MayBeStarting(status) && std::chrono::steady_clock::now() < deadline) {
    if (!told && tell) {
      tell(absl::StrCat(status.message(), "; trying for ", (limit_ms + 999) / 1000,
                        " s, as the server may be starting"));
    }
    told = true;
    std::this_thread::sleep_for(kPause);
    status = attempt();
  }
  return status;
}

}  // namespace paritect
