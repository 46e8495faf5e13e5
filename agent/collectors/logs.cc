// Logs: what the runs printed, one piece of evidence a log (all files of one rank are one log).
#include <functional>
#include <map>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/collector.h"
#include "agent/collectors/log_files.h"
#include "common/glob.h"
#include "common/in_order.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr v1::EvidenceKind kKind = v1::EVIDENCE_KIND_RUN_LOG;

std::string ShownPath(const v1::Plan& plan, absl::string_view path) {
  const std::string prefix = absl::StrCat(plan.base(), "/");
  return std::string(absl::StartsWith(path, prefix) ? path.substr(prefix.size()) : path);
}

v1::Evidence LogEvidence(v1::RunLog log, absl::string_view shown) {
  if (log.format() == "unknown") {
    const std::string why = log.notes_size() > 0 ? log.notes(0).message() : "";
    const bool stand_in = log.notes_size() > 0 && log.notes(0).kind() == "stand_in";
    // Text that speaks of no loss at all: what a program printed beside its log.
    if (log.notes_size() > 0 && log.notes(0).kind() == "no_records") {
      return ProblemEvidence(kKind, shown, v1::OUTCOME_ABSENT, "log_without_records", why);
    }
    if (log.notes_size() > 0 && log.notes(0).kind() == "empty") {
      return ProblemEvidence(kKind, shown, v1::OUTCOME_FAILED, "log_empty", why);
    }
    return stand_in ? ProblemEvidence(kKind, shown, v1::OUTCOME_FAILED, "source_stand_in", why)
                    : ProblemEvidence(kKind, shown, v1::OUTCOME_ABSENT, "source_unknown_format", why);
  }
  for (const v1::Note& note : log.notes()) {
    if (note.kind() != "pattern_never_matches") continue;
    return ProblemEvidence(kKind, shown, v1::OUTCOME_ABSENT, "log_pattern_never_matches", note.message());
  }
  v1::Evidence evidence = CollectedEvidence(kKind, shown);
  *evidence.mutable_run_log() = std::move(log);
  return evidence;
}

v1::Evidence ReadOne(const CollectorEnv& env, const std::vector<std::string>& paths, const LogOptions& options,
                     absl::string_view shown) {
  SeenBytes seen;
  auto log = ReadLogFiles(env.fs, paths, options, &seen);
  if (!log.ok()) return ProblemEvidence(kKind, shown, log.status());
  v1::Evidence evidence = LogEvidence(std::move(*log), shown);
  // Tells a copy from another run (checks/series/run_copies.h).
  v1::Note& note = *evidence.add_notes();
  note.set_kind("log_bytes");
  note.set_message(absl::StrCat(seen.digest, " ", seen.first_time));
  return evidence;
}

// What one log gave; read on a thread of its own.
using Pieces = std::vector<v1::Evidence>;
using ReadPieces = std::function<Pieces()>;

void EmitLogs(const v1::Plan& plan, NamedLogs logs, std::optional<std::int32_t> rank, EvidenceSink sink) {
  for (auto& [path, log] : logs) {
    v1::Evidence evidence = LogEvidence(std::move(log), ShownPath(plan, path));
    if (rank) evidence.set_rank(*rank);
    sink(std::move(evidence));
  }
}

// A folder (TensorBoard, MLflow, a Lightning version) may hold several logs.
void ReadFolder(const CollectorEnv& env, const v1::Plan& plan, const std::string& folder, const LogOptions& options,
                std::optional<std::int32_t> rank, EvidenceSink sink) {
  const std::string shown = ShownPath(plan, folder);
  auto logs = ReadLogFolder(env.fs, folder, options);
  if (!logs.ok()) return sink(ProblemEvidence(kKind, shown, logs.status()));
  if (logs->empty()) {
    return sink(ProblemEvidence(kKind, shown, v1::OUTCOME_ABSENT, "source_unknown_format", "no log in this folder"));
  }
  EmitLogs(plan, *std::move(logs), rank, sink);
}

