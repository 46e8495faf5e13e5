// Data sets: every file below a root with its size and MD5, lists made by other tools, enumeration orders.
// Source: pre-tuning checklist, 数据集与基准一致: file lists and MD5 sums of both sides.
#include <thread>

#include "absl/strings/str_cat.h"
#include "agent/collector.h"
#include "agent/datasets/hash.h"
#include "agent/datasets/names.h"
#include "agent/datasets/tree.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/datasets/file_hints.h"
#include "formats/datasets/manifest.h"

namespace paritect {
namespace {

constexpr std::uint64_t kManifestBytesMax = 1ull << 30;
constexpr int kThreadsMax = 2;  // a training host has better things to do

v1::Evidence Collected(v1::EvidenceKind kind, const v1::DatasetSource& source, absl::string_view path) {
  v1::Evidence evidence;
  evidence.set_kind(kind);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.set_source(std::string(path));
  evidence.set_subject(source.name());
  return evidence;
}

v1::Evidence Problem(v1::Evidence evidence, const v1::DatasetSource& source) {
  evidence.set_subject(source.name());
  return evidence;
}

v1::Evidence FromTree(const CollectorEnv& env, const v1::Plan& plan, const v1::DatasetSource& source) {
  const std::string root = ResolvePath(plan, source.root());
  TreeOptions options;
  options.include.assign(source.include().begin(), source.include().end());
  options.exclude.assign(source.exclude().begin(), source.exclude().end());
  options.follow_symlinks = source.follow_symlinks();
  HashOptions hash;
  hash.threads = static_cast<int>(std::min<unsigned>(kThreadsMax, std::max(1U, std::thread::hardware_concurrency())));
  hash.eager_alternates = env.for_bundle;
  std::unique_ptr<DigestCache> cache;
  if (!env.digest_cache.empty()) cache = DigestCache::Open({.folder = env.digest_cache});
  hash.cache = cache.get();
  if (env.progress) {
    hash.progress = [&env](const HashProgress& progress) {
      env.progress({.stage = "datasets",
                    .files_done = static_cast<std::int64_t>(progress.files_done),
                    .files_total = static_cast<std::int64_t>(progress.files_total),
                    .bytes_done = static_cast<std::int64_t>(progress.bytes_done),
                    .bytes_total = static_cast<std::int64_t>(progress.bytes_total)});
    };
  }
  auto list = HashDataset(env.fs, root, options, hash);
  if (!list.ok()) {
    return Problem(ProblemEvidence(v1::EVIDENCE_KIND_DATASET_FILES, source.root(), list.status()), source);
  }
  v1::Evidence evidence = Collected(v1::EVIDENCE_KIND_DATASET_FILES, source, source.root());
  *evidence.mutable_files() = *std::move(list);
  evidence.mutable_files()->set_dataset(source.name());
  evidence.mutable_files()->set_part(source.part());
  evidence.mutable_files()->set_root(root);
  for (const std::string& warning : cache != nullptr ? cache->warnings() : std::vector<std::string>()) {
    v1::Note& note = *evidence.mutable_files()->add_notes();
    note.set_kind("digest_cache");
    note.set_message(warning);
  }
  return evidence;
}

// Why a list has no content of its own; "" when it has.
std::string StandInReason(const std::string& bytes) {
  v1::FileEntry entry;
  AddContentHints(absl::string_view(bytes).substr(0, kHintHeadBytes), "", bytes.size(), entry);
  if (HasHint(entry, v1::FILE_HINT_EMPTY)) return "empty file";
  if (HasHint(entry, v1::FILE_HINT_HTML_PAGE)) return "HTML page";
  const bool pointer = HasHint(entry, v1::FILE_HINT_LFS_POINTER) || HasHint(entry, v1::FILE_HINT_LFS_POINTER_DAMAGED);
  return pointer ? "Git LFS pointer" : "";
}

v1::Evidence FromManifest(const CollectorEnv& env, const v1::Plan& plan, const v1::DatasetSource& source) {
  constexpr v1::EvidenceKind kKind = v1::EVIDENCE_KIND_DATASET_FILES;
  const std::string path = ResolvePath(plan, source.manifest());
  auto bytes = ReadWholeFile(env.fs, path, kManifestBytesMax);
  if (!bytes.ok()) return Problem(ProblemEvidence(kKind, source.manifest(), bytes.status()), source);
  if (const std::string why = StandInReason(*bytes); !why.empty()) {
    return Problem(ProblemEvidence(kKind, source.manifest(), v1::OUTCOME_ABSENT, "source_stand_in", why), source);
  }
  auto list = ParseManifest(*bytes, path);
  if (!list.ok()) {
    return Problem(
        ProblemEvidence(kKind, source.manifest(), v1::OUTCOME_ABSENT, "source_unknown_format", list.status().message()),
        source);
  }
  v1::Evidence evidence = Collected(kKind, source, source.manifest());
  *evidence.mutable_files() = *std::move(list);
  evidence.mutable_files()->set_dataset(source.name());
  evidence.mutable_files()->set_part(source.part());
  for (v1::Problem& problem : *evidence.mutable_files()->mutable_incomplete()) {
    (*problem.mutable_args())["source"] = DisplayBytes(source.manifest());
  }
  for (v1::FileEntry& file : *evidence.mutable_files()->mutable_files()) {
    AddNameHints(file.path(), file);
    AddNameReadings(file);
    if (file.has_error()) (*file.mutable_error()->mutable_args())["source"] = DisplayBytes(file.path());
  }
  return evidence;
}

v1::Evidence FromListing(const CollectorEnv& env, const v1::Plan& plan, const v1::DatasetSource& source) {
  constexpr v1::EvidenceKind kKind = v1::EVIDENCE_KIND_DATASET_LISTING;
  auto bytes = ReadWholeFile(env.fs, ResolvePath(plan, source.listing()), kManifestBytesMax);
  if (!bytes.ok()) return Problem(ProblemEvidence(kKind, source.listing(), bytes.status()), source);
  if (const std::string why = StandInReason(*bytes); !why.empty()) {
    return Problem(ProblemEvidence(kKind, source.listing(), v1::OUTCOME_ABSENT, "source_stand_in", why), source);
  }
  v1::Evidence evidence = Collected(kKind, source, source.listing());
  *evidence.mutable_listing() = ParseListing(*bytes);
  evidence.mutable_listing()->set_dataset(source.name());
  return evidence;
}

void Collect(const CollectorEnv& env, const v1::Plan& plan, EvidenceSink sink) {
  for (const v1::DatasetSource& source : plan.datasets()) {
    if (!source.root().empty()) {
      sink(FromTree(env, plan, source));
    } else if (!source.manifest().empty()) {
      sink(FromManifest(env, plan, source));
    } else {
      sink(FromListing(env, plan, source));
    }
  }
}

}  // namespace

extern const Collector kDatasetsCollector;
const Collector kDatasetsCollector = {"datasets", "file lists with MD5", &Collect};

}  // namespace paritect
