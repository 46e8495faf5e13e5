#include "checks/observed/generators.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace paritect {
namespace {

constexpr char kTraining[] = "training";

class Namer {
 public:
  Namer(const CheckContext& context, v1::CheckResult& result, v1::Severity severity, const ObservedRank& a,
        const ObservedRank& b)
      : context_(context), result_(result), severity_(severity), a_(a), b_(b) {}

  bool Run() {
    for (const std::string& name : a_.ScopesOf("generator.digest")) Process(name);
    Own();
    if (named_ == 0) Later();
    if (named_ == 0) Workers();
    return named_ > 0;
  }

 private:
  // Whether the generator of the process may have decided something else on either side.
  bool Matters(const std::string& name) const {
    const ObservedFact* x = a_.Find("generator.digest", name);
    const ObservedFact* y = b_.Find("generator.digest", name);
    if (x == nullptr || y == nullptr || x->value.empty() || y->value.empty() || x->value == y->value) return false;
    return a_.Is("generator.drawn", name) || b_.Is("generator.drawn", name);
  }

  static bool Unseeded(const ObservedRank& rank, const std::string& name) {
    const ObservedFact* seeded = rank.Find("generator.seeded", name);
    return seeded != nullptr && seeded->value == "false";
  }

  static std::string SeedOf(const ObservedRank& rank, const std::string& name) {
    const ObservedFact* seed = rank.Find("generator.seed", name);
    const ObservedFact* where = rank.Find("generator.where", name);
    if (seed == nullptr) return "-";
    return where == nullptr ? seed->value : absl::StrCat(seed->value, " (", where->value, ")");
  }

  void Process(const std::string& name) {
    if (!Matters(name)) return;
    const bool left = Unseeded(a_, name), right = Unseeded(b_, name);
    if (left || right) {
      Add(left && right ? "generator_not_seeded/both" : "generator_not_seeded", name,
          {{"generator", name}, {"rank", right ? b_.where : a_.where}, {"other", right ? a_.where : b_.where}},
          severity_);
      return;
    }
    const ObservedFact* x = a_.Find("generator.seed", name);
    const ObservedFact* y = b_.Find("generator.seed", name);
    if (x != nullptr && y != nullptr && x->value != y->value) {
      Add("generator_seed_differs", name,
          {{"generator", name}, {"rank", b_.where}, {"baseline", x->value}, {"migrated", y->value}}, severity_);
    } else {
      later_.push_back(name);
    }
  }

  // Seeded alike, or not told how: what drew from it in between is not known.
  void Later() {
    for (const std::string& name : later_) {
      Add("generator_state_differs", name, {{"generator", name}, {"rank", b_.where}}, v1::SEVERITY_WARNING);
    }
  }

  // Generators of the program's own that were made without a seed.
  void Own() {
    for (const ObservedRank* rank : {&a_, &b_}) {
      for (const ObservedFact& fact : rank->facts) {
        if (fact.key != "generator.unseeded") continue;
        v1::Finding& finding = AddFinding(context_, result_, severity_, "generator_not_seeded/own", fact.scope,
                                          {{"generator", fact.scope}, {"rank", rank->where}, {"where", fact.value}});
        finding.add_evidence(fact.origin);
        ++named_;
        break;
      }
    }
  }

  void Workers() {
    std::vector<std::string> names;
    std::string origins[2];
    for (const ObservedFact& fact : a_.facts) {
      absl::string_view name = fact.key;
      if (!absl::ConsumePrefix(&name, "workers.") || !absl::ConsumeSuffix(&name, "_state.digest")) continue;
      const ObservedFact* other = b_.Find(fact.key, kTraining);
      if (fact.value.empty() || other == nullptr || other->value.empty() || other->value == fact.value) continue;
      names.emplace_back(name);
      origins[0] = fact.origin, origins[1] = other->origin;
    }
    if (names.empty()) return;
    v1::Finding& finding = AddWarning(context_, result_, "generator_state_differs/workers", b_.where,
                                      {{"rank", b_.where}, {"generators", absl::StrJoin(names, ", ")}});
    for (const std::string& origin : origins) finding.add_evidence(origin);
    ++named_;
  }

  void Add(absl::string_view id, const std::string& name, const MessageArgs& args, v1::Severity severity) {
    v1::Finding& finding = AddFinding(context_, result_, severity, id, name, args);
    finding.set_baseline(SeedOf(a_, name));
    finding.set_migrated(SeedOf(b_, name));
    for (const ObservedRank* rank : {&a_, &b_}) finding.add_evidence(rank->Find("generator.digest", name)->origin);
    ++named_;
  }

  const CheckContext& context_;
  v1::CheckResult& result_;
  const v1::Severity severity_;
  const ObservedRank& a_;
  const ObservedRank& b_;
  std::vector<std::string> later_;
  int named_ = 0;
};

}  // namespace

bool NameGenerators(const CheckContext& context, v1::CheckResult& result, v1::Severity severity,
                    const ObservedRank& baseline, const ObservedRank& migrated) {
  return Namer(context, result, severity, baseline, migrated).Run();
}

}  // namespace paritect
