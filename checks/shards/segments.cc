#include "checks/shards/segments.h"

#include "absl/strings/str_cat.h"

namespace paritect {

SegmentMap::Source SegmentMap::SourceOf(const v1::Bundle& bundle, const v1::Evidence& evidence) {
  const std::string rank = evidence.shards().has_rank() ? absl::StrCat(evidence.shards().rank()) : "";
  return {&bundle, absl::StrCat(evidence.source(), "\n", rank)};
}

SegmentMap::SegmentMap(const RunView& run, const std::string& dataset) {
  std::map<Source, std::map<int, int>> sizes;  // segment: world size
  for (const v1::Bundle* bundle : run.nodes) {
    for (const v1::Evidence& evidence : bundle->evidence()) {
      if (evidence.kind() != v1::EVIDENCE_KIND_SHARDS || evidence.subject() != dataset || !evidence.has_shards())
        continue;
      int& size = sizes[SourceOf(*bundle, evidence)][evidence.shards().segment()];
      if (evidence.shards().world_size() > 0) size = evidence.shards().world_size();
    }
  }
  const std::map<int, int>* longest = nullptr;
  for (const auto& [source, own] : sizes) {
    if (longest == nullptr || own.rbegin()->first > longest->rbegin()->first) longest = &own;
  }
  if (longest == nullptr || longest->rbegin()->first == 0) return;
  for (const auto& [source, own] : sizes) {
    std::map<int, int> found;
    auto of_run = longest->rbegin();
    for (auto it = own.rbegin(); it != own.rend(); ++it) {
      while (of_run != longest->rend() && (of_run->second != it->second || it->second == 0)) ++of_run;
      if (of_run == longest->rend()) break;
      found[it->first] = (of_run++)->first;
    }
    if (found.size() == own.size()) segments_[source] = std::move(found);
  }
}

int SegmentMap::Of(const v1::Bundle& bundle, const v1::Evidence& evidence) const {
  const int own = evidence.shards().segment();
  auto source = segments_.find(SourceOf(bundle, evidence));
  if (source == segments_.end()) return own;
  auto it = source->second.find(own);
  return it == source->second.end() ? own : it->second;
}

}  // namespace paritect
