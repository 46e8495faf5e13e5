#include "agent/collect.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/redaction.h"
#include "common/glob.h"
#include "common/message_bytes.h"
#include "common/rooted_file_system.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/plan.h"
#include "formats/plan_identity.h"
#include "formats/plan_sources.h"

namespace paritect {
namespace {

constexpr std::uint64_t kPlanBytesMax = 4 << 20;

// "FILE: not there" list builder.
class PathChecker {
 public:
  PathChecker(FileSystem& fs, const v1::Plan& plan) : fs_(fs), plan_(plan) {}

  void Check(absl::string_view path, const v1::Position& at) {
    auto found = ExpandPathPattern(fs_, ResolvePath(plan_, path));
    if (found.ok() || !absl::IsNotFound(found.status())) return;
    problems_.push_back(absl::StrCat(plan_.info().plan_file(), ":", at.line(), ":", at.column(), ": ",
                                     DisplayBytes(path), ": not there"));
  }

  absl::Status Result() const {
    return problems_.empty() ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrJoin(problems_, "\n"));
  }

 private:
  FileSystem& fs_;
  const v1::Plan& plan_;
  std::vector<std::string> problems_;
};

}  // namespace

absl::StatusOr<v1::Plan> LoadPlan(FileSystem& fs, absl::string_view path, absl::string_view default_node) {
  std::string file(path);
  auto info = fs.Stat(path);
  if (info.ok() && info->type == FileInfo::Type::kDirectory) file = JoinPath(path, "plan.yaml");
  PARITECT_ASSIGN_OR_RETURN(std::string text, ReadWholeFile(fs, file, kPlanBytesMax));
  auto plan = ParsePlan(text);
  if (!plan.ok()) return absl::InvalidArgumentError(absl::StrCat(file, ":", plan.status().message()));
  plan->set_base(std::string(DirName(file)));
  v1::PlanInfo& plan_info = *plan->mutable_info();
  plan_info.set_plan_file(file);
  plan_info.mutable_identity()->set_key(PlanKey({"file", NormalPath(JoinPath(WorkingDirectory(), file))}));
  if (plan_info.node().empty()) plan_info.set_node(std::string(default_node));
  if (plan_info.run().empty()) plan_info.set_run(std::string(BaseName(plan->base() == "." ? file : plan->base())));
  for (auto& [name, origin] : *plan_info.mutable_fact_origins()) origin = absl::StrCat(file, ":", origin);
  return plan;
}

absl::Status CheckPlanPaths(FileSystem& fs, const v1::Plan& plan) {
  PathChecker checker(fs, plan);
  for (const PlanSource& source : SourcesOf(plan)) {
    for (absl::string_view one : source.paths) checker.Check(one, *source.at);
  }
  return checker.Result();
}

void CollectPlanInto(const CollectorEnv& env, const v1::Plan& plan, EvidenceSink sink) {
  const RedactionOptions redaction = {env.redaction_key, env.in_clear};
  for (const Collector* collector : AllCollectors()) {
    if (!env.only.empty() && !env.only.contains(std::string(collector->name))) continue;
    if (const auto given = env.given.find(std::string(collector->name)); given != env.given.end()) {
      for (const v1::Evidence& evidence : given->second) sink(evidence);
      continue;
    }
    if (env.progress) env.progress({.stage = collector->name});
    collector->collect(env, plan, [&](v1::Evidence evidence) {
      // Here and not in each collector: none can forget it.
      WithholdSecrets(env.rules.settings, evidence, redaction);
      // Keys and values of settings come from files in any encoding.
      MakeTextsUtf8(evidence);
      sink(std::move(evidence));
    });
  }
}

v1::Bundle CollectPlan(const CollectorEnv& env, const v1::Plan& plan) {
  v1::Bundle bundle;
  *bundle.mutable_plan() = plan.info();
  WithholdSecrets(*bundle.mutable_plan());
  CollectPlanInto(env, plan, [&bundle](v1::Evidence evidence) { *bundle.add_evidence() = std::move(evidence); });
  return bundle;
}

}  // namespace paritect
