// paritect import FILE.pbundle...: evidence that was collected without a server.
#include "absl/strings/match.h"
#include "client/audit_options.h"
#include "client/remote/connection.h"
#include "client/report_json.h"
#include "client/terminal.h"
#include "client/verbs.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/bundle.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect import";
constexpr absl::string_view kSummary = "add evidence bundles (paritect-agent collect) to the server";
constexpr std::size_t kChunkBytes = 1 << 20;

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
  if (absl::StartsWith(begin, "PK\x03\x04")) {
    return absl::InvalidArgumentError(
        absl::StrCat(DisplayBytes(path), ": a zip archive (msprobe): not supported by this version"));
  }
  if (!LooksLikeBundle(begin)) {
    return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(path), ": not an evidence bundle (", Size(info),
                                                   "); `paritect-agent collect PLAN -o FILE.pbundle` makes one"));
  }
  if (info.size_bytes > kBundleBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(path), ": too large (", Size(info), ")"));
  }
  return absl::OkStatus();
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

ExitCode ImportOne(CommandEnv& env, RemoteServer& server, const std::string& path, bool json) {
  auto file = env.fs.Open(path);
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
  env.out << DisplayBytes(path) << ": run " << TerminalSafe(response->run()) << ", node "
          << TerminalSafe(response->node()) << ", " << response->pieces() << " pieces of evidence"
          << (response->known() ? ": already there, nothing changed" : ": stored") << "\n";
  return kExitOk;
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  RemoteArguments remote;
  std::vector<std::string> files;
  std::string output = "text";
  Arguments arguments(kName, kSummary);
  arguments.Texts("files", files, "bundles; importing one twice changes nothing", true);
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
      const ExitCode code = ImportOne(env, *connection.server, path, output == "json");
      if (code != kExitOk) return code;
    }
    return kExitOk;
  });
}

}  // namespace

extern const Command kImportCommand;
const Command kImportCommand = {"import", kSummary, &Run};

}  // namespace paritect
