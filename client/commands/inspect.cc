// paritect inspect: what the product sees in a file or folder.
#include <nlohmann/json.hpp>

#include "absl/strings/str_join.h"
#include "client/command.h"
#include "client/inspector.h"
#include "client/localise.h"
#include "common/arguments.h"
#include "common/read_head.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr std::size_t kHeadBytes = 64 << 10;

const Inspector* FindByKind(absl::string_view kind) {
  for (const Inspector* inspector : AllInspectors()) {
    if (inspector->kind == kind) return inspector;
  }
  return nullptr;
}

absl::StatusOr<const Inspector*> Choose(CommandEnv& env, const std::string& as, const std::string& file) {
  PARITECT_ASSIGN_OR_RETURN(FileInfo info, env.fs.Stat(file));
  if (!as.empty()) return FindByKind(as);
  const bool is_folder = info.type == FileInfo::Type::kDirectory;
  std::string head;
  if (!is_folder) {
    PARITECT_ASSIGN_OR_RETURN(head, ReadHead(env.fs, file, kHeadBytes));
  }
  for (const Inspector* inspector : AllInspectors()) {
    if (inspector->recognises(file, is_folder, head)) return inspector;
  }
  return FindByKind("unknown");
}

ExitCode InspectOne(CommandEnv& env, const std::string& as, const InspectRequest& request, bool table, int indent) {
  auto inspector = Choose(env, as, request.files[0]);
  if (!inspector.ok()) {
    env.err << "paritect inspect: " << inspector.status().message() << "\n";
    return kExitUsage;
  }
  if (table && (*inspector)->print == nullptr) {
    env.err << "paritect inspect: -o table: not supported by this version for " << (*inspector)->kind
            << "; there is json\n";
    return kExitUsage;
  }
  auto json = (*inspector)->inspect(env, request);
  if (!json.ok()) {
    env.err << "paritect inspect: " << json.status().message() << "\n";
    const bool user_mistake = absl::IsNotFound(json.status()) || absl::IsInvalidArgument(json.status());
    return user_mistake ? kExitUsage : kExitFailed;
  }
  OrderedJson object;
  object["file"] = DisplayBytes(request.files[0]);
  object["kind"] = (*inspector)->kind;
  for (auto& [key, value] : json->items()) object[key] = std::move(value);
  if (table) {
    (*inspector)->print(object, env.out);
  } else {
    env.out << DumpJson(object, indent) << "\n";
  }
  return kExitOk;
}

std::string Kinds() {
  std::vector<absl::string_view> kinds;  // a kind may have several inspectors
  for (const Inspector* one : AllInspectors()) {
    if (std::find(kinds.begin(), kinds.end(), one->kind) == kinds.end()) kinds.push_back(one->kind);
  }
  return absl::StrJoin(kinds, ", ");
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  InspectRequest request;
  std::vector<std::string> files;
  std::string as;
  std::string output = "json";
  bool join = false;
  Arguments arguments("paritect inspect", "show what the product sees in a file or folder");
  arguments.Texts("files", files, "files or folders", true);
  arguments.Text("--as", as, "log | settings | weights | dataset | shards | script | tensors | observed");
  arguments.Flag("--join", join, "the files are the parts of one log");
  arguments.Flag("--summary", request.summary, "counts, first, last and sums in place of long lists");
  arguments.Text("--digest", request.digest, "xxh3 | sha256 (weights)");
  arguments.Text("-o,--output", output, "json | table (weights)");
  auto parsed = arguments.Parse(args);
  if (!parsed.ok()) {
    env.err << "paritect inspect: " << parsed.status().message() << "\n";
    return kExitUsage;
  }
  if (!*parsed) {
    env.out << LocalisedHelp(env.language, arguments.help());
    return kExitOk;
  }
  if (!as.empty() && FindByKind(as) == nullptr) {
    env.err << "paritect inspect: --as " << as << ": not supported by this version; there are " << Kinds() << "\n";
    return kExitUsage;
  }
  const bool table = output == "table";
  if (output != "json" && !table) {
    env.err << "paritect inspect: -o " << output << ": not supported by this version; there are json and table\n";
    return kExitUsage;
  }
  if (join) {
    request.files = files;
    return InspectOne(env, as, request, table, 1);
  }
  ExitCode worst = kExitOk;
  for (const std::string& file : files) {
    request.files = {file};
    const ExitCode code = InspectOne(env, as, request, table, files.size() == 1 ? 1 : -1);
    if (code > worst) worst = code;
  }
  return worst;
}

}  // namespace

extern const Command kInspectCommand;
const Command kInspectCommand = {"inspect", "show what the product sees in a file or folder", &Run};

}  // namespace paritect
