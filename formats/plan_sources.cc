#include "formats/plan_sources.h"

#include <utility>

#include "common/file_system.h"
#include "google/protobuf/descriptor.h"

namespace paritect {
namespace {

std::vector<absl::string_view> Stated(std::initializer_list<absl::string_view> paths) {
  std::vector<absl::string_view> stated;
  for (absl::string_view path : paths) {
    if (!path.empty()) stated.push_back(path);
  }
  return stated;
}

}  // namespace

std::vector<PlanSource> SourcesOf(const v1::Plan& plan) {
  std::vector<PlanSource> sources;
  const auto add = [&](absl::string_view key, v1::EvidenceKind kind, std::initializer_list<absl::string_view> paths,
                       const v1::Position& at) -> PlanSource& {
    return sources.emplace_back(PlanSource{key, kind, Stated(paths), "", &at, std::nullopt});
  };
  for (const auto& one : plan.datasets()) {
    const bool listing = !one.listing().empty();
    add("datasets", listing ? v1::EVIDENCE_KIND_DATASET_LISTING : v1::EVIDENCE_KIND_DATASET_FILES,
        {one.listing(), one.root(), one.manifest()}, one.at())
        .subject = one.name();
  }
  for (const auto& one : plan.logs()) add("logs", v1::EVIDENCE_KIND_RUN_LOG, {one.file()}, one.at());
  for (const auto& one : plan.settings()) add("settings", v1::EVIDENCE_KIND_SETTINGS, {one.file()}, one.at());
  for (const auto& one : plan.scripts()) add("scripts", v1::EVIDENCE_KIND_SCRIPTS, {one.path()}, one.at());
  for (const auto& one : plan.shards()) {
    add("shards", v1::EVIDENCE_KIND_SHARDS, {one.list(), one.trace()}, one.at()).subject = one.dataset();
  }
  for (const auto& one : plan.observed()) add("observed", v1::EVIDENCE_KIND_SETTINGS, {one.path()}, one.at());
  for (const auto& one : plan.weights()) {
    add("weights", v1::EVIDENCE_KIND_WEIGHTS, {one.file()}, one.at()).step = one.step();
  }
  for (const auto& one : plan.tensors()) {
    add("tensors", v1::EVIDENCE_KIND_TENSORS, {one.file()}, one.at()).step = one.step();
  }
  return sources;
}

// By reflection: the paths of a source are its fields of bytes (a test holds SourcesOf against that).
void MovePaths(absl::string_view folder, v1::Plan& plan) {
  const google::protobuf::Reflection& parts = *plan.GetReflection();
  const google::protobuf::Descriptor& type = *plan.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor* list = type.field(i);
    if (!list->is_repeated() || list->message_type() == nullptr) continue;
    for (int k = 0; k < parts.FieldSize(plan, list); ++k) {
      google::protobuf::Message& source = *parts.MutableRepeatedMessage(&plan, list, k);
      const google::protobuf::Reflection& fields = *source.GetReflection();
      for (int f = 0; f < list->message_type()->field_count(); ++f) {
        const google::protobuf::FieldDescriptor* path = list->message_type()->field(f);
        if (path->type() != google::protobuf::FieldDescriptor::TYPE_BYTES || path->is_repeated()) continue;
        const std::string stated = fields.GetString(source, path);
        if (!stated.empty()) fields.SetString(&source, path, JoinPath(folder, stated));
      }
    }
  }
}

}  // namespace paritect
