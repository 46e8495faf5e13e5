#include "checks/scripts/pipeline.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "checks/scripts/alike.h"
#include "checks/scripts/code.h"
#include "checks/scripts/pipeline_meanings.h"

namespace paritect {
namespace {

constexpr absl::string_view kTraining = "training";
constexpr absl::string_view kEvaluation = "evaluation";

struct Place {
  absl::string_view kind;
  absl::string_view argument;  // "*": every one
  absl::string_view part;
};
// Which argument of which fact belongs to which part.
constexpr Place kPlaces[] = {
    {"shuffle", "*", "shuffle"},
    {"loader", "shuffle", "shuffle"},
    {"loader", "generator", "shuffle"},
    {"loader", "worker_init_fn", "shuffle"},
    {"loader", "shuffling_queue_capacity", "shuffle"},
    {"loader", "seed", "shuffle"},
    {"sampler", "shuffle", "shuffle"},
    {"sampler", "seed", "shuffle"},
    {"sampler", "replacement", "shuffle"},
    {"dataset", "shuffle", "shuffle"},
    {"dataset", "shuffle_files", "shuffle"},
    {"list_files", "shuffle", "shuffle"},
    {"list_files", "seed", "shuffle"},
    {"training_arguments", "group_by_length", "shuffle"},
    {"training_arguments", "length_column_name", "shuffle"},
    {"fit", "shuffle", "shuffle"},
    {"interleave", "cycle_length", "shuffle"},
    {"interleave", "block_length", "shuffle"},
    {"batch", "drop_remainder", "padding"},
    {"batch", "partial", "padding"},
    {"batch", "padded_shapes", "padding"},
    {"batch", "padding_values", "padding"},
    {"batch", "pad_info", "padding"},
    {"loader", "drop_last", "padding"},
    {"loader", "collate_fn", "padding"},
    {"sampler", "drop_last", "padding"},
    {"training_arguments", "dataloader_drop_last", "padding"},
    {"padding", "*", "padding"},
    {"tokenize", "padding", "padding"},
    {"tokenize", "truncation", "padding"},
    {"tokenize", "max_length", "padding"},
    {"tokenize", "padding_side", "padding"},
    {"transform", "*", "transform"},
    {"tokenizer", "name", "transform"},
    {"dataset", "target_transform", "transform"},
    {"map", "function", "transform"},
    {"map", "operations", "transform"},
    {"filter", "function", "transform"},
    {"loader", "num_workers", "parallelism"},
    {"loader", "workers_count", "parallelism"},
    {"map", "num_parallel_calls", "parallelism"},
    {"map", "num_parallel_workers", "parallelism"},
    {"map", "num_proc", "parallelism"},
    {"map", "deterministic", "parallelism"},
    {"batch", "num_parallel_calls", "parallelism"},
    {"batch", "num_parallel_workers", "parallelism"},
    {"interleave", "num_parallel_calls", "parallelism"},
    {"interleave", "deterministic", "parallelism"},
    {"interleave", "sloppy", "parallelism"},
    {"dataset", "num_parallel_reads", "parallelism"},
    {"dataset", "num_parallel_workers", "parallelism"},
    {"dataset", "num_samples", "read-count"},
    {"dataset", "train", "read-count"},
    {"dataset", "split", "read-count"},
    {"dataset", "usage", "read-count"},
    {"dataset", "image_set", "read-count"},
    {"dataset", "<code>", "read-count"},
    {"dataset", "<code>", "transform"},
    {"take", "indices", "read-count"},
    {"take", "lengths", "read-count"},
    {"take", "*", "read-count"},
    {"repeat", "count", "read-count"},
    {"sampler", "num_samples", "read-count"},
};

// Arguments that hold the data itself, or say where it is.
bool IsData(absl::string_view name) {
  constexpr absl::string_view kNames[] = {"sequence", "image",   "tensor",    "x",       "sequences", "input",
                                          "dataset",  "encoded", "tokenizer", "indices", "lengths",   "*"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// What a project's own data set is told goes by its name.
absl::string_view PartOfName(absl::string_view name) {
  const std::string lower = absl::AsciiStrToLower(name);
  const auto has = [&](std::initializer_list<absl::string_view> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](absl::string_view word) { return absl::StrContains(lower, word); });
  };
  if (has({"shuffle", "buffer", "seed"})) return "shuffle";
  if (has({"pad", "trunc", "seq", "max_len", "drop"})) return "padding";
  if (has({"transform", "mean", "std", "crop", "resize", "augment", "img_size", "image_size"})) return "transform";
  if (has({"worker", "parallel", "num_proc"})) return "parallelism";
  if (has({"num_samples", "max_samples", "limit"})) return "read-count";
  return "";
}

bool Belongs(const v1::ScriptFact& fact, const v1::ScriptArgument& argument, absl::string_view part) {
  bool placed = false;
  for (const Place& place : kPlaces) {
    if (place.kind != fact.kind()) continue;
    const bool meant = place.argument == argument.name() || (place.argument == "*" && !IsData(argument.name()));
    if (meant && place.part == part) return true;
    placed = placed || meant;
  }
  if (placed) return false;
  const bool own = fact.kind() == "dataset" && !absl::StrContains(fact.name(), '.');
  return own && PartOfName(argument.name()) == part && argument.name() != "<code>";
}

// `**options` that the source does not tell may hold any argument that the part is about.
bool MayHold(const v1::ScriptFact& fact, const v1::ScriptArgument& argument, absl::string_view part) {
  return argument.name() == "*" && std::any_of(std::begin(kPlaces), std::end(kPlaces), [&](const Place& place) {
           return place.kind == fact.kind() && place.part == part;
         });
}

// `use`: kTraining or kEvaluation. What trains is told what feeds it.
bool Feeds(const v1::ScriptFact& fact, absl::string_view use) {
  const bool trains = use == kTraining && (fact.kind() == "training_arguments" || fact.kind() == "fit");
  return fact.called() && (fact.use() == use || trains);
}

bool IsCode(absl::string_view symbol) {
  absl::ConsumePrefix(&symbol, "partial(");
  return absl::StartsWith(symbol, "function ") || absl::StartsWith(symbol, "class ");
}

// The same function of the project, with other arguments fixed.
bool SameFunction(absl::string_view a, absl::string_view b) {
  return absl::StartsWith(a, "partial(") && a.substr(0, a.find(',')) == b.substr(0, b.find(','));
}

PipelineItem ItemOf(const v1::ScriptFact& fact, const v1::ScriptArgument& argument, bool command_line_known) {
  PipelineItem item;
  const std::string detail = fact.name().substr(fact.name().rfind('.') + 1);
  item.step = detail;
  item.name = argument.name();
  item.symbol = argument.symbol();
  item.shown = argument.has_value()      ? ShowScriptValue(argument)
               : argument.text().empty() ? argument.symbol()
                                         : argument.text();
  item.code = IsCode(item.symbol);
  item.by_option = !argument.option().empty() && !command_line_known;
  const bool decided = !absl::StrContains(item.symbol, '?') && !absl::StrContains(item.symbol, "variable:") &&
                       !absl::StrContains(item.symbol, "either(") && !absl::StrContains(item.symbol, "option:");
  item.known = !argument.follows_host() && (argument.has_value() || (decided && !item.symbol.empty()));
  if (argument.has_value()) item.symbol = item.shown;
  item.fact = &fact;
  return item;
}

// Loaders, data sets and batches of that use.
std::ptrdiff_t CountFeeding(const ScriptFlow& flow, absl::string_view use) {
  return std::count_if(flow.facts().begin(), flow.facts().end(), [&](const v1::ScriptFact* fact) {
    return Feeds(*fact, use) && (fact->kind() == "loader" || fact->kind() == "dataset" || fact->kind() == "batch");
  });
}

// The items of a part, in the order in which samples pass them.
class Items {
 public:
  Items(const ScriptFlow& flow, absl::string_view part, bool command_line_known, absl::string_view use)
      : flow_(flow), part_(part), command_line_known_(command_line_known), use_(use) {}

