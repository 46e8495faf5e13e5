// What the spellings of a setting's value mean, and when two of them mean the same: SameMeaning takes a number and
// what its float32 is printed as (0.0001, 9.999999747378752e-05) for one, and a list for one with a text with commas
// ("949,50,1", "949, 50, 1").
#ifndef PARITECT_RULES_SETTING_VALUES_H_
#define PARITECT_RULES_SETTING_VALUES_H_

#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "paritect/v1/settings.pb.h"

namespace paritect {

enum class SettingType { kText, kWord, kBoolean, kNumber, kVersion, kPath };

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

// The value as the type has it: "1e-4" of a number is 0.0001, "on" of a boolean true, "2.1.0+cu121" of a version
// "2.1.0". What cannot be read as the type stays as it is.
v1::Value TypedValue(SettingType type, const v1::Value& value, const std::map<std::string, std::string>& words = {});

// Whether two typed values mean the same. Numbers: equal within 1e-12 relative, so that 1 - 0.9 equals 0.1.
bool SameMeaning(SettingType type, const v1::Value& a, const v1::Value& b);

// A value as text: "0.0001", "true", "[0.9, 0.95]", "none".
std::string ValueToText(const v1::Value& value);

}  // namespace paritect

#endif  // PARITECT_RULES_SETTING_VALUES_H_
