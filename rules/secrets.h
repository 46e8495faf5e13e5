// Which values are secrets: by names, by forms and by places of a command line. Data: rules/data/secrets.yaml.
// agent/redaction.h masks by it; nothing else decides what a secret is.
#ifndef PARITECT_RULES_SECRETS_H_
#define PARITECT_RULES_SECRETS_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/document.h"
#include "re2/re2.h"

namespace paritect {

// Words that a name of a secret is made of.
struct SecretFamily {
  std::string name;
  bool strong = false;      // wherever they stand in the name; else as its last word
  bool whole_line = false;  // the value goes to the end of its line
  std::set<std::string> words, not_after, only_after, grown_after;
  bool grown_after_any = true;
  std::size_t clear_digits = 0;  // a plain number of so many digits or fewer is no secret
};

// How a program is given a secret.
struct SecretProgram {
  std::set<std::string> programs;
  std::set<std::string> apart;        // the next word is one
  std::vector<std::string> attached;  // the rest of the word is one
  std::set<std::string> user;         // the next word is USER:SECRET (or USER%SECRET)
  std::vector<std::string> attached_user;
  std::set<std::string> but;  // sub-commands in which the options mean something else
  std::string verb;           // of the words behind it that are no options the first but `skip` is one
  int skip = 0;
};

class SecretRules {
 public:
  // The family by which a name ("--hub-token", "auth.github.token", "PGPASSWORD", "数据库密码") is one of a secret;
  // nullptr: it is none. A part before the last ("api_keys.openai") counts as well.
  const SecretFamily* FamilyOf(absl::string_view name) const;

  // Whether a value under such a name is none: a switch, nothing, a count, a word of text ("<pad>", "[CLS]"), a version
  // or a path where the word is a weak one.
  bool IsInnocentValue(const SecretFamily& family, absl::string_view value) const;

  // Whether the name speaks of a digest or an identity (git_commit, run_id), whose values look drawn by lot.
  bool NamesAHash(absl::string_view name) const;

  // Fields of an entry that names another ("environ.0.name") and gives its value ("environ.0.Value").
  bool NamesAnother(absl::string_view field) const { return IsOf(pair_names_, field); }
  bool ValuesAnother(absl::string_view field) const { return IsOf(pair_values_, field); }

  const SecretProgram* ProgramOf(absl::string_view word) const;

  const RE2& forms() const { return *forms_; }    // what is one as a whole
  const RE2& behind() const { return *behind_; }  // group 1 stays, the rest of the word is one

 private:
  friend absl::StatusOr<SecretRules> ReadSecrets(const DocumentNode& root);
  const SecretFamily* FamilyOfPart(const std::vector<std::string>& words) const;
  static bool IsOf(const std::set<std::string>& words, absl::string_view field);
  bool Matches(const SecretFamily& family, const std::vector<std::string>& words, std::size_t at) const;

  std::vector<SecretFamily> families_;
  std::vector<std::string> inside_;
  std::set<std::string> about_, endings_, hashes_, pair_names_, pair_values_;
  std::vector<SecretProgram> programs_;
  std::shared_ptr<const RE2> forms_, behind_;
};

// InvalidArgument "LINE:COLUMN: ..." for what is not of the form.
absl::StatusOr<SecretRules> ReadSecrets(const DocumentNode& root);

// The embedded ones, loaded once.
const SecretRules& BuiltInSecrets();

// A value that looks drawn by lot: a long run of letters and digits that change their kind more often than words,
// names of models and versions do; or 32 hexadecimal digits and more. UUIDs are none: they name things.
bool LooksDrawnByLot(absl::string_view value);

}  // namespace paritect

#endif  // PARITECT_RULES_SECRETS_H_