  std::vector<PipelineItem> Run() {
    for (const v1::ScriptFact* fact : flow_.facts()) {
      if (Feeds(*fact, use_)) Hold(*fact);
    }
    for (const v1::ScriptFact* fact : flow_.facts()) {
      if (!Feeds(*fact, use_) || held_.contains(fact)) continue;
      if (!seen_.insert(absl::StrCat(ScriptPlace(*fact), fact->name(), ScriptDetail(*fact))).second) continue;
      Fact(*fact, 0);
    }
    return std::move(items_);
  }

 private:
  // The numbers of the facts that it holds as steps, and what is no fact; nullptr where it holds none.
  static const v1::ScriptArgument* OrderOf(const v1::ScriptFact& fact) { return FindScriptArgument(fact, "<order>"); }

  void Hold(const v1::ScriptFact& fact) {
    const v1::ScriptArgument* order = OrderOf(fact);
    if (order == nullptr || !order->value().has_list()) return;
    for (const v1::Value& step : order->value().list().items()) {
      const v1::ScriptFact* of = flow_.FactAt(static_cast<int>(step.integer()));
      if (of != nullptr) held_.insert(of);
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion): kDepthMax bounds it
  void Fact(const v1::ScriptFact& fact, int depth) {
    constexpr int kDepthMax = 8;
    const v1::ScriptArgument* order = part_ == "transform" ? OrderOf(fact) : nullptr;
    bool all_facts = true;
    if (order != nullptr && order->value().has_list() && depth < kDepthMax) {
      for (const v1::Value& step : order->value().list().items()) {
        const v1::ScriptFact* of = flow_.FactAt(static_cast<int>(step.integer()));
        if (of != nullptr) Fact(*of, depth + 1);
        all_facts = all_facts && of != nullptr;
      }
    }
    const bool in_order = order != nullptr && order->value().has_list() && all_facts;
    ++turn_;
    if (order != nullptr && !in_order) Order(fact);
    Arguments(fact, in_order);
  }

  // Steps of the project's own among the others, or a list that is put together as the script runs: compared as it is
  // written.
  void Order(const v1::ScriptFact& fact) {
    for (const v1::ScriptArgument& argument : fact.arguments()) {
      if (!HoldsSteps(argument)) continue;
      PipelineItem& added = Add(fact, argument);
      added.code = added.unordered = true;
    }
  }

  bool HoldsSteps(const v1::ScriptArgument& argument) const {
    return std::any_of(argument.from().begin(), argument.from().end(), [&](int number) {
      const v1::ScriptFact* of = flow_.FactAt(number);
      return of != nullptr && (of->kind() == "transform" || of->kind() == "steps");
    });
  }

  void Arguments(const v1::ScriptFact& fact, bool in_order) {
    bool any = false;
    for (const v1::ScriptArgument& argument : fact.arguments()) {
      if (absl::StartsWith(argument.name(), "<") && argument.name() != "<code>") continue;
      const bool perhaps = MayHold(fact, argument, part_);
      if (!perhaps && !Belongs(fact, argument, part_)) continue;
      // What stands in order is compared step by step.
      if (in_order && HoldsSteps(argument)) continue;
      PipelineItem& added = Add(fact, argument);
      added.known = added.known && !perhaps;
      any = true;
    }
    // A step without arguments is a step all the same.
    const bool step =
        (part_ == "transform" && fact.kind() == "transform") || (part_ == "shuffle" && fact.kind() == "shuffle");
    if (!step || any) return;
    PipelineItem item;
    item.step = fact.name().substr(fact.name().rfind('.') + 1);
    item.known = true;
    item.fact = &fact;
    item.turn = turn_;
    items_.push_back(std::move(item));
  }

  PipelineItem& Add(const v1::ScriptFact& fact, const v1::ScriptArgument& argument) {
    items_.push_back(ItemOf(fact, argument, command_line_known_));
    items_.back().turn = turn_;
    return items_.back();
  }

  const ScriptFlow& flow_;
  const absl::string_view part_;
  const bool command_line_known_;
  const absl::string_view use_;
  std::vector<PipelineItem> items_;
  std::set<const v1::ScriptFact*> held_;
  std::set<std::string> seen_;
  int turn_ = 0;
};

// --- comparing

class Comparison {
 public:
  Comparison(const CheckContext& context, v1::CheckResult& result, absl::string_view part, absl::string_view message,
             v1::Severity severity, absl::string_view use = kTraining)
      : context_(context), result_(result), part_(part), message_(message), severity_(severity), use_(use) {}

