// diff curve A B: two curves in the terminal, one below the other on one scale, and the figures that tell them apart.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/numbers/statistics.h"
#include "checks/runs/run_pairs.h"
#include "checks/runs/step_axis.h"
#include "checks/series/curve_figures.h"
#include "checks/series/metric_limits.h"
#include "checks/series/rank_curves.h"
#include "checks/series/repeats.h"
#include "checks/series/run_series.h"
#include "client/diff/diff_kind.h"
#include "client/diff/diff_side.h"
#include "client/diff/sparkline.h"
#include "client/render/table_writer.h"
#include "client/report/json.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "report/summary.h"
#include "report/terminal.h"
#include "report/view.h"

namespace paritect {
namespace {

using absl::StrCat;

enum class Answer { kEqual, kDiffers, kUnknown };

// Steps at which one side's value is no number and the other's is one.
struct OneSided {
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::optional<std::int64_t> first;
};

// One metric of one pair of runs and one engine.
struct Compared {
  std::string metric;
  std::string run_a;
  std::string run_b;
  std::string engine;
  AlignedCurves aligned;  // borrows from `b`
  Curve a;
  Curve b;
  CurveComparison figures;
  std::optional<Interval> bias;
  std::optional<std::int64_t> diverges_since;
  std::int64_t nonfinite_a = 0;
  std::int64_t nonfinite_b = 0;
  OneSided one_sided;
  char alone = '\0';  // 'a' or 'b': only that side prints this engine
  std::size_t spikes_a = 0;
  std::size_t spikes_b = 0;
  StepAxis axis;            // of the loss; steps of the figures are those of a
  bool ends_early = false;  // one side stops before the other: what is there may agree
  Answer answer = Answer::kUnknown;
};

std::int64_t NonFinite(const Curve& curve) {
  return std::count_if(curve.points.begin(), curve.points.end(),
                       [](const CurvePoint& point) { return !std::isfinite(point.value); });
}

// NaN where the other side has a number is a difference, whichever side it is; steps that both lack are none.
OneSided FindOneSided(const Curve& a, const Curve& b) {
  OneSided found;
  auto it = b.points.begin();
  for (const CurvePoint& point : a.points) {
    while (it != b.points.end() && it->step < point.step) ++it;
    if (it == b.points.end()) break;
    if (it->step != point.step || std::isfinite(it->value) == std::isfinite(point.value)) continue;
    ++(std::isfinite(point.value) ? found.b : found.a);
    if (!found.first.has_value()) found.first = point.step;
  }
  return found;
}

Answer AnswerOf(const Profile& profile, const Compared& c) {
  if (c.alone != '\0') return Answer::kUnknown;
  if (c.one_sided.first.has_value() || (c.nonfinite_a > 0) != (c.nonfinite_b > 0)) return Answer::kDiffers;
  if (c.figures.common_steps == 0) return Answer::kUnknown;
  if (c.figures.verdict == CurveVerdict::kDiffer) return Answer::kDiffers;
  if (c.figures.verdict == CurveVerdict::kInconclusive) return Answer::kUnknown;
  // Evaluations are few by nature.
  const bool few_by_nature = c.metric == "accuracy" || c.metric == "eval_loss";
  const bool few = static_cast<double>(c.figures.common_steps) < profile.threshold("common_steps_min");
  const bool short_of = c.figures.coverage < profile.threshold("coverage_min");
  return short_of || c.ends_early || (few && !few_by_nature) ? Answer::kUnknown : Answer::kEqual;
}

void Measure(const Profile& profile, Compared& c) {
  c.nonfinite_a = NonFinite(c.a);
  c.nonfinite_b = NonFinite(c.b);
  PairRanks(profile, c.a, c.b);
  MoveToAxis(c.axis, c.a, c.b);
  c.one_sided = FindOneSided(c.a, c.b);
  if (c.one_sided.first.has_value()) c.one_sided.first = BaselineStep(c.axis, *c.one_sided.first);
  c.aligned = Align(c.a, c.b);
  const CurveLimits limits = LimitsOfMetric(profile, c.metric);
  c.figures = Compare(c.aligned, limits, IsComputed(c.metric) ? std::optional<bool>(true) : std::nullopt);
  c.bias = BiasInterval(c.aligned);
  c.diverges_since = DivergesSince(c.aligned, limits.onset_dead_zone, c.figures.mode == CurveMode::kPaired);
  c.spikes_a = Spikes(c.aligned.a).size();
  c.spikes_b = Spikes(c.aligned.b).size();
  if (!c.a.points.empty() && !c.b.points.empty()) {
    const auto [less, more] = std::minmax(c.a.points.back().step, c.b.points.back().step);
    c.ends_early =
        static_cast<double>(less) < (1 - profile.threshold("finished_tolerance")) * static_cast<double>(more);
  }
  c.answer = AnswerOf(profile, c);
  for (std::int64_t& step : c.aligned.steps) step = BaselineStep(c.axis, step);
  for (std::int64_t* step : {&c.figures.first_step, &c.figures.max_step}) *step = BaselineStep(c.axis, *step);
  if (c.diverges_since.has_value()) c.diverges_since = BaselineStep(c.axis, *c.diverges_since);
}

// The curves of a metric of one run, or why there are none, in words.
absl::StatusOr<CurveSet> CurvesOf(const Rules& rules, const RenderOptions& options, const RunSeries& run,
                                  const std::string& metric) {
  CurveSet set = CurvesOfMetric(run, metric);
  if (!set.problems.empty()) {
    const CurveProblem& problem = set.problems.front();
    return absl::InvalidArgumentError(InAll(options.languages, rules.messages.Say(problem.message_id, problem.args)));
  }
  if (!set.curves.empty()) return set;
  std::vector<std::string> names = PrintedMetrics(run);
  for (std::string& name : names) name = DisplayBytes(name);
  return absl::InvalidArgumentError(StrCat(DisplayBytes(run.name), ": its logs print no ", DisplayBytes(metric),
                                           names.empty() ? "" : StrCat("; they print ", absl::StrJoin(names, ", "))));
}

absl::Status CompareRuns(const CheckContext& context, const DiffRequest& request, const RunSeries& a,
                         const RunSeries& b, std::vector<Compared>& all) {
  const std::vector<std::string> metrics = request.metrics.empty() ? std::vector<std::string>{"loss"} : request.metrics;
  for (const std::string& metric : metrics) {
    PARITECT_ASSIGN_OR_RETURN(const CurveSet left, CurvesOf(context.rules, request.render, a, metric));
    PARITECT_ASSIGN_OR_RETURN(const CurveSet right, CurvesOf(context.rules, request.render, b, metric));
    const bool only = left.curves.size() == 1 && right.curves.size() == 1;
    const auto add = [&](const Curve* curve, const Curve* other) {
      Compared& c = all.emplace_back();
      c.metric = metric;
      c.run_a = a.name;
      c.run_b = b.name;
      c.engine = other != nullptr ? other->engine : curve->engine;
      if (curve != nullptr) c.a = *curve;
      if (other != nullptr) c.b = *other;
      if (curve == nullptr || other == nullptr) c.alone = other == nullptr ? 'a' : 'b';
      if (metric == "loss" && c.alone == '\0') c.axis = ChooseAxis(context, a, b, *curve, *other);
    };
    const auto same_engine = [only](const std::vector<Curve>& curves, const Curve& as) -> const Curve* {
      for (const Curve& one : curves) {
        if (only || one.engine == as.engine) return &one;
      }
      return nullptr;
    };
    for (const Curve& curve : left.curves) add(&curve, same_engine(right.curves, curve));
    for (const Curve& other : right.curves) {
      if (same_engine(left.curves, other) == nullptr) add(nullptr, &other);
    }
  }
  return absl::OkStatus();
}

OrderedJson Number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

const char* AnswerWord(Answer answer) {
  switch (answer) {
    case Answer::kEqual: return "agree";
    case Answer::kDiffers: return "differ";
    default: return "unknown";
  }
}

OrderedJson ToJson(const Compared& c, bool with_points) {
  const CurveComparison& f = c.figures;
  OrderedJson json;
  json["metric"] = DisplayBytes(c.metric);
  json["run_a"] = DisplayBytes(c.run_a);
  json["run_b"] = DisplayBytes(c.run_b);
  if (!c.engine.empty()) json["engine"] = DisplayBytes(c.engine);
  json["answer"] = AnswerWord(c.answer);
  json["ends_early"] = c.ends_early;
  json["points_a"] = c.a.points.size();
  json["points_b"] = c.b.points.size();
  json["nonfinite_a"] = c.nonfinite_a;
  json["nonfinite_b"] = c.nonfinite_b;
  if (c.alone != '\0') json["only_in"] = std::string(1, c.alone);
  if (c.one_sided.first.has_value()) {
    json["nonfinite_on_one_side"] = {{"a", c.one_sided.a}, {"b", c.one_sided.b}, {"first_step", *c.one_sided.first}};
  }
  json["common_steps"] = f.common_steps;
  if (f.common_steps == 0) return json;
  json["axis"] = c.axis.kind == StepAxis::Kind::kSamples ? "samples" : "steps";
  if (c.axis.shift != 0) json["shift"] = c.axis.shift;
  json["coverage"] = f.coverage;
  json["mode"] = f.mode == CurveMode::kPaired ? "paired" : "unpaired";
  json["first_step"] = f.first_step;
  json["last_step"] = c.aligned.steps.back();
  json["first_relative_error"] = f.first_relative_error;
  json["mean_relative_error"] = f.mean_relative_error;
  json["mean_absolute_error"] = f.mean_absolute_error;
  json["max_relative_error"] = f.max_relative_error;
  json["max_relative_error_step"] = f.max_step;
  json["smoothed_relative_error"] = f.smoothed_relative_error;
  json["tail_relative_difference"] = f.tail_relative_difference;
  json["bias"] = f.signed_mean_relative_error;
  json["bias_interval"] = nullptr;
  if (c.bias.has_value()) json["bias_interval"] = {Number(c.bias->low), Number(c.bias->high)};
  json["difference_correlation"] = nullptr;
  if (f.correlation.has_value()) json["difference_correlation"] = *f.correlation;
  json["first_divergent_step"] = nullptr;
  if (c.diverges_since.has_value()) json["first_divergent_step"] = *c.diverges_since;
  json["ratio"] = nullptr;
  if (f.constant_ratio.has_value()) json["ratio"] = *f.constant_ratio;
  json["spikes_a"] = c.spikes_a;
  json["spikes_b"] = c.spikes_b;
  if (with_points) json["steps"] = c.aligned.steps;
  if (with_points) json["a"] = c.aligned.a;
  if (with_points) json["b"] = c.aligned.b;
  return json;
}

class Printer {
 public:
  Printer(CommandEnv& env, const DiffRequest& request)
      : rules_(env.rules), request_(request), w_(request.render, env.out) {}

