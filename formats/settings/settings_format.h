// The contract of a settings reader: bytes of one configuration format -> SettingsDocument. One format a file,
// one line in all_settings_formats.inc.
//
// Readers keep every key, also unknown ones, as written (nested keys joined by '.'), with the value typed by
// its spelling, the text itself, and the origin "LABEL:LINE". Canonical names are given on use (rules/).
// A reader never fails on a value; it fails (DataLoss "why") when the document itself is damaged. All input is
// untrusted: sizes and depths are bounded, nothing is executed.
#ifndef PARITECT_FORMATS_SETTINGS_SETTINGS_FORMAT_H_
#define PARITECT_FORMATS_SETTINGS_SETTINGS_FORMAT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "paritect/v1/settings.pb.h"

namespace paritect {

inline constexpr std::size_t kSettingsBytesMax = 64 << 20;
inline constexpr std::size_t kSettingsHeadBytes = 64 << 10;

struct SettingsFormat {
  absl::string_view name;  // the contract's word: "megatron-args"
  absl::string_view kind;  // of the document: "arguments", "environment", "devices", "packages", ...
  // How surely `head` (the first 64 KiB) is of this format: 0 not at all ... 100 beyond doubt.
  int (*sniff)(absl::string_view head);
  // `label` names the file in origins.
  absl::StatusOr<v1::SettingsDocument> (*parse)(absl::string_view text, absl::string_view label);
  bool block = false;  // one that logs print: LogSettingsScanner reads it wherever it stands
};

absl::Span<const SettingsFormat* const> AllSettingsFormats();
const SettingsFormat* FindSettingsFormat(absl::string_view name);
// The format of which `head` is most surely (`surely` gets how surely); nullptr where none fits.
const SettingsFormat* SniffSettings(absl::string_view head, int* surely = nullptr);

// Reads a settings file: the documents in it (a log may hold several). `kind` is the plan's word where content
// cannot tell ("" otherwise). Unimplemented "why": no format fits; FailedPrecondition "why": a stand-in without
// content of its own (Git LFS pointer, HTML page, empty); DataLoss: damaged. Text that is not UTF-8 is read all the
// same (readable_text.h) and noted in the first document (`not_utf8`).
absl::StatusOr<std::vector<v1::SettingsDocument>> ReadSettings(absl::string_view text, absl::string_view label,
                                                               absl::string_view kind);

// "Git LFS pointer", "HTML page", "empty" where the bytes only stand for a file; else "".
std::string StandInReason(absl::string_view head);

// Picks out of a log what it prints of settings: Megatron's argument block, DeepSpeed's dump, MLLOG hyperparameters,
// Namespace(...), the Hugging Face banner and TrainingArguments(...), apex's option block, DLLogger parameters.
// Feed every line in order (without its line end); a line that is of no block costs a few string searches.
class LogSettingsScanner {
 public:
  explicit LogSettingsScanner(absl::string_view label);
  ~LogSettingsScanner();
  LogSettingsScanner(const LogSettingsScanner&) = delete;
  LogSettingsScanner& operator=(const LogSettingsScanner&) = delete;

  void Feed(absl::string_view line, std::int64_t line_number);
  // One document a block, in order of appearance. Of several blocks of one format the first is the trained
  // model's; the later ones are left out and noted in the first (`further_settings`).
  std::vector<v1::SettingsDocument> Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_SETTINGS_SETTINGS_FORMAT_H_
