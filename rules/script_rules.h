// Which functions of which framework mean what in a training script. Data: rules/data/scripts/*.yaml.
#ifndef PARITECT_RULES_SCRIPT_RULES_H_
#define PARITECT_RULES_SCRIPT_RULES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/document.h"

namespace paritect {

// One function, method or class, or a group of them (a name with '*').
struct ApiRule {
  std::vector<std::string> names;       // "torch.utils.data.DataLoader", "torch*.GradScaler"
  std::string kind;                     // of the fact; "" where only the result's type matters
  std::string framework;                // of the file
  std::vector<std::string> parameters;  // by position, without the object
  std::vector<std::pair<std::string, std::string>> defaults;  // parameter, value as written
  std::string returns;                  // type of the result; "self": the object that it is a method of
  std::string layer;                    // "batchnorm", "dropout", ...
  std::string source;
};

// A class of a framework from which projects derive.
struct BaseRule {
  std::string name;
  std::string role;                // "module", "dataset", "iterable", "trainer"
  std::string type;                // whose methods its instances have
  std::vector<std::string> hooks;  // methods that the framework calls
};

class ScriptRules {
 public:
  // InvalidArgument "LINE:COLUMN: ..." for an unknown field or a line without name. Lines of later files stand before
  // earlier ones, so that an override's count first.
  absl::Status Add(const DocumentNode& root);

  // The rule of a full name; nullptr. The longest name without '*' first.
  const ApiRule* Find(absl::string_view full_name) const;
  const BaseRule* FindBase(absl::string_view full_name) const;
  // "torch_npu.npu.amp" -> "torch.npu.amp": packages that carry another's names.
  std::string Canonical(absl::string_view full_name) const;
  std::size_t size() const { return rules_.size(); }

 private:
  absl::Status AddApi(const DocumentNode& node, absl::string_view framework, absl::string_view source);
  absl::Status AddBase(const DocumentNode& node);

  std::vector<ApiRule> rules_;
  std::map<std::string, std::size_t, std::less<>> exact_;
  std::map<std::string, std::vector<std::pair<std::string, std::size_t>>, std::less<>> by_last_;  // with '*' before it
  std::vector<std::pair<std::string, std::size_t>> groups_;  // with '*' at the end
  std::vector<BaseRule> bases_;
  std::vector<std::pair<std::string, std::string>> renamed_;
};

}  // namespace paritect

#endif  // PARITECT_RULES_SCRIPT_RULES_H_
