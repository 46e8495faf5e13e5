// training.flow.initial-weights: do both sides start from the same weights, or from random ones of one law; and did the
// file that training starts from really get into the model?
// Source: pre-tuning checklist, 训练流程：与基准一致, 1; MindSpore precision checklist, alignment of variables before
// check 1. Rules: docs/thresholds.md.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/check.h"
#include "checks/finding_budget.h"
#include "checks/observed/conduct.h"
#include "checks/scripts/faults.h"
#include "checks/weights/copies.h"
#include "checks/weights/finite.h"
#include "checks/weights/law.h"
#include "checks/weights/pair_report.h"

namespace paritect {
namespace {

constexpr EvidenceNeed kNeeds[] = {{v1::EVIDENCE_KIND_WEIGHTS}};

// The state before any update, and the file to start from.
struct Start {
  ModelState model;
  ModelState file;
  ModelState masters;  // fp32 copies beside the model, which training goes on from
  FlatMasters flat;
  bool masters_beyond = false;  // they hold more than the model's type tells

  bool has_masters() const { return !masters.tensors.empty() || flat.kind != FlatMasters::Kind::kNone; }
};

// Whether every parameter is in a type that needs no copy.
bool IsWide(const ModelState& state) {
  return !state.tensors.empty() && std::all_of(state.tensors.begin(), state.tensors.end(), [](const ModelTensor& one) {
    return one.first().dtype() != "BF16" && one.first().dtype() != "F16";
  });
}

Start StartOf(const CheckContext& context, v1::CheckResult& result, const RunCheckpoints& run) {
  Start start;
  std::vector<const Checkpoint*> files;
  for (const Checkpoint& one : run.all) {
    if (one.pretrained()) files.push_back(&one);
  }
  if (!files.empty()) start.file = StateOf(context, files);
  const std::vector<std::int64_t> steps = run.Steps();
  if (!steps.empty() && steps.front() == 0) {
    start.model = StateOf(context, run.At(0));
    start.masters = MastersOf(context, run.At(0));
    start.flat = FlatMastersOf(context, run.At(0));
    start.masters_beyond = start.flat.beyond;
    if (!start.masters.tensors.empty()) {
      const PairedStates states(context, start.model, start.masters);
      // What no parameter is known to be the rounding of, is not known to hold no more either.
      start.masters_beyond = start.masters_beyond || !states.match().only_b.empty();
      for (std::size_t i = 0; i < states.match().pairs.size(); ++i) {
        const Sameness sameness = states.sameness(i);
        start.masters_beyond = start.masters_beyond || sameness == Sameness::kRounded || !IsSame(sameness);
      }
    }
  } else if (files.empty()) {
    AddMissing(context, result, "initial_not_recorded", run.run.name, {{"run", run.run.name}});
  }
  const bool recorded = !files.empty() || (!steps.empty() && steps.front() == 0);
  if (recorded && start.file.tensors.empty() && start.model.tensors.empty()) {
    AddMissing(context, result, "no_tensors_compared", run.run.name);
  }
  return start;
}

class Evaluation {
 public:
  Evaluation(const CheckContext& context, v1::CheckResult& result)
      : context_(context), result_(result), budget_(context, result) {}
  ~Evaluation() { budget_.Finish(); }

  void Loaded(const RunCheckpoints& run, const Start& start) {
    if (start.file.tensors.empty() || start.model.tensors.empty()) return;
    const PairedStates states(context_, start.file, start.model);
    if (states.match().pairs.empty()) {
      budget_.Add(v1::SEVERITY_ERROR, "not_loaded/nothing", run.run.name, SourcesOf(start.file));
      return;
    }
    for (std::size_t i = 0; i < states.match().pairs.size(); ++i) {
      const TensorPair& pair = states.match().pairs[i];
      const Sameness sameness = states.sameness(i);
      if (sameness == Sameness::kUnknown) Unknown(pair);
      if (sameness == Sameness::kUnplaced) Unplaced(pair);
      if (sameness == Sameness::kMoreRows) MoreRows(pair);
      if (sameness != Sameness::kDiffers && !IsMisplaced(sameness)) continue;
      MessageArgs args = SourcesOf(start.file);
      args.emplace_back("tensor", NamesOf(pair.a));
      args.emplace_back("run", run.run.name);
      if (v1::Finding* finding = budget_.Add(v1::SEVERITY_ERROR, "not_loaded", NamesOf(pair.b), args)) {
        AddPairFigures(pair, *finding);
      }
    }
  }

