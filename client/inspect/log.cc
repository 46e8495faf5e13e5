// paritect inspect --as log: the records that a log gives.
#include <nlohmann/json.hpp>

#include "agent/collectors/log_files.h"
#include "client/inspector.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

bool Recognises(absl::string_view, bool is_folder, absl::string_view head) {
  if (is_folder || head.empty()) return false;
  std::string text;
  TextLines lines(DetectTextEncoding(head));
  lines.Feed(head, [&](const TextLine& line) { absl::StrAppend(&text, line.text, "\n"); });
  const LogHead view = {head, text, true};
  for (const LogFormat* format : AllLogFormats()) {
    if (format->sniff(view)) return true;
  }
  return false;
}

#define PARITECT_PUT(json, record, field) \
  if ((record).has_##field()) (json)[#field] = NumberToJson(static_cast<double>((record).field()))

OrderedJson RecordToJson(const v1::StepRecord& record) {
  OrderedJson json = OrderedJson::object();
  if (!record.step_unknown()) {
    json["step"] = record.step();
  } else if (record.step() > 0) {
    json["after_step"] = record.step();
  }
  PARITECT_PUT(json, record, epoch);
  PARITECT_PUT(json, record, rank);
  if (record.has_engine()) json["engine"] = record.engine();
  if (record.loss_absent()) json["loss"] = nullptr;
  PARITECT_PUT(json, record, loss);
  PARITECT_PUT(json, record, lr);
  PARITECT_PUT(json, record, grad_norm);
  PARITECT_PUT(json, record, loss_scale);
  if (record.has_overflow()) json["overflow"] = record.overflow();
  if (record.overflow_applied()) json["overflow_applied"] = true;
  PARITECT_PUT(json, record, skipped);
  PARITECT_PUT(json, record, accuracy);
  PARITECT_PUT(json, record, eval_loss);
  PARITECT_PUT(json, record, samples);
  if (!record.metrics().empty()) {
    std::map<std::string, double> sorted(record.metrics().begin(), record.metrics().end());
    for (const auto& [name, value] : sorted) json["metrics"][DisplayBytes(name)] = NumberToJson(value);
  }
  if (record.line() > 0) json["line"] = record.line();
  for (const v1::Note& note : record.notes()) json["notes"].push_back(NoteToJson(note));
  return json;
}

OrderedJson SegmentsToJson(const v1::RunLog& log) {
  OrderedJson segments = OrderedJson::array();
  for (const v1::Segment& segment : log.segments()) {
    OrderedJson one;
    one["first"] = segment.first();
    one["last"] = segment.last();
    if (segment.has_offset()) one["offset"] = segment.offset();
    if (segment.has_resumed_from()) one["resumed_from"] = segment.resumed_from();
    segments.push_back(std::move(one));
  }
  return segments;
}

OrderedJson EndToJson(const v1::RunEnd& end) {
  OrderedJson json = OrderedJson::object();
  static constexpr const char* kStates[] = {"unknown", "finished", "aborted", "unfinished"};
  json["state"] = kStates[end.state()];
  if (!end.evidence().empty()) json["evidence"] = DisplayBytes(end.evidence());
  if (end.line() > 0) json["line"] = end.line();
  if (end.has_last_step()) json["last_step"] = end.last_step();
  if (end.has_total_steps()) json["total_steps"] = end.total_steps();
  return json;
}

// Counts, the first and the last record, and what adds up.
OrderedJson Summary(const v1::RunLog& log) {
  std::map<std::string, std::int64_t> count;
  std::int64_t skipped = 0;
  for (const v1::StepRecord& record : log.records()) {
    count["loss"] += record.has_loss();
    count["lr"] += record.has_lr();
    count["grad_norm"] += record.has_grad_norm();
    count["loss_scale"] += record.has_loss_scale();
    count["overflow"] += record.overflow();
    count["accuracy"] += record.accuracy() != 0 || record.has_accuracy();
    count["eval_loss"] += record.has_eval_loss();
    skipped += record.skipped();
  }
  OrderedJson json;
  json["records"] = log.records_size();
  for (const auto& [field, n] : count) json["with"][field] = n;
  json["skipped"] = skipped;
  if (log.records_size() > 0) {
    json["first"] = RecordToJson(log.records(0));
    json["last"] = RecordToJson(log.records(log.records_size() - 1));
  }
  return json;
}

absl::StatusOr<OrderedJson> Inspect(CommandEnv& env, const InspectRequest& request) {
  v1::RunLog log;
  auto info = env.fs.Stat(request.files[0]);
  if (request.files.size() == 1 && info.ok() && info->type == FileInfo::Type::kDirectory) {
    PARITECT_ASSIGN_OR_RETURN(auto logs, ReadLogFolder(env.fs, request.files[0], LogOptions()));
    if (logs.empty()) {
      log.set_format("unknown");
      log.add_notes()->set_kind("no_log_in_folder");
    } else {
      log = std::move(logs[0].second);
      for (std::size_t i = 1; i < logs.size(); ++i) {
        v1::Note& note = *log.add_notes();
        note.set_kind("further_log");
        note.set_message(DisplayBytes(logs[i].first));
      }
    }
  } else {
    PARITECT_ASSIGN_OR_RETURN(log, ReadLogFiles(env.fs, request.files, LogOptions()));
  }
  OrderedJson json;
  json["format"] = log.format();
  json["notes"] = OrderedJson::array();
  for (const v1::Note& note : log.notes()) json["notes"].push_back(NoteToJson(note));
  if (request.summary) {
    json["summary"] = Summary(log);
  } else {
    json["records"] = OrderedJson::array();
    for (const v1::StepRecord& record : log.records()) json["records"].push_back(RecordToJson(record));
  }
  json["segments"] = SegmentsToJson(log);
  json["unparsed"] = OrderedJson::array();
  for (const v1::UnparsedLine& line : log.unparsed()) {
    json["unparsed"].push_back({{"line", line.line()}, {"why", DisplayBytes(line.why())}});
  }
  if (log.unparsed_total() > log.unparsed_size()) json["unparsed_total"] = log.unparsed_total();
  json["incomplete_tail"] = log.incomplete_tail();
  json["end"] = EndToJson(log.end());
  return json;
}

}  // namespace

extern const Inspector kLogInspector;
const Inspector kLogInspector = {"log", &Recognises, &Inspect};

}  // namespace paritect
