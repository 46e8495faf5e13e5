#include "checks/scripts/alike.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "checks/scripts/code.h"
#include "checks/scripts/detail.h"
#include "checks/scripts/left_out.h"
#include "checks/scripts/shapes.h"
#include "checks/scripts/words.h"

namespace paritect {
namespace {

constexpr char kEvery[] = "every";  // the call is made once in so many rounds

bool Contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool OfTraining(const v1::ScriptFact& fact) {
  return fact.called() && fact.use() != "evaluation";
}

// A port names the device in the function; seeding torch seeds every device.
std::string NameOf(const v1::ScriptFact& fact) {
  return absl::StrReplaceAll(fact.name(), {{".cuda.", "."}, {".npu.", "."}, {"manual_seed_all", "manual_seed"}});
}

// Under a condition that the source does not decide; `step % 4 == 0` decides.
bool IsPerhaps(const v1::ScriptFact& fact) {
  return fact.conditional() && FindScriptArgument(fact, kEvery) == nullptr;
}

// A call as it is compared.
struct Call {
  const v1::ScriptFact* fact = nullptr;
  std::string name;
  std::string text;  // the name with the arguments that count
  bool told = true;  // nothing in it is unknown
};

class KindComparison {
 public:
  KindComparison(const ComparedFacts& which, const ScriptFlow& baseline, const ScriptFlow& migrated)
      : which_(which), baseline_(baseline), migrated_(migrated) {}

  // Between frameworks: what both call by names of one meaning.
  FactsComparison RunAcross() {
    const std::vector<Call> a = CallsOf(baseline_);
    const std::vector<Call> b = CallsOf(migrated_);
    if (a.empty() && b.empty()) return {};
    const auto values_a = Meanings(baseline_, a);
    const auto values_b = Meanings(migrated_, b);
    if (values_a == values_b && !values_a.contains("")) return {};
    const bool one_each = a.size() == 1 && b.size() == 1 && !IsPerhaps(*a[0].fact) && !IsPerhaps(*b[0].fact);
    if (one_each && !which_.by_value && values_a.size() == 1 && values_b.size() == 1 &&
        values_a.begin()->first == values_b.begin()->first && !values_a.contains("")) {
      out_.differ.push_back({absl::StrCat(which_.kind, " ", values_a.begin()->first),
                             absl::StrJoin(values_a.begin()->second, ", "),
                             absl::StrJoin(values_b.begin()->second, ", "), a[0].fact, b[0].fact});
    } else {
      out_.open.push_back({TextOf(a), TextOf(b)});
    }
    return std::move(out_);
  }

  FactsComparison Run() {
    std::vector<Call> a = CallsOf(baseline_);
    std::vector<Call> b = CallsOf(migrated_);
    const auto among = [](const Call& one, const std::vector<Call>& others) {
      return std::any_of(others.begin(), others.end(),
                         [&](const Call& other) { return one.told && other.told && one.text == other.text; });
    };
    const std::vector<Call> all_a = a;
    const std::vector<Call> all_b = b;
    std::erase_if(a, [&](const Call& one) { return among(one, all_b); });
    std::erase_if(b, [&](const Call& one) { return among(one, all_a); });
    if (a.empty() && b.empty()) return {};
    if (a.size() == 1 && b.size() == 1 && a[0].name == b[0].name && !IsPerhaps(*a[0].fact) && !IsPerhaps(*b[0].fact)) {
      Arguments(*a[0].fact, *b[0].fact);
    } else if (LeftOut(a, b) || OfOtherMeaning(a, b) || OfOtherValue(a, b)) {
      out_.differ.push_back(
          {which_.kind, TextOf(a), TextOf(b), a.empty() ? nullptr : a[0].fact, b.empty() ? nullptr : b[0].fact});
    } else {
      out_.open.push_back({TextOf(a), TextOf(b)});
    }
    if (which_.by_value) out_.seeds = std::exchange(out_.differ, {});
    return std::move(out_);
  }

 private:
  // Calls of one side alone, where nothing of the other side can do the same in other words.
  bool LeftOut(const std::vector<Call>& a, const std::vector<Call>& b) const {
    if (a.empty() == b.empty()) return false;
    const std::vector<Call>& calls = a.empty() ? b : a;
    const bool sure = std::all_of(calls.begin(), calls.end(), [](const Call& one) { return !IsPerhaps(*one.fact); });
    return sure && (a.empty() ? IsPartOf(baseline_, migrated_) : IsPartOf(migrated_, baseline_));
  }

