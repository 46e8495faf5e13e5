#include "agent/collectors/shard_trace.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/collectors/log_files.h"
#include "agent/collectors/record_files.h"
#include "agent/live/live_report.h"
#include "common/glob.h"
#include "common/rooted_file_system.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/shards/trace_assembler.h"

namespace paritect {
namespace {

class TraceCollector {
 public:
  TraceCollector(const CollectorEnv& env, const v1::Plan& plan, const v1::ShardSource& source, EvidenceSink sink)
      : env_(env), plan_(plan), source_(source), sink_(sink) {}

  void Run() {
    auto matches = ExpandPathPattern(env_.fs, ResolvePath(plan_, source_.trace()));
    if (!matches.ok()) return Fail(source_.trace(), matches.status());
    RecordFiles found;
    for (const PathMatch& match : *matches) {
      const absl::Status looked = FindRecordFiles(env_.fs, match.path, kTraceEndings, found);
      if (!looked.ok()) return Fail(match.path, looked);
    }
    for (const auto& [file, user] : found.foreign) {
      v1::Evidence evidence = ProblemEvidence(v1::EVIDENCE_KIND_SHARDS, file, v1::OUTCOME_FAILED, "trace_foreign_file");
      (*evidence.mutable_problem()->mutable_args())["what"] = absl::StrCat(user);
      Emit(std::move(evidence));
    }
    const std::set<std::string>& files = found.files;
    if (files.empty()) {
      if (!found.foreign.empty()) return;  // what is there was named
      return Emit(ProblemEvidence(v1::EVIDENCE_KIND_SHARDS, source_.trace(), v1::OUTCOME_ABSENT, "trace_empty"));
    }
    std::vector<TraceFile> read;
    for (const std::string& file : files) {
      auto bytes = ReadShardBytes(env_.fs, file);
      if (!bytes.ok()) {
        Fail(file, bytes.status());
        continue;
      }
      auto one = ReadTraceFile(*bytes);
      if (one.ok()) {
        read.push_back(*std::move(one));
      } else {
        Fail(file, one.status());
      }
    }
    KeepOwn(read);
    TraceLists lists = AssembleTrace(read, plan_.info().world_size());
    EmitLists(lists);
  }

 private:
  // One record of a run that reads several data sets: what lies below the roots of the others is not of this one.
  // A file is of the data set whose root is the nearest above it.
  void KeepOwn(std::vector<TraceFile>& files) const {
    std::map<std::string, std::string> roots;  // root: data set
    std::set<std::string> labels;
    for (const v1::DatasetSource& source : plan_.datasets()) {
      if (source.root().empty()) continue;
      const std::string root = NormalPath(ResolvePath(plan_, source.root()));
      roots[root] = source.name();
      roots[RealPathOn(env_.fs, root)] = source.name();
      labels.insert(source.name());
    }
    if (labels.size() < 2 || !labels.contains(source_.dataset())) return;
    const auto other = [&](absl::string_view path) {
      for (std::size_t end = path.size(); end != absl::string_view::npos && end > 0; end = path.rfind('/', end - 1)) {
        auto root = roots.find(std::string(path.substr(0, end)));
        if (root != roots.end()) return root->second != source_.dataset();
      }
      return true;
    };
    for (TraceFile& file : files) {
      for (TraceImage& image : file.images) {
        auto& opens = image.opens;
        opens.erase(std::remove_if(opens.begin(), opens.end(), [&](const TraceOpen& open) { return other(open.path); }),
                    opens.end());
        auto& listings = image.listings;
        listings.erase(std::remove_if(listings.begin(), listings.end(),
                                      [&](const TraceListing& listing) { return other(listing.folder); }),
                       listings.end());
      }
    }
  }

