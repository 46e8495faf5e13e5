#include "agent/live/live_report.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "common/prefixed_file_system.h"

namespace paritect {
namespace {

constexpr std::size_t kNamesMax = 100'000;

}  // namespace

void LiveReport::Document(v1::SettingsDocument document, absl::string_view source, std::optional<int> rank) {
  if (document.settings().empty() && document.notes().empty()) return;
  v1::Evidence evidence = CollectedEvidence(v1::EVIDENCE_KIND_SETTINGS, source);
  if (rank) evidence.set_rank(*rank);
  *evidence.mutable_settings() = std::move(document);
  sink_(std::move(evidence));
}

void LiveReport::Absent(absl::string_view message_id, absl::string_view source, absl::string_view why) {
  sink_(ProblemEvidence(v1::EVIDENCE_KIND_LIVE_NODE, source, v1::OUTCOME_ABSENT, message_id, why));
}

void LiveReport::Failed(absl::string_view message_id, absl::string_view source, absl::string_view why) {
  sink_(ProblemEvidence(v1::EVIDENCE_KIND_SETTINGS, source, v1::OUTCOME_FAILED, message_id, why));
}

void LiveReport::FailedRead(absl::string_view source, const absl::Status& status) {
  if (status.ok() || absl::IsNotFound(status)) return;
  sink_(ProblemEvidence(v1::EVIDENCE_KIND_SETTINGS, source, status));
}

absl::StatusOr<std::string> ReadNodeText(FileSystem& fs, absl::string_view path, std::size_t bytes_max) {
  return ReadWholeFile(fs, path, bytes_max);
}

std::string FirstLine(FileSystem& fs, absl::string_view path) {
  auto text = ReadNodeText(fs, path);
  if (!text.ok()) return "";
  return std::string(absl::StripAsciiWhitespace(absl::string_view(*text).substr(0, text->find('\n'))));
}

std::vector<std::string> SortedNames(FileSystem& fs, absl::string_view folder) {
  std::vector<std::string> names;
  fs.List(folder, [&](const DirectoryEntry& one) {
      if (names.size() < kNamesMax) names.push_back(one.name);
    }).IgnoreError();
  std::sort(names.begin(), names.end());
  return names;
}

std::string RealPathOn(FileSystem& fs, absl::string_view path) {
  return PrefixedFileSystem(fs, "").RealPath(path).value_or(std::string(path));
}

}  // namespace paritect
