// Tensors: dumps of what modules and operators took and gave in one step, as statistics.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/collector.h"
#include "common/glob.h"
#include "common/numbers.h"
#include "formats/tensors/msprobe_dump.h"

namespace paritect {
namespace {

constexpr v1::EvidenceKind kKind = v1::EVIDENCE_KIND_TENSORS;

std::string Label(const v1::Plan& plan, absl::string_view path) {
  const std::string base = absl::StrCat(plan.base(), "/");
  return std::string(absl::StartsWith(path, base) ? path.substr(base.size()) : path);
}

// ".../step0/rank3/dump.json": the folder names the rank where the pattern does not.
std::optional<std::int32_t> RankOf(const PathMatch& match) {
  if (match.captures.rank) return match.captures.rank;
  absl::string_view folder = BaseName(DirName(match.path));
  if (!absl::ConsumePrefix(&folder, "rank")) return std::nullopt;
  const auto rank = ParseInt(folder);
  if (!rank.has_value() || *rank < 0 || *rank > INT32_MAX) return std::nullopt;
  return static_cast<std::int32_t>(*rank);
}

v1::Evidence ReadOne(const CollectorEnv& env, const v1::Plan& plan, const v1::TensorsSource& source,
                     const PathMatch& match) {
  const std::string label = Label(plan, match.path);
  auto text = ReadWholeFile(env.fs, match.path, kTensorDumpBytesMax);
  if (!text.ok()) return ProblemEvidence(kKind, label, text.status());
  const std::string beside = JoinPath(std::string(DirName(match.path)), "construct.json");
  auto construct = ReadWholeFile(env.fs, beside, kTensorDumpBytesMax);
  auto dump = ReadMsprobeDump(*text, construct.ok() ? *construct : "");
  if (!dump.ok()) {
    return absl::IsInvalidArgument(dump.status())
               ? ProblemEvidence(kKind, label, v1::OUTCOME_ABSENT, "source_unknown_format", dump.status().message())
               : ProblemEvidence(kKind, label, dump.status());
  }
  dump->set_step(source.step());
  v1::Evidence evidence = CollectedEvidence(kKind, label);
  if (const auto rank = RankOf(match)) {
    dump->set_rank(*rank);
    evidence.set_rank(*rank);
  }
  *evidence.mutable_tensor_dump() = *std::move(dump);
  return evidence;
}

void Collect(const CollectorEnv& env, const v1::Plan& plan, EvidenceSink sink) {
  for (const v1::TensorsSource& source : plan.tensors()) {
    auto matches = ExpandPathPattern(env.fs, ResolvePath(plan, source.file()));
    if (!matches.ok()) {
      sink(ProblemEvidence(kKind, source.file(), matches.status()));
      continue;
    }
    if (matches->empty()) sink(ProblemEvidence(kKind, source.file(), v1::OUTCOME_ABSENT, "pattern_matches_nothing"));
    for (const PathMatch& match : *matches) sink(ReadOne(env, plan, source, match));
  }
}

}  // namespace

extern const Collector kTensorsCollector;
const Collector kTensorsCollector = {"tensors", "dumps of operators as statistics", &Collect, true};

}  // namespace paritect
