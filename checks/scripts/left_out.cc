#include "checks/scripts/left_out.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "checks/scripts/code.h"
#include "checks/scripts/words.h"

namespace paritect {
namespace {

// These clip, scale and schedule by what stands in files, or in the trainer's own defaults.
bool ToldElsewhere(const ScriptFlow& flow) {
  return flow.Has("engine") || flow.Has("training_arguments");
}

// How often a call is made. What it is given that other facts make is compared with them.
std::map<std::string, int> CallsOf(const ScriptFlow& flow) {
  std::map<std::string, int> calls;
  for (const v1::ScriptFact* fact : flow.facts()) {
    if (!fact->called() || fact->kind() == "code") continue;
    std::vector<std::string> arguments;
    for (const v1::ScriptArgument& one : fact->arguments()) {
      if (one.is_default() || one.name() == "<order>" || (!one.has_value() && one.from_size() > 0)) continue;
      arguments.push_back(absl::StrCat(one.name(), "=", one.has_value() ? ShowScriptValue(one) : one.symbol()));
    }
    std::sort(arguments.begin(), arguments.end());
    std::string call = absl::StrCat(fact->kind(), " ", fact->name(), "(", absl::StrJoin(arguments, ","), ")",
                                    fact->conditional() ? " perhaps" : "");
    ++calls[WithoutDevice(call)];
  }
  return calls;
}

}  // namespace

bool CallsAlike(const ScriptFlow& baseline, const ScriptFlow& migrated) {
  if (!baseline.whole() || !migrated.whole() || ToldElsewhere(baseline) || ToldElsewhere(migrated)) return false;
  return CallsOf(baseline) == CallsOf(migrated);
}

bool IsPartOf(const ScriptFlow& less, const ScriptFlow& more) {
  if (!less.whole() || !more.whole() || ToldElsewhere(less) || ToldElsewhere(more)) return false;
  if (less.framework().empty() || less.framework() != more.framework()) return false;
  const std::map<std::string, int> all = CallsOf(more);
  for (const auto& [call, times] : CallsOf(less)) {
    const auto at = all.find(call);
    if (at == all.end() || at->second < times) return false;
  }
  return !HasCodeOfItsOwn(less, more);
}

}  // namespace paritect
