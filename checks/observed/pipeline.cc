#include "checks/observed/pipeline.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace paritect {
namespace {

using absl::StrCat;

constexpr char kTraining[] = "training";

struct Item {
  std::string name;
  const ObservedFact* fact = nullptr;
};

// Where data lie and on what differs by nature.
bool NamesPlace(const std::string& name, const std::string& value) {
  for (absl::string_view word : {".root", "path", "_dir", ".dir", ".file", "device", "cache"}) {
    if (absl::StrContains(name, word)) return true;
  }
  return absl::StartsWith(value, "/") || absl::StrContains(value, "cuda") || absl::StrContains(value, "npu");
}

// Names of classes are no counts.
bool Counts(absl::string_view part, absl::string_view name) {
  return part != "read-count" || absl::EndsWith(name, ".len");
}

std::vector<Item> ItemsOf(const ObservedRun& run, absl::string_view part) {
  std::vector<Item> items;
  const std::string prefix = StrCat("pipeline.", part, ".");
  for (const ObservedFact& fact : run.first().facts) {
    absl::string_view name = fact.key;
    if (fact.scope != kTraining || !absl::ConsumePrefix(&name, prefix)) continue;
    if (Counts(part, name) && !NamesPlace(std::string(name), fact.value)) items.push_back({std::string(name), &fact});
  }
  if (part == "shuffle") {
    if (const ObservedFact* seed = run.first().Find("sampler_seed", kTraining)) items.push_back({"sampler seed", seed});
  }
  return items;
}

const Item* FindItem(const std::vector<Item>& items, const std::string& name) {
  for (const Item& item : items) {
    if (item.name == name) return &item;
  }
  return nullptr;
}

// One rank needs no sampler that shares out: its class and what only such a sampler has say nothing then.
bool OfOneWorld(const ObservedRun& a, const ObservedRun& b) {
  return (a.world_size() > 1) == (b.world_size() > 1);
}

class Comparison {
 public:
  Comparison(const CheckContext& context, v1::CheckResult& result, absl::string_view message, v1::Severity severity)
      : context_(context), result_(result), message_(message), severity_(severity) {}

  void Both(const Item& a, const Item& b) {
    if (a.fact->value.empty() && b.fact->value.empty()) return;  // withheld without a hash: not known
    ++compared_;
    if (a.fact->value == b.fact->value) return;
    Add(a.name, a.fact->value, b.fact->value, a.fact->origin, b.fact->origin);
  }
  void OneSided(const Item& item, bool of_baseline) {
    ++compared_;
    Add(item.name, of_baseline ? item.fact->value : "-", of_baseline ? "-" : item.fact->value, item.fact->origin, "");
  }
  int compared() const { return compared_; }

 private:
  void Add(const std::string& name, const std::string& a, const std::string& b, const std::string& origin,
           const std::string& other) {
    v1::Finding& finding =
        AddFinding(context_, result_, severity_, message_, name, {{"key", name}, {"baseline", a}, {"migrated", b}});
    finding.set_baseline(StrCat(a, origin.empty() ? "" : StrCat(" (", origin, ")")));
    finding.set_migrated(StrCat(b, other.empty() ? "" : StrCat(" (", other, ")")));
    if (!origin.empty()) finding.add_evidence(origin);
    if (!other.empty()) finding.add_evidence(other);
  }

  const CheckContext& context_;
  v1::CheckResult& result_;
  const absl::string_view message_;
  const v1::Severity severity_;
  int compared_ = 0;
};

bool HasLoader(const ObservedRun& run) {
  return run.seen() && run.first().Find("loader", kTraining) != nullptr;
}

}  // namespace

