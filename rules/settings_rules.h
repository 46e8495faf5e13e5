// Names of settings: what a raw key of a configuration format means, of which type it is, when two values
// are the same, and which environment variables may leave a node in clear. Data: rules/data/settings.yaml.
#ifndef PARITECT_RULES_SETTINGS_RULES_H_
#define PARITECT_RULES_SETTINGS_RULES_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/document.h"
#include "paritect/v1/settings.pb.h"
#include "rules/setting_values.h"

namespace paritect {

// How a raw value becomes the canonical one.
enum class SettingConversion { kNone, kInvert, kOneMinus, kPowerOfTwo, kItem0, kItem1 };

struct SettingAlias {
  std::string name;    // normalised: lower case, '-' as '_'
  std::string format;  // "" for every format
  SettingConversion convert = SettingConversion::kNone;
};

struct SettingKey {
  std::string key;
  SettingType type = SettingType::kText;
  std::string group;      // optimizer | schedule | batch | parallel | precision | loss-scale | model | data | ...
  bool compared = false;  // by model.hyperparameters.values
  bool optional = false;  // not every library has it: stated on one side alone, it counts within one format only
  bool steps = false;     // a list of maps whose items, in order, make the value
  std::string pipeline;   // the check of data.preprocessing that compares it: shuffle | padding | transform | ...
  std::vector<SettingAlias> aliases;
  std::map<std::string, std::string> words;  // of a kWord key: spelling -> canonical word
  std::vector<std::string> unset;            // values that mean "not set" (max_steps: -1)
  // A boolean key without which this one is off, and what "off" is: "0" of clip_grad with use_clip_grad: False.
  std::string switched_by;
  std::string off;
  std::vector<std::string> stronger;  // formats whose value replaces that of others (a DeepSpeed scheduler: HF's)
  std::vector<std::string> styles;    // of a schedule's key: the values of lr_style that read it; empty: every one
  std::string source;
};

// What an environment variable is to an audit.
enum class VariableEffect {
  kUnknown,   // outside the allow-list: withheld
  kNumbers,   // can change numbers: nodes must agree
  kHarmless,  // cannot: a difference is a warning
  kByNature,  // differs from node to node
};

struct CanonicalSetting {
  const SettingKey* key = nullptr;
  v1::Value value;         // typed; `null` where the source states None
  int order = 0;           // of the alias among the key's: the first is the key's most certain name
  int sections = 0;        // names of sections that were left off before the key was known ("training.lr": 1)
  bool converted = false;  // another number or word than the source's (keep_prob, betas)
};

// Sections of configurations under which a key keeps its meaning: "lr" of "training.lr", "optim.lr".
struct SettingSections {
  std::vector<std::string> names;   // normalised
  std::vector<std::string> groups;  // of the keys that they may hold; empty: all
};

// What shows that a run used a library, so that the library's defaults count for the formats that configure it.
struct LibraryEvidence {
  std::string name;
  std::string framework;
  std::vector<std::string> formats;    // whose defaults count with it
  std::vector<std::string> written;    // formats that the library itself writes or prints
  std::vector<std::string> packages;   // "package.NAME" among the run's packages
  std::vector<std::string> commands;   // globs over launchers, entry scripts and modules
  std::vector<std::string> arguments;  // normalised keys that only it reads, set to something
};

// A variable that names a version (or a path with one), often of the image that a container was built from, and what
// tells which version a process loads.
struct VariableVersion {
  std::string variable;
  std::vector<std::string> loaded;  // raw keys, the surest first; "KEY*" begins so; "KEY+cu": the CUDA of "2.1.0+cu121"
  std::size_t parts = 0;            // of one scheme on both sides; 0: all
};

// Names of one concern: a key among them that no canonical key claims can still not be passed over in silence.
struct SettingSubtree {
  std::string owner;  // schedule | optimizer | model
  // The names are arguments of the thing itself (lr_scheduler_kwargs.*): a difference is one. Else they only sound so.
  bool sure = false;
  std::vector<std::string> names;  // globs over normalised names
  std::vector<std::string> but;    // of these not
};

// "Learning-Rate" -> "learning_rate"; a leading "--" goes.
std::string NormaliseSettingKey(absl::string_view raw_key);

class SettingsRules {
 public:
  // Adds the entries of one file. An override adds aliases and variables to what is there, and replaces type,
  // group and words of a key that is there. InvalidArgument "LINE:COLUMN: ...".
  absl::Status Add(const DocumentNode& root, bool overriding);