  void EmitLists(TraceLists& lists) {
    const std::set<std::int32_t> expected(source_.ranks().begin(), source_.ranks().end());
    std::set<std::int32_t> seen;
    for (v1::ShardList& list : lists.lists) {
      if (list.has_rank() && !expected.empty() && !expected.contains(list.rank())) continue;
      if (list.has_rank()) seen.insert(list.rank());
      list.set_dataset(source_.dataset());
      NoteDatasetRole(plan_, source_.dataset(), list);
      v1::Evidence evidence = Collected(v1::EVIDENCE_KIND_SHARDS);
      if (list.has_rank()) evidence.set_rank(list.rank());
      *evidence.mutable_shards() = std::move(list);
      Emit(std::move(evidence));
    }
    for (std::int32_t rank : expected) {
      if (seen.contains(rank)) continue;
      v1::Evidence evidence =
          ProblemEvidence(v1::EVIDENCE_KIND_SHARDS, source_.trace(), v1::OUTCOME_ABSENT, "shard_rank_absent");
      (*evidence.mutable_problem()->mutable_args())["rank"] = absl::StrCat(rank);
      evidence.set_rank(rank);
      Emit(std::move(evidence));
    }
    for (v1::DirectoryListing& listing : lists.listings) {
      listing.set_dataset(source_.dataset());
      v1::Evidence evidence = Collected(v1::EVIDENCE_KIND_DATASET_LISTING);
      *evidence.mutable_listing() = std::move(listing);
      Emit(std::move(evidence));
    }
    if (lists.lists.empty()) {
      Emit(ProblemEvidence(v1::EVIDENCE_KIND_SHARDS, source_.trace(), v1::OUTCOME_ABSENT, "trace_no_opens"));
    }
  }

  v1::Evidence Collected(v1::EvidenceKind kind) const { return CollectedEvidence(kind, source_.trace()); }

  void Fail(absl::string_view path, const absl::Status& status) {
    Emit(ProblemEvidence(v1::EVIDENCE_KIND_SHARDS, path, status));
  }

  void Emit(v1::Evidence evidence) {
    evidence.set_subject(source_.dataset());
    sink_(std::move(evidence));
  }

  const CollectorEnv& env_;
  const v1::Plan& plan_;
  const v1::ShardSource& source_;
  EvidenceSink sink_;
};

}  // namespace

absl::StatusOr<std::string> ReadShardBytes(FileSystem& fs, const std::string& path) {
  const auto too_large = [&path] {
    return absl::ResourceExhaustedError(
        absl::StrCat(DisplayBytes(path), ": more than ", kShardFileBytesMax, " bytes"));
  };
  // What is packed is hardly ever larger than what it holds.
  if (const auto info = fs.Stat(path); info.ok() && info->size_bytes > kShardFileBytesMax) return too_large();
  PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<LogBytes> source, OpenLogFile(fs, path));
  std::string bytes;
  std::string buffer(64 << 10, '\0');  // most lists are shorter: a larger one costs more to clear than to read them
  for (;;) {
    PARITECT_ASSIGN_OR_RETURN(const std::size_t n, source->Read(absl::MakeSpan(buffer.data(), buffer.size())));
    if (n == 0) break;
    if (bytes.size() + n > kShardFileBytesMax) return too_large();
    bytes.append(buffer.data(), n);
  }
  if (source->truncated()) return absl::DataLossError(absl::StrCat(DisplayBytes(path), ": the gzip file is cut off"));
  return bytes;
}

void NoteDatasetRole(const v1::Plan& plan, absl::string_view dataset, v1::ShardList& list) {
  for (const v1::DatasetSource& one : plan.datasets()) {
    if (one.name() != dataset || one.role().empty()) continue;
    list.add_notes()->set_kind(absl::StrCat("role_", one.role()));
    return;
  }
}

void CollectShardTrace(const CollectorEnv& env, const v1::Plan& plan, const v1::ShardSource& source,
                       EvidenceSink sink) {
  TraceCollector(env, plan, source, sink).Run();
}

}  // namespace paritect