  void Print(const Compared& c) {
    w_.Heading(
        w_.Safe(StrCat(c.metric, c.engine.empty() ? "" : StrCat(", ", c.engine), Colon(request_.render.languages[0]),
                       c.run_a, " ", request_.render.ascii ? "->" : "→", " ", c.run_b),
                w_.columns()));
    if (c.alone != '\0') {
      w_.Wrapped(2, "", Say("curve_engine_alone", {{"engine", c.engine}, {"side", std::string(1, c.alone)}}),
                 Style::kYellow);
      return;
    }
    if (c.figures.common_steps == 0) {
      w_.Wrapped(2, "", Say("curve_no_common", {{"a", Range(c.a)}, {"b", Range(c.b)}}), Style::kYellow);
      return;
    }
    Draw(c);
    Axis(c);
    Figures(c);
    const bool stops = c.ends_early && c.answer == Answer::kUnknown;
    w_.Wrapped(2, "", Say(stops ? "curve_ends_early" : StrCat("curve_", AnswerWord(c.answer))),
               c.answer == Answer::kEqual ? Style::kGreen : Style::kRed);
  }

 private:
  std::string Say(absl::string_view id, const MessageArgs& args = {}) const {
    return Word(rules_, request_.render.languages, id, args);
  }

  static std::string Range(const Curve& curve) {
    if (curve.points.empty()) return "-";
    return StrCat(curve.points.front().step, " - ", curve.points.back().step);
  }

