// paritect manifest: the data-set engine by itself. create makes a list, verify compares a list with a folder,
// diff compares two lists or folders.
#include <chrono>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/harmless.h"
#include "checks/dataset_difference.h"
#include "checks/dataset_explain.h"
#include "checks/dataset_pairs.h"
#include "client/command.h"
#include "client/dataset_lists.h"
#include "client/report_json.h"
#include "common/arguments.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/datasets/manifest.h"

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

// Progress on standard error: one line that renews itself on a terminal, lines or JSON lines elsewhere.
class Progress {
 public:
  Progress(CommandEnv& env, const std::string& mode) : env_(env), mode_(mode) {
    if (mode_ == "auto") mode_ = env.err_is_terminal ? "bar" : "none";
  }

  void Show(const HashProgress& now) {
    if (mode_ == "none") return;
    const auto time = std::chrono::steady_clock::now();
    const bool end = now.files_done == now.files_total;
    const auto pause = mode_ == "bar" ? std::chrono::milliseconds(200) : std::chrono::milliseconds(1000);
    if (!end && time - last_ < pause) return;
    if (end && ended_) return;
    ended_ = end;
    last_ = time;
    const double seconds = std::chrono::duration<double>(time - start_).count();
    const double rate = seconds > 0 ? static_cast<double>(now.bytes_done) / seconds : 0;
    const double left =
        rate > 0 ? static_cast<double>(now.bytes_total - std::min(now.bytes_total, now.bytes_done)) / rate : 0;
    if (mode_ == "json") {
      const OrderedJson json = {{"files_done", now.files_done}, {"files_total", now.files_total},
                                {"bytes_done", now.bytes_done}, {"bytes_total", now.bytes_total},
                                {"seconds", seconds},           {"seconds_left", left}};
      env_.err << DumpJson(json, -1) << "\n";
    } else {
      env_.err << (mode_ == "bar" ? "\r" : "")
               << absl::StrFormat("%d of %d files, %.1f of %.1f MB, %.0f MB/s, %.0f s left", now.files_done,
                                  now.files_total, static_cast<double>(now.bytes_done) / 1e6,
                                  static_cast<double>(now.bytes_total) / 1e6, rate / 1e6, left)
               << (mode_ == "bar" && !end ? "   " : "\n");
    }
    env_.err.flush();
  }

 private:
  CommandEnv& env_;
  std::string mode_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_;
  bool ended_ = false;
};

TreeOptions TreeOf(const ManifestOptions& o) {
  TreeOptions tree;
  tree.include = o.include;
  tree.exclude = o.exclude;
  tree.follow_symlinks = o.follow_symlinks;
  return tree;
}

// A list that stands in the folder that it describes is no part of the data.
void ExcludeFile(absl::string_view folder, absl::string_view file, TreeOptions& tree) {
  while (absl::ConsumePrefix(&folder, "./")) {
  }
  while (absl::ConsumePrefix(&file, "./")) {
  }
  absl::ConsumeSuffix(&folder, "/");
  if (folder.empty() || folder == ".") {
    if (!absl::StartsWith(file, "/")) tree.exclude.emplace_back(file);
  } else if (absl::ConsumePrefix(&file, folder) && absl::ConsumePrefix(&file, "/")) {
    tree.exclude.emplace_back(file);
  }
}

HashOptions HashOf(const ManifestOptions& o, Progress& progress) {
  HashOptions hash;
  hash.threads = o.jobs;
  hash.progress = [&progress](const HashProgress& now) { progress.Show(now); };
  return hash;
}

