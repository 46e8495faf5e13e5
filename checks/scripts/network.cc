#include "checks/scripts/network.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace paritect {
namespace {

using Facts = std::vector<const v1::ScriptFact*>;

// What other checks compare (dropout, norms), or what changes no number.
constexpr absl::string_view kOtherArguments[] = {"momentum", "eps",    "epsilon", "p",    "rate", "keep_prob",
                                                 "inplace",  "device", "dtype",   "name", "*"};

std::string LastName(const v1::ScriptFact& fact) {
  return fact.name().substr(fact.name().rfind('.') + 1);
}

// "relu" of ReLU, relu_, tf.nn.relu; "silu" of swish.
std::string PlainName(absl::string_view name) {
  std::string plain = absl::AsciiStrToLower(absl::StrReplaceAll(name, {{"_", ""}}));
  if (plain == "swish") return "silu";
  if (plain == "hswish") return "hardswish";
  return plain;
}

bool IsActivation(absl::string_view plain) {
  constexpr absl::string_view kNames[] = {"relu",      "relu6",     "gelu", "silu",        "sigmoid",
                                          "tanh",      "leakyrelu", "elu",  "selu",        "prelu",
                                          "hardswish", "softplus",  "mish", "hardsigmoid", "quickgelu"};
  return std::find(std::begin(kNames), std::end(kNames), plain) != std::end(kNames);
}

// The kind of a layer, by which two are of one kind; "" for what is none.
std::string KindOf(const v1::ScriptFact& fact) {
  if (!fact.called()) return "";
  if (fact.kind() == "activation") return PlainName(LastName(fact));
  if (fact.kind() != "layer") return "";
  for (absl::string_view none : {"container", "opaque", "loss", "dropout"}) {
    if (fact.layer() == none) return "";
  }
  const std::string name = PlainName(LastName(fact));
  if (name == "identity" || name == "activation" || absl::EndsWith(name, "dropout")) return "";
  const bool own = fact.layer() == "plain" || fact.layer() == "conv" || fact.layer().empty();
  return own ? name : fact.layer();
}

// Keras names the activation of a layer in an argument.
std::string ActivationArgument(const v1::ScriptFact& fact) {
  const v1::ScriptArgument* argument = FindScriptArgument(fact, "activation");
  if (fact.kind() != "layer" || argument == nullptr) return "";
  const std::string text = argument->has_value() ? ShowScriptValue(*argument) : argument->symbol();
  const std::string plain = PlainName(text.substr(text.rfind('.') + 1));
  return IsActivation(plain) ? plain : "";
}

std::map<std::string, const v1::ScriptFact*> KindsOf(const ScriptFlow& flow, bool activations_alone) {
  std::map<std::string, const v1::ScriptFact*> kinds;
  for (const v1::ScriptFact* fact : flow.facts()) {
    for (const std::string& kind : {KindOf(*fact), ActivationArgument(*fact)}) {
      if (!kind.empty() && (!activations_alone || IsActivation(kind))) kinds.emplace(kind, fact);
    }
  }
  return kinds;
}

NetworkDifference OneSided(const std::string& kind, const v1::ScriptFact* a, const v1::ScriptFact* b) {
  return {kind, a == nullptr ? "-" : ScriptDetail(*a), b == nullptr ? "-" : ScriptDetail(*b), a, b};
}

void CompareKinds(const ScriptFlow& baseline, const ScriptFlow& migrated, NetworkComparison& out) {
  const bool other_framework = baseline.framework() != migrated.framework();
  const auto a = KindsOf(baseline, other_framework);
  const auto b = KindsOf(migrated, other_framework);
  if (a.empty() || b.empty()) return;
  std::vector<std::pair<std::string, const v1::ScriptFact*>> only_a;
  std::vector<std::pair<std::string, const v1::ScriptFact*>> only_b;
  for (const auto& one : a) {
    if (!b.contains(one.first)) only_a.emplace_back(one);
  }
  for (const auto& one : b) {
    if (!a.contains(one.first)) only_b.emplace_back(one);
  }
  // An activation stands against an activation, another layer against another layer.
  for (auto one = only_a.begin(); one != only_a.end();) {
    const auto other = std::find_if(only_b.begin(), only_b.end(), [&](const auto& two) {
      return IsActivation(two.first) == IsActivation(one->first);
    });
    if (other == only_b.end()) {
      ++one;
      continue;
    }
    out.replaced.push_back({absl::StrCat(one->first, " / ", other->first), ScriptDetail(*one->second),
                            ScriptDetail(*other->second), one->second, other->second});
    only_b.erase(other);
    one = only_a.erase(one);
  }
  for (const auto& [kind, fact] : only_a) out.one_sided.push_back(OneSided(kind, fact, nullptr));
  for (const auto& [kind, fact] : only_b) out.one_sided.push_back(OneSided(kind, nullptr, fact));
}

// Arguments that both sides know and that differ.
void CompareArguments(const std::string& what, const ScriptFlow& x, const v1::ScriptFact& a, const ScriptFlow& y,
                      const v1::ScriptFact& b, std::vector<NetworkDifference>& out) {
  for (const v1::ScriptArgument& one : a.arguments()) {
    const v1::ScriptArgument* other = FindScriptArgument(b, one.name());
    const bool left =
        std::find(std::begin(kOtherArguments), std::end(kOtherArguments), one.name()) != std::end(kOtherArguments);
    if (left || other == nullptr || !x.Knows(one) || !y.Knows(*other)) continue;
    if (ShowScriptValue(one) == ShowScriptValue(*other)) continue;
    out.push_back({absl::StrCat(what, " ", one.name()), ShowScriptValue(one), ShowScriptValue(*other), &a, &b});
  }
}

void CompareInOrder(const ScriptFlow& baseline, const ScriptFlow& migrated, NetworkComparison& out) {
  const auto layers = [](const ScriptFlow& flow) {
    Facts facts;
    for (const v1::ScriptFact* fact : flow.facts()) {
      if (fact->kind() == "layer" && !fact->conditional() && !KindOf(*fact).empty()) facts.push_back(fact);
    }
    return facts;
  };
  const Facts a = layers(baseline);
  const Facts b = layers(migrated);
  const auto same = [](const v1::ScriptFact* x, const v1::ScriptFact* y) { return x->name() == y->name(); };
  if (!std::equal(a.begin(), a.end(), b.begin(), b.end(), same)) return;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::string what = absl::StrCat("layer ", i + 1, " (", LastName(*a[i]), ")");
    CompareArguments(what, baseline, *a[i], migrated, *b[i], out.arguments);
  }
}