  // The first update overwrites the model by what becomes of the fp32 copy: one that was made before the weights were
  // loaded brings back the old ones.
  void Masters(const RunCheckpoints& run, const Start& start) {
    if (start.flat.kind == FlatMasters::Kind::kUnknown) {
      AddMissing(context_, result_, "flat_master_not_matched", run.run.name);
    }
    if (start.masters.tensors.empty()) return;
    const PairedStates states(context_, start.model, start.masters);
    for (std::size_t i = 0; i < states.match().pairs.size(); ++i) {
      const TensorPair& pair = states.match().pairs[i];
      const Sameness sameness = states.sameness(i);
      if (IsSame(sameness)) continue;
      if (sameness == Sameness::kUnknown) {
        Unknown(pair);
      } else if (sameness == Sameness::kDiffers || IsMisplaced(sameness)) {
        MessageArgs args = {{"run", run.run.name}, {"tensor", NamesOf(pair.a)}};
        v1::Finding* finding = budget_.Add(v1::SEVERITY_ERROR, "master_copy_differs", NamesOf(pair.a), args);
        if (finding != nullptr) AddPairFigures(pair, *finding);
      } else {
        Unplaced(pair);
      }
    }
  }

  void Sides(const Start& a, const Start& b) {
    // A file beside a file, a model beside a model; a file beside a model where there is no better pair.
    const bool files = !a.file.tensors.empty() && !b.file.tensors.empty();
    const bool models = !a.model.tensors.empty() && !b.model.tensors.empty();
    // Copies that are the 16-bit model widened again say no more than the model: so mixed precision begins everywhere.
    const bool copies = a.masters_beyond || b.masters_beyond;
    if (files) States(a.file, b.file, true, models ? GoesOn::kNo : GoesOn::kYes);
    const bool random = models && States(a.model, b.model, false, copies ? GoesOn::kNo : GoesOn::kYes);
    if (models && copies) OptimizerCopies(a, b, random);
    if (files || models) return;
    const ModelState& left = a.file.tensors.empty() ? a.model : a.file;
    const ModelState& right = b.file.tensors.empty() ? b.model : b.file;
    if (!left.tensors.empty() && !right.tensors.empty()) States(left, right, true, GoesOn::kYes);
  }

 private:
  static MessageArgs SourcesOf(const ModelState& state) {
    return {{"file", absl::StrJoin(state.sources, ", ")}, {"where", state.where}};
  }

  // Whether training goes on from these values: what they lost by rounding is then lost.
  enum class GoesOn { kNo, kYes, kCopies };

  // What the optimizer goes on from, on both sides: its fp32 copies, or a model that needs none.
  void OptimizerCopies(const Start& a, const Start& b, bool random) {
    const bool named_a = !a.masters.tensors.empty(), named_b = !b.masters.tensors.empty();
    const ModelState* left = named_a ? &a.masters : !a.has_masters() && IsWide(a.model) ? &a.model : nullptr;
    const ModelState* right = named_b ? &b.masters : !b.has_masters() && IsWide(b.model) ? &b.model : nullptr;
    if (left != nullptr && right != nullptr) {
      States(*left, *right, false, GoesOn::kCopies);
      return;
    }
    if (random) return;
    if (a.has_masters() && b.has_masters()) return FlatCopies(a, b);
    const Start& without = a.has_masters() ? b : a;
    AddMissing(context_, result_, left == nullptr && right == nullptr ? "masters_not_recorded" : "masters_not_compared",
               SideName(&without == &a ? Side::kBaseline : Side::kMigrated));
  }

