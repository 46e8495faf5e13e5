#include "agent/daemon/told_steps.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/digest.h"
#include "common/file_system.h"

namespace paritect {
namespace {

constexpr absl::string_view kHeader = "paritect-told 1 ";
constexpr std::uint64_t kFileBytesMax = 16 << 20;
constexpr std::size_t kLogsMax = 10'000;
constexpr std::int64_t kSaveEveryMs = 5'000;

// Of what names a step in its log; not of values that a later line may add to it.
std::string DigestOf(const v1::StepRecord& step) {
  double loss = step.has_loss() ? step.loss() : 0;
  std::uint64_t bits = 0;
  std::memcpy(&bits, &loss, sizeof(bits));
  const std::string text = absl::StrCat(step.line(), " ", step.step(), " ", step.rank(), " ", step.engine(), " ", bits);
  return ToHex(Sha256(text).substr(0, 16));
}

}  // namespace

ToldSteps::ToldSteps(std::string path, std::uint64_t epoch) : path_(std::move(path)), epoch_(epoch) {
  if (path_.empty()) return;
  const auto text = ReadWholeFile(PosixFileSystem(), path_, kFileBytesMax);
  if (!text.ok()) return;
  const std::vector<absl::string_view> lines = absl::StrSplit(*text, '\n', absl::SkipEmpty());
  if (lines.empty() || lines[0] != absl::StrCat(kHeader, epoch_)) return;
  for (std::size_t i = 1; i < lines.size() && before_.size() < kLogsMax; ++i) {
    const std::vector<absl::string_view> words = absl::StrSplit(lines[i], ' ');
    if (words.size() != 3) continue;
    const auto task = FromHex(words[0]), source = FromHex(words[1]);
    if (task && source) before_[{*task, *source}] = std::string(words[2]);
  }
  last_ = before_;
}

bool ToldSteps::WasTold(absl::string_view task, absl::string_view source) const {
  return before_.contains({std::string(task), std::string(source)});
}

void ToldSteps::DropTold(absl::string_view task, absl::string_view source, std::vector<v1::StepRecord>& steps) {
  const auto known = before_.find({std::string(task), std::string(source)});
  if (known == before_.end() || steps.empty()) return;
  const std::string digest = std::exchange(known->second, "");
  before_.erase(known);
  // The last of them: an epoch that begins anew may repeat lines.
  const auto found = std::find_if(steps.rbegin(), steps.rend(),
                                  [&digest](const v1::StepRecord& step) { return DigestOf(step) == digest; });
  if (found != steps.rend()) steps.erase(steps.begin(), found.base());
}

void ToldSteps::Told(absl::string_view task, absl::string_view source, const v1::StepRecord& last) {
  if (path_.empty() || last.line() == 0) return;  // of a log that is read as a whole no step has a place
  const Key key = {std::string(task), std::string(source)};
  if (!last_.contains(key) && last_.size() >= kLogsMax) return;
  last_[key] = DigestOf(last);
  changed_ = true;
}

void ToldSteps::Forget(absl::string_view task) {
  for (auto* map : {&last_, &before_}) {
    changed_ = std::erase_if(*map, [task](const auto& one) { return one.first.first == task; }) > 0 || changed_;
  }
}

void ToldSteps::Save(std::int64_t steady_ms, bool now) {
  if (path_.empty() || !changed_ || (!now && steady_ms - saved_ms_ < kSaveEveryMs)) return;
  saved_ms_ = steady_ms;
  std::string text = absl::StrCat(kHeader, epoch_, "\n");
  for (const auto& [key, digest] : last_) {
    absl::StrAppend(&text, ToHex(key.first), " ", ToHex(key.second), " ", digest, "\n");
  }
  changed_ = !WriteFileAtomically(path_, text).ok();
}

}  // namespace paritect