  void Draw(const Compared& c) {
    constexpr std::size_t kMargin = 6;
    // A terminal too narrow to draw in still gets the figures.
    const std::size_t room = w_.columns() > kMargin ? w_.columns() - kMargin : 1;
    const SparklinePair pair = DrawPair(c.aligned.a, c.aligned.b, room, request_.render.ascii);
    w_.Line(StrCat("   a ", w_.Paint(pair.a, Style::kGreen)));
    w_.Line(StrCat("   b ", w_.Paint(pair.b, Style::kRed)));
    std::string marks(pair.columns, ' ');
    if (c.diverges_since.has_value()) {
      const auto at = std::find(c.aligned.steps.begin(), c.aligned.steps.end(), *c.diverges_since);
      const std::size_t column = pair.ColumnOf(static_cast<std::size_t>(at - c.aligned.steps.begin()));
      if (column < marks.size()) marks[column] = '^';
      w_.Line(StrCat("     ", marks.substr(0, column + 1)));
    }
    w_.Wrapped(5, "",
               Say(pair.logarithmic ? "curve_scale_log" : "curve_scale", {{"first", StrCat(c.aligned.steps.front())},
                                                                          {"last", StrCat(c.aligned.steps.back())},
                                                                          {"low", Short(pair.low)},
                                                                          {"high", Short(pair.high)}}));
  }

