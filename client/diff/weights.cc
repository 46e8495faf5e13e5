// diff weights A B: which tensors hold other values, worst first, by layer, names mapped across frameworks. A, B: a
// checkpoint (file, index or folder), a plan, a bundle, a run or a side of an audit on the server.
#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/collect.h"
#include "checks/weights/pair_report.h"
#include "client/diff/diff_kind.h"
#include "client/diff/diff_side.h"
#include "client/render/table_writer.h"
#include "client/report/json.h"
#include "client/report/offline_audit.h"
#include "client/report/reading.h"
#include "common/numbers.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "formats/bundle.h"
#include "formats/weights/weights_format.h"
#include "report/summary.h"
#include "report/terminal.h"

namespace paritect {
namespace {

constexpr std::size_t kHeadBytes = 4096;
constexpr std::size_t kRowsShown = 60;

// --- sides ---------------------------------------------------------------------------------------------

bool IsFolder(FileSystem& fs, const std::string& path) {
  auto info = fs.Stat(path);
  return info.ok() && info->type == FileInfo::Type::kDirectory;
}

bool IsPlanOrBundle(FileSystem& fs, const std::string& path) {
  if (IsFolder(fs, path)) return fs.Stat(JoinPath(path, "plan.yaml")).ok();
  if (absl::EndsWith(path, ".pbundle") || absl::EndsWith(path, ".yaml") || absl::EndsWith(path, ".yml")) return true;
  auto file = fs.Open(path);
  if (!file.ok()) return false;
  std::string head(kHeadBytes, '\0');
  head.resize((*file)->Read(absl::MakeSpan(head)).value_or(0));
  return LooksLikeBundle(head);
}

// A checkpoint by itself; of a folder that is none, the files in it together.
absl::StatusOr<v1::Bundle> CollectCheckpoint(CommandEnv& env, const std::string& path) {
  v1::Plan plan;
  plan.mutable_info()->set_run(DisplayBytes(path));
  plan.mutable_info()->set_node(env.host_name);
  plan.mutable_info()->set_role(v1::ROLE_RUN);
  plan.set_base(".");
  std::string file = JoinPath(env.working_directory, path);
  if (IsFolder(env.fs, path)) {
    PARITECT_ASSIGN_OR_RETURN(const WeightsSample sample, SampleWeights(env.fs, path));
    if (RecogniseWeights(sample) == nullptr) file = JoinPath(file, "*");
  }
  plan.add_weights()->set_file(file);
  return CollectPlan(Reading(env, {}, plan).env(), plan);
}

absl::StatusOr<std::vector<v1::Bundle>> LoadSide(CommandEnv& env, const std::string& text) {
  std::vector<v1::Bundle> bundles;
  if (!env.fs.Stat(text).ok()) {
    PARITECT_ASSIGN_OR_RETURN(bundles, LoadServerSide(env, text, "give a checkpoint, a plan, a folder or a bundle"));
  } else if (IsPlanOrBundle(env.fs, text)) {
    PARITECT_ASSIGN_OR_RETURN(v1::Bundle bundle, LoadSidePlan(env, text, {.only = {"weights", "observed"}}));
    bundles.push_back(std::move(bundle));
  } else {
    PARITECT_ASSIGN_OR_RETURN(v1::Bundle bundle, CollectCheckpoint(env, text));
    bundles.push_back(std::move(bundle));
  }
  const v1::Problem* problem = nullptr;
  for (const v1::Bundle& bundle : bundles) {
    for (const v1::Evidence& evidence : bundle.evidence()) {
      if (evidence.kind() != v1::EVIDENCE_KIND_WEIGHTS) continue;
      if (evidence.has_weights()) return bundles;
      problem = &evidence.problem();
    }
  }
  if (problem == nullptr) return absl::InvalidArgumentError(absl::StrCat(DisplayBytes(text), ": no weights in it"));
  const MessageArgs args(problem->args().begin(), problem->args().end());
  return absl::InvalidArgumentError(env.rules.messages.Say(problem->id(), args).en());
}

// --- rows ----------------------------------------------------------------------------------------------

struct Row {
  const TensorPair* pair = nullptr;
  Sameness sameness = Sameness::kUnknown;
  std::string layer;
  double apart = 0;  // of the size; larger is worse
};

// Of tensors that differ those that are furthest apart, then what is not known, then what is the same.
int RankOf(Sameness sameness) {
  switch (sameness) {
    case Sameness::kDiffers: return 0;
    case Sameness::kMoreRows:
    case Sameness::kUnplaced:
    case Sameness::kUnknown: return 2;
    case Sameness::kTruncated: return 3;
    default: return IsMisplaced(sameness) ? 1 : 4;
  }
}

std::vector<Row> RowsOf(const PairedStates& states) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < states.match().pairs.size(); ++i) {
    const TensorPair& pair = states.match().pairs[i];
    const std::string& name = pair.a[0]->canonical;
    Row row = {&pair, states.sameness(i), name.substr(0, std::min(name.rfind('.'), name.size())), 0};
    if (pair.one_to_one()) {
      row.apart = FiguresOf(pair.a[0]->first(), pair.b[0]->first()).relative_l2.value_or(0);
    }
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& x, const Row& y) {
    const int a = RankOf(x.sameness), b = RankOf(y.sameness);
    return a != b ? a < b : x.apart > y.apart;
  });
  return rows;
}

