#include "agent/collector.h"

#include "common/utf8.h"

namespace paritect {

#define PARITECT_COLLECTOR(name) extern const Collector k##name##Collector;
#include "agent/all_collectors.inc"
#undef PARITECT_COLLECTOR

absl::Span<const Collector* const> AllCollectors() {
  static constexpr const Collector* kAll[] = {
#define PARITECT_COLLECTOR(name) &k##name##Collector,
#include "agent/all_collectors.inc"
#undef PARITECT_COLLECTOR
  };
  return kAll;
}

void EvidenceSink::AddList(v1::Evidence evidence, FilesOfList files) const {
  if (list_) return (*list_)(std::move(evidence), files);
  auto& list = *evidence.mutable_files()->mutable_files();
  files([&list](v1::FileEntry& file) {
    MakeTextsUtf8(file);
    *list.Add() = std::move(file);
  });
  one_(std::move(evidence));
}

v1::Evidence ProblemEvidence(v1::EvidenceKind kind, absl::string_view source, v1::Outcome outcome,
                             absl::string_view message_id, absl::string_view why) {
  v1::Evidence evidence;
  evidence.set_kind(kind);
  evidence.set_outcome(outcome);
  evidence.set_source(std::string(source));
  v1::Problem& problem = *evidence.mutable_problem();
  problem.set_id(std::string(message_id));
  (*problem.mutable_args())["source"] = DisplayBytes(source);
  (*problem.mutable_args())["why"] = DisplayBytes(why);
  return evidence;
}

v1::Evidence ProblemEvidence(v1::EvidenceKind kind, absl::string_view source, const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound: return ProblemEvidence(kind, source, v1::OUTCOME_ABSENT, "source_absent");
    case absl::StatusCode::kUnimplemented:
      return ProblemEvidence(kind, source, v1::OUTCOME_ABSENT, "source_unknown_format", status.message());
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kInvalidArgument:
      return ProblemEvidence(kind, source, v1::OUTCOME_FAILED, "source_damaged", status.message());
    default: return ProblemEvidence(kind, source, v1::OUTCOME_FAILED, "source_unreadable", status.message());
  }
}

v1::Evidence CollectedEvidence(v1::EvidenceKind kind, absl::string_view source) {
  v1::Evidence evidence;
  evidence.set_kind(kind);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.set_source(std::string(source));
  return evidence;
}

std::string ResolvePath(const v1::Plan& plan, absl::string_view path) { return JoinPath(plan.base(), path); }

}  // namespace paritect
