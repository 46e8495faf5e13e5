// Chinese of what the client says beside a report (rules/data/phrases.yaml), found by the English text: help, mistakes
// and listings come from many places, also from libraries, and are turned where they are printed.
#ifndef PARITECT_RULES_PHRASES_H_
#define PARITECT_RULES_PHRASES_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/document.h"
#include "paritect/v1/common.pb.h"
#include "re2/re2.h"

namespace paritect {

class Phrases {
 public:
  // InvalidArgument "LINE:COLUMN: ..." for an entry without both languages, or with other placeholders in them.
  static absl::StatusOr<Phrases> Read(const DocumentNode& root);

  // All of them, as they are written.
  const std::vector<v1::Text>& texts() const { return texts_; }

  // The text in Chinese; itself where no phrase fits. Of several that fit, the one with the most words of its own.
  std::string InChinese(absl::string_view english) const;

 private:
  struct Phrase {
    std::unique_ptr<RE2> english;
    std::vector<std::string> names;  // of the placeholders, in the pattern's order
    std::string chinese;
    std::size_t literal = 0;  // bytes of the English text that are no placeholder
  };

  std::string Translate(absl::string_view english, int depth) const;

  std::vector<v1::Text> texts_;
  std::map<std::string, std::string, std::less<>> exact_;  // without placeholders
  std::vector<Phrase> phrases_;
};

// The embedded ones, or those that override them, read at the first call: who speaks English never waits for them.
const Phrases& BuiltInPhrases();
// Of values within the sentences of a report (rules/data/value_phrases.yaml): few, because every report is made in both
// languages.
const Phrases& BuiltInValuePhrases();

}  // namespace paritect

#endif  // PARITECT_RULES_PHRASES_H_
