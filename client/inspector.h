// The contract of an inspector: `paritect inspect --as KIND`, one kind a file in inspect/.
#ifndef PARITECT_CLIENT_INSPECTOR_H_
#define PARITECT_CLIENT_INSPECTOR_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/command.h"
#include "client/report/json.h"

namespace paritect {

struct InspectRequest {
  std::vector<std::string> files;  // one; several with --join: the parts of one log
  bool summary = false;            // counts, first, last and sums in place of long lists
  std::string digest;              // xxh3 | sha256 (weights)
};

struct Inspector {
  absl::string_view kind;  // the word of --as
  // Whether a file without --as is of this kind, by its first bytes (up to 64 KiB; empty for a folder).
  bool (*recognises)(absl::string_view path, bool is_folder, absl::string_view head);
  // The object's keys beside `file` and `kind`: `format`, `notes` and the kind's own (contract: inspect).
  // What is not recognised is format "unknown" with a note that says what was seen. DataLoss: refused
  // as damaged or hostile (exit 1).
  absl::StatusOr<OrderedJson> (*inspect)(CommandEnv& env, const InspectRequest& request);
  // The object for people (-o table); nullptr: this kind has JSON alone.
  void (*print)(const OrderedJson& object, std::ostream& out) = nullptr;
};

absl::Span<const Inspector* const> AllInspectors();

// JSON of what the readers share.
OrderedJson NoteToJson(const v1::Note& note);
OrderedJson NumberToJson(double value);  // NaN and infinities as strings

}  // namespace paritect

#endif  // PARITECT_CLIENT_INSPECTOR_H_
