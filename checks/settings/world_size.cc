#include "checks/settings/world_size.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/settings/derived.h"
#include "checks/settings/view.h"
#include "common/recorded_formats.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr std::size_t kToldMax = 8;  // sources named for one size
constexpr int kSizeMax = 1 << 24;
constexpr absl::string_view kRunEnvironment = "environment.txt:";  // client/run/run_folder.h

int SizeIn(const SourcedValue& value) {
  const double number = value.value.kind_case() == v1::Value::kInteger ? static_cast<double>(value.value.integer())
                                                                       : value.value.number();
  return number > 0 && number < kSizeMax ? static_cast<int>(number) : 0;
}

// World sizes of the shard lists by run segment.
std::map<int, std::set<int>> ListSizes(const RunView& run) {
  std::map<int, std::set<int>> sizes;
  for (const v1::Bundle* bundle : run.nodes) {
    for (const v1::Evidence& evidence : bundle->evidence()) {
      if (evidence.outcome() != v1::OUTCOME_COLLECTED || !evidence.has_shards()) continue;
      const int size = evidence.shards().world_size();
      if (size > 0 && size < kSizeMax) sizes[evidence.shards().segment()].insert(size);
    }
  }
  return sizes;
}

bool HasTracedSize(const RunView& run) {
  for (const v1::Bundle* bundle : run.nodes) {
    for (const v1::Evidence& evidence : bundle->evidence()) {
      if (evidence.shards().format() == kTraceFormat && evidence.shards().has_world_size()) return true;
    }
  }
  return false;
}

}  // namespace

std::string WorldSizes::Text() const {
  std::vector<std::string> parts;
  for (const auto& [size, sources] : told) parts.push_back(StrCat(size, ": ", absl::StrJoin(sources, ", ")));
  return absl::StrJoin(parts, "; ");
}

WorldSizes WorldSizesOf(const CheckContext& context, Side side, const RunView& run) {
  WorldSizes sizes;
  std::set<int> of_lists;
  int last = 0;
  const auto by_segment = ListSizes(run);
  for (const auto& [segment, stated] : by_segment) {
    of_lists.insert(stated.begin(), stated.end());
    last = *stated.rbegin();
  }
  const bool resumed = by_segment.size() > 1;
  const auto add = [&](int size, const std::string& source) {
    if (size <= 0) return;
    std::vector<std::string>& told = sizes.told[resumed && of_lists.contains(size) ? last : size];
    if (told.size() < kToldMax && std::find(told.begin(), told.end(), source) == told.end()) told.push_back(source);
  };
  for (int size : of_lists) add(size, "shard lists");
  const SettingsView& view = SettingsView::Of(context, side, run);
  // What `paritect run` found in its own environment is of the launcher; the recorder's lists are of the processes.
  const bool traced = HasTracedSize(run);
  for (const SourcedValue& one : StatedWorldSizes(view)) {
    if (traced && absl::StrContains(one.origin, kRunEnvironment)) continue;
    if (one.replaceable && !of_lists.empty()) continue;
    add(SizeIn(one), StrCat(one.raw_key, "=", one.text, " (", one.origin, ")"));
  }
  return sizes;
}

namespace {

// The first sample numbers of a pass, kept by the observer: no list that somebody recorded of what was read. Which
// samples they were is asked of the preprocessing, also of one process.
bool IsBeginningOfPass(const v1::Evidence& evidence) {
  const auto& incomplete = evidence.shards().incomplete();
  return std::any_of(incomplete.begin(), incomplete.end(),
                     [](const v1::Problem& one) { return one.id() == "observed_indices_cut"; });
}

bool HasRecorded(const CheckContext& context, Side side, v1::EvidenceKind kind) {
  bool found = false;
  context.evidence.ForEach(side, kind, [&](const v1::Bundle&, const v1::Evidence& evidence) {
    found = found || (evidence.outcome() == v1::OUTCOME_COLLECTED && !IsBeginningOfPass(evidence));
  });
  return found;
}

}  // namespace

bool IsOneProcess(const CheckContext& context, v1::EvidenceKind recorded, v1::CheckResult& result) {
  std::vector<std::string> evidence;
  for (const Side side : kBothSides) {
    const std::vector<RunView> runs = context.evidence.Runs(side);
    if (runs.empty() || HasRecorded(context, side, recorded)) return false;
    for (const RunView& run : runs) {
      const WorldSizes sizes = WorldSizesOf(context, side, run);
      if (sizes.conflict() || sizes.largest() != 1) return false;
      evidence.push_back(sizes.Text());
    }
  }
  v1::Finding& note = AddNote(context, result, "not_applicable/one_process", "");
  for (const std::string& one : evidence) note.add_evidence(one);
  return true;
}

}  // namespace paritect
