// How a command that audits here reads what plans name: with which cache, how many files at once, and what a person
// sees of it meanwhile.
#ifndef PARITECT_CLIENT_REPORT_READING_H_
#define PARITECT_CLIENT_REPORT_READING_H_

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "agent/collector.h"
#include "client/command.h"
#include "client/manifest/progress.h"
#include "common/arguments.h"

namespace paritect {

struct ReadingOptions {
  int jobs = 0;           // files hashed at the same time; 0: few, others may train on this machine
  bool no_cache = false;  // read every file, also those that are known and unchanged
  std::string progress = "auto";
  std::set<std::string> only;  // collectors, by name, where not all are asked; empty: all
};

// What has to be read for these items of the checklist (none named: everything): of data sets, logs, weights and
// tensors only what their checks look at. What costs little is always read.
std::set<std::string> CollectorsFor(const Rules& rules, absl::Span<const std::string> items);

// How many logs these options read at once.
int LogJobs(const ReadingOptions& options);

// Declares --jobs, --no-cache and --progress; `options` must outlive `arguments`.
void DeclareReading(Arguments& arguments, ReadingOptions& options);
// InvalidArgument, in words, for a number or a word that is none.
absl::Status CheckReading(const ReadingOptions& options);

// One collection: its environment, and the bar, which is taken away at its end. Digests come from the cache of
// `paritect manifest` and go there while files are read, so that one who stops the command has lost a second's work.
class Reading {
 public:
  Reading(CommandEnv& env, const ReadingOptions& options, const v1::Plan& plan);
  ~Reading() { bar_.Clear(); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  const CollectorEnv& env() const { return env_; }
  CollectorEnv& env() { return env_; }

 private:
  ManifestProgress bar_;
  CollectorEnv env_;
};

}  // namespace paritect

#endif  // PARITECT_CLIENT_REPORT_READING_H_
