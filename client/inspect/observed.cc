// inspect --as observed: what the observer recorded in the processes of a job (docs/observer.md): who trained, what is
// missing from the records, and the facts that checks will see. A file, or a folder of them.
#include <map>
#include <nlohmann/json.hpp>

#include "agent/collectors/record_files.h"
#include "agent/collectors/shard_trace.h"
#include "client/inspector.h"
#include "common/recorded_formats.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/observer/observed_run.h"

namespace paritect {
namespace {

constexpr absl::string_view kEndings[] = {".jsonl", ".jsonl.gz"};

bool Recognises(absl::string_view, bool is_folder, absl::string_view head) {
  return !is_folder && LooksObserved(head);
}

OrderedJson FileToJson(const ObservedFile& file) {
  const ObservedSummary summary = Summarise(file);
  OrderedJson json;
  json["file"] = file.name;
  json["process"] = summary.process;
  json["main"] = summary.main;
  json["incarnations"] = summary.incarnations;
  json["trained"] = summary.trained;
  json["ended"] = summary.ended;
  json["records"] = file.counts.records;
  json["unread"] = file.counts.unread;
  json["unknown"] = OrderedJson::object();
  for (const auto& [name, count] : file.counts.unknown) json["unknown"][name] = count;
  json["gaps"] = summary.gaps;
  return json;
}

absl::string_view KindWord(const v1::Evidence& evidence) {
  switch (evidence.payload_case()) {
    case v1::Evidence::kSettings: return evidence.settings().format();
    case v1::Evidence::kRunLog: return "steps";
    case v1::Evidence::kShards: return "samples";
    case v1::Evidence::kWeights: return "weights";
    case v1::Evidence::kTensorDump: return "operators";
    default: return "other";
  }
}

std::int64_t SizeOf(const v1::Evidence& evidence) {
  return evidence.settings().settings_size() + evidence.run_log().records_size() + evidence.shards().items_size() +
         evidence.weights().tensors_size() + evidence.tensor_dump().calls_size();
}

OrderedJson FactsToJson(const v1::SettingsDocument& facts) {
  OrderedJson json = OrderedJson::array();
  for (const v1::Setting& setting : facts.settings()) {
    OrderedJson& one = json.emplace_back();
    one["key"] = JsonText(setting.raw_key());
    one["value"] = JsonText(setting.raw_value());
    if (!setting.scope().empty()) one["scope"] = JsonText(setting.scope());
    one["origin"] = JsonText(setting.origin());
  }
  return json;
}

// What stands in the evidence, rank by rank; without --summary also the facts.
OrderedJson RanksToJson(const std::vector<v1::Evidence>& evidence, bool summary) {
  OrderedJson json = OrderedJson::object();
  for (const v1::Evidence& one : evidence) {
    OrderedJson& rank = json[one.has_rank() ? std::to_string(one.rank()) : "unknown"];
    const std::string word(KindWord(one));
    const std::int64_t before = rank.is_object() ? rank.value(word, std::int64_t{0}) : 0;
    rank[word] = before + SizeOf(one);
    if (!summary && one.settings().format() == kObservedFormat) rank["facts"] = FactsToJson(one.settings());
  }
  return json;
}

absl::StatusOr<OrderedJson> Inspect(CommandEnv& env, const InspectRequest& request) {
  RecordFiles found;
  for (const std::string& path : request.files) {
    PARITECT_RETURN_IF_ERROR(FindRecordFiles(env.fs, path, kEndings, found));
  }
  std::vector<ObservedFile> files;
  OrderedJson json;
  json["format"] = kObservedFormat;
  json["notes"] = OrderedJson::array();
  const auto note = [&](absl::string_view kind, std::string message) {
    v1::Note one;
    one.set_kind(std::string(kind));
    one.set_message(std::move(message));
    json["notes"].push_back(NoteToJson(one));
  };
  for (const auto& [file, user] : found.foreign) {
    const MessageArgs args = {{"source", file}, {"what", std::to_string(user)}};
    note("trace_foreign_file", env.rules.messages.Say("trace_foreign_file", args).en());
  }
  for (const std::string& path : found.files) {
    PARITECT_ASSIGN_OR_RETURN(const std::string bytes, ReadShardBytes(env.fs, path));
    auto file = ReadObservedFile(bytes, DisplayBytes(path));
    if (file.ok()) {
      files.push_back(*std::move(file));
    } else {
      note("not_recognised", absl::StrCat(DisplayBytes(path), ": ", file.status().message()));
    }
  }
  if (files.empty()) json["format"] = "unknown";
  json["processes"] = OrderedJson::array();
  for (const ObservedFile& file : files) json["processes"].push_back(FileToJson(file));
  json["ranks"] = RanksToJson(AssembleObserved(files), request.summary);
  return json;
}

}  // namespace

extern const Inspector kObservedInspector;
const Inspector kObservedInspector = {kObservedFormat, &Recognises, &Inspect};

}  // namespace paritect
