// training.flow.graph: are names, shapes and counts of the parameters the same up to the name map?
// Source: pre-tuning checklist, 训练流程：与基准一致; MindSpore precision checklist, alignment of variables.
#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "checks/finding_budget.h"
#include "checks/scripts/alike.h"
#include "checks/scripts/code.h"
#include "checks/scripts/network.h"
#include "checks/weights/pair_report.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_WEIGHTS}};

// The first state of a run, of whatever step: the graph does not change.
ModelState FirstState(const CheckContext& context, const RunCheckpoints& run) {
  const std::vector<std::int64_t> steps = run.Steps();
  if (!steps.empty()) return StateOf(context, run.At(steps.front()));
  std::vector<const Checkpoint*> files;
  for (const Checkpoint& one : run.all) files.push_back(&one);
  return StateOf(context, files);
}

// A vocabulary is filled up to the next multiple of a number that suits the machine: 64, 128 and powers of two of
// these.
bool MayBePadded(const TensorPair& pair) {
  if (!pair.one_to_one() || !pair.a[0]->vocabulary || !pair.b[0]->vocabulary) return false;
  const v1::TensorFingerprint &a = pair.a[0]->first(), &b = pair.b[0]->first();
  if (a.shape_size() != b.shape_size() || a.shape_size() == 0) return false;
  if (!std::equal(a.shape().begin() + 1, a.shape().end(), b.shape().begin() + 1)) return false;
  const std::int64_t fewer = std::min(a.shape(0), b.shape(0)), more = std::max(a.shape(0), b.shape(0));
  for (std::int64_t unit = 64; unit <= 8192; unit *= 2) {
    if ((fewer + unit - 1) / unit * unit == more) return true;
  }
  return false;
}

// Zeros that pad a vocabulary, parts of a tensor under its name, and values of one order in other shapes are no other
// graph by themselves.
void Shapes(const CheckContext& context, v1::CheckResult& result, const PairedStates& states, std::size_t i) {
  const TensorPair& pair = states.match().pairs[i];
  if (pair.a[0]->twice || pair.b[0]->twice) {
    return AddMissing(context, result, "tensor_stands_twice", NamesOf(pair.a), ArgsOf(pair));
  }
  const bool same_values = IsSame(states.sameness(i));
  const auto note = [&](absl::string_view id) { AddNote(context, result, id, NamesOf(pair.a), ArgsOf(pair)); };
  switch (states.shape(i)) {
    case ShapeRelation::kSame: return;
    case ShapeRelation::kTransposed: return note(same_values ? "transposed" : "transposed/shape");
    case ShapeRelation::kOther:
      if (same_values && pair.a[0]->elements() != pair.b[0]->elements()) return note("padded");
      if (MayBePadded(pair)) return note("padded/vocabulary");
      if (same_values && pair.a[0]->unwrapped != pair.b[0]->unwrapped) return note("transposed/reshaped");
      break;
    case ShapeRelation::kWrongOrder: break;
  }
  AddPairFigures(pair, AddError(context, result, "shape_differs", NamesOf(pair.a), ArgsOf(pair)));
}

// Whether it is trained or frozen, where that was recorded.
void Trained(const TensorPair& pair, FindingBudget& budget) {
  const v1::TensorFingerprint &a = pair.a[0]->first(), &b = pair.b[0]->first();
  if (!pair.one_to_one() || !a.has_requires_grad() || !b.has_requires_grad()) return;
  if (a.requires_grad() == b.requires_grad()) return;
  MessageArgs args = ArgsOf(pair);
  args.emplace_back("side", b.requires_grad() ? "baseline" : "migrated");
  if (v1::Finding* finding = budget.Add(v1::SEVERITY_ERROR, "trained_differs", NamesOf(pair.a), args)) {
    SetFact(*finding, "baseline_trained", a.requires_grad());
    SetFact(*finding, "migrated_trained", b.requires_grad());
  }
}

// A file in which nothing is trained was written for another use than training.
bool SaysWhatIsTrained(const ModelState& state) {
  return std::any_of(state.tensors.begin(), state.tensors.end(),
                     [](const ModelTensor& one) { return one.first().requires_grad(); });
}

