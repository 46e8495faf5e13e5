// paritect explain: what an item, a check or a kind of finding is about.
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "checks/check.h"
#include "client/render/table_writer.h"
#include "client/report/audit_options.h"
#include "client/report/json.h"
#include "client/report/limits_text.h"
#include "client/verbs.h"
#include "common/nearest.h"
#include "report/summary.h"
#include "report/terminal.h"
#include "report/view.h"

namespace paritect {
namespace {

constexpr absl::string_view kName = "paritect explain";
constexpr absl::string_view kSummary = "tell what an item, check or kind of finding asks, needs and means";

struct Explainer {
  CommandEnv& env;
  RenderOptions options;
  Profile profile;
  TableWriter w;

  Explainer(CommandEnv& world, RenderOptions render, Profile used)
      : env(world), options(std::move(render)), profile(std::move(used)), w(options, world.out) {}

  std::string Say(absl::string_view id) const { return Word(env.rules, options.languages, id); }
  void Part(absl::string_view label_id, const v1::Text& text) {
    if (!text.en().empty())
      w.WrappedText(2, absl::StrCat(Say(label_id), LabelColon(options.languages[0])), text, Style::kDim);
  }
  void Part(absl::string_view label_id, const std::vector<std::string>& lines) {
    if (!lines.empty())
      w.Wrapped(2, absl::StrCat(Say(label_id), LabelColon(options.languages[0])),
                absl::StrJoin(lines, ListSeparator(options.languages[0])), Style::kDim);
  }

  void CheckLine(const CatalogueCheck& check) {
    w.Line(absl::StrCat("  ", check.required ? "R " : "  ", Pad(check.id, 44), " ",
                        w.Safe(InAll(options.languages, check.title), w.columns() > 70 ? w.columns() - 50 : 40)));
  }

  void ExplainAll() {
    for (const CatalogueItem& item : env.rules.catalogue.items) {
      w.Wrapped(0, item.id, InAll(options.languages, item.title), Style::kBold);
      for (const CatalogueCheck& check : item.checks) CheckLine(check);
    }
    w.Line();
    w.Wrapped(0, "", Say("ui_explain_hint"));
  }

  void ExplainItem(const CatalogueItem& item) {
    w.Wrapped(0, item.id, InAll(options.languages, item.title), Style::kBold);
    Part("ui_about", item.about);
    Part("ui_source", item.source);
    for (const CatalogueCheck& check : item.checks) CheckLine(check);
  }

  void ExplainCheck(const CatalogueItem& item, const CatalogueCheck& check) {
    w.Wrapped(0, check.id, InAll(options.languages, check.title), Style::kBold);
    w.Wrapped(2, absl::StrCat(Say("ui_required"), LabelColon(options.languages[0])),
              Say(check.required ? "ui_yes" : "ui_no"), Style::kDim);
    Part("ui_asks", check.asks);
    Part("ui_rule", check.rule);
    Part("ui_limits", LimitsInForce(env.rules, profile, check, options.languages));
    Part("ui_looks_at", EvidenceInWords(env.rules, check, options.languages));
    Part("ui_fix_when_failed", check.fix);
    Part("ui_source", item.source);
    bool built = false;
    for (const Check* known : AllChecks()) built = built || known->id == check.id;
    if (!built) w.Wrapped(2, "", Say("ui_not_built"));
  }

  // A threshold: its value, and the checks whose rule it is in.
  bool ExplainLimit(const std::string& name) {
    if (!profile.thresholds.contains(name)) return false;
    for (const CatalogueItem& item : env.rules.catalogue.items) {
      for (const CatalogueCheck& check : item.checks) {
        if (std::find(check.limits.begin(), check.limits.end(), name) == check.limits.end()) continue;
        CatalogueCheck only = check;
        only.limits = {name};
        w.Wrapped(0, LimitsInForce(env.rules, profile, only, options.languages)[0], check.id, Style::kBold);
        w.WrappedText(2, absl::StrCat(Say("ui_rule"), LabelColon(options.languages[0])), check.rule, Style::kDim);
      }
    }
    return true;
  }

  // A word that stands beside findings (an event, a mark of diff, a note of inspect).
  bool ExplainWord(const std::string& word) {
    const std::string id = absl::StrCat("word_", word);
    if (!env.rules.messages.Has(id)) return false;
    w.Wrapped(0, word, "", Style::kBold);
    w.WrappedText(2, "", env.rules.messages.Say(id));
    return true;
  }

