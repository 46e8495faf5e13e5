// What a plan names, source by source: for whoever asks the same of each of them (is it there, is its path absolute,
// what stands for it where a node stays silent). A source that is missing here would be left out in silence, so the
// test holds the list against the message.
#ifndef PARITECT_FORMATS_PLAN_SOURCES_H_
#define PARITECT_FORMATS_PLAN_SOURCES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "paritect/v1/evidence.pb.h"
#include "paritect/v1/plan.pb.h"

namespace paritect {

// Refers to the plan.
struct PlanSource {
  absl::string_view key;  // of the plan: "datasets"
  v1::EvidenceKind kind;
  std::vector<absl::string_view> paths;  // that are stated; the one under which evidence is filed first
  absl::string_view subject;             // data set, where there is one
  const v1::Position* at;
  std::optional<std::int64_t> step;  // of a training, where it is of one
};

// In the order in which plans are written. `live` is no source: it names no path.
std::vector<PlanSource> SourcesOf(const v1::Plan& plan);

// Every path of every source that is relative from here on starts below `folder`.
void MovePaths(absl::string_view folder, v1::Plan& plan);

}  // namespace paritect

#endif  // PARITECT_FORMATS_PLAN_SOURCES_H_
