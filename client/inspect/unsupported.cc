// The last resort: what no inspector claims.
#include <nlohmann/json.hpp>

#include "client/inspector.h"

namespace paritect {
namespace {

bool Recognises(absl::string_view, bool, absl::string_view) { return true; }

absl::StatusOr<OrderedJson> Inspect(CommandEnv&, const InspectRequest&) {
  v1::Note note;
  note.set_kind("not_recognised");
  note.set_message("no reader of this version claims this file; name its kind with --as");
  OrderedJson json;
  json["format"] = "unknown";
  json["notes"] = OrderedJson::array({NoteToJson(note)});
  return json;
}

}  // namespace

extern const Inspector kUnsupportedInspector;
const Inspector kUnsupportedInspector = {"unknown", &Recognises, &Inspect};

}  // namespace paritect