  // A kind of finding, by every message that carries it.
  bool ExplainKind(const std::string& kind) {
    bool any = ExplainWord(kind);
    for (const auto& [id, entry] : env.rules.messages.all()) {
      if (id.substr(0, id.find('/')) != kind || absl::StartsWith(id, "ui_") || absl::StartsWith(id, "word_")) continue;
      if (!any) w.Wrapped(0, kind, Say("ui_finding_kind"), Style::kBold);
      any = true;
      const Message& message = entry->message();
      w.WrappedText(2, "", message.text);
      if (!message.fix.en().empty())
        w.WrappedText(4, absl::StrCat(Say("ui_fix"), LabelColon(options.languages[0])), message.fix, Style::kGreen);
    }
    return any;
  }
};

OrderedJson TextJson(const v1::Text& text) {
  return {{"en", text.en()}, {"zh", text.zh()}};
}

OrderedJson CheckJson(const CatalogueItem& item, const CatalogueCheck& check, const Profile& profile) {
  OrderedJson json;
  json["id"] = check.id;
  json["item"] = item.id;
  json["title"] = TextJson(check.title);
  json["required"] = check.required;
  json["asks"] = TextJson(check.asks);
  json["rule"] = TextJson(check.rule);
  json["limits"] = OrderedJson::object();
  for (const std::string& name : check.limits) json["limits"][name] = profile.threshold(name);
  json["evidence"] = check.evidence;
  json["fix"] = TextJson(check.fix);
  json["source"] = TextJson(item.source);
  return json;
}

// Everything below `id` ("" = all items), as one object or a list.
OrderedJson ExplainJson(const Rules& rules, const std::string& id, const Profile& profile) {
  OrderedJson list = OrderedJson::array();
  for (const CatalogueItem& item : rules.catalogue.items) {
    for (const CatalogueCheck& check : item.checks) {
      if (check.id == id) return CheckJson(item, check, profile);
      if (id.empty() || item.id == id) list.push_back(CheckJson(item, check, profile));
    }
  }
  return list;
}

ExitCode UnknownId(CommandEnv& env, const std::string& id) {
  std::vector<std::string> known = CatalogueIds(env.rules, true);
  for (const auto& entry : env.rules.messages.all()) {
    known.push_back(absl::StartsWith(entry.first, "word_") ? entry.first.substr(5) : entry.first);
  }
  for (const auto& entry : env.rules.profile.thresholds) known.push_back(entry.first);
  return UsageError(env, kName,
                    absl::StrCat("there is no item, check or kind of finding '", id, "'", DidYouMean(id, known),
                                 " (`paritect explain` lists all)"));
}

ExitCode Explain(CommandEnv& env, const std::string& id, const std::string& output, Explainer& explainer) {
  const CatalogueItem* item = env.rules.catalogue.FindItem(id);
  const CatalogueCheck* check = env.rules.catalogue.FindCheck(id);
  if (output == "json") {
    if (!id.empty() && item == nullptr && check == nullptr) return UnknownId(env, id);
    env.out << DumpJson(ExplainJson(env.rules, id, explainer.profile)) << "\n";
    return kExitOk;
  }
  if (id.empty()) {
    explainer.ExplainAll();
  } else if (item != nullptr) {
    explainer.ExplainItem(*item);
  } else if (check != nullptr) {
    explainer.ExplainCheck(*env.rules.catalogue.FindItem(id.substr(0, id.rfind('.'))), *check);
  } else if (!explainer.ExplainLimit(id) && !explainer.ExplainKind(id)) {
    return UnknownId(env, id);
  }
  return kExitOk;
}

ExitCode Run(CommandEnv& env, const std::vector<std::string>& args) {
  std::string id;
  std::string output = "text";
  AuditArguments o;
  Arguments arguments(kName, kSummary);
  arguments.Text("id", id, "item, check or kind of finding; none: list all");
  arguments.Text("-o,--output", output, "text or json");
  arguments.Text("--profile", o.profile, "profile file whose thresholds are shown");
  arguments.Text("--lang", o.lang, "en, zh, or both as en,zh");
  arguments.Text("--color", o.colour, "auto, always or never");
  if (auto code = ParseOrAnswer(env, kName, arguments, args)) return *code;
  if (output != "text" && output != "json") {
    return UsageError(env, kName, absl::StrCat("-o ", output, ": not supported by this version; there are text, json"));
  }
  auto options = TextOptions(env, o);
  if (!options.ok()) return UsageError(env, kName, options.status().message());
  auto profile = LoadProfile(env, o.profile, "");
  if (!profile.ok()) return UsageError(env, kName, profile.status().message());
  Explainer explainer(env, *std::move(options), *std::move(profile));
  return Explain(env, id, output, explainer);
}

}  // namespace

extern const Command kExplainCommand;
const Command kExplainCommand = {"explain", kSummary, &Run};

}  // namespace paritect
