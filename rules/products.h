// Products (chip names and PCI ids to families) and defaults of product x framework x version.
// Data: rules/data/products.yaml, rules/data/defaults.yaml.
#ifndef PARITECT_RULES_PRODUCTS_H_
#define PARITECT_RULES_PRODUCTS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/document.h"

namespace paritect {

// How the product reports an overflow.
enum class OverflowMode { kUnknown, kSaturationOnly, kInfNanDefault, kInfNanOnly };

struct ProductFamily {
  std::string id;    // atlas-training | atlas-a2 | atlas-a3 | ascend-950 | ascend-inference | nvidia
  std::string name;  // for messages
  bool npu = false;
  bool trains = true;  // an inference part is no training product
  bool bfloat16 = true;
  std::string precision_option;  // the option that counts: precision_mode | precision_mode_v2
  std::string precision_value;   // what it must effectively be
  OverflowMode overflow = OverflowMode::kUnknown;
  std::string source;
};

struct PrecisionValue {
  std::string option;  // precision_mode | precision_mode_v2
  std::string value;
  std::string same_as;  // the value of the other option that means the same, or ""
  bool mixed = false;   // an automatic mixed-precision mode
};

class Products {
 public:
  absl::Status Add(const DocumentNode& root, bool overriding);
  const ProductFamily* FindFamily(absl::string_view id) const;
  // The family of a chip or SoC name ("910B3", "Ascend910_9392", "Ascend 910B3", "NVIDIA A100-SXM4-80GB"). nullptr
  // for a name that is unknown or that stands for several families ("Ascend910").
  const ProductFamily* FamilyOfChip(absl::string_view name) const;
  // Of a PCI id "19e5:d802"; "10de:*" in the table stands for a whole vendor. nullptr where unknown.
  const ProductFamily* FamilyOfPciId(absl::string_view id) const;
  // What an option may hold; nullptr for a value that the option does not know.
  const PrecisionValue* FindPrecisionValue(absl::string_view option, absl::string_view value) const;

 private:
  struct Chip {
    std::string pattern;  // glob over the upper-case name without blanks and "ASCEND"
    std::string family;   // "" = ambiguous
  };
  std::map<std::string, ProductFamily> families_;
  std::vector<Chip> chips_;  // first match counts; overrides stand first
  std::map<std::string, std::string> pci_ids_;
  std::vector<PrecisionValue> precision_values_;
};

// A default and where it is written down.
struct DefaultValue {
  std::string key;
  std::string text;
  std::string product;    // "" for every product
  std::string framework;  // "" for every framework
  std::string library;    // the format that carries it ("megatron-args"), "" for the framework itself
  std::string versions;   // ">=1.12", ">=1.7 <1.12", "" for all
  std::string source;
};

class Defaults {
 public:
  absl::Status Add(const DocumentNode& root, bool overriding);
  // The default of `key`; nullptr where the table does not know it, or knows it only for some versions and
  // `version` is "". Entries of an override count before the built-in ones.
  const DefaultValue* Find(absl::string_view key, absl::string_view product, absl::string_view framework,
                           absl::string_view library, absl::string_view version) const;
  const std::vector<DefaultValue>& all() const { return entries_; }

 private:
  std::vector<DefaultValue> entries_;
};

// Dotted versions by number: -1, 0, 1; "2.1.0+cu121" counts as 2.1.0, "8.0.RC1" before "8.0.0".
int CompareVersions(absl::string_view a, absl::string_view b);
// ">=1.7 <1.12": all of them. An empty condition holds for every version; an empty version for none but that.
bool VersionFits(absl::string_view version, absl::string_view conditions);

}  // namespace paritect

#endif  // PARITECT_RULES_PRODUCTS_H_
