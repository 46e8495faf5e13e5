// inspect --as shards: which rank reads what, and the rule behind it where the lists tell one.
// A folder stands for the files in it; the rank of a list that does not state it is the last number of its name.
#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "agent/collectors/record_files.h"
#include "agent/collectors/shard_trace.h"
#include "checks/shards/inferred_rule.h"
#include "checks/shards/view.h"
#include "client/inspector.h"
#include "common/numbers.h"
#include "common/recorded_formats.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/shards/shard_format.h"
#include "formats/shards/trace_assembler.h"

namespace paritect {
namespace {

constexpr std::size_t kFilesMax = 100'000;

// Only what states ranks itself is claimed without --as: a list of names alone might be anything.
bool Recognises(absl::string_view, bool is_folder, absl::string_view head) {
  if (is_folder || head.empty()) return false;
  const std::size_t last_line_end = head.rfind('\n');
  auto lists = ReadShardFile(last_line_end == absl::string_view::npos ? head : head.substr(0, last_line_end + 1));
  if (!lists.ok() || lists->empty()) return false;
  for (const v1::ShardList& list : *lists) {
    if (!list.has_rank() || list.items_size() == 0) return false;
  }
  return true;
}

std::optional<std::int32_t> RankOfName(absl::string_view path) {
  absl::string_view name = BaseName(path);
  while (!name.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(name.back()))) name.remove_suffix(1);
  std::size_t begin = name.size();
  while (begin > 0 && absl::ascii_isdigit(static_cast<unsigned char>(name[begin - 1]))) --begin;
  auto rank = ParseInt(name.substr(begin));
  if (!rank || *rank > INT32_MAX) return std::nullopt;
  return static_cast<std::int32_t>(*rank);
}

// `foreign`: records that another user put beside a run's; they are not read.
absl::StatusOr<std::vector<std::string>> FilesOf(FileSystem& fs, const std::vector<std::string>& paths,
                                                 std::map<std::string, std::uint32_t>& foreign) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    PARITECT_ASSIGN_OR_RETURN(const FileInfo info, fs.Stat(path));
    if (info.type != FileInfo::Type::kDirectory) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> names;
    PARITECT_RETURN_IF_ERROR(fs.List(path, [&](const DirectoryEntry& entry) { names.push_back(entry.name); }));
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      auto one = fs.Stat(JoinPath(path, name));
      if (one.ok() && one->type == FileInfo::Type::kRegular) files.push_back(JoinPath(path, name));
    }
    RecordFiles traces;
    PARITECT_RETURN_IF_ERROR(FindRecordFiles(fs, path, kTraceEndings, traces));
    foreign.merge(traces.foreign);
    const auto twice = [&](const std::string& file) { return foreign.contains(file) || traces.files.contains(file); };
    std::erase_if(files, twice);
    files.insert(files.end(), traces.files.begin(), traces.files.end());
  }
  if (files.size() > kFilesMax) return absl::ResourceExhaustedError("too many files");
  return files;
}

void AddNote(OrderedJson& notes, absl::string_view kind, std::string message, std::int64_t line = 0) {
  v1::Note note;
  note.set_kind(std::string(kind));
  note.set_message(std::move(message));
  note.set_line(line);
  notes.push_back(NoteToJson(note));
}

void AddList(CommandEnv& env, v1::ShardList list, absl::string_view source, v1::Bundle& bundle, OrderedJson& notes) {
  for (const v1::Note& note : list.notes()) notes.push_back(NoteToJson(note));
  for (const v1::Problem& problem : list.incomplete()) {
    MessageArgs args;
    for (const auto& [name, value] : problem.args()) args.emplace_back(name, value);
    auto line = problem.args().find("line");
    AddNote(notes, "incomplete", env.rules.messages.Say(problem.id(), args).en(),
            line == problem.args().end() ? 0 : ParseInt(line->second).value_or(0));
  }
  v1::Evidence& evidence = *bundle.add_evidence();
  evidence.set_kind(v1::EVIDENCE_KIND_SHARDS);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.set_source(std::string(source));
  if (list.has_rank()) evidence.set_rank(list.rank());
  *evidence.mutable_shards() = std::move(list);
}

