#include "checks/scripts/flow.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/scripts/options.h"

namespace paritect {

namespace {

// What a reached file lacks, or what makes the facts doubtful: that of files that nothing reaches says nothing.
std::string WhyInPart(const v1::ScriptTree& tree) {
  for (const v1::Note& note : tree.notes()) {
    if (note.kind() == "script_rest_cut") continue;
    const bool unread = note.kind() == "unreadable_script";
    const bool reached = std::any_of(tree.files().begin(), tree.files().end(), [&](const v1::ScriptFile& file) {
      return file.reached() && absl::StartsWith(note.message(), absl::StrCat(file.path(), ":"));
    });
    if (!unread || reached) return note.message();
  }
  return "too much code to follow";
}

}  // namespace

const ScriptFlow& ScriptFlow::Of(const CheckContext& context, const RunView& run) {
  const Views::Key key(run.nodes.begin(), run.nodes.end());
  return context.views->Get<ScriptFlow>(key, [&] {
    ScriptFlow flow;
    for (const v1::Bundle* bundle : run.nodes) {
      for (const v1::Evidence& evidence : bundle->evidence()) {
        if (evidence.kind() != v1::EVIDENCE_KIND_SCRIPTS) continue;
        flow.named_ = true;
        if (!evidence.has_script_tree() || flow.read()) continue;
        flow.own_tree_ = WithStatedOptions(evidence.script_tree(), run, context.rules.scripts);
        const v1::ScriptTree& tree = flow.own_tree_ != nullptr ? *flow.own_tree_ : evidence.script_tree();
        const bool one = tree.trainers_size() == 1;
        flow.Take(tree, one ? tree.trainers(0) : tree.entries_size() == 1 ? tree.entries(0) : "*");
      }
    }
    return flow;
  });
}

ScriptFlow ScriptFlow::OfEntry(const v1::ScriptTree& tree, const std::string& entry) {
  ScriptFlow flow;
  flow.named_ = true;
  flow.Take(tree, entry);
  return flow;
}

void ScriptFlow::Take(const v1::ScriptTree& tree, const std::string& entry) {
  tree_ = &tree;
  entry_ = entry == "*" ? "" : entry;
  const auto trains = [&](const std::string& of) {
    return std::find(tree.trainers().begin(), tree.trainers().end(), of) != tree.trainers().end();
  };
  std::map<std::string, int> frameworks;
  int number = -1;
  for (const v1::ScriptFact& fact : tree.facts()) {
    ++number;
    const bool taken =
        entry == "*" ? fact.called() && (tree.trainers().empty() || trains(fact.entry())) : fact.entry() == entry;
    if (!taken) continue;
    facts_.push_back(&fact);
    numbers_[&fact] = number;
    if (!fact.framework().empty()) ++frameworks[fact.framework()];
  }
  int most = 0;
  for (const auto& [name, count] : frameworks) {
    const bool known = name == "pytorch" || name == "tensorflow" || name == "mindspore";
    if (known && count > most) {
      most = count;
      framework_ = name;
    }
  }
  if (tree.trainers_size() > 1 && entry == "*") {
    why_not_whole_ = absl::StrCat("several scripts train: ", absl::StrJoin(tree.trainers(), ", "));
  } else if (tree.trainers().empty()) {
    why_not_whole_ = "no script below it was seen to train";
  } else if (!tree.whole()) {
    why_not_whole_ = WhyInPart(tree);
  }
  whole_ = why_not_whole_.empty();
}

std::vector<const v1::ScriptFact*> ScriptFlow::OfKind(absl::string_view kind) const {
  std::vector<const v1::ScriptFact*> found;
  for (const v1::ScriptFact* fact : facts_) {
    if (fact->kind() == kind) found.push_back(fact);
  }
  return found;
}

bool ScriptFlow::Has(absl::string_view kind) const {
  return std::any_of(facts_.begin(), facts_.end(), [&](const v1::ScriptFact* fact) { return fact->kind() == kind; });
}

const v1::ScriptFact* ScriptFlow::FactAt(int number) const {
  return number >= 0 && number < tree_->facts_size() ? &tree_->facts(number) : nullptr;
}

const v1::ScriptLoop* ScriptFlow::LoopAt(int number) const {
  return number >= 0 && number < tree_->loops_size() ? &tree_->loops(number) : nullptr;
}

bool ScriptFlow::Knows(const v1::ScriptArgument& argument) const {
  return argument.has_value() && (argument.option().empty() || tree_->command_line_known());
}

bool ScriptFlow::MadeOf(const v1::ScriptFact& fact, absl::string_view kind) const {
  return std::any_of(fact.made_of().begin(), fact.made_of().end(), [&](int number) {
    const v1::ScriptFact* of = FactAt(number);
    return of != nullptr && of->kind() == kind;
  });
}

void ReportScriptNotWhole(const CheckContext& context, v1::CheckResult& result, const ScriptFlow& flow,
                          const std::string& run) {
  if (!flow.read() || flow.whole()) return;
  AddMissing(context, result, "script_in_part", run, {{"run", run}, {"why", flow.why_not_whole()}});
}

}  // namespace paritect
