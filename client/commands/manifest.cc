// paritect manifest: the data-set engine by itself. create makes a list, verify compares a list with a folder,
// diff compares two lists or folders.
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "agent/datasets/walker.h"
#include "agent/harmless.h"
#include "checks/datasets/difference.h"
#include "client/command.h"
#include "client/diff/dataset_comparison.h"
#include "client/diff/dataset_lists.h"
#include "client/localise.h"
#include "client/manifest/names.h"
#include "client/manifest/progress.h"
#include "common/arguments.h"
#include "common/atomic_file.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/datasets/manifest.h"
#include "report/terminal.h"

namespace paritect {
namespace {

struct ManifestOptions {
  std::vector<std::string> paths;
  std::string format = "md5sum";
  std::string output;
  std::string progress = "auto";
  std::string bwlimit;
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  int jobs = 2;
  bool follow_symlinks = false;
  bool no_cache = false;
  bool media = false;
  bool resume = false;
};

ExitCode UsageError(CommandEnv& env, absl::string_view message) {
  env.err << "paritect manifest: " << message << "\n";
  return kExitUsage;
}

// The user's mistake or something that could not be read.
ExitCode Refuse(CommandEnv& env, const absl::Status& status) {
  env.err << "paritect manifest: " << status.message() << "\n";
  return absl::IsNotFound(status) || absl::IsInvalidArgument(status) ? kExitUsage : kExitFailed;
}

TreeOptions TreeOf(const ManifestOptions& o) {
  TreeOptions tree;
  tree.include = o.include;
  tree.exclude = o.exclude;
  tree.follow_symlinks = o.follow_symlinks;
  return tree;
}

// What is not from now is said: it proves nothing about a medium that went bad since.
void SayWhen(CommandEnv& env, std::uint64_t read, std::uint64_t cached, std::int64_t oldest_unix_s) {
  if (cached == 0) return;
  const std::string since =
      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixSeconds(oldest_unix_s), absl::UTCTimeZone());
  env.err << "paritect manifest: " << read << " files hashed now, " << cached
          << " from the cache (unchanged since they were hashed, " << since << " or later; --no-cache reads them)\n";
}

void SayCached(CommandEnv& env, const v1::FileList& list) {
  std::uint64_t cached = 0;
  std::uint64_t read = 0;
  std::int64_t oldest_ms = INT64_MAX;
  for (const v1::FileEntry& file : list.files()) {
    if (file.md5().empty()) continue;
    ++(file.from_cache() ? cached : read);
    if (file.from_cache()) oldest_ms = std::min<std::int64_t>(oldest_ms, file.hashed_at_unix_ms());
  }
  SayWhen(env, read, cached, oldest_ms / 1000);
}

// What a run hashes with: its cache lives as long as the run.
class Hashing {
 public:
  Hashing(CommandEnv& env, const ManifestOptions& o) : env_(env), options_(o), progress_(env, o.progress) {
    const bool read = !o.no_cache && !o.media;
    cache_ = DigestCache::Open({.folder = UserCacheFolder(env.getenv("XDG_CACHE_HOME"), env.getenv("HOME")),
                                .read = read,
                                .resume = read || o.resume});
    hash_.threads = o.jobs;
    hash_.cache = cache_.get();
    hash_.past_cache = o.media;
    hash_.progress = [this](const HashProgress& now) { progress_.Show(now); };
  }

  const HashOptions& look() const { return hash_; }
  HashOptions digests_only() const {
    HashOptions hash = hash_;
    hash.look_at_content = false;
    return hash;
  }

  // What was wrong with the cache; what did not come from reading now.
  void Say(const FileTable* table) {
    progress_.Clear();
    cache_->Close();
    for (const std::string& warning : cache_->warnings()) env_.err << "paritect manifest: " << warning << "\n";
    if (table == nullptr) return;
    std::uint64_t cached = 0;
    std::uint64_t read = 0;
    std::uint64_t not_direct = 0;
    std::int64_t oldest = INT64_MAX;
    for (std::uint32_t at = 0; at < table->size(); ++at) {
      const FileRow& row = table->row(at);
      if (!row.is(FileRow::kHashed)) continue;
      ++(row.is(FileRow::kFromCache) ? cached : read);
      if (row.is(FileRow::kFromCache)) oldest = std::min<std::int64_t>(oldest, row.hashed_at_unix_s);
      if (!row.is(FileRow::kPastCache) && row.size_bytes > 0) ++not_direct;
    }
    SayWhen(env_, read, cached, oldest);
    if (options_.media && not_direct > 0) {
      env_.err << "paritect manifest: " << not_direct
               << " files could not be read past the page cache; it was asked to let go of them before\n";
    }
  }

