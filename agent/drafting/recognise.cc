#include "agent/drafting/recognise.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/collectors/log_files.h"
#include "agent/collectors/shard_trace.h"
#include "common/read_head.h"
#include "common/recorded_formats.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/archives/gzip.h"
#include "formats/archives/tar.h"
#include "formats/archives/zip.h"
#include "formats/bundle.h"
#include "formats/datasets/manifest.h"
#include "formats/datasets/records/record_form.h"
#include "formats/logs/read_log.h"
#include "formats/observer/record.h"
#include "formats/plan.h"
#include "formats/plan_sources.h"
#include "formats/settings/settings_format.h"
#include "formats/shards/shard_format.h"
#include "formats/shards/trace_records.h"
#include "formats/tensors/msprobe_dump.h"
#include "formats/weights/weights_format.h"
#include "rules/folder_words.h"
#include "rules/log_formats.h"
#include "rules/metrics.h"
#include "rules/setting_values.h"
#include "rules/settings_formats.h"

namespace paritect {
namespace {

constexpr std::size_t kHeadBytes = 64 << 10;
constexpr std::uint64_t kLogBytesMax = 32 << 20;  // of a log, inflated, to see what it is
constexpr std::uint64_t kListBytesMax = 256 << 20;
constexpr int kSurelySettings = 50;
// A plain document is one of settings where so many of its keys are known ones, or one of so few.
constexpr int kKnownKeysMin = 2;
constexpr int kKeysOfOneKnown = 4;
constexpr std::size_t kLossesKept = 1000;

RecognisedFile Unknown(absl::string_view why, absl::string_view seen = "") {
  RecognisedFile file;
  file.why = std::string(why);
  file.seen = DisplayBytes(seen);
  return file;
}

RecognisedFile Of(FileKind kind, absl::string_view format) {
  RecognisedFile file;
  file.kind = kind;
  file.format = std::string(format);
  return file;
}

// The first bytes of a log.
class BeginningBytes : public LogBytes {
 public:
  explicit BeginningBytes(std::unique_ptr<LogBytes> source, bool& more) : source_(std::move(source)), more_(more) {}
  absl::StatusOr<std::size_t> Read(absl::Span<char> buffer) override {
    if (left_ == 0) {
      more_ = true;
      return 0;
    }
    PARITECT_ASSIGN_OR_RETURN(const std::size_t n, source_->Read(buffer.first(std::min(buffer.size(), left_))));
    left_ -= n;
    return n;
  }
  absl::StatusOr<std::uint64_t> SkipHole() override { return source_->SkipHole(); }

