// Values of the observer's record as texts for people and for comparison.
#ifndef PARITECT_FORMATS_OBSERVER_VALUE_TEXT_H_
#define PARITECT_FORMATS_OBSERVER_VALUE_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "common/document.h"

namespace paritect {

// "0.1", "[0.5, 0.25]", "{a: 1}"; a function by its dotted name.
std::string ValueText(const DocumentNode& value);

// The class of an object of the record, or the name of a function.
std::string ObjectName(const DocumentNode& object);

// "Normalize" of "torchvision.transforms.transforms.Normalize".
std::string ShortClass(absl::string_view dotted);

}  // namespace paritect

#endif  // PARITECT_FORMATS_OBSERVER_VALUE_TEXT_H_