 private:
  CommandEnv& env_;
  const ManifestOptions& options_;
  ManifestProgress progress_;
  std::unique_ptr<DigestCache> cache_;
  HashOptions hash_;
};

// What a list of the table would lack, as a list of its own.
v1::FileList Troubles(const FileTable& table) {
  v1::FileList list;
  for (const auto& [at, extra] : table.extras) {
    if (extra.has_error || extra.dangling) *list.add_files() = ToFileEntry(table, at, table.PathOf(at));
  }
  for (const v1::Problem& problem : table.incomplete) *list.add_incomplete() = problem;
  for (const v1::UnreadFolder& folder : table.unread_folders) *list.add_unread_folders() = folder;
  return list;
}

// The list in parts, so that it never stands in memory as a whole; of JSON, which has an end of its own, it does.
absl::Status WriteList(const FileTable& table, const std::string& format, ListingDigester& digester, WriteBytes write) {
  constexpr int kPart = 4096;
  const bool parts = format != "json";
  PARITECT_ASSIGN_OR_RETURN(const std::string head, WriteManifest(v1::FileList(), format));
  if (parts) PARITECT_RETURN_IF_ERROR(write(head));
  v1::FileList part;
  absl::Status status;
  const auto Flush = [&]() -> absl::Status {
    PARITECT_ASSIGN_OR_RETURN(const std::string text, WriteManifest(part, format));
    part.clear_files();
    return write(parts ? absl::string_view(text).substr(head.size()) : text);
  };
  table.ForEachSorted([&](std::uint32_t at, const std::string& path) {
    const FileRow& row = table.row(table.OriginalOf(at));
    if (!status.ok() || row.type != FileRow::kRegular || table.row(at).type != FileRow::kRegular) return;
    v1::FileEntry& entry = *part.add_files();
    entry.set_path(path);
    entry.set_type(v1::FILE_TYPE_REGULAR);
    entry.set_size_bytes(row.size_bytes);
    if (row.is(FileRow::kHashed)) entry.set_md5(reinterpret_cast<const char*>(row.md5), kMd5Bytes);
    digester.Add(entry);
    if (parts && part.files_size() >= kPart) status = Flush();
  });
  return status.ok() ? Flush() : status;
}

// What gives the same digest without this program.
std::string CommandOf(const ManifestOptions& o, const FileTable& table) {
  if (!o.include.empty() || !o.exclude.empty() || o.follow_symlinks)
    return "of the names of this list, sorted by bytes";
  bool links = false;
  for (std::uint32_t at = 0; at < table.size() && !links; ++at) links = table.row(at).is(FileRow::kFollowed);
  return absl::StrCat("find . -", links ? "x" : "", "type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum | md5sum");
}

ExitCode WriteOut(CommandEnv& env, const ManifestOptions& o, const FileTable& table) {
  ListingDigester digester;
  absl::Status written;
  if (o.output.empty()) {
    written = WriteList(table, o.format, digester, [&](absl::string_view text) {
      env.out << text;
      return absl::OkStatus();
    });
  } else {
    written = WriteFileInParts(o.output, [&](WriteBytes write) { return WriteList(table, o.format, digester, write); });
  }
  if (!written.ok()) return Refuse(env, written);
  if (o.progress == "plain" || (o.progress == "auto" && env.err_is_terminal)) {
    env.err << "digest md5:" << ToHex(digester.Finish()) << "  (" << CommandOf(o, table) << ")\n";
  }
  return kExitOk;
}

// A pattern that nothing fits is likelier a slip than a wish.
void SayUnused(CommandEnv& env, const FileTable& table, const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    TreeOptions only;
    only.include = {pattern};
    v1::FileList names;
    for (std::uint32_t at = 0; at < table.size() && names.files_size() == 0; ++at) {
      names.add_files()->set_path(table.PathOf(at));
      Walker::FilterList(only, names);
    }
    if (names.files_size() == 0) env.err << "paritect manifest: --include " << pattern << " fits no name\n";
  }
}