ObservedAnswer CompareObservedPipelines(const CheckContext& context, v1::CheckResult& result, absl::string_view part,
                                        absl::string_view message, v1::Severity severity, const RunView& baseline,
                                        const RunView& migrated) {
  const ObservedRun& a = ObservedRun::Of(context, baseline);
  const ObservedRun& b = ObservedRun::Of(context, migrated);
  if (!HasLoader(a) || !HasLoader(b)) return ObservedAnswer::kUnseen;
  const std::vector<Item> left = ItemsOf(a, part), right = ItemsOf(b, part);
  Comparison comparison(context, result, message, severity);
  const bool one_world = OfOneWorld(a, b);
  const auto of_sampler = [&](const Item& item) { return !one_world && absl::StrContains(item.name, "sampler"); };
  for (const Item& item : left) {
    if (of_sampler(item)) continue;
    const Item* other = FindItem(right, item.name);
    other != nullptr ? comparison.Both(item, *other) : comparison.OneSided(item, true);
  }
  for (const Item& item : right) {
    if (!of_sampler(item) && FindItem(left, item.name) == nullptr) comparison.OneSided(item, false);
  }
  v1::Finding& note =
      AddNote(context, result, "measured/observed_pipeline", migrated.name, {{"count", StrCat(comparison.compared())}});
  SetFact(note, "compared", comparison.compared());
  note.add_evidence(a.first().Find("loader", kTraining)->origin);
  note.add_evidence(b.first().Find("loader", kTraining)->origin);
  ObservedAnswer answer = ObservedAnswer::kJudged;
  for (const auto& [run, view] : {std::pair(&a, &baseline), std::pair(&b, &migrated)}) {
    if (run->first().Is("iterable", kTraining) && (part == "read-count" || part == "shuffle")) {
      AddMissing(context, result, "observed_iterable", view->name);
      answer = ObservedAnswer::kOpen;
    }
    if (run->whole()) continue;
    AddObservedGaps(context, result, *run);
    answer = ObservedAnswer::kOpen;
  }
  return answer;
}

void JudgeWorkerStates(const CheckContext& context, v1::CheckResult& result, const RunView& run) {
  const ObservedRun& observed = ObservedRun::Of(context, run);
  for (const ObservedRank& rank : observed.ranks()) {
    const ObservedFact* shared = rank.Find("workers.shared", kTraining);
    if (shared == nullptr) continue;
    // Older versions of the framework leave some generators alike by themselves; that matters where they are used.
    const bool set = rank.Is("workers.init", kTraining);
    v1::Finding& finding =
        AddFinding(context, result, set ? v1::SEVERITY_ERROR : v1::SEVERITY_WARNING,
                   set ? "workers_share_random_state" : "workers_share_random_state/default", run.name,
                   {{"run", run.name},
                    {"states", shared->value},
                    {"workers", StrCat(rank.Count("workers.seen", kTraining).value_or(0))}});
    finding.add_evidence(shared->origin);
    return;  // one rank says it
  }
}

void CompareRepeatedOrders(const CheckContext& context, v1::CheckResult& result, const RunView& baseline,
                           const RunView& migrated) {
  const ObservedRun& a = ObservedRun::Of(context, baseline);
  const ObservedRun& b = ObservedRun::Of(context, migrated);
  const ObservedFact* left = a.first().Find("order_changes", kTraining);
  const ObservedFact* right = b.first().Find("order_changes", kTraining);
  if (left == nullptr || right == nullptr || left->value == right->value) return;
  const bool here = left->value == "true";  // the migrated side's repeats
  const ObservedFact* loader = (here ? b : a).first().Find("loader", kTraining);
  v1::Finding& finding = AddError(context, result, "epoch_not_set/side", migrated.name,
                                  {{"run", here ? migrated.name : baseline.name},
                                   {"other", here ? baseline.name : migrated.name},
                                   {"loader", loader == nullptr ? "" : loader->value}});
  finding.set_baseline(left->value);
  finding.set_migrated(right->value);
  finding.add_evidence(left->origin);
  finding.add_evidence(right->origin);
}

void JudgeRepeatedOrder(const CheckContext& context, v1::CheckResult& result, const RunView& run) {
  const ObservedRun& observed = ObservedRun::Of(context, run);
  for (const ObservedRank& rank : observed.ranks()) {
    if (!rank.Is("order_repeats", kTraining)) continue;
    const ObservedFact& fact = *rank.Find("order_repeats", kTraining);
    const ObservedFact* loader = rank.Find("loader", kTraining);
    AddError(context, result, "epoch_not_set/observed", run.name,
             {{"run", run.name}, {"loader", loader == nullptr ? "" : loader->value}})
        .add_evidence(fact.origin);
    return;
  }
}

}  // namespace paritect
