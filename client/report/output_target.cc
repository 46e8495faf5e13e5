#include "client/report/output_target.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_join.h"
#include "client/report/output_words.h"
#include "common/nearest.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "common/version.h"
#include "report/view.h"

namespace paritect {
namespace {

constexpr int kFileColumns = 120;

std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  for (const Renderer* renderer : AllRenderers()) names.emplace_back(renderer->name);
  return names;
}

bool IsOrdinaryFileOrNew(const std::string& path) {
  auto info = PosixFileSystem().Stat(path);
  return !info.ok() || info->type == FileInfo::Type::kRegular;
}

absl::Status CheckWritable(const std::string& file) {
  auto info = PosixFileSystem().Stat(file);
  if (info.ok() && info->type == FileInfo::Type::kDirectory) {
    return absl::InvalidArgumentError(absl::StrCat("-o: ", DisplayBytes(file), " is a folder"));
  }
  const std::string folder(DirName(file));
  auto folder_info = PosixFileSystem().Stat(folder);
  if (!folder_info.ok() || folder_info->type != FileInfo::Type::kDirectory) {
    return absl::InvalidArgumentError(
        absl::StrCat("-o: cannot write ", DisplayBytes(file), ": there is no folder ", DisplayBytes(folder)));
  }
  const bool direct = info.ok() && info->type == FileInfo::Type::kSpecial;
  if (access((direct ? file : folder).c_str(), W_OK) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("-o: cannot write ", DisplayBytes(file), ": no permission"));
  }
  return absl::OkStatus();
}

absl::StatusOr<OutputTarget> ParseOne(const std::string& option) {
  const OutputWords words = ReadOutputWords(option);
  const std::string& format = words.format;
  OutputTarget target;
  target.renderer = FindRenderer(format);
  if (target.renderer == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("-o ", DisplayBytes(format), ": not supported by this version; there are ",
                     absl::StrJoin(FormatNames(), ", "), DidYouMean(format, FormatNames())));
  }
  if (!words.has_file) return target;
  target.file = words.file;
  if (target.file.empty()) return absl::InvalidArgumentError(absl::StrCat("-o ", format, "=: a file name is missing"));
  if (target.file == "-") {
    target.file.clear();
    return target;
  }
  PARITECT_RETURN_IF_ERROR(CheckWritable(target.file));
  return target;
}

absl::Status WriteFile(const std::string& file, const std::string& bytes) {
  if (IsOrdinaryFileOrNew(file)) return WriteFileAtomically(file, bytes);
  // Renaming over a device or a pipe would put a file in its place.
  std::ofstream out(file, std::ios::binary);
  out << bytes;
  out.close();
  return out.good() ? absl::OkStatus() : absl::InternalError(absl::StrCat(DisplayBytes(file), ": cannot be written"));
}

}  // namespace

absl::StatusOr<std::vector<OutputTarget>> ParseOutputTargets(const std::vector<std::string>& options) {
  std::vector<OutputTarget> targets;
  for (const std::string& option : options) {
    PARITECT_ASSIGN_OR_RETURN(OutputTarget target, ParseOne(option));
    for (const OutputTarget& earlier : targets) {
      if (earlier.file != target.file) continue;
      return absl::InvalidArgumentError(
          target.file.empty() ? "-o: only one format can go to standard output; give the others a file (-o json=FILE)"
                              : absl::StrCat("-o: ", DisplayBytes(target.file), " is named twice"));
    }
    targets.push_back(std::move(target));
  }
  if (targets.empty()) targets.push_back({FindRenderer("table"), ""});
  return targets;
}

bool AnyDraws(const std::vector<OutputTarget>& targets) {
  return std::any_of(targets.begin(), targets.end(), [](const OutputTarget& one) { return one.renderer->draws; });
}

std::string RendererNames() {
  return absl::StrJoin(FormatNames(), ", ");
}

absl::Status WriteOutputs(CommandEnv& env, const std::vector<OutputTarget>& targets, const v1::Report& report,
                          const RenderOptions& options) {
  std::vector<std::string> files;
  for (const OutputTarget& target : targets) {
    if (target.file.empty()) {
      target.renderer->render(report, options, env.out);
      continue;
    }
    RenderOptions file_options = options;
    file_options.colour = false;
    file_options.ascii = false;
    file_options.columns = kFileColumns;
    std::ostringstream bytes;
    target.renderer->render(report, file_options, bytes);
    if (!bytes.good()) {
      return absl::InternalError(
          absl::StrCat(DisplayBytes(target.file), ": ", target.renderer->name, " could not be made"));
    }
    PARITECT_RETURN_IF_ERROR(WriteFile(target.file, bytes.str()));
    files.push_back(DisplayBytes(target.file));
  }
  if (files.size() == targets.size()) {
    env.out << Word(options.rules, options.languages, "ui_written",
                    {{"line", VerdictLine(options.rules, options.languages, report)},
                     {"files", absl::StrJoin(files, ", ")}})
            << "\n";
  }
  return absl::OkStatus();
}

}  // namespace paritect