// What a list of files cannot name, and that there is nothing to name.
void SayLeftOut(CommandEnv& env, const FileTable& table) {
  std::uint32_t files = 0;
  for (std::uint32_t at = 0; at < table.size(); ++at) {
    const FileRow::Type type = table.row(at).type;
    files += type == FileRow::kRegular ? 1 : 0;
    if (type != FileRow::kSpecial) continue;
    env.err << "paritect manifest: " << DisplayBytes(table.PathOf(at)) << ": a socket, FIFO or device; left out\n";
  }
  if (files == 0) env.err << "paritect manifest: 0 files: the list is empty\n";
}

ExitCode Create(CommandEnv& env, const ManifestOptions& o) {
  if (o.paths.size() != 1) return UsageError(env, "create takes one folder");
  TreeOptions tree = TreeOf(o);
  if (!o.output.empty()) ExcludeFile(o.paths[0], o.output, tree);
  Hashing hashing(env, o);
  auto table = HashFolder(env.fs, o.paths[0], tree, hashing.digests_only());
  hashing.Say(table.ok() ? &*table : nullptr);
  if (!table.ok()) return Refuse(env, table.status());
  const v1::FileList troubles = Troubles(*table);
  int unread = 0;
  for (const ListGap& gap : GapsOf(env, troubles)) {
    env.err << "paritect manifest: " << In(env.language, gap.text) << "\n";
    ++unread;
  }
  for (const v1::FileEntry& file : troubles.files()) {
    if (HasFileHint(file, v1::FILE_HINT_DANGLING_LINK)) {
      env.err << "paritect manifest: " << DisplayBytes(file.path()) << ": a link whose target is not there; left out\n";
    }
  }
  if (unread > 0) {
    env.err << "paritect manifest: no list written: it would lack " << unread
            << " names or what stands below them (--follow-symlinks enters links to folders, --exclude leaves out)\n";
    return kExitFailed;
  }
  SayLeftOut(env, *table);
  SayUnused(env, *table, o.include);
  return WriteOut(env, o, *table);
}

// One line a difference: KIND, path, what is wrong.
void PrintDifference(CommandEnv& env, const FileDifference& one) {
  std::string text = In(env.language, one.message);
  if (one.kind == "unknown") text = Localised(env.language, "no digest on one side");
  if (text.empty()) text = DisplayBytes(one.other);
  env.out << one.kind << "\t" << TerminalSafe(DisplayBytes(one.path)) << (text.empty() ? "" : "\t")
          << TerminalSafe(text) << "\n";
}

// `lines_max`: of each kind, further ones are counted.
ExitCode CompareLists(CommandEnv& env, v1::FileList a, v1::FileList b, std::size_t lines_max = SIZE_MAX) {
  int gaps = 0;
  for (const v1::FileList* list : {&a, &b}) {
    for (const ListGap& gap : GapsOf(env, *list)) {
      env.err << "paritect manifest: " << In(env.language, gap.text) << "\n";
      ++gaps;
    }
  }
  std::map<std::string, std::size_t> lines;
  const std::unique_ptr<EvidenceSet> set = PairLists(env, std::move(a), std::move(b));
  std::size_t compared = 0;
  std::size_t differences = 0;
  int unknown = 0;
  int by_crc32 = 0;
  bool cut = false;
  for (const DatasetComparison& one : CompareDatasets(*set, env.rules)) {
    for (const FileDifference& difference : one.differences) {
      if (++lines[difference.kind] <= lines_max) PrintDifference(env, difference);
      const bool both = difference.a_size && difference.b_size;
      compared += difference.kind != "unknown" && both ? 1 : 0;
    }
    compared += one.equal.size();
    differences += one.differences.size() - static_cast<std::size_t>(one.unknown);
    unknown += one.unknown;
    by_crc32 += one.by_crc32;
    cut = cut || one.incomplete;
  }
  for (const auto& [kind, count] : lines) {
    if (count > lines_max)
      env.err << "paritect manifest: " << count - lines_max << " more of the kind " << kind << "\n";
  }
  if (cut) env.err << "paritect manifest: a list is cut or not whole: what it does not name was not judged\n";
  env.err << compared << " files compared, " << differences << " differences";
  if (unknown > 0) env.err << ", " << unknown << " without a digest";
  if (by_crc32 > 0) env.err << ", " << by_crc32 << " by CRC-32 alone, which proves little";
  env.err << "\n";
  if (compared == 0 && differences == 0) {
    env.err << "paritect manifest: nothing was compared\n";
    return kExitFailed;
  }
  // What could not be looked at was not verified.
  return differences > 0 || unknown + gaps > 0 || cut ? kExitFailed : kExitOk;
}