  // Variables that differ from node to node and are named elsewhere (the launchers').
  void AddByNature(const std::set<std::string, std::less<>>& variables);

  // The canonical settings that one raw setting states: none for an unknown key or a withheld value; several
  // where one raw value holds several (`betas`).
  std::vector<CanonicalSetting> Canonicalise(absl::string_view format, const v1::Setting& setting) const;
  // nullptr where there is no such canonical key.
  const SettingKey* FindKey(absl::string_view key) const;
  const std::map<std::string, SettingKey>& keys() const { return keys_; }

  // The first subtree that names the key; nullptr where none does. `name`: normalised.
  const SettingSubtree* SubtreeOf(absl::string_view name) const;
  // Whether a subtree names the key only to leave it out (`but`): what it does changes no number.
  bool IsExcepted(absl::string_view name) const;

  const std::vector<LibraryEvidence>& libraries() const { return libraries_; }
  // Whether a key that nobody understands may be this one by its name: "peak_lr", "a.b.lr" for lr_base. `name`:
  // normalised.
  bool MayBe(absl::string_view name, const SettingKey& key) const;

  const std::vector<VariableVersion>& variable_versions() const { return variable_versions_; }

  VariableEffect EffectOf(absl::string_view variable) const;
  // What counts where a variable is not set, for comparing nodes; "" where unset means something of its own.
  std::string DefaultOf(absl::string_view variable) const;
  // Whether a variable may leave a node in clear.
  bool InClear(absl::string_view variable) const { return EffectOf(variable) != VariableEffect::kUnknown; }

 private:
  struct Target {
    std::string key;
    SettingConversion convert = SettingConversion::kNone;
    int order = 0;
  };
  absl::Status AddKey(const DocumentNode& node, bool overriding);
  absl::Status AddAliases(const DocumentNode& node, const std::string& format, SettingKey& key);
  absl::Status AddSubtree(const DocumentNode& node);
  absl::Status AddSections(const DocumentNode& node);
  absl::Status AddLibrary(const DocumentNode& node);
  // The targets of an alias as it is, in this format or in all.
  std::vector<Target> TargetsOf(absl::string_view format, const std::string& name) const;
  // The same behind the names of sections; `sections` gets how many were left off.
  std::vector<Target> TargetsInSections(const std::string& name, int& sections) const;
  const SettingSections* SectionsOf(absl::string_view name) const;
  absl::Status AddVariables(const DocumentNode& node);
  absl::Status AddVariableDefaults(const DocumentNode& node);
  absl::Status AddVariableVersion(const DocumentNode& node);

  std::map<std::string, SettingKey> keys_;
  std::multimap<std::string, Target> by_alias_;  // "format\nname" or "\nname"
  std::vector<SettingSubtree> subtrees_;
  std::vector<SettingSections> sections_;
  std::vector<LibraryEvidence> libraries_;
  std::vector<VariableVersion> variable_versions_;
  std::vector<std::string> qualifiers_;
  std::map<std::string, VariableEffect> variables_;
  std::map<std::string, std::string> variable_defaults_;
  std::vector<std::pair<std::string, VariableEffect>> variable_patterns_;  // globs, in order
};

// A numeric key whose value is a text ("abc", "two"): not a setting that can be compared.
bool IsNoNumber(const CanonicalSetting& setting);

}  // namespace paritect

#endif  // PARITECT_RULES_SETTINGS_RULES_H_