  void FlatCopies(const Start& a, const Start& b) {
    // Copies that are not the model's: said by flat_master_not_matched.
    if (a.flat.kind == FlatMasters::Kind::kUnknown || b.flat.kind == FlatMasters::Kind::kUnknown) return;
    const Side fewer = a.masters_beyond ? Side::kMigrated : Side::kBaseline;
    if (a.masters_beyond != b.masters_beyond) {
      budget_.Add(v1::SEVERITY_ERROR, "weights_differ/copies_rounded", (a.masters_beyond ? b : a).model.where,
                  {{"side", std::string(SideName(fewer))}});
      return;
    }
    const bool flat = a.flat.buffers > 0 && b.flat.buffers > 0;
    if (flat && a.flat.values == b.flat.values) return;
    // The same parameters, counted as often on both sides.
    if (flat && a.flat.parameters == b.flat.parameters && a.flat.beyond && b.flat.beyond) {
      budget_.Add(v1::SEVERITY_ERROR, "weights_differ/copies", b.model.where, {});
      return;
    }
    AddMissing(context_, result_, "masters_not_compared", SideName(Side::kMigrated));
  }

  // Gives whether both look like random draws.
  bool States(const ModelState& a, const ModelState& b, bool loaded, GoesOn goes_on) {
    goes_on_ = goes_on;
    for (const auto& [state, side] : {std::pair(&a, Side::kBaseline), std::pair(&b, Side::kMigrated)}) {
      for (const std::string& ranks : state->repeated) {
        budget_.Add(v1::SEVERITY_ERROR, "rank_repeated", ranks,
                    {{"side", std::string(SideName(side))}, {"where", state->where}, {"ranks", ranks}});
      }
    }
    const PairedStates states(context_, a, b);
    const bool random = !loaded && states.LooksRandom(context_.profile);
    for (std::size_t i = 0; i < states.match().pairs.size(); ++i) {
      const TensorPair& pair = states.match().pairs[i];
      if (states.exchanged().contains(i)) continue;
      if (PairedStates::IsDerived(pair)) {
        Derived(pair, states.sameness(i));
      } else {
        random ? Law(pair, states.sameness(i), states.shape(i)) : Values(pair, states.sameness(i));
      }
    }
    if (random) Copied(states);
    for (const auto& [i, k] : states.exchanged_pairs()) Exchanged(states.match().pairs[i], states.match().pairs[k]);
    Unmatched(states);
    Doubtful(a, b);
    DifferingCopies(states);
    // Nothing beside nothing is no agreement.
    if (states.match().pairs.empty()) AddMissing(context_, result_, "no_tensors_compared", states.b().where);
    Sum(states, random);
    return random;
  }

  // Left out by a name that a layer may have too; no harm where both sides hold the same.
  void Doubtful(const ModelState& a, const ModelState& b) {
    for (const auto& [own, others, side] : {std::tuple(&a, &b, Side::kBaseline), std::tuple(&b, &a, Side::kMigrated)}) {
      std::set<std::pair<std::string, std::string>> there;
      for (const v1::TensorFingerprint* one : others->doubtful) there.emplace(one->name(), ContentOf(*one));
      std::vector<std::string> names;
      for (const v1::TensorFingerprint* one : own->doubtful) {
        if (ContentOf(*one).empty() || !there.contains({one->name(), ContentOf(*one)})) names.push_back(one->name());
      }
      AddNames("left_out_by_name", side, std::move(names));
    }
  }

  // Copies that differ in one way on both sides are no agreement either.
  void DifferingCopies(const PairedStates& states) {
    const auto add = [&](const ModelState& state, Side side) {
      std::vector<std::string> names;
      for (const ModelTensor& one : state.tensors) {
        if (one.copies_differ()) names.push_back(one.name);
      }
      AddNames("copies_differ", side, std::move(names));
    };
    add(states.a(), Side::kBaseline);
    add(states.b(), Side::kMigrated);
  }

