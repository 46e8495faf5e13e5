// Data sets: every file below a root with its size and MD5, lists made by other tools, enumeration orders.
// Source: pre-tuning checklist, 数据集与基准一致: file lists and MD5 sums of both sides.
#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"
#include "agent/collector.h"
#include "agent/datasets/hash.h"
#include "agent/datasets/names.h"
#include "agent/datasets/tree.h"
#include "agent/datasets/walker.h"
#include "common/digest.h"
#include "common/glob.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/datasets/file_hints.h"
#include "formats/datasets/manifest.h"

namespace paritect {
namespace {

constexpr std::uint64_t kManifestBytesMax = 1ull << 30;
constexpr int kThreadsMax = 2;                    // a training host has better things to do
constexpr std::uint64_t kSampleOneOf = 32;        // of the files of a shared data set: read by every node
constexpr std::uint32_t kShareRowsMin = 1000;     // below, a sample would be of a few files or none
constexpr std::size_t kStatesBytesMax = 1 << 20;  // of one data set: each 4 MiB of 256 GiB

v1::Evidence Collected(v1::EvidenceKind kind, const v1::DatasetSource& source, absl::string_view path) {
  v1::Evidence evidence = CollectedEvidence(kind, path);
  evidence.set_subject(source.name());
  return evidence;
}

v1::Evidence Problem(v1::Evidence evidence, const v1::DatasetSource& source) {
  evidence.set_subject(source.name());
  return evidence;
}

TreeOptions TreeOf(const v1::DatasetSource& source) {
  TreeOptions options;
  options.include.assign(source.include().begin(), source.include().end());
  options.exclude.assign(source.exclude().begin(), source.exclude().end());
  options.follow_symlinks = source.follow_symlinks();
  return options;
}

// The same on every node: a hash of the name decides. FNV-1a, and a finish, for its low bits are weak.
std::uint64_t HashOfName(absl::string_view path, std::uint64_t seed) {
  std::uint64_t hash = 0xCBF29CE484222325 ^ seed;
  for (char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  hash ^= hash >> 33;
  hash *= 0xFF51AFD7ED558CCD;
  return hash ^ hash >> 33;
}

// Read by every node, never known from a cache: nodes that see one mount differently give themselves away by it.
bool IsSampled(const v1::DatasetSource& source, absl::string_view path) {
  return HashOfName(path, source.share_seed()) % kSampleOneOf == 0;
}

// Every file is of one node's share, and the sample of all.
bool IsOfShare(const v1::DatasetSource& source, absl::string_view path) {
  return IsSampled(source, path) || HashOfName(path, 0) % source.share_count() == source.share_index();
}

void FromTree(const CollectorEnv& env, const v1::Plan& plan, const v1::DatasetSource& source, EvidenceSink sink) {
  const std::string root = ResolvePath(plan, source.root());
  const TreeOptions options = TreeOf(source);
  HashOptions hash;
  hash.threads = static_cast<int>(std::min<unsigned>(kThreadsMax, std::max(1U, std::thread::hardware_concurrency())));
  if (env.dataset_jobs > 0) hash.threads = env.dataset_jobs;
  hash.eager_alternates = env.for_bundle;
  hash.past_cache = env.past_cache;
  std::unique_ptr<DigestCache> cache;
  const bool read = !env.read_all && !env.past_cache;
  if (!env.digest_cache.empty()) cache = DigestCache::Open({.folder = env.digest_cache, .read = read, .resume = read});
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
  if (source.share_count() > 1) {
    hash.wanted = [&source](absl::string_view path) { return IsOfShare(source, path); };
    hash.read_now = [&source](absl::string_view path) { return IsSampled(source, path); };
  }
  if (source.names_only()) hash.wanted = [](absl::string_view) { return false; };
  auto table = HashFolder(env.fs, root, options, hash);
  const bool shared = source.share_count() > 1 && table.ok() && table->size() >= kShareRowsMin;
  if (source.share_count() > 1 && table.ok() && !shared) {
    hash.wanted = nullptr;
    hash.read_now = nullptr;
    table = HashFolder(env.fs, root, options, hash);
  }
  if (!table.ok()) {
    return sink(Problem(ProblemEvidence(v1::EVIDENCE_KIND_DATASET_FILES, source.root(), table.status()), source));
  }
  v1::Evidence evidence = Collected(v1::EVIDENCE_KIND_DATASET_FILES, source, source.root());
  *evidence.mutable_files() = WithoutFiles(*table);
  *evidence.mutable_files()->mutable_digests() = SumOfDigests(*table, env.past_cache);
  AddStates(*table, kStatesBytesMax, *evidence.mutable_files());
  evidence.mutable_files()->set_dataset(source.name());
  // A set too small to be shared was hashed whole.
  evidence.mutable_files()->set_part(source.part() && (shared || source.share_count() < 2));
  evidence.mutable_files()->set_root(root);
  if (source.names_only()) evidence.mutable_files()->add_notes()->set_kind("not_hashed");
  for (const std::string& warning : cache != nullptr ? cache->warnings() : std::vector<std::string>()) {
    v1::Note& note = *evidence.mutable_files()->add_notes();
    note.set_kind("digest_cache");
    note.set_message(warning);
  }
  sink.AddList(std::move(evidence), [&](absl::FunctionRef<void(v1::FileEntry&)> visit) {
    table->ForEachSorted([&](std::uint32_t at, const std::string& path) {
      // What stands under another node's share is that node's to tell.
      if (shared && !IsOfShare(source, path)) return;
      v1::FileEntry file = ToFileEntry(*table, at, path);
      file.clear_from_cache();
      file.clear_hashed_at_unix_ms();
      visit(file);
    });
  });
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
  Walker::FilterList(TreeOf(source), *list);
  // Where the list lies in the set that it lists, its bytes tell.
  v1::Note& own = *list->add_notes();
  own.set_kind("list_md5");
  own.set_message(ToHex(Md5(*bytes)));
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

// What the pattern in a source's path leads to, one source each; the source itself where there is no pattern, or the
// path is there as it is written.
std::vector<v1::DatasetSource> Expanded(const CollectorEnv& env, const v1::Plan& plan,
                                        const v1::DatasetSource& source) {
  const bool root = !source.root().empty();
  const std::string& path = root ? source.root() : source.manifest();
  if (path.empty() || !IsPathPattern(path) || env.fs.Stat(ResolvePath(plan, path)).ok()) return {source};
  const auto matches = ExpandPathPattern(env.fs, ResolvePath(plan, path));
  if (!matches.ok() || matches->empty()) return {source};
  std::vector<v1::DatasetSource> out;
  for (const PathMatch& match : *matches) {
    v1::DatasetSource& one = out.emplace_back(source);
    (root ? *one.mutable_root() : *one.mutable_manifest()) = match.path;
  }
  return out;
}

void CollectOne(const CollectorEnv& env, const v1::Plan& plan, const v1::DatasetSource& source, EvidenceSink sink) {
  if (!source.root().empty()) {
    FromTree(env, plan, source, sink);
  } else if (!source.manifest().empty()) {
    sink(FromManifest(env, plan, source));
  } else {
    sink(FromListing(env, plan, source));
  }
}

void Collect(const CollectorEnv& env, const v1::Plan& plan, EvidenceSink sink) {
  for (const v1::DatasetSource& written : plan.datasets()) {
    for (const v1::DatasetSource& source : Expanded(env, plan, written)) CollectOne(env, plan, source, sink);
  }
}

}  // namespace

extern const Collector kDatasetsCollector;
const Collector kDatasetsCollector = {"datasets", "file lists with MD5", &Collect, true};

}  // namespace paritect