  void Axis(const Compared& c) {
    if (c.axis.kind == StepAxis::Kind::kSteps) return;
    w_.Wrapped(2, "",
               Say(c.axis.kind == StepAxis::Kind::kSamples ? "compared_by_samples" : "steps_counted_from_zero",
                   {{"migrated", "b"},
                    {"baseline", "a"},
                    {"a", Short(c.axis.baseline_per_step)},
                    {"b", Short(c.axis.migrated_per_step)},
                    {"shift", StrCat(c.axis.shift)}}),
               Style::kYellow);
  }

  void Line(absl::string_view label_id, const std::string& value) {
    w_.Wrapped(2, StrCat(Say(label_id), LabelColon(request_.render.languages[0])), value, Style::kDim);
  }

  std::string Step(std::int64_t step) const { return Say("curve_step", {{"step", StrCat(step)}}); }

  static std::string Signed(double fraction) { return StrCat(fraction > 0 ? "+" : "", Percent(fraction)); }

  void Figures(const Compared& c) {
    const CurveComparison& f = c.figures;
    Line("curve_paired", Say(f.mode == CurveMode::kPaired ? "curve_mode_paired" : "curve_mode_unpaired",
                             {{"count", StrCat(f.common_steps)},
                              {"coverage", Percent(f.coverage)},
                              {"correlation", f.correlation.has_value() ? Short(*f.correlation) : "-"}}));
    Line("curve_first", StrCat(Short(c.aligned.a.front()), " / ", Short(c.aligned.b.front()), ", ",
                               Percent(f.first_relative_error), " (", Step(f.first_step), ")"));
    Line("curve_mean",
         StrCat(Percent(f.mean_relative_error), " (", Say("curve_absolute"), " ", Short(f.mean_absolute_error), ")"));
    Line("curve_smoothed", Percent(f.smoothed_relative_error));
    Line("curve_max", StrCat(Percent(f.max_relative_error), " (", Step(f.max_step), ")"));
    std::string bias = Signed(f.signed_mean_relative_error);
    if (c.bias.has_value()) {
      absl::StrAppend(&bias, ", 95 %: ", Signed(c.bias->low), " ... ", Signed(c.bias->high));
      if (c.bias->low <= 0 && c.bias->high >= 0) absl::StrAppend(&bias, " (", Say("curve_no_bias"), ")");
    }
    Line("curve_bias", bias);
    Line("curve_tail", Signed(f.tail_relative_difference));
    Line("curve_since", c.diverges_since.has_value() ? Step(*c.diverges_since) : Say("curve_never"));
    if (f.constant_ratio.has_value()) Line("curve_ratio", Short(*f.constant_ratio));
    if (c.spikes_a + c.spikes_b > 0) Line("curve_spikes", StrCat(c.spikes_a, " / ", c.spikes_b));
    if (c.one_sided.first.has_value()) {
      w_.Wrapped(
          2, "",
          Say("curve_one_sided",
              {{"a", StrCat(c.one_sided.a)}, {"b", StrCat(c.one_sided.b)}, {"step", StrCat(*c.one_sided.first)}}),
          Style::kRed);
    }
    if (c.nonfinite_a + c.nonfinite_b > 0) Line("curve_nonfinite", StrCat(c.nonfinite_a, " / ", c.nonfinite_b));
  }