  // Calls that give one value each side, and another: all generators are seeded with it.
  bool OfOtherValue(const std::vector<Call>& a, const std::vector<Call>& b) const {
    if (!which_.by_value) return false;
    const auto x = Meanings(baseline_, a);
    const auto y = Meanings(migrated_, b);
    return x.size() == 1 && y.size() == 1 && !x.contains("") && x.begin()->first == y.begin()->first &&
           x.begin()->second.size() == 1 && y.begin()->second.size() == 1 && x != y;
  }

  // One call on each side, known whole, which say things of other meanings: a norm to clip to, a value.
  bool OfOtherMeaning(const std::vector<Call>& a, const std::vector<Call>& b) const {
    if (a.size() != 1 || b.size() != 1) return false;
    const auto x = Meanings(baseline_, a);
    const auto y = Meanings(migrated_, b);
    if (x.empty() || y.empty() || x.contains("") || y.contains("")) return false;
    return std::none_of(x.begin(), x.end(), [&](const auto& one) { return y.contains(one.first); });
  }

  // How often it is made, where that is not in each round.
  static std::string When(const ScriptFlow& flow, const v1::ScriptFact& fact) {
    const v1::ScriptArgument* every = FindScriptArgument(fact, kEvery);
    if (every == nullptr) return fact.conditional() ? " perhaps" : "";
    return absl::StrCat(" once in ", flow.Knows(*every) ? ShowScriptValue(*every) : every->symbol(), " rounds");
  }

  bool Counts(const v1::ScriptArgument& argument) const {
    if (argument.name() == kEvery) return false;
    if (!which_.arguments.empty()) return Contains(which_.arguments, argument.name());
    return !Contains(which_.passed_over, argument.name());
  }

  // By meaning, the values that are given; under "" what is not known, or has no meaning elsewhere.
  std::map<std::string, std::set<std::string>> Meanings(const ScriptFlow& flow, const std::vector<Call>& calls) const {
    std::map<std::string, std::set<std::string>> values;
    for (const Call& call : calls) {
      if (IsPerhaps(*call.fact)) values[""].insert(call.text);
      for (const v1::ScriptArgument& one : call.fact->arguments()) {
        if (!Counts(one)) continue;
        const auto meaning = std::find_if(which_.across.begin(), which_.across.end(),
                                          [&](const auto& of) { return Contains(of.second, one.name()); });
        const bool told = meaning != which_.across.end() && flow.Knows(one);
        if (meaning == which_.across.end() && one.is_default()) continue;
        values[told ? meaning->first : ""].insert(ShowScriptValue(one));
      }
    }
    return values;
  }

  Call CallOf(const ScriptFlow& flow, const v1::ScriptFact& fact) const {
    Call call = {&fact, NameOf(fact), "", true};
    std::vector<std::string> arguments;
    for (const v1::ScriptArgument& one : fact.arguments()) {
      if (!Counts(one)) continue;
      const bool known = flow.Knows(one);
      call.told = call.told && (known || !absl::StrContains(one.symbol(), '?'));
      arguments.push_back(absl::StrCat(one.name(), "=", known ? ShowScriptValue(one) : one.symbol()));
    }
    std::sort(arguments.begin(), arguments.end());
    const std::string brief = call.name.substr(call.name.rfind('.') + 1);
    const v1::ScriptArgument* every = FindScriptArgument(fact, kEvery);
    call.told = call.told && (every == nullptr || flow.Knows(*every) || !absl::StrContains(every->symbol(), '?'));
    call.text = absl::StrCat(brief, "(", absl::StrJoin(arguments, ", "), ")", When(flow, fact));
    // Of a trainer or an optimizer only what it is told counts: that it is another one is judged elsewhere.
    if (!which_.arguments.empty() && arguments.empty()) call.text.clear();
    return call;
  }

  std::vector<Call> CallsOf(const ScriptFlow& flow) const {
    std::vector<Call> calls;
    std::set<std::string> seen;
    for (const v1::ScriptFact* fact : flow.OfKind(which_.kind)) {
      if (!OfTraining(*fact)) continue;
      Call call = CallOf(flow, *fact);
      if (!call.text.empty() && seen.insert(absl::StrCat(call.name, call.text)).second)
        calls.push_back(std::move(call));
    }
    return calls;
  }

  static std::string TextOf(const std::vector<Call>& calls) {
    std::vector<std::string> texts;
    for (const Call& call : calls) texts.push_back(absl::StrCat(call.text, " (", ScriptPlace(*call.fact), ")"));
    if (texts.size() > 5) texts.resize(5);
    return texts.empty() ? "-" : absl::StrJoin(texts, ", ");
  }

