#include "checks/weights/dumps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"

namespace paritect {
namespace {

constexpr double kApart = std::numeric_limits<double>::infinity();

using DumpKey = std::pair<std::int64_t, std::int32_t>;  // step, rank

std::map<DumpKey, DumpSource> DumpsOf(const RunView& run) {
  std::map<DumpKey, DumpSource> dumps;
  for (const v1::Bundle* bundle : run.nodes) {
    for (const v1::Evidence& evidence : bundle->evidence()) {
      if (evidence.outcome() != v1::OUTCOME_COLLECTED || !evidence.has_tensor_dump()) continue;
      const DumpSource source = {bundle, &evidence};
      dumps.emplace(DumpKey(source.dump().step(), source.rank()), source);
    }
  }
  return dumps;
}

bool IsNarrow(absl::string_view dtype) {
  return dtype == "F16" || dtype == "BF16" || dtype.substr(0, 2) == "F8";
}

std::uint64_t ElementsOf(const v1::DumpedTensor& tensor) {
  std::uint64_t elements = 1;
  for (const std::int64_t size : tensor.shape()) elements *= static_cast<std::uint64_t>(size);
  return elements;
}

bool HasStatistics(const v1::DumpedTensor& tensor) {
  return tensor.has_l2() || tensor.has_max();
}

// Of one number on both sides, in parts of `size`. What is no number on both sides is alike.
double Off(double a, double b, double size) {
  if (std::isnan(a) && std::isnan(b)) return 0;
  if (a == b) return 0;
  if (!std::isfinite(a) || !std::isfinite(b)) return kApart;
  return size > 0 ? std::fabs(a - b) / size : kApart;
}

double DistanceOf(const v1::DumpedTensor& a, const v1::DumpedTensor& b) {
  if (!a.digest().empty() && a.digest() == b.digest()) return 0;
  if (ElementsOf(a) != ElementsOf(b)) return kApart;
  double distance = 0;
  if (a.has_l2() && b.has_l2()) distance = Off(a.l2(), b.l2(), std::max(std::fabs(a.l2()), std::fabs(b.l2())));
  if (a.has_max() && b.has_max() && a.has_min() && b.has_min()) {
    double size = 0;
    for (const double one : {a.max(), a.min(), b.max(), b.min()}) {
      if (std::isfinite(one)) size = std::max(size, std::fabs(one));
    }
    distance = std::max({distance, Off(a.max(), b.max(), size), Off(a.min(), b.min(), size)});
    // Of the largest value: a mean near 0 is noise of its own size.
    if (a.has_mean() && b.has_mean()) distance = std::max(distance, Off(a.mean(), b.mean(), size));
  }
  return distance;
}

std::string KeyOf(const CheckContext& context, const v1::DumpedCall& call, bool by_name) {
  return by_name ? call.name() : context.rules.operators.Common(call.operator_());
}

}  // namespace

std::vector<DumpPair> PairDumps(const CheckContext& context, v1::CheckResult& result) {
  std::vector<DumpPair> pairs;
  std::map<DumpKey, DumpSource> baseline;
  for (const RunView& run : context.evidence.Runs(Side::kBaseline)) {
    baseline = DumpsOf(run);
    if (!baseline.empty()) break;
  }
  if (baseline.empty()) return pairs;
  for (const RunView& run : context.evidence.Runs(Side::kMigrated)) {
    const std::map<DumpKey, DumpSource> migrated = DumpsOf(run);
    if (migrated.empty()) continue;
    for (const auto& [key, source] : migrated) {
      const auto partner = baseline.find(key);
      if (partner != baseline.end()) pairs.push_back({partner->second, source});
    }
    if (pairs.empty()) AddMissing(context, result, "dumps_not_paired", run.name, {{"run", run.name}});
  }
  return pairs;
}

std::vector<CallPair> PairCalls(const CheckContext& context, const DumpPair& dumps,
                                v1::DumpedCall::Direction direction) {
  const bool by_name = dumps.a.dump().framework() == dumps.b.dump().framework();
  std::map<std::pair<std::string, int>, const v1::DumpedCall*> others;
  std::map<std::string, int> counts;
  for (const v1::DumpedCall& call : dumps.b.dump().calls()) {
    if (call.direction() != direction) continue;
    const std::string key = KeyOf(context, call, by_name);
    others.emplace(std::make_pair(key, counts[key]++), &call);
  }
  counts.clear();
  std::vector<CallPair> pairs;
  for (const v1::DumpedCall& call : dumps.a.dump().calls()) {
    if (call.direction() != direction) continue;
    const std::string key = KeyOf(context, call, by_name);
    const auto other = others.find({key, counts[key]++});
    pairs.push_back({&call, other == others.end() ? nullptr : other->second});
  }
  return pairs;
}

// Whether the outputs are of the same shapes in the same order. Gradients are what a node of the graph hands out:
// another back end's node for the same call may hand out others, or in another order.
bool SameShapes(const CallPair& pair) {
  if (pair.a->outputs_size() != pair.b->outputs_size()) return false;
  for (int i = 0; i < pair.a->outputs_size(); ++i) {
    const auto& a = pair.a->outputs(i).shape();
    const auto& b = pair.b->outputs(i).shape();
    if (!a.empty() && !b.empty() && !std::equal(a.begin(), a.end(), b.begin(), b.end())) return false;
  }
  return true;
}

CallDistance DistanceOf(const CheckContext& context, const CallPair& pair) {
  CallDistance distance;
  const int inputs = std::min(pair.a->inputs_size(), pair.b->inputs_size());
  bool narrow = false;
  for (int i = 0; i < inputs; ++i) {
    distance.inputs = std::max(distance.inputs, DistanceOf(pair.a->inputs(i), pair.b->inputs(i)));
    narrow = narrow || IsNarrow(pair.a->inputs(i).dtype()) || IsNarrow(pair.b->inputs(i).dtype());
  }
  for (int i = 0; i < std::min(pair.a->outputs_size(), pair.b->outputs_size()); ++i) {
    const v1::DumpedTensor& a = pair.a->outputs(i);
    const v1::DumpedTensor& b = pair.b->outputs(i);
    if (!HasStatistics(a) || !HasStatistics(b)) continue;
    narrow = narrow || IsNarrow(a.dtype()) || IsNarrow(b.dtype());
    distance.known = true;
    const double one = DistanceOf(a, b);
    if (one <= distance.outputs) continue;
    distance.outputs = one;
    distance.output = a.place();
  }
  distance.limit = context.profile.threshold(narrow ? "operator_relative_error_narrow" : "operator_relative_error");
  for (const auto& [place, value] : pair.a->scalars()) {
    const auto other = pair.b->scalars().find(place);
    distance.other_arguments = distance.other_arguments || (other != pair.b->scalars().end() && other->second != value);
  }
  return distance;
}

Divergence FindDivergence(const CheckContext& context, const DumpPair& dumps, v1::DumpedCall::Direction direction) {
  const double amplification = context.profile.threshold("operator_amplification");
  Divergence found;
  for (const CallPair& pair : PairCalls(context, dumps, direction)) {
    if (pair.b == nullptr || (direction == v1::DumpedCall::DIRECTION_BACKWARD && !SameShapes(pair))) {
      ++found.unpaired;
      continue;
    }
    if (context.rules.operators.IsSkipped(pair.a->operator_())) continue;
    const CallDistance distance = DistanceOf(context, pair);
    const bool first = found.compared++ == 0;
    const bool inputs_agree = distance.inputs <= distance.limit;
    const bool outputs_agree = !distance.known || distance.outputs <= distance.limit;
    if (inputs_agree && outputs_agree) continue;
    found.at = pair;
    found.distance = distance;
    found.first_call = first;
    if (!inputs_agree) {
      found.kind = Divergence::Kind::kInputs;
    } else if (context.rules.operators.IsRandom(pair.a->operator_())) {
      found.kind = Divergence::Kind::kRandom;
    } else {
      found.kind =
          distance.outputs > amplification * distance.inputs ? Divergence::Kind::kOperator : Divergence::Kind::kDrift;
    }
    return found;
  }
  return found;
}

}  // namespace paritect
