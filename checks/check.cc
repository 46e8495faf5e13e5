#include "checks/check.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/numbers.h"
#include "common/recorded_formats.h"
#include "common/utf8.h"
#include "rules/evidence_kinds.h"
#include "rules/phrases.h"

namespace paritect {
namespace {

// "dataset_files", "run_log", ...: the tail of the enum's name, as message ids have it.
std::string KindWord(v1::EvidenceKind kind) {
  absl::string_view name = v1::EvidenceKind_Name(kind);
  constexpr absl::string_view kPrefix = "EVIDENCE_KIND_";
  name.remove_prefix(kPrefix.size());
  return absl::AsciiStrToLower(name);
}

// Whether a value can hold a phrase of ours: names and numbers are one word, and what is very long is another's text.
bool MayBePhrase(absl::string_view value) {
  return value.size() < 400 && absl::StrContains(value, ' ');
}

// The message and its fix in both languages, with phrases among the values said in each.
Message SayBoth(const CheckContext& context, absl::string_view id, const MessageArgs& args) {
  const Messages& messages = context.rules.messages;
  Message message = {messages.Say(id, args), messages.Fix(id, args)};
  MessageArgs chinese = args;
  bool other = false;
  for (auto& [name, value] : chinese) {
    if (!MayBePhrase(value)) continue;
    std::string said = BuiltInValuePhrases().InChinese(value);
    other = other || said != value;
    value = std::move(said);
  }
  if (other) {
    message.text.set_zh(messages.Say(id, chinese).zh());
    message.fix.set_zh(messages.Fix(id, chinese).zh());
  }
  return message;
}

void SetMissing(v1::CheckResult& result, const v1::Text& what, absl::string_view from, const v1::Text& how) {
  v1::Missing& missing = *result.add_missing();
  *missing.mutable_what() = what;
  missing.set_from(DisplayBytes(from));
  *missing.mutable_how() = how;
}

}  // namespace

v1::Finding& AddFinding(const CheckContext& context, v1::CheckResult& result, v1::Severity severity,
                        absl::string_view message_id, absl::string_view subject, const MessageArgs& args) {
  v1::Finding& finding = *result.add_findings();
  finding.set_severity(severity);
  finding.set_kind(std::string(message_id.substr(0, message_id.find('/'))));
  finding.set_subject(std::string(subject));
  Message message = SayBoth(context, message_id, args);
  *finding.mutable_message() = std::move(message.text);
  *finding.mutable_remedy() = std::move(message.fix);
  return finding;
}

void AddMissing(const CheckContext& context, v1::CheckResult& result, absl::string_view message_id,
                absl::string_view from, const MessageArgs& args) {
  const Message message = SayBoth(context, message_id, args);
  SetMissing(result, message.text, from, message.fix);
}

void AddMissing(const CheckContext& context, v1::CheckResult& result, const v1::Problem& problem,
                absl::string_view from) {
  MessageArgs args;
  for (const auto& [name, value] : problem.args()) args.emplace_back(name, DisplayBytes(value));
  AddMissing(context, result, problem.id(), from, args);
}

namespace {

// One rank prints for all (Megatron: the last one): the others' logs hold no step, and nothing that a check of steps
// would need. An empty log is such a one only where a single rank prints: beside several it may be a failed copy.
bool OtherRankPrints(const EvidenceSet& evidence, Side side, const v1::Bundle& of, const v1::Evidence& silent) {
  const std::string& problem = silent.problem().id();
  const bool empty = problem == "log_empty";
  if (!silent.has_rank() || (!empty && problem != "source_unknown_format" && problem != "log_without_records")) {
    return false;
  }
  std::set<int> printing;
  evidence.ForEach(side, v1::EVIDENCE_KIND_RUN_LOG, [&](const v1::Bundle& bundle, const v1::Evidence& one) {
    if (bundle.plan().run() == of.plan().run() && one.outcome() == v1::OUTCOME_COLLECTED && one.has_rank() &&
        one.rank() != silent.rank() && one.run_log().records_size() > 0) {
      printing.insert(one.rank());
    }
  });
  return empty ? printing.size() == 1 : !printing.empty();
}

// What a program printed beside its log is no log that is missing, where another log of the run holds the losses. An
// empty log may have been one (a failed copy, output that is still held back): only what was observed says more.
bool OtherLogTells(const CheckContext& context, Side side, const v1::Bundle& bundle, const v1::Evidence& evidence) {
  const bool empty = evidence.problem().id() == "log_empty";
  if (!empty && evidence.problem().id() != "log_without_records") return false;
  bool tells = false;
  context.evidence.ForEach(side, v1::EVIDENCE_KIND_RUN_LOG, [&](const v1::Bundle& other, const v1::Evidence& log) {
    if (tells || other.plan().run() != bundle.plan().run() || log.outcome() != v1::OUTCOME_COLLECTED) return;
    if (empty && log.run_log().format() != kObservedFormat) return;
    tells = std::any_of(log.run_log().records().begin(), log.run_log().records().end(),
                        [](const v1::StepRecord& record) { return record.has_loss(); });
  });
  return tells;
}

}  // namespace

// Opens of files say less than samples that were observed: that the recorder of opens saw none is then no matter.
static bool OpensNotNeeded(const EvidenceSet& evidence, Side side, const v1::Evidence& problem) {
  if (problem.problem().id() != "trace_no_opens" && problem.problem().id() != "trace_empty") return false;
  bool observed = false;
  evidence.ForEach(side, v1::EVIDENCE_KIND_SHARDS, [&](const v1::Bundle&, const v1::Evidence& one) {
    observed = observed || one.shards().format() == kObservedFormat;
  });
  return observed;
}

bool RequireEvidence(const CheckContext& context, v1::CheckResult& result, Side side, v1::EvidenceKind kind) {
  const Messages& messages = context.rules.messages;
  const std::string side_name(SideName(side));
  const v1::Text side_text = messages.Say(absl::StrCat("side_", side_name));
  bool any = false;
  const int missing_before = result.missing_size();
  context.evidence.ForEach(side, kind, [&](const v1::Bundle& bundle, const v1::Evidence& evidence) {
    if (evidence.outcome() == v1::OUTCOME_COLLECTED) {
      any = true;
    } else if (kind == v1::EVIDENCE_KIND_RUN_LOG && OtherRankPrints(context.evidence, side, bundle, evidence)) {
      AddNote(context, result, "rank_prints_no_steps", WhereFrom(bundle, evidence),
              {{"source", DisplayBytes(evidence.source())}, {"rank", absl::StrCat(evidence.rank())}});
    } else if (!OtherLogTells(context, side, bundle, evidence) && !OpensNotNeeded(context.evidence, side, evidence)) {
      AddMissing(context, result, evidence.problem(), WhereFrom(bundle, evidence));
    }
  });
  if (any || result.missing_size() > missing_before) return any;
  if (context.evidence.bundles(side).empty()) {
    v1::Text what = messages.Say("side_not_given", {{"side", side_text.en()}, {"side_option", side_name}});
    what.set_zh(messages.Say("side_not_given", {{"side", side_text.zh()}, {"side_option", side_name}}).zh());
    SetMissing(result, what, side_name, messages.Fix("side_not_given", {{"side_option", side_name}}));
    return false;
  }
  const v1::Text kind_text = messages.Say(absl::StrCat("kind_", KindWord(kind)));
  MessageArgs args = {{"kind", kind_text.en()},
                      {"side", side_text.en()},
                      {"plan_key", std::string(PlanKeyOf(kind))},
                      {"side_option", side_name}};
  v1::Text what = messages.Say("kind_not_collected", args);
  v1::Text how = messages.Fix("kind_not_collected", args);
  args[0].second = kind_text.zh();
  args[1].second = side_text.zh();
  what.set_zh(messages.Say("kind_not_collected", args).zh());
  how.set_zh(messages.Fix("kind_not_collected", args).zh());
  SetMissing(result, what, side_name, how);
  return false;
}

void SetFact(v1::Finding& finding, absl::string_view name, double value) {
  auto& field = (*finding.mutable_facts()->mutable_fields())[std::string(name)];
  if (std::isfinite(value)) {
    field.set_number_value(value);
  } else {
    field.set_string_value(FormatDouble(value));
  }
}

void SetFact(v1::Finding& finding, absl::string_view name, absl::string_view value) {
  (*finding.mutable_facts()->mutable_fields())[std::string(name)].set_string_value(DisplayBytes(value));
}

void SetFact(v1::Finding& finding, absl::string_view name, bool value) {
  (*finding.mutable_facts()->mutable_fields())[std::string(name)].set_bool_value(value);
}

void SetFact(v1::Finding& finding, absl::string_view name, absl::Span<const double> values) {
  auto* list = (*finding.mutable_facts()->mutable_fields())[std::string(name)].mutable_list_value();
  for (double value : values) {
    if (std::isfinite(value)) {
      list->add_values()->set_number_value(value);
    } else {
      list->add_values()->set_string_value(FormatDouble(value));
    }
  }
}

void SetFact(v1::Finding& finding, absl::string_view name, absl::Span<const std::string> values) {
  auto* list = (*finding.mutable_facts()->mutable_fields())[std::string(name)].mutable_list_value();
  for (const std::string& value : values) list->add_values()->set_string_value(DisplayBytes(value));
}

}  // namespace paritect
