#include "checks/scripts/alike.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "checks/scripts/detail.h"
#include "checks/scripts/words.h"
#include "common/numbers.h"

namespace paritect {
namespace {

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

// A call as it is compared.
struct Call {
  const v1::ScriptFact* fact = nullptr;
  std::string name;
  std::string text;  // the name with the arguments that count
  bool told = true;  // nothing in it is unknown
};

// Both sides run the same files, byte for byte: what the code does not tell comes from outside of it, and there the
// settings are compared.
bool SameFiles(const ScriptFlow& baseline, const ScriptFlow& migrated) {
  const auto reached = [](const ScriptFlow& flow) {
    std::map<absl::string_view, absl::string_view> files;
    for (const v1::ScriptFile& file : flow.tree()->files()) {
      if (file.reached()) files.emplace(file.path(), file.sha256());
    }
    return files;
  };
  return baseline.entry() == migrated.entry() && reached(baseline) == reached(migrated);
}

class KindComparison {
 public:
  KindComparison(const ComparedFacts& which, const ScriptFlow& baseline, const ScriptFlow& migrated)
      : which_(which), baseline_(baseline), migrated_(migrated), same_files_(SameFiles(baseline, migrated)) {}

  // Between frameworks: what both call by names of one meaning.
  FactsComparison RunAcross() {
    const std::vector<Call> a = CallsOf(baseline_);
    const std::vector<Call> b = CallsOf(migrated_);
    if (a.empty() && b.empty()) return {};
    const auto values_a = Meanings(baseline_, a);
    const auto values_b = Meanings(migrated_, b);
    if (values_a == values_b && !values_a.contains("")) return {};
    const bool one_each = a.size() == 1 && b.size() == 1 && !a[0].fact->conditional() && !b[0].fact->conditional();
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
    const auto among = [this](const Call& one, const std::vector<Call>& others) {
      return std::any_of(others.begin(), others.end(),
                         [&](const Call& other) { return one.text == other.text && Told(one, other); });
    };
    const std::vector<Call> all_a = a;
    const std::vector<Call> all_b = b;
    std::erase_if(a, [&](const Call& one) { return among(one, all_b); });
    std::erase_if(b, [&](const Call& one) { return among(one, all_a); });
    if (a.empty() && b.empty()) return {};
    if (a.size() == 1 && b.size() == 1 && a[0].name == b[0].name && !a[0].fact->conditional() &&
        !b[0].fact->conditional()) {
      Arguments(*a[0].fact, *b[0].fact);
    } else {
      out_.open.push_back({TextOf(a), TextOf(b)});
    }
    return std::move(out_);
  }

 private:
  // That the texts of two calls tell whether they are the same.
  bool Told(const Call& a, const Call& b) const {
    return (a.told && b.told) || (same_files_ && ScriptPlace(*a.fact) == ScriptPlace(*b.fact));
  }

  bool Counts(const v1::ScriptArgument& argument) const {
    if (!which_.arguments.empty()) return Contains(which_.arguments, argument.name());
    return !Contains(which_.passed_over, argument.name());
  }