  PipelineAnswer Run(const ScriptFlow& a, const ScriptFlow& b, const std::string& run) {
    run_ = run;
    makes_own_loader_ = a.Has("training_arguments") != b.Has("training_arguments");
    const bool known = LaunchKnown(a) && LaunchKnown(b);
    const std::vector<PipelineItem> x = Items(a, part_, known, use_).Run();
    const std::vector<PipelineItem> y = Items(b, part_, known, use_).Run();
    if (CountFeeding(a, use_) == 0 || CountFeeding(b, use_) == 0) {
      Missing("pipeline_not_found", {{"run", run}});
      return PipelineAnswer::kOpen;
    }
    if (!a.framework().empty() && !b.framework().empty() && a.framework() != b.framework()) {
      for (const MeaningDifference& one : DifferencesOfMeaning(part_, {x, MakesSamples(a)}, {y, MakesSamples(b)}))
        Add(one.what, one.baseline, one.migrated, one.place_baseline, one.place_migrated, one.baseline, one.migrated);
      Missing("pipeline_frameworks", {{"frameworks", absl::StrCat(a.framework(), ", ", b.framework())}});
      return differs_ ? PipelineAnswer::kDiffers : PipelineAnswer::kOpen;
    }
    Steps(x, y);
    for (const ScriptFlow* flow : {&a, &b}) {
      if (!flow->whole()) {
        Missing("script_in_part", {{"run", run}, {"why", flow->why_not_whole()}});
      }
    }
    if (part_ == "transform" && use_ == kTraining) {
      for (const auto& apart : {CompareInputConstants(a, b), CompareCode(CodeSubject::kSamples, a, b)}) {
        if (apart) Missing("script_code_apart", {{"baseline", apart->baseline}, {"migrated", apart->migrated}});
      }
    }
    if (differs_) return PipelineAnswer::kDiffers;
    if (open_) return PipelineAnswer::kOpen;
    std::vector<std::string> told;
    for (const PipelineItem& item : y) told.push_back(absl::StrCat(item.step, " ", item.name, "=", item.shown));
    if (told.size() > 12) told.resize(12);
    v1::Finding& note = AddNote(context_, result_, "measured/script_pipeline", run,
                                {{"items", told.empty() ? "-" : absl::StrJoin(told, ", ")}});
    SetFact(note, "compared", static_cast<std::int64_t>(y.size()));
    return PipelineAnswer::kEqual;
  }

