#include "server/audits/silent_bundle.h"

#include "formats/plan_sources.h"

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
  for (const PlanSource& source : SourcesOf(plan)) {
    builder.Add(source.kind, source.paths.empty() ? "" : source.paths.front(), source.subject);
  }
  if (plan.info().live()) builder.Add(v1::EVIDENCE_KIND_LIVE_NODE, "live");
  return bundle;
}

}  // namespace paritect