bool IsEqual(const PairedStates& states) {
  for (std::size_t i = 0; i < states.match().pairs.size(); ++i) {
    if (!IsSame(states.sameness(i))) return false;
  }
  return !states.match().pairs.empty() && !states.a().incomplete && !states.b().incomplete &&
         states.Unmatched(Side::kBaseline).empty() && states.Unmatched(Side::kMigrated).empty();
}

std::string TextOf(const MessageArgs& args, absl::string_view name) {
  for (const auto& [key, value] : args) {
    if (key == name) return value;
  }
  return "";
}

OrderedJson ToJson(const Row& row) {
  const MessageArgs args = ArgsOf(*row.pair);
  OrderedJson json = {{"name", NamesOf(row.pair->a)}, {"other", NamesOf(row.pair->b)},
                      {"layer", row.layer},           {"relation", SamenessWord(row.sameness)},
                      {"a", TextOf(args, "a")},       {"b", TextOf(args, "b")}};
  if (!row.pair->one_to_one()) return json;
  const DifferenceFigures figures = FiguresOf(row.pair->a[0]->first(), row.pair->b[0]->first());
  json["relative_l2"] = figures.relative_l2.has_value() ? OrderedJson(*figures.relative_l2) : OrderedJson(nullptr);
  json["cosine"] = figures.cosine.has_value() ? OrderedJson(*figures.cosine) : OrderedJson(nullptr);
  if (!TextOf(args, "place").empty()) json["place"] = TextOf(args, "place");
  return json;
}

OrderedJson ToJson(const PairedStates& states, std::int64_t step, bool all) {
  OrderedJson json = {{"step", step}, {"equal", IsEqual(states)}};
  std::map<std::string, int> counts;
  for (std::size_t i = 0; i < states.match().pairs.size(); ++i) ++counts[SamenessWord(states.sameness(i))];
  json["counts"] = counts;
  json["incomplete_a"] = states.a().incomplete;
  json["incomplete_b"] = states.b().incomplete;
  json["only_a"] = states.Unmatched(Side::kBaseline);
  json["only_b"] = states.Unmatched(Side::kMigrated);
  json["tensors"] = OrderedJson::array();
  for (const Row& row : RowsOf(states)) {
    if (all || !IsSame(row.sameness)) json["tensors"].push_back(ToJson(row));
  }
  return json;
}

// --- terminal ------------------------------------------------------------------------------------------

class Printer {
 public:
  Printer(CommandEnv& env, const DiffRequest& request) : env_(env), request_(request), w_(request.render, env.out) {}

  void Print(const PairedStates& states, std::int64_t step) {
    w_.Heading(
        Say("ui_weights_step", {{"step", absl::StrCat(step)}, {"pairs", absl::StrCat(states.match().pairs.size())}}));
    std::size_t shown = 0, hidden = 0;
    std::string layer;
    for (const Row& row : RowsOf(states)) {
      if (IsSame(row.sameness) && !request_.all) continue;
      if (shown == kRowsShown && !request_.all) {
        ++hidden;
        continue;
      }
      ++shown;
      if (row.layer != layer) w_.Wrapped(0, "", layer = row.layer, Style::kDim);
      Print(row);
    }
    if (hidden > 0) w_.Wrapped(0, "", Say("ui_weights_more", {{"count", absl::StrCat(hidden)}}));
    Unmatched(states, Side::kBaseline, "ui_weights_only_a");
    Unmatched(states, Side::kMigrated, "ui_weights_only_b");
    for (const ModelState* state : {&states.a(), &states.b()}) {
      if (state->incomplete) {
        const MessageArgs args = {{"file", absl::StrJoin(state->sources, ", ")}};
        w_.Wrapped(0, "", Say("ui_weights_incomplete", args), Style::kYellow);
      }
    }
    if (states.match().pairs.empty()) {
      w_.Wrapped(0, "", Say("ui_weights_none"), Style::kYellow);
    } else if (shown == 0) {
      w_.Wrapped(0, "", Say("ui_weights_equal"), Style::kGreen);
    }
    w_.Line();
  }

  void PrintStepsAlone(const std::vector<std::int64_t>& steps, absl::string_view side) {
    if (steps.empty()) return;
    const MessageArgs args = {{"steps", absl::StrJoin(steps, ", ")}, {"side", std::string(side)}};
    w_.Wrapped(0, "", Say("ui_weights_steps_alone", args), Style::kYellow);
  }

