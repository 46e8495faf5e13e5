// What a folder without a plan was taken for, told to people and to programs.
#ifndef PARITECT_CLIENT_PLAN_TOLD_INPUT_H_
#define PARITECT_CLIENT_PLAN_TOLD_INPUT_H_

#include <string>
#include <utility>
#include <vector>

#include "client/plan/side_input.h"
#include "client/report/json.h"
#include "report/language.h"

namespace paritect {

// A few lines a side; none where every side has a plan. `columns`: of the terminal.
std::string InputLines(const Rules& rules, absl::Span<const Language> languages, std::size_t columns,
                       absl::Span<const SideInput> inputs);

// One object an input that was read as it is: path, runs, taken[] {path, as, format, files, count?, size?, hashed?},
// not_taken[] {path, why {en, zh}}.
OrderedJson InputToJson(const Rules& rules, const SideInput& input);

// One source in words: "train.log (log: megatron, 300 records)".
std::string SourceWords(const Rules& rules, absl::Span<const Language> languages, const TakenSource& source);
// The reason in words.
std::string NotTakenWords(const Rules& rules, absl::Span<const Language> languages, const NotTaken& one);

}  // namespace paritect

#endif  // PARITECT_CLIENT_PLAN_TOLD_INPUT_H_
