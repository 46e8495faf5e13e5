// live: true — this node's own devices, versions, packages, training processes and host (docs/live-node.md).
#include "agent/live/live_parts.h"
#include "common/numbers.h"

namespace paritect {
namespace {

// A process of the training that is meant, where several run: `facts: {live_pid: 1234}`.
std::optional<int> WantedProcess(const v1::Plan& plan) {
  auto fact = plan.info().facts().find("live_pid");
  if (fact == plan.info().facts().end() || fact->second.kind_case() != v1::Value::kInteger) return std::nullopt;
  return static_cast<int>(fact->second.integer());
}

void Collect(const CollectorEnv& env, const v1::Plan& plan, EvidenceSink sink) {
  if (!plan.info().live()) return;
  if (env.live == nullptr) {
    v1::Evidence evidence = ProblemEvidence(v1::EVIDENCE_KIND_LIVE_NODE, "live", v1::OUTCOME_ABSENT, "not_supported");
    (*evidence.mutable_problem()->mutable_args())["what"] = "live";
    return sink(std::move(evidence));
  }
  LiveReport report(env, sink);
  const DeviceSurvey devices = ReportDevices(report);
  ProcessSurvey processes;
  if (env.live_processes) {
    processes = SurveyProcesses(env.live->fs, devices.processes, WantedProcess(plan));
    ReportProcesses(report, processes);
  }
  ReportVersions(report, devices, processes);
  ReportPackages(report, processes);
  ReportHost(report, processes);
}

}  // namespace

extern const Collector kLiveNodeCollector;
const Collector kLiveNodeCollector = {"live", "this node's devices, versions, packages, processes, host", &Collect};

}  // namespace paritect