 private:
  std::string Say(absl::string_view id, const MessageArgs& args = {}) const {
    return InAll(request_.render.languages, env_.rules.messages.Say(id, args));
  }

  void Print(const Row& row) {
    const MessageArgs args = ArgsOf(*row.pair);
    const std::string names = NamesOf(row.pair->a) == NamesOf(row.pair->b)
                                  ? NamesOf(row.pair->a)
                                  : absl::StrCat(NamesOf(row.pair->a), " = ", NamesOf(row.pair->b));
    const Style style = IsSame(row.sameness) ? Style::kGreen : RankOf(row.sameness) < 2 ? Style::kRed : Style::kYellow;
    const std::string a = TextOf(args, "a"), b = TextOf(args, "b");
    const std::string figures = !IsSame(row.sameness)
                                    ? absl::StrCat(a, w_.against(), b, TextOf(args, "place"), TextOf(args, "distance"))
                                : a == b ? a
                                         : absl::StrCat(a, " = ", b);
    w_.Wrapped(2, absl::StrCat(SamenessWord(row.sameness), "  "),
               absl::StrCat(names, Colon(request_.render.languages[0]), figures), style);
  }

  void Unmatched(const PairedStates& states, Side side, absl::string_view id) {
    const std::vector<std::string> names = states.Unmatched(side);
    if (!names.empty()) w_.Wrapped(0, "", Say(id, {{"names", absl::StrJoin(names, ", ")}}), Style::kYellow);
  }

  CommandEnv& env_;
  const DiffRequest& request_;
  TableWriter w_;
};

// The models of a step on both sides; files to start from are compared with whatever the other side has.
struct StepPair {
  std::int64_t step = 0;
  ModelState a;
  ModelState b;
};

std::vector<StepPair> StepsOf(const CheckContext& context, const RunCheckpoints& a, const RunCheckpoints& b) {
  std::vector<StepPair> pairs;
  const auto add = [&](std::int64_t step, const std::vector<const Checkpoint*>& x,
                       const std::vector<const Checkpoint*>& y) {
    if (!x.empty() && !y.empty()) pairs.push_back({step, StateOf(context, x), StateOf(context, y)});
  };
  for (const std::int64_t step : a.Steps()) add(step, a.At(step), b.At(step));
  if (pairs.empty()) add(a.all[0].step, {&a.all[0]}, {&b.all[0]});
  return pairs;
}

// Steps that were recorded on the first side and not on the second. Where no step is common, single files are compared.
std::vector<std::int64_t> StepsAlone(const RunCheckpoints& a, const RunCheckpoints& b) {
  const std::vector<std::int64_t> x = a.Steps(), y = b.Steps();
  std::vector<std::int64_t> alone;
  std::set_difference(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(alone));
  return alone.size() == x.size() ? std::vector<std::int64_t>() : alone;
}

absl::StatusOr<bool> Run(CommandEnv& env, const DiffRequest& request) {
  PARITECT_ASSIGN_OR_RETURN(std::vector<v1::Bundle> a, LoadSide(env, request.a));
  PARITECT_ASSIGN_OR_RETURN(std::vector<v1::Bundle> b, LoadSide(env, request.b));
  const EvidenceSet evidence(std::move(a), std::move(b));
  const CheckContext context{evidence, request.profile, env.rules};
  const RunCheckpoints* left = ReferenceCheckpoints(context);
  const std::vector<RunCheckpoints>& rights = CheckpointsOf(context, Side::kMigrated);
  if (left == nullptr || rights.empty()) return absl::InvalidArgumentError("a side has no weights of a training run");
  bool equal = true;
  OrderedJson json = {{"a", request.a}, {"b", request.b}, {"steps", OrderedJson::array()}};
  Printer printer(env, request);
  for (const StepPair& step : StepsOf(context, *left, rights.front())) {
    const PairedStates states(context, step.a, step.b);
    equal = equal && IsEqual(states);
    if (request.json) {
      json["steps"].push_back(ToJson(states, step.step, request.all));
    } else {
      printer.Print(states, step.step);
    }
  }
  const std::vector<std::int64_t> steps_a = StepsAlone(*left, rights.front());
  const std::vector<std::int64_t> steps_b = StepsAlone(rights.front(), *left);
  equal = equal && steps_a.empty() && steps_b.empty();
  json["steps_only_a"] = steps_a;
  json["steps_only_b"] = steps_b;
  if (!request.json) {
    printer.PrintStepsAlone(steps_a, request.a);
    printer.PrintStepsAlone(steps_b, request.b);
  }
  json["equal"] = equal;
  if (request.json) env.out << DumpJson(json) << "\n";
  return equal;
}

}  // namespace

extern const DiffKind kWeightsDiff;
const DiffKind kWeightsDiff = {"weights", "tensors that hold other values, names mapped across frameworks", &Run};

}  // namespace paritect
