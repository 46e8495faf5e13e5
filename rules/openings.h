// The pieces of evidence that a person can bring in one go, and which messages of missing evidence each answers.
// Data: rules/data/openings.yaml. Apart from Rules: no check needs it, only what comes after the judgement.
#ifndef PARITECT_RULES_OPENINGS_H_
#define PARITECT_RULES_OPENINGS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/document.h"
#include "paritect/v1/common.pb.h"
#include "rules/messages.h"

namespace paritect {

// Messages of missing evidence: an id, or all that begin so; `args` limit it to where these placeholders hold these
// values.
struct AnsweredMessage {
  std::string id;
  bool prefix = false;
  MessageArgs args;
};

struct Opening {
  std::string id;
  v1::Text action;     // what to do, with the command or the line of a plan
  bool never = false;  // nobody can bring it
  std::vector<AnsweredMessage> answers;
};

// InvalidArgument "LINE:COLUMN: ..." for an entry that is not of the form told in openings.yaml.
absl::StatusOr<std::vector<Opening>> ReadOpenings(const DocumentNode& root);

// The embedded ones, or those that override them, read once; in the file's order.
const std::vector<Opening>& BuiltInOpenings();

}  // namespace paritect

#endif  // PARITECT_RULES_OPENINGS_H_
