#include "formats/settings/settings_format.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/settings/builder.h"
#include "formats/settings/readable_text.h"
#include "formats/text_lines.h"

namespace paritect {

#define PARITECT_SETTINGS_FORMAT(name) extern const SettingsFormat k##name##Settings;
#include "formats/settings/all_settings_formats.inc"
#undef PARITECT_SETTINGS_FORMAT

absl::Span<const SettingsFormat* const> AllSettingsFormats() {
  static constexpr const SettingsFormat* kAll[] = {
#define PARITECT_SETTINGS_FORMAT(name) &k##name##Settings,
#include "formats/settings/all_settings_formats.inc"
#undef PARITECT_SETTINGS_FORMAT
  };
  return kAll;
}

const SettingsFormat* FindSettingsFormat(absl::string_view name) {
  for (const SettingsFormat* format : AllSettingsFormats()) {
    if (format->name == name) return format;
  }
  return nullptr;
}

const SettingsFormat* SniffSettings(absl::string_view head, int* surely) {
  const ReadableText readable(head.substr(0, kSettingsHeadBytes), StrayBytes::kGbk);
  const SettingsFormat* best = nullptr;
  int best_score = 0;
  for (const SettingsFormat* format : AllSettingsFormats()) {
    const int score = format->sniff(readable.view());
    if (score > best_score) {
      best = format;
      best_score = score;
    }
  }
  if (surely != nullptr) *surely = best_score;
  return best;
}

std::string StandInReason(absl::string_view head) {
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(head.substr(0, 1024));
  if (text.empty()) return head.empty() ? "empty" : head.size() <= 1024 ? "only blanks" : "";
  if (absl::StartsWith(text, "version https://git-lfs.github.com/spec/")) return "Git LFS pointer";
  if (absl::StartsWithIgnoreCase(text, "<!doctype html") || absl::StartsWithIgnoreCase(text, "<html"))
    return "HTML page";
  return "";
}

namespace {

// The format that the plan's `kind` names; nullptr where content decides.
const SettingsFormat* FormatOfKind(absl::string_view kind, absl::string_view head) {
  if (kind == "environment") return FindSettingsFormat("environment");
  if (kind == "script" || kind == "flags" || kind == "devices") {
    const SettingsFormat* seen = SniffSettings(head);
    if (kind == "script")
      return seen != nullptr && seen->name == "session-config" ? seen : FindSettingsFormat("launch-script");
    return seen != nullptr && seen->name != "environment" ? seen : FindSettingsFormat(kind);
  }
  if (kind == "packages" || kind == "versions") {
    const SettingsFormat* seen = SniffSettings(head);
    if (seen != nullptr && (seen->kind == "packages" || seen->name == "environment")) return seen;
    return kind == "packages" ? FindSettingsFormat("packages") : nullptr;
  }
  if (kind == "pipeline") {
    // A document keeps its own form; lines of NAME=VALUE would be an environment by their look.
    const SettingsFormat* seen = SniffSettings(head);
    const bool lines = seen != nullptr && seen->name == "yaml" && absl::StrContains(head, '=');
    return seen != nullptr && seen->kind == "arguments" && !lines ? seen : FindSettingsFormat(kind);
  }
  // A kind that has a form of its own is read by it, whatever it looks like.
  const SettingsFormat* own = FindSettingsFormat(kind);
  return own != nullptr && own->kind == kind ? own : nullptr;
}

// What a log of several blocks holds, or one block in a form of its own.
std::vector<v1::SettingsDocument> ScanLog(absl::string_view text, absl::string_view label) {
  LogSettingsScanner scanner(label);
  const auto feed = [&](const TextLine& line) { scanner.Feed(line.text, line.number); };
  TextLines lines;
  lines.Feed(text, feed);
  lines.Finish(feed);
  return scanner.Finish();
}

}  // namespace

namespace {

absl::StatusOr<std::vector<v1::SettingsDocument>> ReadText(absl::string_view text, absl::string_view label,
                                                           absl::string_view kind) {
  const absl::string_view head = text.substr(0, kSettingsHeadBytes);
  const SettingsFormat* format = FormatOfKind(kind, head);
  int surely = 100;
  if (format == nullptr) format = SniffSettings(head, &surely);
  if (format == nullptr || format->block) {
    // A long log may print its settings late; a binary file prints none.
    std::vector<v1::SettingsDocument> documents;
    if (!absl::StrContains(head, absl::string_view("\0", 1))) documents = ScanLog(text, label);
    if (!documents.empty()) return documents;
    return absl::UnimplementedError("no known settings format");
  }
  auto document = format->parse(text, label);
  if (!document.ok()) {
    // A weak guess that does not hold is no damage: the format is not known.
    const bool guessed = kind.empty() && surely < 50;
    return guessed ? absl::UnimplementedError(absl::StrCat("no known settings format (not ", format->name, ": ",
                                                           document.status().message(), ")"))
                   : document.status();
  }
  if (!kind.empty()) document->set_kind(std::string(kind));
  if (document->settings_size() == 0 && document->notes_size() == 0) {
    return absl::UnimplementedError(absl::StrCat("no setting found (read as ", format->name, ")"));
  }
  std::vector<v1::SettingsDocument> documents;
  documents.push_back(*std::move(document));
  return documents;
}

}  // namespace

absl::StatusOr<std::vector<v1::SettingsDocument>> ReadSettings(absl::string_view text, absl::string_view label,
                                                               absl::string_view kind) {
  if (std::string reason = StandInReason(text); !reason.empty()) return absl::FailedPreconditionError(reason);
  if (text.size() > kSettingsBytesMax) return absl::DataLossError("larger than 64 MiB");
  const ReadableText as_gbk(text, StrayBytes::kGbk);
  auto documents = ReadText(as_gbk.view(), label, kind);
  if (as_gbk.note().empty()) return documents;
  const ReadableText replaced(text, StrayBytes::kReplace);
  const bool again = !documents.ok();
  if (again) documents = ReadText(replaced.view(), label, kind);
  if (!documents.ok()) return documents;
  const ReadableText& used = again ? replaced : as_gbk;
  v1::Note& note = *documents->front().add_notes();
  note.set_kind("not_utf8");
  note.set_line(used.note_line());
  note.set_message(used.note());
  return documents;
}

}  // namespace paritect