  const Rules& rules_;
  const DiffRequest& request_;
  TableWriter w_;
};

absl::StatusOr<bool> Finish(CommandEnv& env, const DiffRequest& request, const std::vector<Compared>& all) {
  bool differs = false;
  bool unknown = all.empty();
  for (const Compared& c : all) {
    differs = differs || c.answer == Answer::kDiffers;
    unknown = unknown || c.answer == Answer::kUnknown;
  }
  if (request.json) {
    OrderedJson json;
    json["schema"] = "paritect.diff/1";
    json["kind"] = "curve";
    json["a"] = DisplayBytes(request.a);
    json["b"] = DisplayBytes(request.b);
    json["equal"] = nullptr;
    if (differs || !unknown) json["equal"] = !differs;
    json["curves"] = OrderedJson::array();
    for (const Compared& c : all) json["curves"].push_back(ToJson(c, request.all));
    env.out << DumpJson(json) << "\n";
  } else {
    Printer printer(env, request);
    for (const Compared& c : all) printer.Print(c);
  }
  if (differs || !unknown) return !differs;
  return absl::InvalidArgumentError(
      "whether the curves agree cannot be told: too few common steps, one that stops before the other, or a difference "
      "that their noise explains");
}

absl::StatusOr<bool> Run(CommandEnv& env, const DiffRequest& request) {
  PARITECT_ASSIGN_OR_RETURN(std::vector<v1::Bundle> a, LoadDiffSide(env, request.a, BareFiles::kLogs));
  PARITECT_ASSIGN_OR_RETURN(std::vector<v1::Bundle> b, LoadDiffSide(env, request.b, BareFiles::kLogs));
  const EvidenceSet evidence(std::move(a), std::move(b));
  const CheckContext context{evidence, request.profile, env.rules};
  const RunPairs pairs(context);
  if (pairs.reference() == nullptr) {
    return absl::InvalidArgumentError(StrCat(DisplayBytes(request.a), ": no log that could be read"));
  }
  const std::vector<const RunSeries*> others = pairs.Comparable(Side::kMigrated);
  if (others.empty()) return absl::InvalidArgumentError(StrCat(DisplayBytes(request.b), ": no log that could be read"));
  std::vector<Compared> all;
  for (const RunSeries* other : others) {
    PARITECT_RETURN_IF_ERROR(CompareRuns(context, request, *pairs.reference(), *other, all));
  }
  // Only now: the aligned values point into curves that no longer move.
  for (Compared& c : all) Measure(request.profile, c);
  return Finish(env, request, all);
}

}  // namespace

extern const DiffKind kCurveDiff;
const DiffKind kCurveDiff = {"curve", "two curves of a metric: drawn, with the figures that tell them apart", &Run};

}  // namespace paritect
