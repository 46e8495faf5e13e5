#include "checks/causes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "common/utf8.h"

namespace paritect {
namespace {

bool Counts(const v1::Finding& finding) {
  return finding.severity() == v1::SEVERITY_ERROR && !finding.has_waived();
}

// Errors of one check and kind.
struct Group {
  const v1::ItemResult* item;
  const v1::CheckResult* check;
  std::string kind;
  std::vector<v1::Finding*> findings;
};

std::vector<Group> GroupErrors(v1::Report& report) {
  std::vector<Group> groups;
  for (v1::ItemResult& item : *report.mutable_items()) {
    for (v1::CheckResult& check : *item.mutable_checks()) {
      std::map<std::string, std::size_t> by_kind;
      for (v1::Finding& finding : *check.mutable_findings()) {
        if (!Counts(finding)) continue;
        const auto [it, is_new] = by_kind.try_emplace(finding.kind(), groups.size());
        if (is_new) groups.push_back({&item, &check, finding.kind(), {}});
        groups[it->second].findings.push_back(&finding);
      }
    }
  }
  return groups;
}

bool AnyMatches(const std::vector<FindingPattern>& patterns, const Group& group) {
  return std::any_of(patterns.begin(), patterns.end(), [&group](const FindingPattern& pattern) {
    return pattern.Matches(group.check->id(), group.kind);
  });
}

// The step from which on a finding holds; none where it names no step.
std::optional<double> FirstStep(const v1::Finding& finding) {
  for (const char* name : {"step", "first_divergent_step"}) {
    const auto fact = finding.facts().fields().find(name);
    if (fact != finding.facts().fields().end()) return fact->second.number_value();
  }
  return std::nullopt;
}

bool IsInTime(Explanation::Since since, const v1::Finding& cause, const v1::Finding& effect) {
  if (since == Explanation::Since::kAnyStep) return true;
  const std::optional<double> a = FirstStep(cause);
  const std::optional<double> b = FirstStep(effect);
  if (!a.has_value() || !b.has_value()) return false;
  return since == Explanation::Since::kEarlier ? *a < *b : *a <= *b;
}

// A finding and the group that it is of.
struct Place {
  std::size_t group = 0;
  v1::Finding* finding = nullptr;
};

class Graph {
 public:
  Graph(const CauseRules& rules, std::vector<Group> groups) : groups_(std::move(groups)) {
    for (const Group& effect : groups_) Connect(rules, effect);
  }

  const std::vector<Group>& groups() const { return groups_; }

  // The findings at the root of one, the likeliest first; none where nothing explains it.
  std::vector<Place> RootsOf(Place place) const {
    std::vector<Place> roots;
    std::set<const v1::Finding*> seen = {place.finding};
    std::vector<Place> ahead = DirectCauses(place);
    std::reverse(ahead.begin(), ahead.end());
    while (!ahead.empty()) {
      const Place one = ahead.back();
      ahead.pop_back();
      if (!seen.insert(one.finding).second) continue;
      const std::vector<Place> further = DirectCauses(one);
      if (further.empty()) roots.push_back(one);
      ahead.insert(ahead.end(), further.rbegin(), further.rend());
    }
    return roots;
  }

 private:
  struct Edge {
    const Explanation* why;
    std::size_t cause;  // in groups_
  };

  void Connect(const CauseRules& rules, const Group& effect) {
    std::vector<Edge>& edges = edges_.emplace_back();
    for (const Explanation& why : rules.explanations) {
      if (!AnyMatches(why.effects, effect)) continue;
      // In the order of the patterns: the likelier cause stands first.
      for (const FindingPattern& pattern : why.causes) {
        for (std::size_t i = 0; i < groups_.size(); ++i) {
          if (&groups_[i] == &effect || !pattern.Matches(groups_[i].check->id(), groups_[i].kind)) continue;
          edges.push_back({&why, i});
        }
      }
    }
  }

  // The finding of the cause that explains this one; nullptr: none does.
  static v1::Finding* Explaining(const Explanation& why, const Group& cause, const v1::Finding& effect) {
    if (why.same == Explanation::Same::kKind && cause.kind != effect.kind()) return nullptr;
    if (!absl::StartsWith(effect.subject(), why.effect_prefix)) return nullptr;
    for (v1::Finding* finding : cause.findings) {
      if (why.same == Explanation::Same::kSubject && finding->subject() != effect.subject()) continue;
      if (!IsInTime(why.since, *finding, effect)) continue;
      if (absl::StartsWith(finding->subject(), why.subject_prefix)) return finding;
    }
    return nullptr;
  }

  std::vector<Place> DirectCauses(Place effect) const {
    std::vector<Place> causes;
    for (const Edge& edge : edges_[effect.group]) {
      v1::Finding* found = Explaining(*edge.why, groups_[edge.cause], *effect.finding);
      if (found != nullptr) causes.push_back({edge.cause, found});
    }
    return causes;
  }

