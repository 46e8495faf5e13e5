// How far `paritect manifest` is, on standard error.
#ifndef PARITECT_CLIENT_MANIFEST_PROGRESS_H_
#define PARITECT_CLIENT_MANIFEST_PROGRESS_H_

#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/datasets/hash.h"
#include "client/command.h"

namespace paritect {

// InvalidArgument, in words, for another word than these.
absl::Status CheckProgressMode(absl::string_view mode);

// `mode`: "auto" is "bar" on a terminal and "none" elsewhere; "plain" lines; "json" one object a line; "none".
class ManifestProgress {
 public:
  ManifestProgress(CommandEnv& env, const std::string& mode);

  void Show(const HashProgress& now);
  // Takes the bar away: what follows stands on a line of its own.
  void Clear();

 private:
  std::string Text(const HashProgress& now, double seconds) const;

  CommandEnv& env_;
  std::string mode_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_;
  bool ended_ = false;
  bool bar_stands_ = false;
};

}  // namespace paritect

#endif  // PARITECT_CLIENT_MANIFEST_PROGRESS_H_