// The ranks that the name's numbers leave out: 0 to the largest, or to the world size.
void MissingRanks(const v1::Plan& plan, const v1::LogSource& source,
                  const std::map<std::int32_t, std::vector<std::string>>& ranks, EvidenceSink sink) {
  if (ranks.empty() || ranks.begin()->first < 0) return;
  const std::int32_t world = plan.info().has_world_size() ? plan.info().world_size() : ranks.rbegin()->first + 1;
  for (std::int32_t rank = 0; rank < world; ++rank) {
    if (ranks.count(rank) > 0) continue;
    v1::Evidence evidence = ProblemEvidence(kKind, source.file(), v1::OUTCOME_ABSENT, "log_rank_missing");
    (*evidence.mutable_problem()->mutable_args())["rank"] = absl::StrCat(rank);
    evidence.set_rank(rank);
    sink(std::move(evidence));
  }
}

void CollectGroup(const CollectorEnv& env, const v1::Plan& plan, const std::vector<std::string>& paths,
                  const LogOptions& options, std::int32_t rank, EvidenceSink sink) {
  auto emit = [&](const std::vector<std::string>& parts) {
    v1::Evidence evidence = ReadOne(env, parts, options, ShownPath(plan, parts[0]));
    if (rank >= 0) evidence.set_rank(rank);
    sink(std::move(evidence));
  };
  if (paths.size() == 1) return emit(paths);
  if (auto runs = ReadMetricFiles(env.fs, paths, options); runs.ok() && !runs->empty()) {
    return EmitLogs(plan, *std::move(runs), rank >= 0 ? std::optional(rank) : std::nullopt, sink);
  }
  auto parts = OrderLogParts(env.fs, paths, options);
  if (parts.ok() && !PartsOverlap(*parts)) return emit(paths);
  for (const std::string& path : paths) emit({path});
}

// The source's logs, each to be read by itself.
void ListSource(const CollectorEnv& env, const v1::Plan& plan, const v1::LogSource& source,
                std::vector<ReadPieces>& logs) {
  const auto told = [&logs](v1::Evidence evidence) {
    logs.emplace_back([evidence = std::move(evidence)] { return Pieces{evidence}; });
  };
  const std::string pattern = ResolvePath(plan, source.file());
  auto found = ExpandPathPattern(env.fs, pattern);
  if (!found.ok()) return told(ProblemEvidence(kKind, source.file(), found.status()));
  if (found->empty()) {
    return told(ProblemEvidence(kKind, source.file(), v1::OUTCOME_ABSENT, "pattern_matches_nothing"));
  }
  std::map<std::int32_t, std::vector<std::string>> by_rank;
  LogOptions options;
  options.format = source.format();
  options.pattern = source.pattern();
  for (const PathMatch& match : *found) {
    auto info = env.fs.Stat(match.path);
    if (info.ok() && info->type == FileInfo::Type::kDirectory) {
      logs.emplace_back([&env, &plan, match, options] {
        Pieces pieces;
        ReadFolder(env, plan, match.path, options, match.captures.rank,
                   [&](v1::Evidence one) { pieces.push_back(std::move(one)); });
        return pieces;
      });
    } else {
      by_rank[match.captures.rank.value_or(-1)].push_back(match.path);
    }
  }
  for (const auto& [rank, paths] : by_rank) {
    logs.emplace_back([&env, &plan, rank = rank, paths = paths, options] {
      Pieces pieces;
      CollectGroup(env, plan, paths, options, rank, [&](v1::Evidence one) { pieces.push_back(std::move(one)); });
      return pieces;
    });
  }
  MissingRanks(plan, source, by_rank, told);
}

void Collect(const CollectorEnv& env, const v1::Plan& plan, EvidenceSink sink) {
  std::vector<ReadPieces> logs;
  for (const v1::LogSource& source : plan.logs()) ListSource(env, plan, source, logs);
  MakeInOrder(
      logs.size(), env.log_jobs, [&](std::size_t i) { return logs[i](); },
      [&](Pieces pieces) {
        for (v1::Evidence& one : pieces) sink(std::move(one));
      });
}

}  // namespace

extern const Collector kLogsCollector;
const Collector kLogsCollector = {"logs", "steps, losses, overflows and settings that runs print", &Collect, true};

}  // namespace paritect