 private:
  // The facts hold the command line's values where the launch was read; an option then decides nothing by default.
  static bool LaunchKnown(const ScriptFlow& flow) { return flow.tree()->command_line_known(); }

  void Missing(absl::string_view id, const MessageArgs& args) {
    AddMissing(context_, result_, id, run_, args);
    open_ = true;
  }

  // The steps of both sides, matched in order: each by its name, the longest common order.
  void Steps(const std::vector<PipelineItem>& x, const std::vector<PipelineItem>& y) {
    const auto steps = [](const std::vector<PipelineItem>& items) {
      std::vector<std::pair<const v1::ScriptFact*, std::string>> out;
      for (std::size_t i = 0; i < items.size(); ++i) {
        if (i == 0 || items[i - 1].turn != items[i].turn) out.emplace_back(items[i].fact, items[i].step);
      }
      return out;
    };
    const auto a = steps(x);
    const auto b = steps(y);
    std::vector<std::string> names_a;
    std::vector<std::string> names_b;
    for (const auto& one : a) names_a.push_back(one.second);
    for (const auto& one : b) names_b.push_back(one.second);
    const auto unordered = [](const PipelineItem& item) { return item.unordered; };
    if (names_a != names_b &&
        (std::any_of(x.begin(), x.end(), unordered) || std::any_of(y.begin(), y.end(), unordered))) {
      Missing("pipeline_code_differs",
              {{"baseline", absl::StrJoin(names_a, ", ")}, {"migrated", absl::StrJoin(names_b, ", ")}});
      return;
    }
    if (names_a != names_b) {
      StepsDiffer(a, b, names_a, names_b);
      return;
    }
    const std::vector<std::vector<PipelineItem>> of_x = ByStep(x);
    const std::vector<std::vector<PipelineItem>> of_y = ByStep(y);
    for (std::size_t i = 0; i < of_x.size() && i < of_y.size(); ++i) Arguments(of_x[i], of_y[i]);
  }