ExitCode Create(CommandEnv& env, const ManifestOptions& o) {
  if (o.paths.size() != 1) return UsageError(env, "create takes one folder");
  TreeOptions tree = TreeOf(o);
  if (!o.output.empty()) ExcludeFile(o.paths[0], o.output, tree);
  Progress progress(env, o.progress);
  auto list = ReadDatasetTree(env, o.paths[0], tree, HashOf(o, progress));
  if (!list.ok()) return Refuse(env, list.status());
  const std::vector<ListGap> gaps = GapsOf(env, *list);
  int unread = 0;
  for (const ListGap& gap : gaps) {
    env.err << "paritect manifest: " << gap.text << "\n";
    if (gap.id != "folder_link_not_entered") ++unread;
  }
  for (const v1::FileEntry& file : list->files()) {
    if (HasFileHint(file, v1::FILE_HINT_DANGLING_LINK)) {
      env.err << "paritect manifest: " << DisplayBytes(file.path()) << ": a link whose target is not there; left out\n";
    }
  }
  if (unread > 0) {
    env.err << "paritect manifest: no list written: it would lack " << unread << " names\n";
    return kExitFailed;
  }
  auto text = WriteManifest(*list, o.format);
  if (!text.ok()) return Refuse(env, text.status());
  if (o.output.empty()) {
    env.out << *text;
    return kExitOk;
  }
  const absl::Status written = WriteFileAtomically(o.output, *text);
  return written.ok() ? kExitOk : Refuse(env, written);
}

// One line a difference: KIND, path, what is wrong.
class DifferencePrinter {
 public:
  explicit DifferencePrinter(CommandEnv& env) : env_(env) {}

  void Print(const DatasetView& a, const DatasetView& b) {
    const DatasetDifference difference = CompareViews(a, b);
    const ExplainContext context = MakeExplainContext(difference, a);
    for (const FilePair& pair : difference.common) Compare(pair, context);
    for (const FilePair& pair : difference.renamed) {
      Line(pair.how == "case" ? "renamed" : pair.how, pair.baseline->path, DisplayBytes(pair.migrated->path));
      Compare(pair, context);
    }
    for (const CaseCollision& c : difference.collisions)
      Line("case_collision", c.gone->path, DisplayBytes(c.kept->path));
    for (const NamedFile* file : difference.missing) OneSide("missing", *file, b);
    for (const NamedFile* file : difference.extra) OneSide("extra", *file, a);
  }

  int differences() const { return differences_; }
  int compared() const { return compared_; }
  int unknown() const { return unknown_; }

 private:
  // Links and special files that the other side, a list, cannot name are no difference.
  void OneSide(const char* word, const NamedFile& file, const DatasetView& other) {
    if (file.entry->type() != v1::FILE_TYPE_REGULAR && !other.is_tree) return;
    Line(word, file.path, "");
  }

  void Compare(const FilePair& pair, const ExplainContext& context) {
    switch (CompareContent(*pair.baseline->entry, *pair.migrated->entry)) {
      case ContentVerdict::kEqual: ++compared_; return;
      case ContentVerdict::kUnknown:
        ++unknown_;
        env_.out << "unknown\t" << DisplayBytes(pair.baseline->path) << "\tno digest on one side\n";
        return;
      case ContentVerdict::kDiffers: break;
    }
    ++compared_;
    Explanation why = ExplainContent(pair, context);
    for (auto& [name, value] : why.args) value = DisplayBytes(value);
    why.args.emplace_back("dataset", "-");
    std::string text = env_.rules.messages.Say(why.message_id, why.args).en();
    const auto tail = text.rfind(" (data set -)");
    if (tail != std::string::npos) text.resize(tail);
    Line(why.message_id.substr(0, why.message_id.find('/')), pair.baseline->path, text);
  }

  void Line(absl::string_view kind, absl::string_view path, absl::string_view text) {
    ++differences_;
    env_.out << std::string(kind) << "\t" << DisplayBytes(path) << (text.empty() ? "" : "\t") << std::string(text)
             << "\n";
  }

  CommandEnv& env_;
  int differences_ = 0;
  int compared_ = 0;
  int unknown_ = 0;
};

