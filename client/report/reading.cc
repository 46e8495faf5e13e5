#include "client/report/reading.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/datasets/digest_cache.h"
#include "agent/redaction.h"
#include "checks/explaining/looked_at.h"
#include "rules/evidence_kinds.h"

namespace paritect {
namespace {

constexpr int kJobsMax = 256;
constexpr int kLogJobsMax = 8;

HashProgress AsHashProgress(const CollectProgress& now) {
  HashProgress shown;
  shown.files_done = static_cast<std::uint64_t>(now.files_done);
  shown.files_total = static_cast<std::uint64_t>(now.files_total);
  shown.bytes_done = static_cast<std::uint64_t>(now.bytes_done);
  shown.bytes_total = static_cast<std::uint64_t>(now.bytes_total);
  // All that is known is done: the walk is not, or the collection goes on. The bar stays until its end.
  shown.walking = shown.files_done >= shown.files_total;
  return shown;
}

}  // namespace

std::set<std::string> CollectorsFor(const Rules& rules, absl::Span<const std::string> items) {
  std::set<std::string> names;
  for (const Collector* collector : AllCollectors()) {
    const std::vector<v1::EvidenceKind> gives = KindsOf(collector->name);
    const bool asked =
        std::any_of(gives.begin(), gives.end(), [&](v1::EvidenceKind kind) { return AnyLooksAt(rules, items, kind); });
    if (asked || !collector->costly) names.emplace(collector->name);
  }
  return names;
}

// A log is read by one core: as many at once as the machine has, within reason, for each costs its memory.
int LogJobs(const ReadingOptions& options) {
  if (options.jobs > 0) return options.jobs;
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kLogJobsMax);
}

void DeclareReading(Arguments& arguments, ReadingOptions& options) {
  arguments.Int("--jobs", options.jobs, "files hashed, logs and tensors read at the same time (default: few)");
  arguments.Flag("--no-cache", options.no_cache, "read every file, also those that are known and unchanged");
  arguments.Text("--progress", options.progress, "auto | plain | json | none");
}

absl::Status CheckReading(const ReadingOptions& options) {
  if (options.jobs < 0 || options.jobs > kJobsMax) {
    return absl::InvalidArgumentError(absl::StrCat("--jobs must be 1 to ", kJobsMax));
  }
  return CheckProgressMode(options.progress);
}

Reading::Reading(CommandEnv& env, const ReadingOptions& options, const v1::Plan& plan)
    : bar_(env, options.progress),
      env_{.fs = env.fs,
           .rules = env.rules,
           .redaction_key = ProcessRedactionKey(),
           .in_clear = {plan.in_clear().begin(), plan.in_clear().end()},
           .live = env.live} {
  env_.digest_cache = UserCacheFolder(env.getenv("XDG_CACHE_HOME"), env.getenv("HOME"));
  env_.read_all = options.no_cache;
  env_.dataset_jobs = options.jobs;
  env_.log_jobs = LogJobs(options);
  env_.only = options.only;
  env_.progress = [this](const CollectProgress& now) { bar_.Show(AsHashProgress(now)); };
}

}  // namespace paritect
