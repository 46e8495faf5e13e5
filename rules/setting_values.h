// What the spellings of a setting's value mean; for settings_rules.cc. What is the same: SameMeaning
// (settings_rules.h) takes a number and what its float32 is printed as (0.0001, 9.999999747378752e-05) for one, and a
// list for one with a text with commas ("949,50,1", "949, 50, 1").
#ifndef PARITECT_RULES_SETTING_VALUES_H_
#define PARITECT_RULES_SETTING_VALUES_H_

#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "paritect/v1/settings.pb.h"

namespace paritect {

// true, 1, on, yes, enabled ... and their opposites; nullopt for anything else.
std::optional<bool> BooleanOf(const v1::Value& value);
// A number by its spelling ("1e-4", "1,000", "2**16", "np.float64(0.1)"); nullopt where it is none.
std::optional<double> NumberOf(const v1::Value& value);
// As an integer where it is whole.
v1::Value NumberValue(double number);
// In lower case, by `words` where they have it; of a member of an enumeration its name alone.
std::string CanonicalWord(absl::string_view text, const std::map<std::string, std::string>& words);

// The last part of what Python prints of a member of an enumeration or of a type of a module: "ADAMW_TORCH" of
// "OptimizerNames.ADAMW_TORCH" and of "<OptimizerNames.ADAMW_TORCH: 'adamw_torch'>" (there its value), "bfloat16" of
// "torch.bfloat16" and of "<class 'torch.bfloat16'>". "" where the text is no such word.
std::string LastOfDottedName(absl::string_view text);

}  // namespace paritect

#endif  // PARITECT_RULES_SETTING_VALUES_H_