  static std::vector<std::vector<PipelineItem>> ByStep(const std::vector<PipelineItem>& items) {
    std::vector<std::vector<PipelineItem>> out;
    for (const PipelineItem& item : items) {
      if (out.empty() || out.back()[0].turn != item.turn) out.emplace_back();
      out.back().push_back(item);
    }
    return out;
  }

  // Not the same steps, or not in the same order. A step of the project's own code may be another's in other words.
  void StepsDiffer(const std::vector<std::pair<const v1::ScriptFact*, std::string>>& a,
                   const std::vector<std::pair<const v1::ScriptFact*, std::string>>& b,
                   const std::vector<std::string>& names_a, const std::vector<std::string>& names_b) {
    // The project's own steps, apart: where they are the same, the others are as well or differ.
    const auto named = [](const auto& steps, bool own) {
      std::vector<std::string> names;
      for (const auto& one : steps) {
        if (absl::StrContains(one.first->name(), '.') != own) names.push_back(one.second);
      }
      return names;
    };
    const auto conditional = [](const auto& steps) {
      return std::any_of(steps.begin(), steps.end(), [](const auto& one) { return one.first->conditional(); });
    };
    const bool own_differ = named(a, true) != named(b, true) || named(a, false) == named(b, false);
    if (own_differ || conditional(a) || conditional(b) || makes_own_loader_) {
      Missing("pipeline_code_differs",
              {{"baseline", absl::StrJoin(names_a, ", ")}, {"migrated", absl::StrJoin(names_b, ", ")}});
      return;
    }
    const std::string shown_a = names_a.empty() ? "-" : absl::StrJoin(names_a, ", ");
    const std::string shown_b = names_b.empty() ? "-" : absl::StrJoin(names_b, ", ");
    Add("steps", shown_a, shown_b, a.empty() ? nullptr : a[0].first, b.empty() ? nullptr : b[0].first, "", "");
  }

  void Arguments(const std::vector<PipelineItem>& x, const std::vector<PipelineItem>& y) {
    for (const PipelineItem& one : x) {
      const auto other =
          std::find_if(y.begin(), y.end(), [&](const PipelineItem& item) { return item.name == one.name; });
      if (other == y.end()) {
        Pair(one, nullptr);
      } else {
        Pair(one, &*other);
      }
    }
    for (const PipelineItem& one : y) {
      const bool there =
          std::any_of(x.begin(), x.end(), [&](const PipelineItem& item) { return item.name == one.name; });
      if (!there) Pair(one, nullptr);
    }
  }

  void Pair(const PipelineItem& a, const PipelineItem* b) {
    const std::string what = absl::StrCat(a.step, " ", a.name);
    if (b == nullptr) {
      Missing("pipeline_unresolved", {{"what", what}, {"where", ScriptPlace(*a.fact)}, {"text", a.shown}});
      return;
    }
    if (!a.known || !b->known) {
      const PipelineItem& open = a.known ? *b : a;
      Missing("pipeline_unresolved", {{"what", what}, {"where", ScriptPlace(*open.fact)}, {"text", open.shown}});
      return;
    }
    const bool same = a.symbol == b->symbol;
    if (a.by_option || b->by_option) {
      Missing("pipeline_by_option", {{"what", what}, {"baseline", a.shown}, {"migrated", b->shown}});
      return;
    }
    // Under a condition that the source does not decide, alike or not: whether the step runs is not known.
    if (a.fact->conditional() || b->fact->conditional()) {
      Missing("pipeline_unresolved",
              {{"what", what}, {"where", ScriptPlace(a.fact->conditional() ? *a.fact : *b->fact)}, {"text", a.shown}});
      return;
    }
    if (same) return;
    if (a.code && b->code && !SameFunction(a.symbol, b->symbol)) {
      Missing("pipeline_code_differs",
              {{"baseline", absl::StrCat(what, " (", ScriptPlace(*a.fact), ")")}, {"migrated", ScriptPlace(*b->fact)}});
      return;
    }
    Add(what, a.shown, b->shown, a.fact, b->fact, a.shown, b->shown);
  }

