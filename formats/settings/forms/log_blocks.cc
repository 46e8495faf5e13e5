// Settings files that are what a log prints: an argument block, a Namespace(...), a dump, a banner. Parsed by the
// scanner of logs; a file that holds several blocks is read as a log (ReadSettings).
#include "absl/strings/match.h"
#include "formats/settings/builder.h"
#include "formats/settings/settings_format.h"

namespace paritect {
namespace {

absl::StatusOr<v1::SettingsDocument> ParseBlock(absl::string_view text, absl::string_view label) {
  LogSettingsScanner scanner(label);
  ForEachLine(text, [&](absl::string_view line, std::int64_t number) { scanner.Feed(line, number); });
  std::vector<v1::SettingsDocument> documents = scanner.Finish();
  if (documents.empty()) return absl::DataLossError("the block is cut off before its first setting");
  return std::move(documents[0]);
}

int Has(absl::string_view head, absl::string_view words, int score) {
  return absl::StrContains(head, words) ? score : 0;
}

int SniffMegatron(absl::string_view head) {
  return std::max(Has(head, "--- arguments ---", 88), Has(head, "using world size:", 40));
}
int SniffNamespace(absl::string_view head) {
  return Has(head, "Namespace(", 70);
}
int SniffApex(absl::string_view head) {
  return Has(head, "Selected optimization level O", 70);
}
int SniffDeepSpeedDump(absl::string_view head) {
  return Has(head, "DeepSpeedEngine configuration:", 87);
}
int SniffMllog(absl::string_view head) {
  return Has(head, ":::ML", 86);
}
int SniffDllogger(absl::string_view head) {
  return absl::StrContains(head, "DLL") && absl::StrContains(head, "PARAMETER") ? 85 : 0;
}
int SniffBanner(absl::string_view head) {
  return std::max({Has(head, "Total train batch size (w. parallel", 60), Has(head, "***** Running training *****", 60),
                   Has(head, "TrainingArguments(", 65)});
}

}  // namespace

extern const SettingsFormat kMegatronArgsSettings;
const SettingsFormat kMegatronArgsSettings = {"megatron-args", "arguments", &SniffMegatron, &ParseBlock, true};
extern const SettingsFormat kArgparseSettings;
const SettingsFormat kArgparseSettings = {"argparse-namespace", "arguments", &SniffNamespace, &ParseBlock, true};
extern const SettingsFormat kApexSettings;
const SettingsFormat kApexSettings = {"apex-options", "arguments", &SniffApex, &ParseBlock, true};
extern const SettingsFormat kDeepSpeedDumpSettings;
const SettingsFormat kDeepSpeedDumpSettings = {"deepspeed-dump", "arguments", &SniffDeepSpeedDump, &ParseBlock, true};
extern const SettingsFormat kMllogSettings;
const SettingsFormat kMllogSettings = {"mllog", "arguments", &SniffMllog, &ParseBlock, true};
extern const SettingsFormat kDlloggerSettings;
const SettingsFormat kDlloggerSettings = {"dllogger", "arguments", &SniffDllogger, &ParseBlock, true};
extern const SettingsFormat kBannerSettings;
const SettingsFormat kBannerSettings = {"hf-banner", "arguments", &SniffBanner, &ParseBlock, true};

}  // namespace paritect