  void AddNames(absl::string_view id, Side side, std::vector<std::string> names) {
    if (names.empty()) return;
    const std::size_t count = names.size();
    if (names.size() > kMissingShown) names.resize(kMissingShown);
    AddMissing(context_, result_, id, SideName(side),
               {{"count", absl::StrCat(count)}, {"names", absl::StrJoin(names, ", ")}});
  }

  // An error, or a warning where the match itself is a guess.
  v1::Finding* Differs(const TensorPair& pair, absl::string_view id, const MessageArgs& more = {}) {
    if (pair.by == MatchedBy::kOrder) {
      AddMissing(context_, result_, "tensor_matched_by_order", NamesOf(pair.a), {{"other", NamesOf(pair.b)}});
      return nullptr;
    }
    MessageArgs args = ArgsOf(pair);
    args.insert(args.end(), more.begin(), more.end());
    v1::Finding* finding = budget_.Add(v1::SEVERITY_ERROR, id, NamesOf(pair.a), args);
    if (finding != nullptr) AddPairFigures(pair, *finding);
    return finding;
  }

  // At other places than the baseline's, though the values are the same.
  void Misplaced(const TensorPair& pair, Sameness sameness) {
    Differs(pair, sameness == Sameness::kMisread          ? "weights_differ/reshaped"
                  : sameness == Sameness::kTurned         ? "weights_differ/transposed"
                  : sameness == Sameness::kNotTurned      ? "weights_differ/not_transposed"
                  : sameness == Sameness::kPartsExchanged ? "weights_differ/parts"
                                                          : "weights_differ/order");
  }

  // What settings decide: another table is another setting, another counter is of no weight.
  void Derived(const TensorPair& pair, Sameness sameness) {
    if (sameness == Sameness::kUnknown) return Unknown(pair);
    if (IsSame(sameness) || sameness == Sameness::kTruncated) return;
    if (sameness == Sameness::kMoreRows) return Unplaced(pair);
    const bool counts = pair.a[0]->first().dtype().starts_with("I") || pair.b[0]->first().dtype().starts_with("I");
    budget_.Add(counts ? v1::SEVERITY_WARNING : v1::SEVERITY_ERROR, "derived_differs", NamesOf(pair.a), ArgsOf(pair));
  }

  void Values(const TensorPair& pair, Sameness sameness) {
    switch (sameness) {
      case Sameness::kSameBytes:
      case Sameness::kSameValues:
      case Sameness::kReshaped:
      case Sameness::kParts: return;
      case Sameness::kTransposed: budget_.Add(v1::SEVERITY_NOTE, "transposed", NamesOf(pair.a), ArgsOf(pair)); return;
      case Sameness::kRounded: Rounded(pair); return;
      case Sameness::kTruncated:
        // As far as sums over some elements each tell.
        budget_.Add(v1::SEVERITY_WARNING, "rounded_weights/other_way", NamesOf(pair.a), ArgsOf(pair));
        if (++rounded_ <= kMissingShown) {
          AddMissing(context_, result_, "rounding_not_known", NamesOf(pair.a), ArgsOf(pair));
        }
        return;
      case Sameness::kReordered:
      case Sameness::kMisread:
      case Sameness::kTurned:
      case Sameness::kNotTurned:
      case Sameness::kPartsExchanged: Misplaced(pair, sameness); return;
      case Sameness::kUnplaced: Unplaced(pair); return;
      case Sameness::kMoreRows: MoreRows(pair); return;
      case Sameness::kDiffers: Differs(pair, "weights_differ"); return;
      case Sameness::kUnknown: Unknown(pair); return;
    }
  }

