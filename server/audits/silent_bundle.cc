#include "server/audits/silent_bundle.h"

namespace paritect {
namespace {

class Builder {
 public:
  Builder(v1::Bundle& bundle, absl::string_view node, absl::string_view refused)
      : bundle_(bundle), node_(node), refused_(refused) {}

  void Add(v1::EvidenceKind kind, absl::string_view source, absl::string_view subject = "") {
    v1::Evidence& evidence = *bundle_.add_evidence();
    evidence.set_kind(kind);
    evidence.set_outcome(v1::OUTCOME_FAILED);
    evidence.set_source(std::string(source));
    evidence.set_subject(std::string(subject));
    v1::Problem& problem = *evidence.mutable_problem();
    problem.set_id(refused_.empty() ? "node_silent_evidence" : "node_refused_plan");
    (*problem.mutable_args())["node"] = std::string(node_);
    if (!refused_.empty()) (*problem.mutable_args())["why"] = std::string(refused_);
  }

 private:
  v1::Bundle& bundle_;
  absl::string_view node_;
  absl::string_view refused_;
};

}  // namespace

v1::Bundle SilentBundle(const v1::Plan& plan, absl::string_view node, absl::string_view refused) {
  v1::Bundle bundle;
  *bundle.mutable_plan() = plan.info();
  bundle.mutable_plan()->set_node(std::string(node));
  Builder builder(bundle, node, refused);
  for (const auto& one : plan.datasets()) {
    const bool listing = !one.listing().empty();
    builder.Add(listing ? v1::EVIDENCE_KIND_DATASET_LISTING : v1::EVIDENCE_KIND_DATASET_FILES,
                listing              ? one.listing()
                : one.root().empty() ? one.manifest()
                                     : one.root(),
                one.name());
  }
  for (const auto& one : plan.shards()) {
    builder.Add(v1::EVIDENCE_KIND_SHARDS, one.list().empty() ? one.trace() : one.list(), one.dataset());
  }
  for (const auto& one : plan.settings()) builder.Add(v1::EVIDENCE_KIND_SETTINGS, one.file());
  for (const auto& one : plan.logs()) builder.Add(v1::EVIDENCE_KIND_RUN_LOG, one.file());
  for (const auto& one : plan.weights()) builder.Add(v1::EVIDENCE_KIND_WEIGHTS, one.file());
  for (const auto& one : plan.tensors()) builder.Add(v1::EVIDENCE_KIND_TENSORS, one.file());
  for (const auto& one : plan.scripts()) builder.Add(v1::EVIDENCE_KIND_SCRIPTS, one.path());
  for (const auto& one : plan.observed()) builder.Add(v1::EVIDENCE_KIND_SETTINGS, one.path());
  if (plan.info().live()) builder.Add(v1::EVIDENCE_KIND_LIVE_NODE, "live");
  return bundle;
}

}  // namespace paritect