ExitCode CompareLists(CommandEnv& env, v1::FileList a, v1::FileList b) {
  int gaps = 0;
  const bool trees = a.format() == "tree" && b.format() == "tree";
  for (const v1::FileList* list : {&a, &b}) {
    for (const ListGap& gap : GapsOf(env, *list)) {
      env.err << "paritect manifest: " << gap.text << "\n";
      // A list never names what stands behind a folder link that is not entered.
      if (trees || gap.id != "folder_link_not_entered") ++gaps;
    }
  }
  const std::unique_ptr<EvidenceSet> set = PairLists(env, std::move(a), std::move(b));
  const std::vector<DatasetPair> pairs = PairDatasets(*set);
  DifferencePrinter printer(env);
  bool cut = false;
  for (const DatasetPair& pair : pairs) {
    for (const DatasetView& migrated : pair.migrated) {
      printer.Print(pair.baseline[0], migrated);
      cut = cut || pair.baseline[0].incomplete || migrated.incomplete;
    }
  }
  if (cut) env.err << "paritect manifest: a list is cut or not whole: what it does not name was not judged\n";
  env.err << printer.compared() << " files compared, " << printer.differences() << " differences";
  if (printer.unknown() > 0) env.err << ", " << printer.unknown() << " without a digest";
  env.err << "\n";
  if (printer.compared() == 0 && printer.differences() == 0) {
    env.err << "paritect manifest: nothing was compared\n";
    return kExitFailed;
  }
  // What could not be looked at was not verified.
  return printer.differences() + printer.unknown() + gaps > 0 || cut ? kExitFailed : kExitOk;
}

ExitCode Verify(CommandEnv& env, const ManifestOptions& o) {
  if (o.paths.empty() || o.paths.size() > 2) return UsageError(env, "verify takes a list and a folder");
  auto list = ReadDatasetManifest(env, o.paths[0]);
  if (!list.ok()) return Refuse(env, list.status());
  // Without a folder: where the list's absolute names point, else where the list stands.
  std::string folder = o.paths.size() == 2 ? o.paths[1] : list->root();
  if (folder.empty()) folder = std::string(DirName(o.paths[0]));
  TreeOptions tree = TreeOf(o);
  ExcludeFile(folder, o.paths[0], tree);
  Progress progress(env, o.progress);
  auto found = ReadDatasetTree(env, folder, tree, HashOf(o, progress));
  if (!found.ok()) return Refuse(env, found.status());
  return CompareLists(env, *std::move(list), *std::move(found));
}

ExitCode Diff(CommandEnv& env, const ManifestOptions& o) {
  if (o.paths.size() != 2) return UsageError(env, "diff takes two lists or folders");
  Progress progress(env, o.progress);
  const HashOptions hash = HashOf(o, progress);
  auto a = ReadDatasetAny(env, o.paths[0], TreeOf(o), hash);
  if (!a.ok()) return Refuse(env, a.status());
  auto b = ReadDatasetAny(env, o.paths[1], TreeOf(o), hash);
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
  arguments.Flag("--no-cache", o.no_cache, "read every file (this version always does)");
  arguments.Text("--bwlimit", o.bwlimit, "bytes read a second at most: 200M, 1.5G; 0: no limit");
  arguments.Flag("--media", o.media, "read past the page cache (later version)");
  arguments.Flag("--resume", o.resume, "go on where a run stopped (later version)");
  auto parsed = arguments.Parse(args);
  if (!parsed.ok()) return UsageError(env, parsed.status().message());
  if (!*parsed) {
    env.out << arguments.help();
    return kExitOk;
  }
  for (const auto& [given, name] : {std::make_pair(o.media, "--media"), std::make_pair(o.resume, "--resume")}) {
    if (given) return UsageError(env, absl::StrCat(name, ": not supported by this version"));
  }
  if (!IsOneOf(o.format, {"md5sum", "bsd", "hashdeep", "bagit", "csv", "json"})) {
    return UsageError(env, absl::StrCat("--format ", o.format, ": there are md5sum, bsd, hashdeep, bagit, csv, json"));
  }
  if (!IsOneOf(o.progress, {"auto", "plain", "json", "none"})) {
    return UsageError(env, absl::StrCat("--progress ", o.progress, ": there are auto, plain, json, none"));
  }
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
                    .getenv = env.getenv};
  return RunVerb(*bandwidth == 0 ? env : own, verb, o);
}

}  // namespace

extern const Command kManifestCommand;
const Command kManifestCommand = {"manifest", "make, verify and compare exact MD5 lists of data sets", &Run};

}  // namespace paritect
