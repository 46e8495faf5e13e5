#include "client/remote/contexts.h"

#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/document_fields.h"
#include "common/nearest.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr std::uint64_t kConfigBytesMax = 1 << 20;
constexpr int kFoldersUpMax = 256;
constexpr char kMachineFile[] = "/etc/paritect/config.yaml";

struct ConfigFile {
  std::string file;
  std::string credential;
  std::string current;
  std::vector<std::pair<std::string, std::string>> contexts;  // name, credential file
};

// "~/x" and what is relative to the file that says it.
std::string Resolve(const CommandEnv& env, absl::string_view file, const std::string& path) {
  const std::string home = env.getenv("HOME");
  if (absl::StartsWith(path, "~/") && !home.empty()) return JoinPath(home, path.substr(2));
  return JoinPath(DirName(file), path);
}

absl::Status ReadContexts(const DocumentNode& node, ConfigFile& config) {
  if (!node.is_map()) return ErrorAt(node, "`contexts` must be a map: NAME: CREDENTIAL FILE");
  for (const auto& [name, file] : node.fields) {
    std::string path;
    PARITECT_RETURN_IF_ERROR(ReadText(file, name.text, path));
    if (name.text.empty()) return ErrorAt(name, "a context needs a name");
    config.contexts.emplace_back(name.text, path);
  }
  return absl::OkStatus();
}

absl::StatusOr<ConfigFile> ReadConfig(const CommandEnv& env, const std::string& file) {
  PARITECT_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(env.fs, file, kConfigBytesMax));
  ConfigFile config;
  config.file = file;
  auto root = ParseDocument(text);
  absl::Status status = root.status();
  if (status.ok()) {
    status =
        ReadMap(*root, "a client's configuration",
                {{"credential", [&](const DocumentNode& v) { return ReadText(v, "credential", config.credential); }},
                 {"current", [&](const DocumentNode& v) { return ReadText(v, "current", config.current); }},
                 {"contexts", [&](const DocumentNode& v) { return ReadContexts(v, config); }}});
    if (status.ok() && !config.credential.empty() && !config.current.empty()) {
      status = ErrorAt(*root, "`credential` and `current` exclude each other");
    }
  }
  if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(file), ":", status.message()));
  if (!config.credential.empty()) config.credential = Resolve(env, file, config.credential);
  for (auto& [name, path] : config.contexts) path = Resolve(env, file, path);
  return config;
}

bool IsFile(const CommandEnv& env, const std::string& path) {
  auto info = env.fs.Stat(path);
  return info.ok() && info->type == FileInfo::Type::kRegular;
}

// The project's file: here or in the nearest folder above.
std::optional<std::string> ProjectFile(const CommandEnv& env) {
  std::string folder = env.working_directory.empty() ? "." : env.working_directory;
  for (int up = 0; up < kFoldersUpMax; ++up) {
    std::string file = JoinPath(folder, "paritect.yaml");
    if (IsFile(env, file)) return file;
    std::string above(DirName(folder));
    if (above == folder || above == ".") return std::nullopt;
    folder = std::move(above);
  }
  return std::nullopt;
}

std::string UserFile(const CommandEnv& env) {
  const std::string base = env.getenv("XDG_CONFIG_HOME");
  if (absl::StartsWith(base, "/")) return JoinPath(base, "paritect/config.yaml");
  const std::string home = env.getenv("HOME");
  return home.empty() ? "" : JoinPath(home, ".config/paritect/config.yaml");
}

absl::StatusOr<std::vector<ConfigFile>> ReadConfigs(const CommandEnv& env) {
  std::vector<std::string> files;
  if (auto project = ProjectFile(env)) files.push_back(*project);
  if (std::string user = UserFile(env); !user.empty()) files.push_back(user);
  files.emplace_back(kMachineFile);
  std::vector<ConfigFile> configs;
  for (const std::string& file : files) {
    if (!IsFile(env, file)) continue;
    PARITECT_ASSIGN_OR_RETURN(ConfigFile config, ReadConfig(env, file));
    configs.push_back(std::move(config));
  }
  return configs;
}

absl::StatusOr<CredentialPlace> FindContext(const std::vector<ConfigFile>& configs, const std::string& name,
                                            absl::string_view said_by) {
  std::vector<std::string> known;
  std::vector<std::string> files;
  for (const ConfigFile& config : configs) {
    files.push_back(config.file);
    for (const auto& [context, path] : config.contexts) {
      if (context == name) return CredentialPlace{path, absl::StrCat("context ", name, " of ", config.file)};
      known.push_back(context);
    }
  }
  std::string where =
      files.empty() ? "no configuration file was found" : absl::StrCat("read: ", absl::StrJoin(files, ", "));
  if (!known.empty()) where = absl::StrCat("there are ", absl::StrJoin(known, ", "), "; ", where);
  return absl::InvalidArgumentError(absl::StrCat(said_by, ": there is no context '", DisplayBytes(name), "'",
                                                 DidYouMean(name, known), " (", where, ")"));
}

}  // namespace

void DeclareRemoteArguments(Arguments& arguments, RemoteArguments& remote, bool with_timeout) {
  arguments.Text("--credential", remote.credential, "credential file: server, certificate, key and authority");
  arguments.Text("--context", remote.context, "a context of the configuration file, in place of --credential");
  if (with_timeout) arguments.Text("--timeout", remote.timeout, "how long to wait for an answer (default: 30s)");
}

absl::StatusOr<CredentialPlace> FindCredential(CommandEnv& env, const RemoteArguments& remote) {
  if (!remote.credential.empty() && !remote.context.empty()) {
    return absl::InvalidArgumentError("--credential and --context exclude each other");
  }
  if (!remote.credential.empty()) return CredentialPlace{remote.credential, "--credential"};
  if (remote.context.empty()) {
    const std::string file = env.getenv("PARITECT_CREDENTIAL");
    if (!file.empty()) return CredentialPlace{file, "PARITECT_CREDENTIAL"};
  }
  PARITECT_ASSIGN_OR_RETURN(const std::vector<ConfigFile> configs, ReadConfigs(env));
  if (!remote.context.empty()) return FindContext(configs, remote.context, "--context");
  if (std::string name = env.getenv("PARITECT_CONTEXT"); !name.empty()) {
    return FindContext(configs, name, "PARITECT_CONTEXT");
  }
  for (const ConfigFile& config : configs) {
    if (!config.credential.empty()) return CredentialPlace{config.credential, config.file};
    if (!config.current.empty()) return FindContext(configs, config.current, absl::StrCat(config.file, ": current"));
  }
  return absl::InvalidArgumentError(
      "no server is named: give --credential FILE (`paritect-server init DIR` made DIR/admin.credential), set "
      "PARITECT_CREDENTIAL, or name the file in paritect.yaml or ~/.config/paritect/config.yaml (`credential: FILE`)");
}

}  // namespace paritect
