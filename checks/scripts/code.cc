#include "checks/scripts/code.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/scripts/shapes.h"
#include "checks/scripts/words.h"
#include "rules/script_words.h"

namespace paritect {
namespace {

constexpr std::size_t kShownMax = 3;
constexpr std::size_t kShownBytes = 120;

bool NamesRate(absl::string_view text) {
  const std::string lower = absl::AsciiStrToLower(text);
  const auto& words = BuiltInScriptWords().rate;
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return absl::StrContains(lower, word); });
}

std::int64_t Number(const v1::ScriptFact& fact, absl::string_view name) {
  const v1::ScriptArgument* argument = FindScriptArgument(fact, name);
  return argument == nullptr ? 0 : argument->value().integer();
}

// What an update is made of, in the order of a round.
bool IsStep(absl::string_view kind) {
  constexpr absl::string_view kKinds[] = {"forward",        "backward",    "clip",
                                          "optimizer_step", "scaler_step", "schedule_step"};
  return std::find(std::begin(kKinds), std::end(kKinds), kind) != std::end(kKinds);
}

class CodeOfSide {
 public:
  CodeOfSide(CodeSubject subject, const ScriptFlow& flow) : subject_(subject), flow_(flow) {
    for (const v1::ScriptFact* fact : flow.OfKind("code")) {
      if (!Counts(*fact)) continue;
      counts_[MarkOf(*fact)] += Number(*fact, "times");
      places_.emplace(MarkOf(*fact), fact);
    }
  }

  const std::map<std::string, std::int64_t>& counts() const { return counts_; }

  // What this side does more often than the other, in its order.
  std::vector<const v1::ScriptFact*> OfItsOwn(const CodeOfSide& other) const {
    std::vector<const v1::ScriptFact*> found;
    for (const auto& [mark, count] : counts_) {
      const auto at = other.counts_.find(mark);
      if (at == other.counts_.end() || at->second < count) found.push_back(places_.at(mark));
    }
    std::sort(found.begin(), found.end(), [&](const v1::ScriptFact* a, const v1::ScriptFact* b) {
      return flow_.NumberOf(*a) < flow_.NumberOf(*b);
    });
    return found;
  }

  // As texts for a report.
  std::vector<std::string> More(const CodeOfSide& other) const {
    const std::vector<const v1::ScriptFact*> found = OfItsOwn(other);
    std::vector<std::string> texts;
    for (const v1::ScriptFact* fact : found) {
      if (texts.size() >= kShownMax) break;
      texts.push_back(absl::StrCat(fact->name().substr(0, kShownBytes), " (", ScriptPlace(*fact), ")"));
    }
    if (found.size() > kShownMax) texts.push_back(absl::StrCat("+", found.size() - kShownMax));
    return texts;
  }

  // Packages that no one knows, called with what is trained or with samples.
  std::vector<std::string> Strangers() const {
    std::vector<std::string> texts;
    std::set<std::string> seen;
    for (const auto& [mark, fact] : places_) {
      const v1::ScriptArgument* package = FindScriptArgument(*fact, "package");
      if (package == nullptr || texts.size() >= kShownMax || !seen.insert(package->symbol()).second) continue;
      texts.push_back(absl::StrCat(package->symbol(), " (", ScriptPlace(*fact), ")"));
    }
    return texts;
  }

  // The order in which an update does what no fact tells, and what facts tell of it.
  std::vector<std::string> Order() const {
    std::vector<std::pair<std::pair<std::int64_t, std::int64_t>, std::string>> steps;
    std::set<std::int32_t> loops;
    for (const v1::ScriptFact* fact : flow_.facts()) {
      if (IsUpdate(*fact) && !fact->loops().empty()) loops.insert(*fact->loops().rbegin());
    }
    const auto in_update = [&](const v1::ScriptFact& fact) {
      return std::any_of(fact.loops().begin(), fact.loops().end(), [&](int loop) { return loops.contains(loop); });
    };
    for (const v1::ScriptFact* fact : flow_.facts()) {
      if (!in_update(*fact)) continue;
      const bool code = fact->kind() == "code";
      if (code && !Counts(*fact)) continue;
      if (!code && !IsStep(fact->kind())) continue;
      const std::int64_t number = flow_.NumberOf(*fact);
      steps.push_back(
          {{code ? Number(*fact, "behind") : number, code ? number : -1}, code ? MarkOf(*fact) : fact->kind()});
    }
    std::sort(steps.begin(), steps.end());
    std::vector<std::string> order;
    for (const auto& [place, step] : steps) order.push_back(step);
    return order;
  }

  // A statement as it is compared: its text, where it stands, and under what.
  std::string MarkOf(const v1::ScriptFact& fact) const {
    std::vector<std::string> contexts;
    for (int number : fact.contexts()) {
      const v1::ScriptFact* context = flow_.FactAt(number);
      if (context != nullptr) contexts.push_back(context->kind());
    }
    const v1::ScriptArgument* place = FindScriptArgument(fact, "place");
    return absl::StrCat(WithoutDevice(fact.name()), "\n", place == nullptr ? "" : place->symbol(),
                        fact.conditional() ? "?" : "", absl::StrJoin(contexts, ","));
  }

