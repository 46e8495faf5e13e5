#include "formats/plan_sources.h"

#include <utility>

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

}  // namespace paritect