 private:
  std::unique_ptr<LogBytes> source_;
  bool& more_;
  std::size_t left_ = kLogBytesMax;
};

bool IsGeneral(absl::string_view format) {
  return FactsOfLogFormat(format).general_form;
}

void AddValues(const Rules& rules, const v1::SettingsDocument& document, RecognisedFile& file) {
  for (const v1::Setting& setting : document.settings()) {
    for (const CanonicalSetting& one : rules.settings.Canonicalise(document.format(), setting)) {
      file.values[one.key->key] = ValueToText(one.value);
    }
  }
}

// Reads as one file would be read; kUnknown where it is no log. A general form must hold a curve to be one: rows of
// samples have steps and numbers, too.
RecognisedFile AsLog(FileSystem& fs, const Rules& rules, const std::string& path) {
  bool more = false;
  auto log = ReadLog(
      [&]() -> absl::StatusOr<std::unique_ptr<LogBytes>> {
        PARITECT_ASSIGN_OR_RETURN(std::unique_ptr<LogBytes> bytes, OpenLogFile(fs, path));
        return std::make_unique<BeginningBytes>(std::move(bytes), more);
      },
      LogOptions());
  if (!log.ok() || log->format() == "unknown") return Unknown("");
  RecognisedFile file = Of(FileKind::kLog, log->format());
  file.records = log->records_size();
  file.more = more;
  file.finished = log->end().state() == v1::RunEnd::STATE_FINISHED;
  for (const v1::StepRecord& record : log->records()) {
    if (record.has_loss() && file.losses.size() < kLossesKept) {
      file.losses.insert({record.step(), {record.loss(), record.loss_resolution()}});
    }
    file.curve = file.curve || record.has_loss() || (log->format() == "mlflow" && !record.metrics().empty());
  }
  const bool settings = log->settings_size() > 0;
  if (settings) AddValues(rules, log->settings(0), file);
  if (file.records == 0 && !settings && !FactsOfLogFormat(file.format).may_be_empty) return Unknown("");
  // One object under a recorder's names (W&B's summary) is what a training came to.
  if (file.format == "jsonl" && file.records == 1) return Unknown("not_taken_results");
  return file.curve || !IsGeneral(file.format) ? file : Unknown("");
}

// Forms of settings that stand in logs, between other lines.
bool StandsInLogs(absl::string_view format) {
  return FactsOfSettingsFormat(format).printed || FactsOfSettingsFormat(format).in_logs;
}

bool HasKnownKeys(const Rules& rules, const std::vector<v1::SettingsDocument>& documents) {
  int known = 0;
  int all = 0;
  for (const v1::SettingsDocument& document : documents) {
    for (const v1::Setting& setting : document.settings()) {
      known += rules.settings.Canonicalise(document.format(), setting).empty() ? 0 : 1;
      ++all;
    }
  }
  return known >= kKnownKeysMin || (known > 0 && all <= kKeysOfOneKnown);
}

// A model's description (Hugging Face config.json) tells of the model, with values that a training may use otherwise.
bool IsModelDescription(absl::string_view head) {
  return absl::StrContains(head, "\"model_type\"") || absl::StrContains(head, "\"architectures\"");
}

// What a training came to, written down at its end (Hugging Face's all_results.json): a number under the name of a loss
// or an accuracy is measured, never set. A document that sets how the model is trained is one of settings all the same.
bool StatesResults(const Rules& rules, const std::vector<v1::SettingsDocument>& documents) {
  const std::vector<std::string>& measured = BuiltInFolderWords().measured;
  const std::vector<std::string>& set = BuiltInFolderWords().set;
  bool any = false;
  for (const v1::SettingsDocument& document : documents) {
    for (const v1::Setting& setting : document.settings()) {
      for (const CanonicalSetting& one : rules.settings.Canonicalise(document.format(), setting)) {
        if (std::find(set.begin(), set.end(), one.key->group) != set.end()) return false;
      }
      const auto kind = setting.value().kind_case();
      if (kind != v1::Value::kNumber && kind != v1::Value::kInteger) continue;
      const auto field = LogFieldNames().find(NormalMetricKey(setting.raw_key()));
      any = any || (field != LogFieldNames().end() &&
                    std::find(measured.begin(), measured.end(), field->second) != measured.end());
    }
  }
  return any;
}

RecognisedFile AsSettings(FileSystem& fs, const Rules& rules, const std::string& path, absl::string_view head,
                          bool plain) {
  int surely = 0;
  const SettingsFormat* format = SniffSettings(head, &surely);
  if (format == nullptr || (surely >= kSurelySettings) == plain) return Unknown("");
  if (FactsOfSettingsFormat(format->name).is_log) return Unknown("");
  auto bytes = ReadWholeFile(fs, path, kSettingsBytesMax);
  if (!bytes.ok()) return Unknown("not_taken_unreadable");
  auto documents = ReadSettings(*bytes, DisplayBytes(BaseName(path)), "");
  if (!documents.ok() || documents->empty()) return Unknown("");
  const std::string& name = (*documents)[0].format();
  const bool document = FactsOfSettingsFormat(name).any_document;
  if (document && IsModelDescription(head)) return Unknown("not_taken_model");
  if (document && StatesResults(rules, *documents)) return Unknown("not_taken_results");
  if (document && !HasKnownKeys(rules, *documents)) return Unknown("not_taken_no_known_key", name);
  RecognisedFile file = Of(FileKind::kSettings, name);
  file.document = FactsOfSettingsFormat(name).document;
  const bool launch = name == "launch-script";
  if (launch || file.document) file.text = std::string(head);
  if (launch || StandsInLogs(name)) AddValues(rules, (*documents)[0], file);
  for (const v1::Setting& setting : (*documents)[0].settings()) {
    if (setting.raw_key() == "launch.entry") file.command_entry = setting.raw_value();
  }
  return file;
}

RecognisedFile AsFileList(FileSystem& fs, const std::string& path, absl::string_view head) {
  // A configuration may hold a digest, too: an object needs the words of a list.
  const bool object = absl::StartsWith(absl::StripLeadingAsciiWhitespace(head), "{");
  const bool words = absl::StrContains(head, "\"files\"") || absl::StrContains(head, "\"relpath\"") ||
                     absl::StrContains(head, "\"Hashes\"") || absl::StrContains(head, "\"etag\"");
  if ((object && !words) || !LooksLikeManifest(head, path)) return Unknown("");
  auto bytes = ReadWholeFile(fs, path, kListBytesMax);
  if (!bytes.ok()) return Unknown("not_taken_unreadable");
  auto list = ParseManifest(*bytes, path);
  if (!list.ok() || list->files_size() == 0) return Unknown("");
  RecognisedFile file = Of(FileKind::kFileList, list->format());
  file.entries = list->files_size();
  return file;
}

// Lines that say of each list whose it is; a plain list of names only where the file's name says it (the caller asks).
RecognisedFile AsShards(FileSystem& fs, const std::string& path) {
  auto bytes = ReadShardBytes(fs, path);
  if (!bytes.ok() || bytes->size() > kListBytesMax) return Unknown("");
  auto lists = ReadShardFile(*bytes);
  if (!lists.ok() || lists->empty()) return Unknown("");
  RecognisedFile file = Of(FileKind::kShards, (*lists)[0].format());
  file.states_rank = true;
  for (const v1::ShardList& list : *lists) {
    file.states_rank = file.states_rank && list.has_rank() && list.items_size() > 0;
    file.entries += list.items_size();
  }
  const bool ranked = NumberBehind(BaseName(path), BuiltInFolderWords().ranks).has_value();
  const bool plain = file.format == "shard-list";
  if (file.entries == 0) return Unknown("");
  if (file.states_rank || (ranked && plain && lists->size() == 1)) return file;
  return Unknown("");
}

RecognisedFile AsWeights(FileSystem& fs, const std::string& path) {
  auto sample = SampleWeights(fs, path);
  if (!sample.ok()) return Unknown("");
  const WeightsFormat* format = RecogniseWeights(*sample);
  return format == nullptr ? Unknown("") : Of(FileKind::kWeights, format->name);
}

RecognisedFile AsData(const std::string& path, absl::string_view head, std::uint64_t size) {
  RecordHead record;
  record.path = path;
  record.bytes = head;
  record.size = size;
  const absl::string_view name = BaseName(path);
  const std::size_t dot = name.rfind('.');
  if (dot != absl::string_view::npos) record.extension = absl::AsciiStrToLower(name.substr(dot + 1));
  const RecordForm* form = FindRecordForm(record, false);
  return form == nullptr || form->format == "text" ? Unknown("") : Of(FileKind::kData, form->format);
}

// Several files in one; a plain reader would take them for the text that happens to stand in them. Data may be packed,
// and some kinds of evidence are ZIPs: those were asked before.
bool IsTar(FileSystem& fs, const std::string& path, absl::string_view head) {
  if (!LooksLikeGzip(head)) return LooksLikeTar(head);
  std::string inner(kTarBlockBytes, '\0');
  auto bytes = OpenLogFile(fs, path);
  if (!bytes.ok()) return false;
  std::size_t filled = 0;
  while (filled < inner.size()) {
    const auto n = (*bytes)->Read(absl::MakeSpan(inner).subspan(filled));
    if (!n.ok() || *n == 0) break;
    filled += *n;
  }
  return LooksLikeTar(absl::string_view(inner).substr(0, filled));
}

bool IsPython(absl::string_view path) {
  return absl::EndsWith(path, ".py") || absl::EndsWith(path, ".pyw");
}

bool IsPlan(absl::string_view head) {
  if (absl::StrContains(head, absl::string_view("\0", 1))) return false;
  const auto plan = ParsePlan(head);
  return plan.ok() && !SourcesOf(*plan).empty();
}

// What states itself by its first bytes.
RecognisedFile ByMagic(const std::string& path, absl::string_view head) {
  if (LooksLikeBundle(head)) return Of(FileKind::kBundle, "bundle");
  if (absl::StartsWith(head, kTraceMagic)) return Of(FileKind::kTrace, kTraceFormat);
  if (absl::EndsWith(path, ".ptrace.gz")) return Of(FileKind::kTrace, kTraceFormat);
  if (LooksObserved(head)) return Of(FileKind::kObserved, kObservedFormat);
  if (LooksLikeMsprobeDump(head)) return Of(FileKind::kTensors, "msprobe-dump");
  return Unknown("");
}

}  // namespace

RecognisedFile RecogniseFile(FileSystem& fs, const Rules& rules, const std::string& path, std::uint64_t size_bytes) {
  if (size_bytes == 0) return Unknown("not_taken_empty");
  const auto head = ReadHead(fs, path, kHeadBytes);
  if (!head.ok()) return Unknown("not_taken_unreadable");
  if (const std::string stand_in = StandInReason(*head); !stand_in.empty()) {
    return Unknown("not_taken_stand_in", stand_in);
  }
  std::string why;
  std::string seen;
  const auto taken = [&](const RecognisedFile& file) {
    if (why.empty() && !file.why.empty()) {
      why = file.why;
      seen = file.seen;
    }
    return file.kind != FileKind::kUnknown;
  };
  RecognisedFile file;
  if (taken(file = ByMagic(path, *head))) return file;
  if (IsPython(path)) {
    // A configuration in Python is one where its reader is sure; it is a script all the same.
    file = AsSettings(fs, rules, path, *head, false);
    return file.kind == FileKind::kSettings && file.format == "mmengine-config" ? file
                                                                                : Of(FileKind::kScript, "python");
  }
  if (IsTar(fs, path, *head)) {
    file = AsData(path, *head, size_bytes);
    return file.kind == FileKind::kData ? file : Unknown("not_taken_archive");
  }
  if (IsPlan(*head)) return Of(FileKind::kPlan, "plan");
  RecognisedFile log = AsLog(fs, rules, path);
  if (taken(log) && !IsGeneral(log.format)) return log;
  if (taken(file = AsFileList(fs, path, *head))) return file;
  if (taken(file = AsSettings(fs, rules, path, *head, false))) {
    // A log of a general form whose program printed its arguments, its model or what it ran on before: what of it
    // stands in logs is read of it as a log, and the curve is not lost.
    if (log.kind != FileKind::kLog || !StandsInLogs(file.format)) return file;
    log.values.merge(file.values);
    return log;
  }
  if (taken(file = AsWeights(fs, path))) return file;
  if (log.kind == FileKind::kLog) return log;
  if (taken(file = AsShards(fs, path))) return file;
  if (taken(file = AsSettings(fs, rules, path, *head, true))) return file;
  if (why.empty() && taken(file = AsData(path, *head, size_bytes))) return file;
  if (LooksLikeZip(*head)) return Unknown("not_taken_archive");
  return why.empty() ? Unknown("not_taken_unknown") : Unknown(why, seen);
}

}  // namespace paritect