  void Arguments(const v1::ScriptFact& a, const v1::ScriptFact& b) {
    std::set<std::string> names;
    for (const v1::ScriptFact* fact : {&a, &b}) {
      for (const v1::ScriptArgument& one : fact->arguments()) {
        if (Counts(one)) names.insert(one.name());
      }
    }
    const std::string brief = a.name().substr(a.name().rfind('.') + 1);
    for (const std::string& name : names) {
      const v1::ScriptArgument* x = FindScriptArgument(a, name);
      const v1::ScriptArgument* y = FindScriptArgument(b, name);
      const std::string shown_x = x == nullptr ? "-" : ShowScriptValue(*x);
      const std::string shown_y = y == nullptr ? "-" : ShowScriptValue(*y);
      const bool known = x != nullptr && y != nullptr && baseline_.Knows(*x) && migrated_.Knows(*y);
      if (known && shown_x == shown_y) continue;
      if (!known && x != nullptr && y != nullptr && x->symbol() == y->symbol() && !absl::StrContains(x->symbol(), '?'))
        continue;
      if (known) {
        out_.differ.push_back({absl::StrCat(brief, " ", name), shown_x, shown_y, &a, &b});
      } else {
        out_.open.push_back({absl::StrCat(brief, " ", name, "=", shown_x, " (", ScriptPlace(a), ")"),
                             absl::StrCat(brief, " ", name, "=", shown_y, " (", ScriptPlace(b), ")")});
      }
    }
  }

