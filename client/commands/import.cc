// paritect import FILE.pbundle...: evidence that was collected without a server.
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "agent/redaction.h"
#include "client/remote/connection.h"
#include "client/report/audit_options.h"
#include "client/report/json.h"
#include "client/verbs.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "common/version.h"
#include "formats/bundle.h"
#include "formats/plan_identity.h"
#include "formats/settings/settings_format.h"
#include "report/terminal.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect import";
constexpr absl::string_view kSummary = "add evidence bundles (paritect-agent collect) to the server";
constexpr std::size_t kChunkBytes = 1 << 20;
constexpr absl::string_view kZipMagic = "PK\x03\x04";

struct ImportOptions {
  std::string run;
  std::string node;
  std::string output = "text";
};

// Bytes in memory where a file is wanted.
class BytesFile : public File {
 public:
  explicit BytesFile(std::string bytes) : bytes_(std::move(bytes)) {}
  absl::StatusOr<std::size_t> Read(absl::Span<char> buffer) override {
    const std::size_t n = bytes_.copy(buffer.data(), buffer.size(), offset_);
    offset_ += n;
    return n;
  }
  absl::StatusOr<FileInfo> Info() override {
    FileInfo info;
    info.size_bytes = bytes_.size();
    return info;
  }

 private:
  const std::string bytes_;
  std::size_t offset_ = 0;
};

std::string Size(const FileInfo& info) {
  return absl::StrCat(info.size_bytes, " bytes");
}

// Told before anything is sent: what is no bundle, or too large for one.
absl::Status CheckFile(FileSystem& fs, const std::string& path) {
  auto file = fs.Open(path);
  if (!file.ok()) return absl::InvalidArgumentError(file.status().message());
  PARITECT_ASSIGN_OR_RETURN(const FileInfo info, (*file)->Info());
  char head[8];
  PARITECT_ASSIGN_OR_RETURN(const std::size_t n, (*file)->Read(absl::MakeSpan(head)));
  const absl::string_view begin(head, n);
  if (absl::StartsWith(begin, kZipMagic)) return absl::OkStatus();
  if (!LooksLikeBundle(begin)) {
    return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(path), ": not an evidence bundle (", Size(info),
                                                   "); `paritect-agent collect PLAN -o FILE.pbundle` makes one"));
  }
  if (info.size_bytes > kBundleBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(path), ": too large (", Size(info), ")"));
  }
  return absl::OkStatus();
}

bool IsZip(FileSystem& fs, const std::string& path) {
  auto file = fs.Open(path);
  char head[4];
  return file.ok() && (*file)->Read(absl::MakeSpan(head)).value_or(0) == 4 && absl::string_view(head, 4) == kZipMagic;
}

// "model-a" of "/x/model-a.zip".
std::string StemOf(const std::string& path) {
  const absl::string_view name = BaseName(path);
  return std::string(name.substr(0, name.rfind('.')));
}

// What msprobe's configuration checker packed, as the bundle of a run: its settings, secrets left out.
absl::StatusOr<std::string> BundleOfZip(CommandEnv& env, const std::string& path, const ImportOptions& options) {
  PARITECT_ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(env.fs, path, kSettingsBytesMax));
  const std::string label = DisplayBytes(BaseName(path));
  auto documents = ReadSettings(bytes, label, "");
  if (!documents.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        DisplayBytes(path), ": a zip archive, and not one of msprobe's config_check: ", documents.status().message()));
  }
  v1::Bundle bundle;
  bundle.mutable_plan()->set_run(options.run.empty() ? StemOf(path) : options.run);
  bundle.mutable_plan()->set_node(options.node.empty() ? env.host_name : options.node);
  bundle.mutable_plan()->set_role(v1::ROLE_RUN);
  bundle.mutable_plan()->set_platform("auto");
  bundle.mutable_plan()->set_framework("auto");
  bundle.mutable_plan()->set_plan_file(label);
  bundle.mutable_plan()->mutable_identity()->set_key(PlanKey({"file", JoinPath(env.working_directory, path)}));
  bundle.set_collected_by(absl::StrCat("paritect ", kProgramVersion));
  // The same file gives the same bundle: importing twice changes nothing.
  PARITECT_ASSIGN_OR_RETURN(const FileInfo info, env.fs.Stat(path));
  bundle.set_collected_at_unix_ms(info.mtime_ns / 1'000'000);
  for (v1::SettingsDocument& document : *documents) {
    WithholdSecrets(env.rules.settings, document, RedactionOptions());
    v1::Evidence& evidence = *bundle.add_evidence();
    evidence.set_kind(v1::EVIDENCE_KIND_SETTINGS);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_source(label);
    *evidence.mutable_settings() = std::move(document);
  }
  return SerializeBundle(bundle);
}