 private:
  bool Counts(const v1::ScriptFact& fact) const {
    if (fact.use() == "evaluation") return false;
    switch (subject_) {
      case CodeSubject::kNetwork: return fact.layer() == "network";
      case CodeSubject::kRate: return NamesRate(fact.name()) || NamesRate(fact.function());
      case CodeSubject::kSamples: return BeforeForward(fact);
      case CodeSubject::kTraining: break;
    }
    return true;
  }

  // In a round of the training, before its network runs.
  bool BeforeForward(const v1::ScriptFact& fact) const {
    if (fact.layer() == "network" || fact.loops().empty() || fact.use() != "training") return false;
    const std::int64_t behind = Number(fact, "behind");
    for (const v1::ScriptFact* forward : flow_.OfKind("forward")) {
      if (forward->loops().empty() || !InLoop(fact, *forward->loops().rbegin())) continue;
      return behind < flow_.NumberOf(*forward);
    }
    return false;
  }

  const CodeSubject subject_;
  const ScriptFlow& flow_;
  std::map<std::string, std::int64_t> counts_;
  std::map<std::string, const v1::ScriptFact*> places_;  // the first
};

std::string TextOf(const std::vector<std::string>& statements) {
  return statements.empty() ? "-" : absl::StrJoin(statements, "; ");
}

using Constants = std::vector<std::pair<std::string, std::string>>;

struct Pair {
  const v1::ScriptFact* baseline;
  const v1::ScriptFact* migrated;
  Constants constants;
};

// Each statement that one side alone has beside the other's in its place; nullopt where one is apart in more than
// constants.
std::optional<std::vector<Pair>> ApartInConstants(const CodeOfSide& a, const CodeOfSide& b) {
  const std::vector<const v1::ScriptFact*> x = a.OfItsOwn(b);
  const std::vector<const v1::ScriptFact*> y = b.OfItsOwn(a);
  if (x.size() != y.size()) return std::nullopt;
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::optional<Constants> constants = OtherConstants(a.MarkOf(*x[i]), b.MarkOf(*y[i]));
    if (!constants) return std::nullopt;
    pairs.push_back({x[i], y[i], *std::move(constants)});
  }
  return pairs;
}

bool HasFraction(const Constants& constants) {
  return std::any_of(constants.begin(), constants.end(), [](const auto& one) {
    return absl::StrContains(one.first, '.') || absl::StrContains(one.second, '.') ||
           absl::StrContains(one.first, "e-") || absl::StrContains(one.second, "e-");
  });
}

}  // namespace

std::optional<CodeApart> CompareCode(CodeSubject subject, const ScriptFlow& baseline, const ScriptFlow& migrated) {
  if (!OfOneFramework(baseline, migrated)) return std::nullopt;
  const CodeOfSide a(subject, baseline);
  const CodeOfSide b(subject, migrated);
  if (a.counts() != b.counts()) return CodeApart{TextOf(a.More(b)), TextOf(b.More(a))};
  if (const auto unread = a.Strangers(); !unread.empty()) return CodeApart{TextOf(unread), TextOf(b.Strangers())};
  if (subject != CodeSubject::kTraining) return std::nullopt;
  const std::vector<std::string> first = a.Order();
  const std::vector<std::string> second = b.Order();
  if (first == second) return std::nullopt;
  const auto apart = std::mismatch(first.begin(), first.end(), second.begin(), second.end());
  const auto shown = [](const auto& at, const auto& end) {
    return at == end ? std::string("-") : at->substr(0, std::min(at->find('\n'), kShownBytes));
  };
  return CodeApart{absl::StrCat("order: ", shown(apart.first, first.end())),
                   absl::StrCat("order: ", shown(apart.second, second.end()))};
}

bool HasCodeOfItsOwn(const ScriptFlow& less, const ScriptFlow& more) {
  return !CodeOfSide(CodeSubject::kTraining, less).OfItsOwn(CodeOfSide(CodeSubject::kTraining, more)).empty();
}

bool ApartInConstantsAlone(const ScriptFlow& baseline, const ScriptFlow& migrated) {
  if (!OfOneFramework(baseline, migrated) || !baseline.whole() || !migrated.whole()) return false;
  return ApartInConstants(CodeOfSide(CodeSubject::kTraining, baseline), CodeOfSide(CodeSubject::kTraining, migrated))
      .has_value();
}

std::vector<NetworkDifference> NetworkFractions(const ScriptFlow& baseline, const ScriptFlow& migrated) {
  if (!ApartInConstantsAlone(baseline, migrated)) return {};
  const CodeOfSide a(CodeSubject::kNetwork, baseline);
  const CodeOfSide b(CodeSubject::kNetwork, migrated);
  const std::optional<std::vector<Pair>> pairs = ApartInConstants(a, b);
  std::vector<NetworkDifference> differ;
  for (const Pair& pair : pairs ? *pairs : std::vector<Pair>()) {
    if (!HasFraction(pair.constants) || pair.baseline->conditional() || pair.migrated->conditional()) continue;
    differ.push_back({absl::StrCat(pair.baseline->function(), ": ", pair.baseline->name().substr(0, kShownBytes)),
                      pair.constants[0].first, pair.constants[0].second, pair.baseline, pair.migrated});
  }
  return differ;
}

}  // namespace paritect