  const ComparedFacts& which_;
  const ScriptFlow& baseline_;
  const ScriptFlow& migrated_;
  FactsComparison out_;
};

// --- constants in a symbol

std::string Shown(const std::multiset<std::string>& constants) {
  const std::set<std::string> once(constants.begin(), constants.end());
  return once.empty() ? "-" : absl::StrJoin(once, ", ");
}

std::optional<CodeApart> Apart(absl::string_view what, const std::optional<std::multiset<std::string>>& a,
                               const std::optional<std::multiset<std::string>>& b) {
  if (!a || !b || Shown(*a) == Shown(*b)) return std::nullopt;
  return CodeApart{absl::StrCat(what, ": ", Shown(*a)), absl::StrCat(what, ": ", Shown(*b))};
}

std::optional<std::multiset<std::string>> LossConstants(const ScriptFlow& flow) {
  const std::string kind = flow.Has("scale_loss") ? "scale_loss" : "backward";
  std::multiset<std::string> constants;
  bool any = false;
  for (const v1::ScriptFact* fact : flow.OfKind(kind)) {
    const v1::ScriptArgument* loss = FindScriptArgument(*fact, "loss");
    if (loss == nullptr || !OfTraining(*fact)) continue;
    any = true;
    AddConstants(loss->has_value() ? "" : loss->symbol(), constants);
  }
  if (!any) return std::nullopt;
  // The losses' own arguments are compared by name; the mean over accumulated rounds is part of the accumulation.
  const auto drop = [&](const v1::ScriptArgument& argument) {
    std::multiset<std::string> own;
    AddConstants(argument.has_value() ? ShowScriptValue(argument) : argument.symbol(), own);
    for (const std::string& one : own) constants.erase(one);
  };
  for (const v1::ScriptFact* fact : flow.facts()) {
    for (const v1::ScriptArgument& argument : fact->arguments()) {
      if (fact->kind() == "functional_loss" && !argument.is_default()) drop(argument);
      if (argument.name() == kEvery) drop(argument);
    }
  }
  return constants;
}

std::optional<std::multiset<std::string>> InputConstants(const ScriptFlow& flow) {
  std::multiset<std::string> constants;
  bool any = false;
  for (const v1::ScriptFact* fact : flow.OfKind("forward")) {
    if (!OfTraining(*fact) || fact->loops().empty()) continue;
    any = true;
    for (const v1::ScriptArgument& argument : fact->arguments()) AddConstants(argument.symbol(), constants);
  }
  return any ? std::optional(constants) : std::nullopt;
}

std::optional<std::multiset<std::string>> RoundConstants(const ScriptFlow& flow) {
  std::multiset<std::string> constants;
  bool any = false;
  for (const v1::ScriptFact* fact : flow.facts()) {
    if (!IsUpdate(*fact) || !OfTraining(*fact) || fact->loops().empty()) continue;
    any = true;
    for (int i = 0; i + 1 < fact->loops_size(); ++i) {
      const v1::ScriptLoop* loop = flow.LoopAt(fact->loops(i));
      if (loop != nullptr) AddConstants(loop->over(), constants);
    }
  }
  return any ? std::optional(constants) : std::nullopt;
}

// What the one backward of the training is called with; nullptr where there are several, or none.
const v1::ScriptFact* LossFact(const ScriptFlow& flow) {
  const v1::ScriptFact* found = nullptr;
  for (const v1::ScriptFact* fact : flow.OfKind(flow.Has("scale_loss") ? "scale_loss" : "backward")) {
    const v1::ScriptArgument* loss = FindScriptArgument(*fact, "loss");
    if (loss == nullptr || loss->has_value() || !OfTraining(*fact)) continue;
    if (found != nullptr) return nullptr;
    found = fact;
  }
  return found;
}

const v1::ScriptFact* UpdateFact(const ScriptFlow& flow) {
  const auto found = std::find_if(flow.facts().begin(), flow.facts().end(), [](const v1::ScriptFact* fact) {
    return IsUpdate(*fact) && OfTraining(*fact) && !fact->loops().empty();
  });
  return found == flow.facts().end() ? nullptr : *found;
}

// What the one loop around that of the samples runs over; nullopt where there is no such loop, or another.
std::optional<std::string> OneRound(const ScriptFlow& flow) {
  std::set<std::string> over;
  for (const v1::ScriptFact* fact : flow.facts()) {
    if (!IsUpdate(*fact) || !OfTraining(*fact)) continue;
    if (fact->loops_size() != 2) return std::nullopt;
    const v1::ScriptLoop* loop = flow.LoopAt(fact->loops(0));
    over.insert(loop == nullptr ? "" : loop->over());
  }
  return over.size() == 1 ? std::optional(*over.begin()) : std::nullopt;
}

// "each update", "not with each update", both, or none.
std::string StepsOfSchedule(const ScriptFlow& flow) {
  std::set<std::string> told;
  for (const v1::ScriptFact* step : flow.OfKind("schedule_step")) {
    if (!OfTraining(*step) || step->loops().empty()) continue;
    const int loop = step->loops(step->loops_size() - 1);
    const bool with = std::any_of(flow.facts().begin(), flow.facts().end(), [&](const v1::ScriptFact* fact) {
      return IsUpdate(*fact) && !fact->loops().empty() && fact->loops(fact->loops_size() - 1) == loop;
    });
    told.insert(with ? "schedule.step() with each update" : "schedule.step() not with each update");
  }
  return told.empty() ? "-" : absl::StrJoin(told, ", ");
}

// The one step of the one schedule, which nothing makes skip a turn; nullptr.
const v1::ScriptFact* SureStep(const ScriptFlow& flow) {
  const std::vector<const v1::ScriptFact*> steps = flow.OfKind("schedule_step");
  if (steps.size() != 1 || flow.OfKind("schedule").size() != 1) return nullptr;
  const v1::ScriptFact& step = *steps[0];
  const bool sure = OfTraining(step) && !step.loops().empty() && !step.conditional();
  return sure && FindScriptArgument(step, kEvery) == nullptr ? &step : nullptr;
}

// "forward, loss": what of a round runs in an autocast, each once, and what beside it.
std::string UnderAutocast(const ScriptFlow& flow) {
  std::set<int> rounds;
  for (const v1::ScriptFact* fact : flow.facts()) {
    if (IsUpdate(*fact) && !fact->loops().empty()) rounds.insert(*fact->loops().rbegin());
  }
  std::set<std::string> within, beside;
  for (const v1::ScriptFact* fact : flow.facts()) {
    const bool loss = fact->kind() == "loss_call" || fact->kind() == "functional_loss";
    if (!loss && fact->kind() != "forward" && fact->kind() != "backward") continue;
    const bool of_round =
        std::any_of(fact->loops().begin(), fact->loops().end(), [&](int loop) { return rounds.contains(loop); });
    if (!of_round || !OfTraining(*fact)) continue;
    const bool cast = std::any_of(fact->contexts().begin(), fact->contexts().end(), [&](int number) {
      const v1::ScriptFact* context = flow.FactAt(number);
      return context != nullptr && context->kind() == "autocast" && !IsFalse(FindScriptArgument(*context, "enabled"));
    });
    (cast ? within : beside).insert(loss ? "loss" : fact->kind());
  }
  return absl::StrCat("autocast: ", within.empty() ? "-" : absl::StrJoin(within, ", "),
                      "; without: ", beside.empty() ? "-" : absl::StrJoin(beside, ", "));
}

}  // namespace

FactsComparison CompareFacts(const ComparedFacts& which, const ScriptFlow& baseline, const ScriptFlow& migrated) {
  if (OfOneFramework(baseline, migrated)) return KindComparison(which, baseline, migrated).Run();
  const auto known = [](const ScriptFlow& flow) { return flow.read() && !flow.framework().empty(); };
  if (!known(baseline) || !known(migrated) || which.across.empty()) return {};
  return KindComparison(which, baseline, migrated).RunAcross();
}

FactsComparison CompareFacts(absl::string_view check, const ScriptFlow& baseline, const ScriptFlow& migrated) {
  FactsComparison all;
  for (const ComparedFacts& which : BuiltInScriptWords().compared) {
    if (which.check != check) continue;
    FactsComparison one = CompareFacts(which, baseline, migrated);
    all.differ.insert(all.differ.end(), one.differ.begin(), one.differ.end());
    all.open.insert(all.open.end(), one.open.begin(), one.open.end());
    all.seeds.insert(all.seeds.end(), one.seeds.begin(), one.seeds.end());
  }
  return all;
}

FactsComparison CompareLossConstants(const ScriptFlow& baseline, const ScriptFlow& migrated) {
  if (!OfOneFramework(baseline, migrated)) return {};
  const std::optional<CodeApart> apart = Apart("loss", LossConstants(baseline), LossConstants(migrated));
  if (!apart) return {};
  const v1::ScriptFact* a = LossFact(baseline);
  const v1::ScriptFact* b = LossFact(migrated);
  const bool alone = ApartInConstantsAlone(baseline, migrated) && CallsAlike(baseline, migrated);
  if (a == nullptr || b == nullptr || !alone) return {{}, {*apart}};
  const auto constants =
      OtherConstants(FindScriptArgument(*a, "loss")->symbol(), FindScriptArgument(*b, "loss")->symbol());
  if (!constants) return {{}, {*apart}};
  const auto& [x, y] = (*constants)[0];
  return {{{"constant in the loss", x, y, a, b}}, {}};
}

std::optional<CodeApart> CompareInputConstants(const ScriptFlow& baseline, const ScriptFlow& migrated) {
  if (!OfOneFramework(baseline, migrated)) return std::nullopt;
  return Apart("input", InputConstants(baseline), InputConstants(migrated));
}

std::optional<CodeApart> CompareAutocast(const ScriptFlow& baseline, const ScriptFlow& migrated) {
  if (!OfOneFramework(baseline, migrated) || (!baseline.Has("autocast") && !migrated.Has("autocast")))
    return std::nullopt;
  const std::string a = UnderAutocast(baseline);
  const std::string b = UnderAutocast(migrated);
  if (a == b) return std::nullopt;
  return CodeApart{a, b};
}

FactsComparison CompareRounds(const ScriptFlow& baseline, const ScriptFlow& migrated) {
  if (!OfOneFramework(baseline, migrated)) return {};
  const std::optional<std::string> a = OneRound(baseline);
  const std::optional<std::string> b = OneRound(migrated);
  const std::optional<std::int64_t> x = a ? TurnsOf(*a) : std::nullopt;
  const std::optional<std::int64_t> y = b ? TurnsOf(*b) : std::nullopt;
  // As many turns by other numbers are open: what counts by the number of the epoch goes another way.
  if (x && y && *x != *y) {
    return {{{"rounds", absl::StrCat(*x), absl::StrCat(*y), UpdateFact(baseline), UpdateFact(migrated)}}, {}};
  }
  const std::optional<CodeApart> apart = Apart("rounds", RoundConstants(baseline), RoundConstants(migrated));
  if (!apart) return {};
  return {{}, {*apart}};
}

FactsComparison CompareScheduleSteps(const ScriptFlow& baseline, const ScriptFlow& migrated) {
  if (!OfOneFramework(baseline, migrated)) return {};
  if (!baseline.Has("schedule") && !migrated.Has("schedule")) return {};
  const std::string a = StepsOfSchedule(baseline);
  const std::string b = StepsOfSchedule(migrated);
  if (a == b) return {};
  const v1::ScriptFact* x = SureStep(baseline);
  const v1::ScriptFact* y = SureStep(migrated);
  // The same schedule that moves on at another pace, or at none.
  const FactsComparison made = CompareFacts(BuiltInScriptWords().MadeOf("schedule"), baseline, migrated);
  const bool same = made.differ.empty() && made.open.empty();
  const bool sure = (x != nullptr && y != nullptr) || (x != nullptr && b == "-" && IsPartOf(migrated, baseline)) ||
                    (y != nullptr && a == "-" && IsPartOf(baseline, migrated));
  if (same && sure) return {{{"schedule.step()", a, b, x, y}}, {}};
  return {{}, {{a, b}}};
}

}  // namespace paritect