// Everything read, as a bundle: what the checks see. Records of the recorder are of one run, whatever their number.
absl::StatusOr<v1::Bundle> ReadLists(CommandEnv& env, const std::vector<std::string>& files, OrderedJson& notes) {
  v1::Bundle bundle;
  bundle.mutable_plan()->set_role(v1::ROLE_RUN);
  std::vector<TraceFile> traces;
  for (const std::string& file : files) {
    PARITECT_ASSIGN_OR_RETURN(const std::string bytes, ReadShardBytes(env.fs, file));
    absl::Status problem;
    if (absl::StartsWith(bytes, kTraceMagic)) {
      auto trace = ReadTraceFile(bytes);
      problem = trace.status();
      if (trace.ok()) traces.push_back(*std::move(trace));
    } else {
      auto lists = ReadShardFile(bytes);
      problem = lists.status();
      for (v1::ShardList& list : lists.ok() ? *lists : ShardLists()) {
        if (auto rank = RankOfName(file); !list.has_rank() && rank) list.set_rank(*rank);
        AddList(env, std::move(list), file, bundle, notes);
      }
    }
    if (!problem.ok()) AddNote(notes, "not_recognised", absl::StrCat(DisplayBytes(file), ": ", problem.message()));
  }
  for (v1::ShardList& list : AssembleTrace(traces, 0).lists) AddList(env, std::move(list), kTraceFormat, bundle, notes);
  return bundle;
}

OrderedJson RanksToJson(const v1::Bundle& bundle, bool summary) {
  std::map<std::int64_t, std::vector<const std::string*>> by_rank;  // -1: not known
  for (const v1::Evidence& evidence : bundle.evidence()) {
    auto& items = by_rank[evidence.has_rank() ? evidence.rank() : -1];
    for (const std::string& item : evidence.shards().items()) items.push_back(&item);
  }
  OrderedJson json = OrderedJson::object();
  for (const auto& [rank, items] : by_rank) {
    OrderedJson& one = json[rank < 0 ? "unknown" : absl::StrCat(rank)];
    if (summary) {
      one["count"] = items.size();
      if (!items.empty()) one["first"] = DisplayBytes(*items.front());
      if (!items.empty()) one["last"] = DisplayBytes(*items.back());
      continue;
    }
    one = OrderedJson::array();
    for (const std::string* item : items) one.push_back(DisplayBytes(*item));
  }
  return json;
}

// null where no rule is told.
OrderedJson RuleToJson(const v1::Bundle& bundle) {
  const EvidenceSet evidence({}, {bundle});
  for (const ShardPair& pair : MakeShardPairs(evidence)) {
    for (const ShardRun& run : pair.migrated) {
      if (run.epochs.empty()) continue;
      const auto lists = ListsByRank(run, run.epochs[0]);
      const ShardRule rule = InferShardRule(pair, run, run.epochs[0]);
      if (lists.empty() || !rule.regular || (rule.split == ShardSplit::kUnknown && rule.orders == 0)) return nullptr;
      return absl::StrCat(DescribeSplit(rule, static_cast<int>(lists.size())).en(), ", ",
                          DescribeOrder(pair, rule).en());
    }
  }
  return nullptr;
}

absl::StatusOr<OrderedJson> Inspect(CommandEnv& env, const InspectRequest& request) {
  std::map<std::string, std::uint32_t> foreign;
  PARITECT_ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesOf(env.fs, request.files, foreign));
  OrderedJson notes = OrderedJson::array();
  for (const auto& [file, user] : foreign) {
    const MessageArgs args = {{"source", file}, {"what", absl::StrCat(user)}};
    AddNote(notes, "trace_foreign_file", env.rules.messages.Say("trace_foreign_file", args).en());
  }
  PARITECT_ASSIGN_OR_RETURN(const v1::Bundle bundle, ReadLists(env, files, notes));
  OrderedJson json;
  json["format"] = bundle.evidence_size() == 0 ? "unknown" : bundle.evidence(0).shards().format();
  json["notes"] = std::move(notes);
  json["ranks"] = RanksToJson(bundle, request.summary);
  json["rule"] = RuleToJson(bundle);
  return json;
}

}  // namespace

extern const Inspector kShardsInspector;
const Inspector kShardsInspector = {"shards", &Recognises, &Inspect};

}  // namespace paritect
