#include "client/report/audit_options.h"

#include <re2/re2.h>

#include "client/localise.h"
#include "common/document.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "report/terminal.h"

namespace paritect {
namespace {

constexpr std::uint64_t kProfileBytesMax = 4 << 20;

absl::StatusOr<DocumentNode> ReadDocumentFile(FileSystem& fs, const std::string& file) {
  PARITECT_ASSIGN_OR_RETURN(std::string text, ReadWholeFile(fs, file, kProfileBytesMax));
  auto root = ParseDocument(text);
  if (!root.ok()) return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(file), ":", root.status().message()));
  return root;
}

}  // namespace

void DeclareAuditArguments(Arguments& arguments, AuditArguments& options) {
  arguments.Texts("--baseline", options.baseline,
                  "folder of a run, plan, or evidence bundle of the baseline side; repeatable");
  arguments.Texts("--migrated", options.migrated, "the same of the migrated side; repeatable");
  arguments.Flag("--hash-data", options.hash_data,
                 "of folders without a plan: read data sets and weights beyond 1 GiB, too");
  arguments.Text("--profile", options.profile,
                 "profile file: thresholds, ignored keys, waivers (default: pre-tuning/1)");
  arguments.Text("--answers", options.answers, "file of attestations and waivers made offline");
  arguments.Text("--lang", options.lang,
                 "en, zh (zh_CN, zh-CN), or both as en,zh (default: from LC_ALL, LC_MESSAGES, LANG)");
  arguments.Text("--color", options.colour, "auto, always or never");
  DeclareReading(arguments, options.reading);
}

void DeclareDetailArguments(Arguments& arguments, AuditArguments& options) {
  arguments.Flag("--full", options.full, "the table with every finding and everything that is missing");
  arguments.Flag("--failed", options.failed, "the table of what failed, in full");
}

absl::StatusOr<RenderOptions> TextOptions(CommandEnv& env, const AuditArguments& options) {
  RenderOptions render = {.rules = env.rules};
  auto languages = ChooseLanguages(options.lang, env.getenv);
  if (!languages.ok()) return languages.status();
  render.languages = *std::move(languages);
  auto colour = ChooseColour(options.colour, env.out_is_terminal, env.getenv);
  if (!colour.ok()) return colour.status();
  render.colour = *colour && env.out_is_terminal;  // asked for or not, never in a file or a pipe
  render.ascii = !LocaleIsUtf8(env.getenv);
  render.columns = env.terminal_columns;
  if (options.full && options.failed) return absl::InvalidArgumentError("--full and --failed: give one of them");
  render.detail = options.full ? Detail::kFull : options.failed ? Detail::kFailed : Detail::kFirstScreen;
  return render;
}

absl::Status TakeSides(AuditArguments& options) {
  PARITECT_RETURN_IF_ERROR(CheckReading(options.reading));
  const bool by_option = !options.baseline.empty() || !options.migrated.empty();
  if (!options.sides.empty()) {
    if (by_option) {
      return absl::InvalidArgumentError(absl::StrCat(
          DisplayBytes(options.sides[0]),
          ": name the sides either as BASELINE MIGRATED or with --baseline and --migrated, not in both ways"));
    }
    if (options.sides.size() != 2) {
      return absl::InvalidArgumentError(
          options.sides.size() == 1
              ? absl::StrCat("only one run is named (", DisplayBytes(options.sides[0]),
                             "): give the baseline's folder, then the migrated run's; one side alone: --baseline RUN "
                             "or --migrated RUN")
              : absl::StrCat(options.sides.size(),
                             " runs are named, BASELINE MIGRATED takes two; several runs or nodes of a side: "
                             "--baseline RUN --migrated RUN, repeatable"));
    }
    options.baseline = {options.sides[0]};
    options.migrated = {options.sides[1]};
    options.sides.clear();
    return absl::OkStatus();
  }
  if (by_option) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "no run is named: give the folder of the baseline run, then that of the migrated one (`paritect check GPU NPU`), "
      "or plans with --baseline and --migrated");
}

absl::StatusOr<Profile> LoadProfile(CommandEnv& env, const std::string& profile_file, const std::string& answers_file) {
  Profile profile = env.rules.profile;
  // The built-in one may be named, as in an audit file.
  if (!profile_file.empty() && profile_file != profile.name) {
    PARITECT_ASSIGN_OR_RETURN(DocumentNode root, ReadDocumentFile(env.fs, profile_file));
    auto read = ReadProfile(root, profile);
    if (!read.ok())
      return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(profile_file), ":", read.status().message()));
    profile = *std::move(read);
  }
  if (!answers_file.empty()) {
    PARITECT_ASSIGN_OR_RETURN(DocumentNode root, ReadDocumentFile(env.fs, answers_file));
    const absl::Status status = ReadAnswers(root, profile);
    if (!status.ok())
      return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(answers_file), ":", status.message()));
  }
  return profile;
}

std::vector<std::string> CatalogueIds(const Rules& rules, bool with_checks) {
  std::vector<std::string> ids;
  for (const CatalogueItem& item : rules.catalogue.items) {
    ids.push_back(item.id);
    if (!with_checks) continue;
    for (const CatalogueCheck& check : item.checks) ids.push_back(check.id);
  }
  return ids;
}

ExitCode UsageError(CommandEnv& env, absl::string_view command, absl::string_view message) {
  static const RE2& placed = *new RE2(R"(([^\n]+:\d+:\d+: )([^\n]*))");
  for (absl::string_view line : absl::StrSplit(message, '\n')) {
    std::string place;
    std::string mistake;
    if (!RE2::FullMatch(re2::StringPiece(line.data(), line.size()), placed, &place, &mistake)) {
      place = absl::StrCat(command, ": ");
      mistake = std::string(line);
    }
    env.err << DisplayBytes(place) << DisplayBytes(Localised(env.language, mistake)) << "\n";
  }
  return kExitUsage;
}

}  // namespace paritect
