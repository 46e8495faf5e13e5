// inspect --as tensors: the calls of a dump in order, with what each took and gave.
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/inspector.h"
#include "common/status_macros.h"
#include "formats/tensors/msprobe_dump.h"

namespace paritect {
namespace {

bool Recognises(absl::string_view, bool is_folder, absl::string_view head) {
  return !is_folder && LooksLikeMsprobeDump(head);
}

OrderedJson TensorsToJson(const google::protobuf::RepeatedPtrField<v1::DumpedTensor>& tensors) {
  OrderedJson list = OrderedJson::array();
  for (const v1::DumpedTensor& tensor : tensors) {
    OrderedJson json = {{"place", tensor.place()}, {"dtype", tensor.dtype()}, {"shape", OrderedJson::array()}};
    for (const std::int64_t size : tensor.shape()) json["shape"].push_back(size);
    if (tensor.has_min()) json["min"] = NumberToJson(tensor.min());
    if (tensor.has_max()) json["max"] = NumberToJson(tensor.max());
    if (tensor.has_mean()) json["mean"] = NumberToJson(tensor.mean());
    if (tensor.has_l2()) json["l2"] = NumberToJson(tensor.l2());
    if (!tensor.digest().empty()) json["digest"] = tensor.digest();
    list.push_back(std::move(json));
  }
  return list;
}

absl::string_view DirectionWord(v1::DumpedCall::Direction direction) {
  switch (direction) {
    case v1::DumpedCall::DIRECTION_FORWARD: return "forward";
    case v1::DumpedCall::DIRECTION_BACKWARD: return "backward";
    case v1::DumpedCall::DIRECTION_PARAMETERS_GRADIENT: return "parameters_gradient";
    default: return "unknown";
  }
}

OrderedJson CallToJson(const v1::DumpedCall& call) {
  OrderedJson json = {{"name", call.name()},
                      {"operator", call.operator_()},
                      {"direction", DirectionWord(call.direction())},
                      {"module", call.module()},
                      {"inputs", TensorsToJson(call.inputs())},
                      {"outputs", TensorsToJson(call.outputs())}};
  OrderedJson scalars = OrderedJson::object();
  const std::map<std::string, std::string> sorted(call.scalars().begin(), call.scalars().end());
  for (const auto& [place, value] : sorted) scalars[place] = value;
  if (!scalars.empty()) json["scalars"] = std::move(scalars);
  return json;
}

absl::StatusOr<OrderedJson> Inspect(CommandEnv& env, const InspectRequest& request) {
  const std::string& path = request.files[0];
  PARITECT_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(env.fs, path, kTensorDumpBytesMax));
  auto construct = ReadWholeFile(env.fs, JoinPath(std::string(DirName(path)), "construct.json"), kTensorDumpBytesMax);
  auto dump = ReadMsprobeDump(text, construct.ok() ? *construct : "");
  OrderedJson json;
  json["notes"] = OrderedJson::array();
  if (absl::IsInvalidArgument(dump.status())) {
    v1::Note note;
    note.set_kind("not_recognised");
    note.set_message(std::string(dump.status().message()));
    json["notes"].push_back(NoteToJson(note));
    json["format"] = "unknown";
    return json;
  }
  PARITECT_RETURN_IF_ERROR(dump.status());
  json["format"] = dump->format();
  json["framework"] = dump->framework();
  json["level"] = dump->level();
  json["task"] = dump->task();
  json["count"] = dump->calls_size();
  if (request.summary) return json;
  json["nodes"] = OrderedJson::array();
  for (const v1::DumpedCall& call : dump->calls()) json["nodes"].push_back(CallToJson(call));
  return json;
}

}  // namespace

extern const Inspector kTensorsInspector;
const Inspector kTensorsInspector = {"tensors", &Recognises, &Inspect};

}  // namespace paritect
