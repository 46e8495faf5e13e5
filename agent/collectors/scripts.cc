// Training scripts: the Python sources that a plan names, read without running them, as one tree. Where the run begins
// and what its command line gives is taken from the launch scripts under `settings`.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "agent/collector.h"
#include "agent/collectors/script_files.h"
#include "common/glob.h"
#include "common/utf8.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

constexpr v1::EvidenceKind kKind = v1::EVIDENCE_KIND_SCRIPTS;

// The collector of settings says what is wrong with a source; here only what can be read counts.
void ReadLaunchScripts(const CollectorEnv& env, const v1::Plan& plan, ScriptOptions& options) {
  for (const v1::SettingsSource& source : plan.settings()) {
    auto matches = ExpandPathPattern(env.fs, ResolvePath(plan, source.file()));
    if (!matches.ok()) continue;
    for (const PathMatch& match : *matches) {
      auto text = ReadWholeFile(env.fs, match.path, kSettingsHeadBytes);
      if (!text.ok()) continue;
      auto documents = ReadSettings(*text, source.file(), source.kind());
      if (!documents.ok()) continue;
      for (const v1::SettingsDocument& document : *documents) UseLaunch(document, options);
    }
  }
}

// As checks/scripts/script_settings.h; not what a plan names as `kind: script`, which may be a command line.
constexpr char kOptionsKind[] = "script-options";

// Options that the scripts of the run set (a session's configuration, switches of a backend): settings like any other.
void EmitOptions(const std::vector<ScriptSourceFile>& files, const v1::ScriptTree& tree, EvidenceSink sink) {
  const SettingsFormat* format = FindSettingsFormat("session-config");
  if (format == nullptr || tree.trainers_size() != 1) return;
  for (const v1::ScriptFile& file : tree.files()) {
    if (!file.reached()) continue;
    const auto source =
        std::find_if(files.begin(), files.end(), [&](const ScriptSourceFile& one) { return one.path == file.path(); });
    if (source == files.end() || format->sniff(absl::string_view(source->text).substr(0, kSettingsHeadBytes)) == 0)
      continue;
    auto document = format->parse(source->text, file.path());
    if (!document.ok() || document->settings_size() == 0) continue;
    document->set_kind(kOptionsKind);
    v1::Evidence evidence = CollectedEvidence(v1::EVIDENCE_KIND_SETTINGS, file.path());
    *evidence.mutable_settings() = *std::move(document);
    sink(std::move(evidence));
  }
}

void Collect(const CollectorEnv& env, const v1::Plan& plan, EvidenceSink sink) {
  std::vector<ScriptSourceFile> files;
  ScriptOptions options;
  std::string named;
  std::string sources;
  for (const v1::ScriptSource& source : plan.scripts()) {
    const absl::Status status = AddScriptFiles(env.fs, ResolvePath(plan, source.path()), source.path(), files, named);
    if (!status.ok()) {
      sink(ProblemEvidence(kKind, source.path(), status));
      continue;
    }
    absl::StrAppend(&sources, sources.empty() ? "" : ", ", source.path());
  }
  if (sources.empty()) return;
  // The same file may stand below two of the sources.
  const auto before = [](const ScriptSourceFile& a, const ScriptSourceFile& b) { return a.path < b.path; };
  const auto same = [](const ScriptSourceFile& a, const ScriptSourceFile& b) { return a.path == b.path; };
  std::sort(files.begin(), files.end(), before);
  files.erase(std::unique(files.begin(), files.end(), same), files.end());
  if (!HoldScripts(files)) {
    sink(ProblemEvidence(kKind, sources, v1::OUTCOME_ABSENT, "no_python_files"));
    return;
  }
  ReadLaunchScripts(env, plan, options);
  if (options.entry.empty()) options.entry = named;
  v1::Evidence evidence = CollectedEvidence(kKind, sources);
  *evidence.mutable_script_tree() = ReadScripts(files, options, env.rules.scripts);
  EmitOptions(files, evidence.script_tree(), sink);
  *evidence.mutable_notes() = evidence.script_tree().notes();
  sink(std::move(evidence));
}

}  // namespace

extern const Collector kScriptsCollector;
const Collector kScriptsCollector = {"scripts", "training scripts, read without running them", &Collect};

}  // namespace paritect