  void Add(const std::string& what, const std::string& a, const std::string& b, const v1::ScriptFact* place_a,
           const v1::ScriptFact* place_b, absl::string_view value_a, absl::string_view value_b) {
    if (severity_ == v1::SEVERITY_ERROR) differs_ = true;
    v1::Finding& finding =
        AddFinding(context_, result_, severity_, message_, what, {{"key", what}, {"baseline", a}, {"migrated", b}});
    finding.set_baseline(place_a == nullptr ? a : absl::StrCat(a, " (", ScriptPlace(*place_a), ")"));
    finding.set_migrated(place_b == nullptr ? b : absl::StrCat(b, " (", ScriptPlace(*place_b), ")"));
    SetFact(finding, "baseline_value", value_a.empty() ? absl::string_view(a) : value_a);
    SetFact(finding, "migrated_value", value_b.empty() ? absl::string_view(b) : value_b);
    for (const v1::ScriptFact* place : {place_a, place_b}) {
      if (place != nullptr) finding.add_evidence(absl::StrCat(ScriptPlace(*place), ": ", ScriptDetail(*place)));
    }
  }

  bool MakesSamples(const ScriptFlow& flow) const {
    const std::vector<const v1::ScriptFact*> sets = flow.OfKind("dataset");
    return std::any_of(sets.begin(), sets.end(), [&](const v1::ScriptFact* one) {
      return one->use() == use_ &&
             (!absl::StrContains(one->name(), '.') || absl::EndsWith(one->name(), "GeneratorDataset"));
    });
  }

  const CheckContext& context_;
  v1::CheckResult& result_;
  const absl::string_view part_;
  const absl::string_view message_;
  const v1::Severity severity_;
  const absl::string_view use_;
  std::string run_;
  bool makes_own_loader_ = false;  // one side's trainer does, by arguments that stand elsewhere
  bool differs_ = false;
  bool open_ = false;
};

}  // namespace

bool HasPipeline(const ScriptFlow& flow) {
  return CountFeeding(flow, kTraining) > 0;
}

std::vector<PipelineItem> PipelineItems(const ScriptFlow& flow, absl::string_view part, bool command_line_known) {
  return Items(flow, part, command_line_known, kTraining).Run();
}

PipelineAnswer ComparePipelines(const CheckContext& context, v1::CheckResult& result, absl::string_view part,
                                absl::string_view message, v1::Severity severity, const RunView& baseline,
                                const RunView& migrated) {
  const ScriptFlow& a = ScriptFlow::Of(context, baseline);
  const ScriptFlow& b = ScriptFlow::Of(context, migrated);
  if (!a.read() || !b.read()) return PipelineAnswer::kUnread;
  return Comparison(context, result, part, message, severity).Run(a, b, migrated.name);
}

void CompareEvaluationData(const CheckContext& context, v1::CheckResult& result, const RunView& baseline,
                           const RunView& migrated) {
  const ScriptFlow& a = ScriptFlow::Of(context, baseline);
  const ScriptFlow& b = ScriptFlow::Of(context, migrated);
  // Where another number of sets was seen to be evaluated, which belong together is not known.
  if (!a.read() || !b.read() || CountFeeding(a, kEvaluation) != CountFeeding(b, kEvaluation)) return;
  for (absl::string_view part : {"transform", "padding", "read-count"}) {
    v1::CheckResult found;
    Comparison(context, found, part, "evaluation_data_differs", v1::SEVERITY_ERROR, kEvaluation)
        .Run(a, b, migrated.name);
    for (v1::Finding& finding : *found.mutable_findings()) {
      const bool told = std::any_of(result.findings().begin(), result.findings().end(), [&](const v1::Finding& one) {
        return one.kind() == finding.kind() && one.subject() == finding.subject() &&
               one.migrated() == finding.migrated();
      });
      if (finding.severity() == v1::SEVERITY_ERROR && !told) *result.add_findings() = std::move(finding);
    }
  }
}

}  // namespace paritect
