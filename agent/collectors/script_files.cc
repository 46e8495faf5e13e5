#include "agent/collectors/script_files.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/settings/readable_text.h"
#include "rules/folder_words.h"

namespace paritect {
namespace {

constexpr std::size_t kFilesMax = 20'000;
constexpr std::uint64_t kFileBytesMax = 16 << 20;
constexpr std::uint64_t kTreeBytesMax = 512 << 20;
constexpr int kDepthMax = 24;

bool IsPython(absl::string_view name) {
  return absl::EndsWith(name, ".py") || absl::EndsWith(name, ".pyw");
}

// A module without its source: Python would import it, and what it does cannot be read.
bool IsCompiled(absl::string_view name) {
  return absl::EndsWith(name, ".so") || absl::EndsWith(name, ".pyc") || absl::EndsWith(name, ".pyd");
}

// "env", "dist": foreign where it is no package of Python's.
bool IsPerhapsForeign(absl::string_view name) {
  const std::vector<std::string>& names = BuiltInFolderWords().perhaps_foreign_code;
  return std::find(names.begin(), names.end(), name) != names.end();
}

class Walk {
 public:
  Walk(FileSystem& fs, std::vector<ScriptSourceFile>& files) : fs_(fs), files_(files) {}

  absl::Status Folder(const std::string& root, const std::string& label) {
    struct Open {
      std::string path, label;
      int depth;
    };
    std::vector<Open> open = {{root, label, 0}};
    std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
    while (!open.empty()) {
      const Open folder = open.back();
      open.pop_back();
      std::vector<std::string> names;
      PARITECT_RETURN_IF_ERROR(
          fs_.List(folder.path, [&](const DirectoryEntry& entry) { names.push_back(entry.name); }));
      for (const std::string& name : names) {
        const std::string path = JoinPath(folder.path, name);
        const auto info = fs_.Stat(path);
        if (!info.ok()) continue;  // a dangling link is no script
        if (info->type == FileInfo::Type::kDirectory) {
          const bool own =
              !IsForeignCode(name) && (!IsPerhapsForeign(name) || fs_.Stat(JoinPath(path, "__init__.py")).ok());
          const bool enter = folder.depth < kDepthMax && own && seen.insert({info->device, info->inode}).second;
          if (enter) {
            open.push_back({path, Below(folder.label, name), folder.depth + 1});
          } else {
            Unread(Below(folder.label, name));
          }
        } else if (info->type == FileInfo::Type::kRegular && IsPython(name)) {
          PARITECT_RETURN_IF_ERROR(File(path, Below(folder.label, name), info->size_bytes));
        } else if (IsCompiled(name)) {
          Unread(Below(folder.label, name.substr(0, name.find('.'))));
        }
      }
    }
    return absl::OkStatus();
  }

  // A place where a module may stand that is not read.
  void Unread(const std::string& label) { files_.push_back({DisplayBytes(label), "", false}); }

  absl::Status File(const std::string& path, const std::string& label, std::uint64_t size) {
    bytes_ += size;
    if (files_.size() >= kFilesMax || bytes_ > kTreeBytesMax) {
      return absl::ResourceExhaustedError(absl::StrCat("more than ", kFilesMax, " Python files or ",
                                                       kTreeBytesMax >> 20,
                                                       " MiB: name the folder of the training scripts alone"));
    }
    PARITECT_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(fs_, path, kFileBytesMax));
    files_.push_back({DisplayBytes(label), std::string(ReadableText(text, StrayBytes::kReplace).view())});
    return absl::OkStatus();
  }

 private:
  static std::string Below(const std::string& label, const std::string& name) {
    return label.empty() ? name : absl::StrCat(label, "/", name);
  }

  FileSystem& fs_;
  std::vector<ScriptSourceFile>& files_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

absl::Status AddScriptFiles(FileSystem& fs, const std::string& path, const std::string& label,
                            std::vector<ScriptSourceFile>& files, std::string& entry) {
  PARITECT_ASSIGN_OR_RETURN(const FileInfo info, fs.Stat(path));
  std::string plain = label == "." ? "" : label;
  while (absl::EndsWith(plain, "/")) plain.pop_back();
  if (info.type == FileInfo::Type::kDirectory) return Walk(fs, files).Folder(path, plain);
  if (info.type != FileInfo::Type::kRegular)
    return absl::FailedPreconditionError("neither a folder nor a regular file");
  if (plain.empty()) plain = std::string(BaseName(path));
  if (entry.empty()) entry = plain;
  const std::string folder(DirName(path));
  std::vector<ScriptSourceFile> beside;
  const absl::string_view base = DirName(plain);
  // A script outside of any project (in a home folder) may have a whole world beside it: then it stands alone.
  if (!Walk(fs, beside).Folder(folder, base == "." ? "" : std::string(base)).ok()) {
    beside.clear();
    Walk(fs, beside).Unread(base == "." ? "?" : absl::StrCat(base, "/?"));
    PARITECT_RETURN_IF_ERROR(Walk(fs, beside).File(path, plain, info.size_bytes));
  }
  files.insert(files.end(), beside.begin(), beside.end());
  return absl::OkStatus();
}

bool HoldScripts(const std::vector<ScriptSourceFile>& files) {
  return std::any_of(files.begin(), files.end(), [](const ScriptSourceFile& file) { return file.read; });
}

void UseLaunch(const v1::SettingsDocument& document, ScriptOptions& options) {
  if (document.format() != "launch-script") return;
  for (const v1::Setting& setting : document.settings()) {
    const std::string& key = setting.raw_key();
    if (key == "launch.entry") {
      if (options.entry.empty() || !options.command_line_known) options.entry = setting.raw_value();
      options.command_line_known = true;
    }
    if (absl::StartsWith(key, "launch.") || absl::StartsWith(key, "env.") || !setting.has_value()) continue;
    options.command_line.try_emplace(absl::StrReplaceAll(key, {{"-", "_"}}), setting.raw_value());
  }
  for (const v1::Note& note : document.notes()) {
    // Arguments that come from outside the launch script are not known.
    if (note.kind() == "unresolved_arguments") options.command_line_known = false;
  }
}

}  // namespace paritect