// --- losses

// "crossentropy" of CrossEntropyLoss and cross_entropy.
std::string LossName(const v1::ScriptFact& fact) {
  std::string name = PlainName(LastName(fact));
  if (absl::EndsWith(name, "loss") && name != "loss") name.resize(name.size() - 4);
  return absl::StrReplaceAll(name, {{"binarycrossentropy", "bce"}});
}

Facts LossesOf(const ScriptFlow& flow) {
  Facts losses;
  for (const v1::ScriptFact* fact : flow.facts()) {
    const bool loss = fact->kind() == "functional_loss" || (fact->kind() == "layer" && fact->layer() == "loss");
    if (loss && fact->called() && fact->use() != "evaluation") losses.push_back(fact);
  }
  return losses;
}

bool SameLoss(const ScriptFlow& x, const v1::ScriptFact& a, const ScriptFlow& y, const v1::ScriptFact& b) {
  if (LossName(a) != LossName(b)) return false;
  std::vector<NetworkDifference> differ;
  CompareArguments("", x, a, y, b, differ);
  return differ.empty();
}

bool IsData(absl::string_view argument) {
  return argument == "input" || argument == "target" || argument == "logits" || argument == "labels" || argument == "*";
}

// Forms of one loss that differ in what stands around them (a softmax, a sigmoid, the form of the labels).
bool MayBeOne(absl::string_view a, absl::string_view b) {
  const auto entropy = [](absl::string_view name) {
    return absl::StrContains(name, "entropy") || absl::StrContains(name, "nll") || absl::StrContains(name, "bce");
  };
  return entropy(a) && entropy(b);
}

}  // namespace

NetworkComparison CompareNetworks(const ScriptFlow& baseline, const ScriptFlow& migrated) {
  NetworkComparison out;
  if (!baseline.read() || !migrated.read()) return out;
  if (baseline.framework().empty() || migrated.framework().empty()) return out;
  CompareKinds(baseline, migrated, out);
  if (baseline.framework() == migrated.framework()) CompareInOrder(baseline, migrated, out);
  return out;
}

LossComparison CompareLosses(const ScriptFlow& baseline, const ScriptFlow& migrated) {
  LossComparison out;
  if (!baseline.read() || !migrated.read() || baseline.framework() != migrated.framework()) return out;
  Facts a = LossesOf(baseline);
  Facts b = LossesOf(migrated);
  const auto like = [&](const v1::ScriptFact* x, const Facts& others, bool first) {
    return std::any_of(others.begin(), others.end(), [&](const v1::ScriptFact* y) {
      return first ? SameLoss(baseline, *x, migrated, *y) : SameLoss(baseline, *y, migrated, *x);
    });
  };
  const Facts all_a = a;
  const Facts all_b = b;
  std::erase_if(a, [&](const v1::ScriptFact* one) { return like(one, all_b, true); });
  std::erase_if(b, [&](const v1::ScriptFact* one) { return like(one, all_a, false); });
  // What differs is told where one stands against one.
  if (!a.empty() && !b.empty()) {
    if (LossName(*a[0]) == LossName(*b[0])) {
      CompareArguments("loss", baseline, *a[0], migrated, *b[0], out.differ);
    } else if (MayBeOne(LossName(*a[0]), LossName(*b[0])) || a.size() > 1 || b.size() > 1) {
      out.open.push_back(absl::StrCat(ScriptDetail(*a[0]), " / ", ScriptDetail(*b[0])));
    } else {
      out.differ.push_back({"loss", ScriptDetail(*a[0]), ScriptDetail(*b[0]), a[0], b[0]});
    }
  }
  // Alike in name: an argument that one side leaves to a default that is not known, or whose value is not told.
  if (all_a.size() == 1 && all_b.size() == 1 && LossName(*all_a[0]) == LossName(*all_b[0])) {
    std::set<std::string> names;
    for (const v1::ScriptArgument& one : all_a[0]->arguments()) names.insert(one.name());
    for (const v1::ScriptArgument& one : all_b[0]->arguments()) names.insert(one.name());
    for (const std::string& name : names) {
      const bool one = FindScriptArgument(*all_a[0], name) == nullptr;
      const bool other = FindScriptArgument(*all_b[0], name) == nullptr;
      if (one != other && !IsData(name)) out.open.push_back(absl::StrCat(LastName(*all_a[0]), " ", name));
    }
  }
  return out;
}

}  // namespace paritect