// Names and sizes alone, before a byte is read: how many of the list's files are surely wrong. A missing name may be
// one that moved, as long as there are as many names that the list does not have.
std::size_t WrongBySize(CommandEnv& env, const v1::FileList& list, const v1::FileList& found) {
  std::vector<v1::Bundle> sides(2);
  for (std::size_t i = 0; i < 2; ++i) {
    v1::Evidence& evidence = *sides[i].add_evidence();
    evidence.set_kind(v1::EVIDENCE_KIND_DATASET_FILES);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    *evidence.mutable_files() = i == 0 ? list : found;
  }
  const EvidenceSet set({std::move(sides[0])}, {std::move(sides[1])});
  std::size_t wrong = 0;
  std::size_t missing = 0;
  std::size_t extra = 0;
  for (const DatasetComparison& one : CompareDatasets(set, env.rules)) {
    for (const FileDifference& difference : one.differences) {
      if (difference.kind == "missing") {
        ++missing;
      } else if (difference.kind == "extra") {
        ++extra;
      } else if (difference.kind != "unknown") {
        ++wrong;
      }
    }
  }
  return wrong + (missing > extra ? missing - extra : 0);
}

// The list, without what the options leave out.
absl::StatusOr<v1::FileList> ListFor(CommandEnv& env, const ManifestOptions& o, const std::string& path) {
  PARITECT_ASSIGN_OR_RETURN(const FileInfo info, env.fs.Stat(path));
  if (info.type == FileInfo::Type::kDirectory) {
    return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(path), ": a folder where a list is wanted"));
  }
  PARITECT_ASSIGN_OR_RETURN(v1::FileList list, ReadDatasetManifest(env, path));
  Walker::FilterList(TreeOf(o), list);
  return list;
}

ExitCode Verify(CommandEnv& env, const ManifestOptions& o) {
  if (o.paths.empty() || o.paths.size() > 2) return UsageError(env, "verify takes a list and a folder");
  auto list = ListFor(env, o, o.paths[0]);
  if (!list.ok()) return Refuse(env, list.status());
  // Without a folder: where the list's absolute names point, else where the list stands.
  std::string folder = o.paths.size() == 2 ? o.paths[1] : list->root();
  if (folder.empty()) folder = std::string(DirName(o.paths[0]));
  TreeOptions tree = TreeOf(o);
  ExcludeFile(folder, o.paths[0], tree);
  auto walked = WalkFolder(env.fs, folder, tree);
  if (!walked.ok()) return Refuse(env, walked.status());
  v1::FileList names = ToFileList(*walked);
  names.set_root(folder);
  // A list of absolute names is moved to where it fits; of others nobody said where they stand.
  if (const std::string below = list->root().empty() ? FolderOfNames(*list, names) : ""; !below.empty()) {
    env.err << "paritect manifest: the list's names are under " << DisplayBytes(below) << ": did you mean "
            << DisplayBytes(JoinPath(folder, below)) << "? No file was read\n";
    return kExitFailed;
  }
  const std::size_t wrong = WrongBySize(env, *list, names);
  if (wrong > 0) {
    env.err << "paritect manifest: by names and sizes alone, at least " << wrong << " of " << list->files_size()
            << " files are missing or of another size\n";
  }
  // Where most of it is wrong, reading the rest for hours tells nothing more.
  if (wrong * 2 > static_cast<std::size_t>(list->files_size())) {
    env.err << "paritect manifest: more than half: no file was read\n";
    constexpr std::size_t kLinesMax = 1000;
    return CompareLists(env, *std::move(list), std::move(names), kLinesMax);
  }
  Hashing hashing(env, o);
  auto found = ReadDatasetTree(env, folder, tree, hashing.look());
  hashing.Say(nullptr);
  if (found.ok()) SayCached(env, *found);
  if (!found.ok()) return Refuse(env, found.status());
  return CompareLists(env, *std::move(list), *std::move(found));
}