  // By meaning, the values that are given; under "" what is not known, or has no meaning elsewhere.
  std::map<std::string, std::set<std::string>> Meanings(const ScriptFlow& flow, const std::vector<Call>& calls) const {
    std::map<std::string, std::set<std::string>> values;
    for (const Call& call : calls) {
      if (call.fact->conditional()) values[""].insert(call.text);
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
    call.text = absl::StrCat(brief, "(", absl::StrJoin(arguments, ", "), ")", fact.conditional() ? " perhaps" : "");
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
      if (known && !which_.by_value) {
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
  const bool same_files_;
  FactsComparison out_;
};

// --- constants in a symbol

bool InName(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

// Behind a bracket that opens at `i`; the end where it never closes (long symbols are cut).
std::size_t BehindBracket(absl::string_view text, std::size_t i) {
  int depth = 0;
  for (; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if ((text[i] == ')' || text[i] == ']') && --depth == 0) return i + 1;
  }
  return text.size();
}

// Numbers, and options whose values are not told. Not those that the samples' own way is made of ("each of LOADER"),
// nor those within names and texts.
void AddConstants(absl::string_view symbol, std::multiset<std::string>& constants) {
  for (std::size_t i = 0; i < symbol.size();) {
    const absl::string_view rest = symbol.substr(i);
    if (absl::StartsWith(rest, "each of ")) {
      while (absl::StartsWith(symbol.substr(i), "each of ")) i += 8;
      while (i < symbol.size() && InName(symbol[i])) ++i;
      if (i < symbol.size() && (symbol[i] == '(' || symbol[i] == '[')) i = BehindBracket(symbol, i);
    } else if (symbol[i] == '[' && i > 0 && (InName(symbol[i - 1]) || symbol[i - 1] == ')' || symbol[i - 1] == ']')) {
      i = BehindBracket(symbol, i);  // which part of a sample it is
    } else if (symbol[i] == '\'') {
      const std::size_t end = symbol.find('\'', i + 1);
      i = end == absl::string_view::npos ? symbol.size() : end + 1;
    } else if (InName(symbol[i])) {
      const std::size_t begin = i;
      while (i < symbol.size() &&
             (InName(symbol[i]) ||
              ((symbol[i] == '-' || symbol[i] == '+') && (symbol[i - 1] == 'e' || symbol[i - 1] == 'E') &&
               absl::ascii_isdigit(static_cast<unsigned char>(symbol[begin])))))
        ++i;
      const absl::string_view word = symbol.substr(begin, i - begin);
      if (const auto number = ParseDouble(word)) {
        constants.insert(FormatDouble(*number));
      } else if (word == "option" && i < symbol.size() && symbol[i] == ':') {
        const std::size_t name = ++i;
        while (i < symbol.size() && InName(symbol[i])) ++i;
        constants.insert(absl::StrCat("option ", symbol.substr(name, i - name)));
      }
    } else {
      ++i;
    }
  }
}

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
      if (argument.name() == "every") drop(argument);
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
    const bool of_round = std::any_of(fact->loops().begin(), fact->loops().end(),
                                      [&](int loop) { return rounds.contains(loop); });
    if (!of_round || !OfTraining(*fact)) continue;
    const bool cast = std::any_of(fact->contexts().begin(), fact->contexts().end(), [&](int number) {
      const v1::ScriptFact* context = flow.FactAt(number);
      return context != nullptr && context->kind() == "autocast" && !IsFalse(FindScriptArgument(*context, "enabled"));
    });
    (cast ? within : beside).insert(loss ? "loss" : fact->kind());
  }
  return absl::StrCat("autocast: ", within.empty() ? "-" : absl::StrJoin(within, ", "), "; without: ",
                      beside.empty() ? "-" : absl::StrJoin(beside, ", "));
}

}  // namespace

bool OfOneFramework(const ScriptFlow& baseline, const ScriptFlow& migrated) {
  return baseline.read() && migrated.read() && !baseline.framework().empty() &&
         baseline.framework() == migrated.framework();
}

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
  }
  return all;
}

std::optional<CodeApart> CompareLossConstants(const ScriptFlow& baseline, const ScriptFlow& migrated) {
  if (!OfOneFramework(baseline, migrated)) return std::nullopt;
  return Apart("loss", LossConstants(baseline), LossConstants(migrated));
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

std::optional<CodeApart> CompareRounds(const ScriptFlow& baseline, const ScriptFlow& migrated) {
  if (!OfOneFramework(baseline, migrated)) return std::nullopt;
  return Apart("rounds", RoundConstants(baseline), RoundConstants(migrated));
}

std::optional<CodeApart> CompareScheduleSteps(const ScriptFlow& baseline, const ScriptFlow& migrated) {
  if (!OfOneFramework(baseline, migrated)) return std::nullopt;
  if (!baseline.Has("schedule") && !migrated.Has("schedule")) return std::nullopt;
  const std::string a = StepsOfSchedule(baseline);
  const std::string b = StepsOfSchedule(migrated);
  if (a == b) return std::nullopt;
  return CodeApart{a, b};
}

}  // namespace paritect
