#include "checks/strangers.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/recorded_formats.h"

namespace paritect {
namespace {

constexpr char kRankAssumed[] = "observed.rank_assumed";

bool IsProcess(const v1::Evidence& evidence) {
  return evidence.outcome() == v1::OUTCOME_COLLECTED && evidence.settings().format() == kObservedFormat;
}

bool HasNoRank(const v1::Evidence& process) {
  const auto& settings = process.settings().settings();
  return std::any_of(settings.begin(), settings.end(),
                     [](const v1::Setting& one) { return one.raw_key() == kRankAssumed; });
}

// Seeds, and the batches and samples that they deal out, differ between processes by right.
bool IsOwn(absl::string_view key) {
  if (key == "seed" || key == "world_size" || key == "observed.sampler_seed") return true;
  for (const char* prefix :
       {"observed.batch.", "observed.fed.", "observed.indices.", "observed.generator.", "observed.workers."}) {
    if (absl::StartsWith(key, prefix)) return true;
  }
  return false;
}

void Withhold(std::size_t count, v1::Evidence& one) {
  one.clear_rank();
  if (one.has_settings()) {
    auto& settings = *one.mutable_settings()->mutable_settings();
    settings.erase(std::remove_if(settings.begin(), settings.end(),
                                  [](const v1::Setting& setting) { return IsOwn(setting.raw_key()); }),
                   settings.end());
    if (!IsProcess(one)) return;
    v1::Setting& told = *settings.Add();
    told.set_raw_key("observed.unpaired");
    told.set_raw_value(absl::StrCat(count));
    told.mutable_value()->set_text(told.raw_value());
    return;
  }
  one.clear_payload();
  one.set_outcome(v1::OUTCOME_FAILED);
  one.mutable_problem()->set_id("observed_unpaired");
  (*one.mutable_problem()->mutable_args())["count"] = absl::StrCat(count);
}

// The evidence of one process stands in a row that its facts begin.
void WithholdIn(std::size_t count, v1::Bundle& bundle) {
  bool withheld = false;
  std::string source;
  for (v1::Evidence& one : *bundle.mutable_evidence()) {
    if (IsProcess(one)) {
      withheld = HasNoRank(one);
      source = one.source();
    }
    if (withheld && one.source() == source) Withhold(count, one);
  }
}

}  // namespace

void WithholdFromStrangers(std::vector<v1::Bundle>& bundles) {
  std::map<std::pair<int, std::string>, std::vector<v1::Bundle*>> runs;
  for (v1::Bundle& bundle : bundles) runs[{bundle.plan().role(), bundle.plan().run()}].push_back(&bundle);
  for (const auto& [name, nodes] : runs) {
    std::size_t processes = 0, strangers = 0;
    for (const v1::Bundle* bundle : nodes) {
      for (const v1::Evidence& one : bundle->evidence()) {
        processes += IsProcess(one);
        strangers += IsProcess(one) && HasNoRank(one);
      }
    }
    if (processes < 2 || strangers == 0) continue;
    for (v1::Bundle* bundle : nodes) WithholdIn(processes, *bundle);
  }
}

}  // namespace paritect