ExitCode Diff(CommandEnv& env, const ManifestOptions& o) {
  if (o.paths.size() != 2) return UsageError(env, "diff takes two lists or folders");
  Hashing hashing(env, o);
  const auto read = [&](const std::string& path) -> absl::StatusOr<v1::FileList> {
    PARITECT_ASSIGN_OR_RETURN(v1::FileList list, ReadDatasetAny(env, path, TreeOf(o), hashing.look()));
    if (list.format() != "tree") Walker::FilterList(TreeOf(o), list);
    return list;
  };
  auto a = read(o.paths[0]);
  if (!a.ok()) return Refuse(env, a.status());
  auto b = read(o.paths[1]);
  hashing.Say(nullptr);
  if (b.ok()) {
    SayCached(env, *a);
    SayCached(env, *b);
  }
  if (!b.ok()) return Refuse(env, b.status());
  return CompareLists(env, *std::move(a), *std::move(b));
}

bool IsOneOf(absl::string_view word, absl::Span<const absl::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

ExitCode RunVerb(CommandEnv& env, const std::string& verb, const ManifestOptions& o) {
  if (verb == "create") return Create(env, o);
  if (verb == "verify") return Verify(env, o);
  if (verb == "diff") return Diff(env, o);
  return UsageError(env, absl::StrCat("no verb '", verb, "'; there are create, verify, diff"));
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  ManifestOptions o;
  std::string verb;
  Arguments arguments("paritect manifest", "exact MD5 lists of data sets: create DIR | verify LIST [DIR] | diff A B");
  arguments.Text("verb", verb, "create | verify | diff", true);
  arguments.Texts("paths", o.paths, "folders or lists");
  arguments.Text("--format", o.format, "md5sum | bsd | hashdeep | bagit | csv | json");
  arguments.Text("-o,--output", o.output, "write the list to this file (create)");
  arguments.Int("--jobs", o.jobs, "files hashed at the same time");
  arguments.Flag("--follow-symlinks", o.follow_symlinks, "enter links to folders");
  arguments.Texts("--include", o.include, "only names that fit (relative to the folder)");
  arguments.Texts("--exclude", o.exclude, "leave out names that fit");
  arguments.Text("--progress", o.progress, "auto | plain | json | none");
  arguments.Flag("--no-cache", o.no_cache, "read every file, also those that are known and unchanged");
  arguments.Text("--bwlimit", o.bwlimit, "bytes read a second at most: 200M, 1.5G; 0: no limit");
  arguments.Flag("--media", o.media, "read the medium past the page cache; implies --no-cache");
  arguments.Flag("--resume", o.resume, "go on where a stopped run with --no-cache or --media was");
  auto parsed = arguments.Parse(args);
  if (!parsed.ok()) return UsageError(env, parsed.status().message());
  if (!*parsed) {
    env.out << LocalisedHelp(env.language, arguments.help());
    return kExitOk;
  }
  if (!IsOneOf(o.format, {"md5sum", "bsd", "hashdeep", "bagit", "csv", "json"})) {
    return UsageError(env, absl::StrCat("--format ", o.format, ": there are md5sum, bsd, hashdeep, bagit, csv, json"));
  }
  if (absl::Status mode = CheckProgressMode(o.progress); !mode.ok()) return UsageError(env, mode.message());
  if (o.jobs < 1 || o.jobs > 256) return UsageError(env, "--jobs must be 1 to 256");
  const auto bandwidth = ParseBandwidth(o.bwlimit.empty() ? "0" : o.bwlimit);
  if (!bandwidth.ok()) return UsageError(env, absl::StrCat("--bwlimit: ", bandwidth.status().message()));
  BandwidthLimit limit(*bandwidth);
  LimitedFileSystem limited(env.fs, limit);
  CommandEnv own = {.fs = limited,
                    .out = env.out,
                    .err = env.err,
                    .rules = env.rules,
                    .out_is_terminal = env.out_is_terminal,
                    .err_is_terminal = env.err_is_terminal,
                    .terminal_columns = env.terminal_columns,
                    .host_name = env.host_name,
                    .today = env.today,
                    .getenv = env.getenv,
                    .language = env.language};
  return RunVerb(*bandwidth == 0 ? env : own, verb, o);
}

}  // namespace

extern const Command kManifestCommand;
const Command kManifestCommand = {"manifest", "make, verify and compare exact MD5 lists of data sets", &Run};

}  // namespace paritect