  std::vector<Group> groups_;
  std::vector<std::vector<Edge>> edges_;  // of each group, to what explains it
};

void SetCausedBy(const std::vector<Place>& roots, const std::vector<Group>& groups, v1::Finding& finding) {
  google::protobuf::ListValue list;
  for (const Place& root : roots) {
    auto& fields = *list.add_values()->mutable_struct_value()->mutable_fields();
    fields["check"].set_string_value(groups[root.group].check->id());
    fields["kind"].set_string_value(groups[root.group].kind);
    fields["subject"].set_string_value(DisplayBytes(root.finding->subject()));
  }
  *(*finding.mutable_facts()->mutable_fields())[std::string(kCausedByFact)].mutable_list_value() = std::move(list);
}

std::string FieldOf(const google::protobuf::Value& value, const char* name) {
  const auto& fields = value.struct_value().fields();
  const auto found = fields.find(name);
  return found == fields.end() ? "" : found->second.string_value();
}

using CheckAndKind = std::pair<std::string, std::string>;

// Checks and kinds that the fact names, the likeliest first.
std::vector<CheckAndKind> CausedBy(const v1::Finding& finding) {
  std::vector<CheckAndKind> causes;
  const auto fact = finding.facts().fields().find(std::string(kCausedByFact));
  if (fact == finding.facts().fields().end()) return causes;
  for (const google::protobuf::Value& one : fact->second.list_value().values()) {
    causes.emplace_back(FieldOf(one, "check"), FieldOf(one, "kind"));
  }
  return causes;
}

v1::Text Because(const CauseRules& rules, const CheckAndKind& cause, const v1::CheckResult& check,
                 const std::string& kind) {
  const auto matches = [](const std::vector<FindingPattern>& patterns, const CheckAndKind& one) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&one](const FindingPattern& pattern) { return pattern.Matches(one.first, one.second); });
  };
  for (const Explanation& why : rules.explanations) {
    if (matches(why.causes, cause) && matches(why.effects, {check.id(), kind})) return why.because;
  }
  return {};
}

// Gathers causes while a report is walked in its order.
class CauseList {
 public:
  explicit CauseList(const CauseRules& rules) : rules_(rules) {}

  void AddCause(const v1::ItemResult& item, const v1::CheckResult& check, const v1::Finding& finding) {
    const auto [it, is_new] = by_name_.try_emplace({check.id(), finding.kind()}, causes_.size());
    if (is_new) causes_.push_back({&item, &check, rules_.StageOf(check.id()), {}, {}});
    causes_[it->second].findings.push_back(&finding);
  }

  // False where no named cause is in the report.
  bool AddConsequence(const v1::CheckResult& check, const v1::Finding& finding) {
    for (const CheckAndKind& name : CausedBy(finding)) {
      const auto found = by_name_.find(name);
      if (found == by_name_.end()) continue;
      std::vector<Consequence>& all = causes_[found->second].consequences;
      auto one = std::find_if(all.begin(), all.end(), [&](const Consequence& known) {
        return known.check == &check && known.findings[0]->kind() == finding.kind();
      });
      if (one == all.end()) one = all.insert(one, {&check, {}, Because(rules_, name, check, finding.kind())});
      one->findings.push_back(&finding);
      return true;
    }
    return false;
  }

  std::vector<Cause> InOrderOfWork() && {
    std::stable_sort(causes_.begin(), causes_.end(), [](const Cause& a, const Cause& b) { return a.stage < b.stage; });
    return std::move(causes_);
  }

 private:
  const CauseRules& rules_;
  std::vector<Cause> causes_;
  std::map<CheckAndKind, std::size_t> by_name_;
};

}  // namespace

void LinkConsequences(const CauseRules& rules, v1::Report& report) {
  const Graph graph(rules, GroupErrors(report));
  // All roots are found before a fact is set: the fact is no evidence.
  std::vector<std::pair<v1::Finding*, std::vector<Place>>> consequences;
  for (std::size_t i = 0; i < graph.groups().size(); ++i) {
    for (v1::Finding* finding : graph.groups()[i].findings) {
      std::vector<Place> roots = graph.RootsOf({i, finding});
      if (!roots.empty()) consequences.emplace_back(finding, std::move(roots));
    }
  }
  for (const auto& [finding, roots] : consequences) SetCausedBy(roots, graph.groups(), *finding);
}

std::vector<Cause> CausesOf(const CauseRules& rules, const v1::Report& report) {
  CauseList causes(rules);
  const auto each = [&report](auto visit) {
    for (const v1::ItemResult& item : report.items()) {
      for (const v1::CheckResult& check : item.checks()) {
        for (const v1::Finding& finding : check.findings()) {
          if (Counts(finding)) visit(item, check, finding);
        }
      }
    }
  };
  each([&](const v1::ItemResult& item, const v1::CheckResult& check, const v1::Finding& finding) {
    if (CausedBy(finding).empty()) causes.AddCause(item, check, finding);
  });
  // A report of some items may hold a consequence without its cause: it stands by itself.
  std::vector<std::tuple<const v1::ItemResult*, const v1::CheckResult*, const v1::Finding*>> left;
  each([&](const v1::ItemResult& item, const v1::CheckResult& check, const v1::Finding& finding) {
    if (!CausedBy(finding).empty() && !causes.AddConsequence(check, finding))
      left.emplace_back(&item, &check, &finding);
  });
  for (const auto& [item, check, finding] : left) causes.AddCause(*item, *check, *finding);
  return std::move(causes).InOrderOfWork();
}

}  // namespace paritect
