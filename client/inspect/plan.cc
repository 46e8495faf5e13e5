// inspect without --as: a collection plan or an evidence bundle, recognised by content.
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/inspector.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/bundle.h"
#include "formats/plan.h"
#include "formats/plan_sources.h"

namespace paritect {
namespace {

constexpr std::size_t kPlanBytesMax = 4 << 20;
constexpr std::size_t kListMax = 1000;

// A file that is a plan in every key, and names something to collect or a fact.
bool RecognisesPlan(absl::string_view, bool is_folder, absl::string_view head) {
  if (is_folder || absl::StrContains(head, absl::string_view("\0", 1))) return false;
  const auto plan = ParsePlan(head);
  return plan.ok() && (!SourcesOf(*plan).empty() || plan->info().facts_size() > 0);
}

OrderedJson InfoToJson(const v1::PlanInfo& info) {
  OrderedJson json = OrderedJson::object();
  if (!info.run().empty()) json["run"] = info.run();
  if (!info.node().empty()) json["node"] = info.node();
  json["role"] = RoleWord(info.role());
  if (!info.platform().empty()) json["platform"] = info.platform();
  if (!info.framework().empty()) json["framework"] = info.framework();
  if (info.has_world_size()) json["world_size"] = info.world_size();
  return json;
}

absl::StatusOr<OrderedJson> InspectPlan(CommandEnv& env, const InspectRequest& request) {
  PARITECT_ASSIGN_OR_RETURN(std::string text, ReadWholeFile(env.fs, request.files[0], kPlanBytesMax));
  PARITECT_ASSIGN_OR_RETURN(const v1::Plan plan, ParsePlan(text));
  OrderedJson json;
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  json["format"] = start != std::string::npos && text[start] == '{' ? "json" : "yaml";
  json["notes"] = OrderedJson::array();
  const OrderedJson info = InfoToJson(plan.info());
  for (const auto& [key, value] : info.items()) json[key] = value;
  // Every kind of source that a plan has, also one that is new.
  const google::protobuf::Descriptor& type = *plan.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor* field = type.field(i);
    if (!field->is_repeated() || field->message_type() == nullptr) continue;
    json[std::string(field->name())] = plan.GetReflection()->FieldSize(plan, field);
  }
  json["facts"] = OrderedJson::array();
  for (const auto& [name, value] : std::map(plan.info().facts().begin(), plan.info().facts().end())) {
    json["facts"].push_back(DisplayBytes(name));
  }
  return json;
}

bool RecognisesBundle(absl::string_view, bool is_folder, absl::string_view head) {
  return !is_folder && LooksLikeBundle(head);
}

// "EVIDENCE_KIND_RUN_LOG" -> "run_log".
std::string Word(absl::string_view name, absl::string_view prefix) {
  absl::ConsumePrefix(&name, prefix);
  return absl::AsciiStrToLower(name);
}

OrderedJson EvidenceToJson(const v1::Evidence& evidence) {
  OrderedJson json;
  json["kind"] = Word(v1::EvidenceKind_Name(evidence.kind()), "EVIDENCE_KIND_");
  json["outcome"] = Word(v1::Outcome_Name(evidence.outcome()), "OUTCOME_");
  json["source"] = DisplayBytes(evidence.source());
  if (evidence.has_rank()) json["rank"] = evidence.rank();
  return json;
}

absl::StatusOr<OrderedJson> InspectBundle(CommandEnv& env, const InspectRequest& request) {
  PARITECT_ASSIGN_OR_RETURN(std::string bytes, ReadWholeFile(env.fs, request.files[0], kBundleBytesMax));
  PARITECT_ASSIGN_OR_RETURN(const v1::Bundle bundle, ParseBundle(bytes));
  OrderedJson json;
  json["format"] = "bundle";
  json["notes"] = OrderedJson::array();
  const OrderedJson info = InfoToJson(bundle.plan());
  for (const auto& [key, value] : info.items()) json[key] = value;
  json["collected_by"] = bundle.collected_by();
  json["count"] = bundle.evidence_size();
  if (request.summary) return json;
  json["evidence"] = OrderedJson::array();
  for (const v1::Evidence& evidence : bundle.evidence()) {
    if (json["evidence"].size() >= kListMax) {
      v1::Note note;
      note.set_kind("list_cut");
      note.set_message(absl::StrCat("only the first ", kListMax, " pieces of evidence are listed"));
      json["notes"].push_back(NoteToJson(note));
      break;
    }
    json["evidence"].push_back(EvidenceToJson(evidence));
  }
  return json;
}

}  // namespace

extern const Inspector kPlanInspector;
const Inspector kPlanInspector = {"plan", &RecognisesPlan, &InspectPlan};
extern const Inspector kBundleInspector;
const Inspector kBundleInspector = {"bundle", &RecognisesBundle, &InspectBundle};

}  // namespace paritect
