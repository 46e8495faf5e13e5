// `observed:` of a plan: what the observer recorded inside the training processes of this node (docs/observer.md). The
// records of one folder are put together, for one rank's data-loader workers have files of their own.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/collector.h"
#include "agent/collectors/record_files.h"
#include "agent/collectors/shard_trace.h"
#include "common/glob.h"
#include "common/utf8.h"
#include "formats/observer/observed_run.h"

namespace paritect {
namespace {

constexpr v1::EvidenceKind kKind = v1::EVIDENCE_KIND_SETTINGS;
constexpr absl::string_view kEndings[] = {".jsonl", ".jsonl.gz"};

class Collection {
 public:
  Collection(const CollectorEnv& env, const v1::Plan& plan, const v1::ObservedSource& source, EvidenceSink sink)
      : env_(env), plan_(plan), source_(source), sink_(sink) {}

  void Run() {
    auto matches = ExpandPathPattern(env_.fs, ResolvePath(plan_, source_.path()));
    if (!matches.ok()) return sink_(ProblemEvidence(kKind, source_.path(), matches.status()));
    RecordFiles found;
    for (const PathMatch& match : *matches) {
      const absl::Status looked = FindRecordFiles(env_.fs, match.path, kEndings, found);
      if (!looked.ok()) return sink_(ProblemEvidence(kKind, source_.path(), looked));
    }
    for (const auto& [file, user] : found.foreign) {
      v1::Evidence evidence = ProblemEvidence(kKind, file, v1::OUTCOME_FAILED, "trace_foreign_file");
      (*evidence.mutable_problem()->mutable_args())["what"] = absl::StrCat(user);
      sink_(std::move(evidence));
    }
    std::vector<ObservedFile> read;
    for (const std::string& file : found.files) ReadOne(file, read);
    Emit(read, found.files.empty() && found.foreign.empty());
  }

 private:
  // As the plan writes it, so that a report reads the same wherever it was made.
  std::string Label(absl::string_view path) const {
    const std::string base = absl::StrCat(plan_.base(), "/");
    return DisplayBytes(absl::StartsWith(path, base) ? path.substr(base.size()) : path);
  }

  void ReadOne(const std::string& path, std::vector<ObservedFile>& read) {
    auto bytes = ReadShardBytes(env_.fs, path);
    if (!bytes.ok()) return sink_(ProblemEvidence(kKind, Label(path), bytes.status()));
    auto file = ReadObservedFile(*bytes, Label(path));
    if (!file.ok()) {
      return sink_(
          ProblemEvidence(kKind, Label(path), v1::OUTCOME_FAILED, "observed_unreadable", file.status().message()));
    }
    read.push_back(*std::move(file));
  }

  void Emit(const std::vector<ObservedFile>& files, bool nothing) {
    std::vector<v1::Evidence> evidence = AssembleObserved(files);
    // A job that the observer did not enter left no file; one that only helped has no training in it.
    if (nothing || (evidence.empty() && !files.empty())) {
      sink_(ProblemEvidence(kKind, source_.path(), v1::OUTCOME_ABSENT,
                            nothing ? "observed_empty" : "observed_untrained"));
    }
    for (v1::Evidence& one : evidence) sink_(std::move(one));
  }

  const CollectorEnv& env_;
  const v1::Plan& plan_;
  const v1::ObservedSource& source_;
  EvidenceSink sink_;
};

void Collect(const CollectorEnv& env, const v1::Plan& plan, EvidenceSink sink) {
  for (const v1::ObservedSource& source : plan.observed()) Collection(env, plan, source, sink).Run();
}

}  // namespace

extern const Collector kObservedCollector;
const Collector kObservedCollector = {"observed", "what training processes really did, as the observer recorded it",
                                      &Collect};

}  // namespace paritect