void Compare(const CheckContext& context, v1::CheckResult& result, const ModelState& a, const ModelState& b) {
  const PairedStates states(context, a, b);
  for (std::size_t i = 0; i < states.match().pairs.size(); ++i) {
    Shapes(context, result, states, i);
  }
  if (states.match().by_order()) AddWarning(context, result, "matched_by_order", b.where);
  FindingBudget budget(context, result);
  if (SaysWhatIsTrained(a) && SaysWhatIsTrained(b)) {
    for (const TensorPair& pair : states.match().pairs) Trained(pair, budget);
  }
  // What has no partner on either side may be the same in other cuts (layers or experts stacked in one tensor).
  const bool cut = states.UnmatchedHoldTheSame();
  if (cut) AddMissing(context, result, "unmatched_hold_the_same", b.where);
  for (const Side side : kBothSides) {
    const bool baseline = side == Side::kBaseline;
    for (const std::string& name : cut ? std::vector<std::string>() : states.Unmatched(side)) {
      budget.Add(v1::SEVERITY_ERROR, baseline ? "parameter_missing" : "parameter_extra", name, {{"where", b.where}});
    }
  }
  budget.Finish();
  if (a.tensors.empty() || b.tensors.empty()) AddMissing(context, result, "no_tensors_compared", b.where);
  v1::Finding& note = AddNote(context, result, "measured/graph", b.where,
                              {{"pairs", absl::StrCat(states.match().pairs.size())},
                               {"baseline", absl::StrCat(a.tensors.size())},
                               {"migrated", absl::StrCat(b.tensors.size())}});
  SetFact(note, "baseline_tensors", static_cast<std::uint64_t>(a.tensors.size()));
  SetFact(note, "migrated_tensors", static_cast<std::uint64_t>(b.tensors.size()));
}

void Tell(const CheckContext& context, v1::CheckResult& result, v1::Severity severity, absl::string_view message,
          const NetworkDifference& one) {
  v1::Finding& finding = AddFinding(context, result, severity, message, one.what,
                                    {{"what", one.what}, {"baseline", one.baseline}, {"migrated", one.migrated}});
  finding.set_baseline(one.baseline);
  finding.set_migrated(one.migrated);
  for (const v1::ScriptFact* place : {one.place_baseline, one.place_migrated}) {
    if (place != nullptr) finding.add_evidence(absl::StrCat(ScriptPlace(*place), ": ", ScriptDetail(*place)));
  }
}

// Layers without weights stand in no checkpoint: what the scripts make of them.
void CompareScripts(const CheckContext& context, v1::CheckResult& result) {
  const std::vector<RunView> references = context.evidence.Runs(Side::kBaseline);
  if (references.empty()) return;
  const ScriptFlow& baseline = ScriptFlow::Of(context, references[0]);
  for (const RunView& run : context.evidence.Runs(Side::kMigrated)) {
    const NetworkComparison found = CompareNetworks(baseline, ScriptFlow::Of(context, run));
    for (const NetworkDifference& one : found.replaced)
      Tell(context, result, v1::SEVERITY_ERROR, "layer_replaced", one);
    for (const NetworkDifference& one : found.one_sided)
      Tell(context, result, v1::SEVERITY_WARNING, "layer_one_sided", one);
    for (const NetworkDifference& one : found.arguments)
      Tell(context, result, v1::SEVERITY_ERROR, "layer_differs/argument", one);
    // What is not trained, and norms that are converted.
    const FactsComparison facts = CompareFacts("training.flow.graph", baseline, ScriptFlow::Of(context, run));
    for (const CodeApart& one : facts.open) {
      AddMissing(context, result, "script_code_apart", run.name,
                 {{"baseline", one.baseline}, {"migrated", one.migrated}});
    }
    if (const auto apart = CompareCode(CodeSubject::kNetwork, baseline, ScriptFlow::Of(context, run)))
      AddMissing(context, result, "script_code_apart", run.name,
                 {{"baseline", apart->baseline}, {"migrated", apart->migrated}});
    for (const NetworkDifference& one : facts.differ)
      Tell(context, result, v1::SEVERITY_ERROR, "layer_differs/argument", one);
  }
}

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  CompareScripts(context, result);
  const RunCheckpoints* reference = ReferenceCheckpoints(context);
  if (reference == nullptr) return;
  const ModelState baseline = FirstState(context, *reference);
  for (const RunCheckpoints& run : CheckpointsOf(context, Side::kMigrated)) {
    const ModelState migrated = FirstState(context, run);
    for (const ModelState* state : {&baseline, &migrated}) {
      if (state->incomplete) AddMissing(context, result, "checkpoint_incomplete", state->where);
    }
    Compare(context, result, baseline, migrated);
  }
}

}  // namespace

extern const Check kFlowGraph;
const Check kFlowGraph = {"training.flow.graph", kNeeds, &Evaluate};

}  // namespace paritect
