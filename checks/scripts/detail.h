// Facts of scripts in words, for people.
#ifndef PARITECT_CHECKS_SCRIPTS_DETAIL_H_
#define PARITECT_CHECKS_SCRIPTS_DETAIL_H_

#include <string>

#include "paritect/v1/script.pb.h"

namespace paritect {

// "10000", "[0.485, 0.456]", "None"; where the value is not known, the text as written.
std::string ShowScriptValue(const v1::ScriptArgument& argument);

// "shuffle(buffer_size=10000, seed=12345)": what is stated, without defaults.
std::string ScriptDetail(const v1::ScriptFact& fact);

// "train.py:12"
std::string ScriptPlace(const v1::ScriptFact& fact);

const v1::ScriptArgument* FindScriptArgument(const v1::ScriptFact& fact, absl::string_view name);

}  // namespace paritect

#endif  // PARITECT_CHECKS_SCRIPTS_DETAIL_H_