  // A narrower type says by itself that values were rounded; the same type does not, and of the copies that the
  // optimizer goes on from none must be.
  void Rounded(const TensorPair& pair) {
    if (goes_on_ == GoesOn::kCopies ||
        (goes_on_ == GoesOn::kYes && pair.a[0]->first().dtype() == pair.b[0]->first().dtype())) {
      Differs(pair, "weights_differ/rounded");
      return;
    }
    const bool told = pair.a[0]->first().dtype() != pair.b[0]->first().dtype();
    budget_.Add(told ? v1::SEVERITY_NOTE : v1::SEVERITY_WARNING, told ? "rounded_weights" : "rounded_weights/same_type",
                NamesOf(pair.a), ArgsOf(pair));
  }

  void Law(const TensorPair& pair, Sameness sameness, ShapeRelation shape) {
    if (IsSame(sameness)) return;
    if (IsTwice(pair)) return Unknown(pair);
    if (const std::optional<Side> side = DrawnAlike(pair)) {
      Differs(pair, "rank_repeated/drawn_alike", {{"side", std::string(SideName(*side))}});
      return;
    }
    if (shape == ShapeRelation::kOther) return Unknown(pair);  // no draw of the same tensor: training.flow.graph
    if (IsMisplaced(sameness)) return Misplaced(pair, sameness);
    if (sameness == Sameness::kUnplaced) return Unplaced(pair);
    const std::optional<LawComparison> law = CompareLaws(context_.profile, pair);
    if (!law.has_value()) return Unknown(pair);
    if (law->same) return;
    const absl::string_view id = law->constants         ? "law_differs/constant"
                                 : law->outlier         ? "law_differs/outlier"
                                 : !law->moment.empty() ? "law_differs/moments"
                                                        : "law_differs";
    v1::Finding* finding = Differs(pair, id, {{"what", law->moment}});
    if (finding == nullptr) return;
    SetFact(*finding, "distance", law->distance);
    SetFact(*finding, "limit", law->limit);
  }

  // The side whose ranks hold one slice of a tensor again and again, where those of the other hold as many that differ.
  static std::optional<Side> DrawnAlike(const TensorPair& pair) {
    if (!pair.one_to_one()) return std::nullopt;
    const ModelTensor &a = *pair.a[0], &b = *pair.b[0];
    if (a.copied || b.copied || (a.alike > 0) == (b.alike > 0)) return std::nullopt;
    const ModelTensor& repeated = a.alike > 0 ? a : b;
    const auto with_all = [](const ModelTensor& one) { return one.elements() + one.alike * ElementsOf(one.first()); };
    if (with_all(a) != with_all(b) || IsConstant(repeated.first())) return std::nullopt;
    return &repeated == &a ? Side::kBaseline : Side::kMigrated;
  }

  void Copied(const PairedStates& states) {
    for (const Copies& copies : CopiesOnOneSide(states)) {
      std::vector<std::string> names = copies.names;
      if (names.size() > kMissingShown) names.resize(kMissingShown);
      v1::Finding* finding = budget_.Add(v1::SEVERITY_ERROR, "copies_on_one_side", copies.names.front(),
                                         {{"side", std::string(SideName(copies.side))},
                                          {"count", absl::StrCat(copies.names.size())},
                                          {"names", absl::StrJoin(names, ", ")}});
      if (finding != nullptr) SetFact(*finding, "copies", copies.names);
    }
  }

  void Exchanged(const TensorPair& x, const TensorPair& y) {
    MessageArgs args = ArgsOf(x);
    args.emplace_back("second", NamesOf(y.a));
    args.emplace_back("second_other", NamesOf(y.b));
    v1::Finding* finding = budget_.Add(v1::SEVERITY_ERROR, "names_exchanged", NamesOf(x.a), args);
    if (finding == nullptr) return;
    SetFact(*finding, "exchanged", std::vector<std::string>{NamesOf(x.b), NamesOf(y.b)});
  }

  static bool IsTwice(const TensorPair& pair) {
    const auto twice = [](const ModelTensor* one) { return one->twice; };
    return std::any_of(pair.a.begin(), pair.a.end(), twice) || std::any_of(pair.b.begin(), pair.b.end(), twice);
  }

  void MoreRows(const TensorPair& pair) {
    AddMissing(context_, result_, "rows_of_no_word", NamesOf(pair.a), ArgsOf(pair));
  }

