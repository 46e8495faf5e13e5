// Sources that a plan may name and this version does not read yet: said, never skipped in silence.
#include "agent/collector.h"

namespace paritect {
namespace {

void NotSupported(v1::EvidenceKind kind, absl::string_view source, EvidenceSink sink) {
  v1::Evidence evidence = ProblemEvidence(kind, source, v1::OUTCOME_ABSENT, "not_supported");
  (*evidence.mutable_problem()->mutable_args())["what"] = std::string(source);
  sink(std::move(evidence));
}

void Collect(const CollectorEnv&, const v1::Plan& plan, EvidenceSink sink) {
  for (const auto& source : plan.scripts()) NotSupported(v1::EVIDENCE_KIND_SCRIPTS, source.path(), sink);
}

}  // namespace

extern const Collector kUnsupportedCollector;
const Collector kUnsupportedCollector = {"unsupported", "scripts: named, not read", &Collect};

}  // namespace paritect