// Reads a file in pieces; the first names it.
class Pieces {
 public:
  Pieces(std::unique_ptr<File> file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}

  absl::StatusOr<std::optional<v1::ImportChunk>> Next() {
    if (ended_) return std::optional<v1::ImportChunk>();
    std::string bytes(kChunkBytes, '\0');
    std::size_t filled = 0;
    while (filled < bytes.size()) {
      PARITECT_ASSIGN_OR_RETURN(const std::size_t n, file_->Read(absl::MakeSpan(bytes).subspan(filled)));
      if (n == 0) ended_ = true;
      if (n == 0) break;
      filled += n;
    }
    bytes.resize(filled);
    v1::ImportChunk chunk;
    if (!name_.empty()) chunk.set_file(std::move(name_));
    name_.clear();
    chunk.set_data(std::move(bytes));
    return std::optional<v1::ImportChunk>(std::move(chunk));
  }

 private:
  std::unique_ptr<File> file_;
  std::string name_;
  bool ended_ = false;
};

absl::StatusOr<std::unique_ptr<File>> OpenBundle(CommandEnv& env, const std::string& path,
                                                 const ImportOptions& options) {
  if (!IsZip(env.fs, path)) return env.fs.Open(path);
  PARITECT_ASSIGN_OR_RETURN(std::string bytes, BundleOfZip(env, path, options));
  return std::make_unique<BytesFile>(std::move(bytes));
}

ExitCode ImportOne(CommandEnv& env, RemoteServer& server, const std::string& path, const ImportOptions& options) {
  const bool json = options.output == "json";
  auto file = OpenBundle(env, path, options);
  if (!file.ok()) return UsageError(env, kName, file.status().message());
  Pieces pieces(*std::move(file), DisplayBytes(BaseName(path)));
  auto response = server.Import([&] { return pieces.Next(); });
  if (!response.ok()) {
    absl::Status status = Annotate(response.status(), DisplayBytes(path));
    // The file is damaged, not the server.
    if (absl::IsDataLoss(status)) status = absl::InvalidArgumentError(status.message());
    return ServerError(env, kName, status);
  }
  if (json) {
    const OrderedJson line = {{"file", DisplayBytes(path)},
                              {"run", response->run()},
                              {"node", response->node()},
                              {"pieces", response->pieces()},
                              {"already_there", response->known()}};
    env.out << DumpJson(line, -1) << "\n";
    return kExitOk;
  }
  SayLine(env, absl::StrCat(DisplayBytes(path), ": run ", TerminalSafe(response->run()), ", node ",
                            TerminalSafe(response->node()), ", ", response->pieces(), " pieces of evidence",
                            response->known() ? ": already there, nothing changed" : ": stored"));
  return kExitOk;
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  std::vector<std::string> files;
  ImportOptions options;
  std::string& output = options.output;
  Arguments arguments(kName, kSummary);
  arguments.Texts("files", files, "bundles, or zips of msprobe's config_check; importing one twice changes nothing",
                  true);
  arguments.Text("--run", options.run, "of a zip: the run's name (default: the file's)");
  arguments.Text("--node", options.node, "of a zip: the node it was made on (default: this host)");
  arguments.Text("-o,--output", output, "text or json (one line a file)");
  DeclareRemoteArguments(arguments, remote);
  if (auto code = ParseOrAnswer(env, kName, arguments, args)) return *code;
  if (output != "text" && output != "json") {
    return UsageError(env, kName, absl::StrCat("-o ", output, ": not supported by this version; there are text, json"));
  }
  for (const std::string& path : files) {
    if (absl::Status status = CheckFile(env.fs, path); !status.ok()) return UsageError(env, kName, status.message());
  }
  return WithServer(env, kName, remote, [&](Connection& connection) {
    for (const std::string& path : files) {
      const ExitCode code = ImportOne(env, *connection.server, path, options);
      if (code != kExitOk) return code;
    }
    return kExitOk;
  });
}

}  // namespace

extern const Command kImportCommand;
const Command kImportCommand = {"import", kSummary, &Run};

}  // namespace paritect