  void Unknown(const TensorPair& pair) {
    if (IsTwice(pair)) {
      return AddMissing(context_, result_, "tensor_stands_twice", NamesOf(pair.a), ArgsOf(pair));
    }
    if (++unknown_ > kMissingShown) return;
    AddMissing(context_, result_, "tensor_not_compared", NamesOf(pair.a), ArgsOf(pair));
  }

  void Unplaced(const TensorPair& pair) {
    if (++unplaced_ > kMissingShown) return;
    AddMissing(context_, result_, "places_unknown", NamesOf(pair.a), ArgsOf(pair));
  }

  void Unmatched(const PairedStates& states) {
    for (const Side side : kBothSides) AddNames("tensors_unmatched", side, states.Unmatched(side));
  }

  void Sum(const PairedStates& states, bool random) {
    std::map<std::string, int> counts;
    for (std::size_t i = 0; i < states.match().pairs.size(); ++i) ++counts[SamenessWord(states.sameness(i))];
    std::vector<std::string> texts;
    for (const auto& [word, count] : counts) texts.push_back(absl::StrCat(word, " ", count));
    v1::Finding& note =
        AddNote(context_, result_, random ? "measured/random_weights" : "measured/initial_weights", states.b().where,
                {{"counts", absl::StrJoin(texts, ", ")}, {"pairs", absl::StrCat(states.match().pairs.size())}});
    for (const auto& [word, count] : counts) SetFact(note, word, count);
    SetFact(note, "left_out", states.a().left_out + states.b().left_out);
    SetFact(note, "derived_on_one_side", states.DerivedAlone());
    for (const std::string& source : states.a().sources) note.add_evidence(source);
    for (const std::string& source : states.b().sources) note.add_evidence(source);
    if (states.a().left_out + states.b().left_out + states.DerivedAlone() > 0) {
      AddNote(context_, result_, "measured/left_out", states.b().where,
              {{"baseline", absl::StrCat(states.a().left_out)},
               {"migrated", absl::StrCat(states.b().left_out)},
               {"derived", absl::StrCat(states.DerivedAlone())}});
    }
    if (states.a().incomplete || states.b().incomplete) {
      AddMissing(context_, result_, "checkpoint_incomplete",
                 states.a().incomplete ? states.a().where : states.b().where);
    }
  }

  static constexpr int kMissingShown = 20;
  const CheckContext& context_;
  v1::CheckResult& result_;
  FindingBudget budget_;
  GoesOn goes_on_ = GoesOn::kYes;
  int unknown_ = 0;
  int unplaced_ = 0;
  int rounded_ = 0;
};

void Evaluate(const CheckContext& context, v1::CheckResult& result) {
  for (const Side side : kBothSides) {
    for (const RunView& run : context.evidence.Runs(side)) JudgeObservedLoads(context, result, run);
  }
  for (const Side side : kBothSides) AddScriptFaults(context, result, "training.flow.initial-weights", side);
  Evaluation evaluation(context, result);
  const RunCheckpoints* reference = ReferenceCheckpoints(context);
  Start baseline;
  if (reference != nullptr) {
    baseline = StartOf(context, result, *reference);
    evaluation.Loaded(*reference, baseline);
    evaluation.Masters(*reference, baseline);
    for (const ModelState* state : {&baseline.file, &baseline.model}) ReportNotFinite(context, result, *state);
  }
  for (const RunCheckpoints& run : CheckpointsOf(context, Side::kMigrated)) {
    const Start start = StartOf(context, result, run);
    evaluation.Loaded(run, start);
    evaluation.Masters(run, start);
    for (const ModelState* state : {&start.file, &start.model}) ReportNotFinite(context, result, *state);
    if (reference != nullptr) evaluation.Sides(baseline, start);
  }
}

}  // namespace

extern const Check kFlowInitialWeights;
const Check kFlowInitialWeights = {"training.flow.initial-weights", kNeeds, &Evaluate};

}  // namespace paritect
