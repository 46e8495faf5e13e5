#include "formats/tensors/msprobe_dump.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/document.h"
#include "common/numbers.h"
#include "common/status_macros.h"

namespace paritect {
namespace {

constexpr DocumentLimits kLimits = {kTensorDumpBytesMax, 40'000'000, 64};
constexpr std::size_t kCallsMax = 1'000'000;
constexpr int kNestingMax = 16;

using Direction = v1::DumpedCall;

// "torch.float16", "mindspore.Float16", "Float16" in the words of safetensors; else as it stands.
std::string DTypeOf(absl::string_view dtype) {
  static constexpr std::pair<absl::string_view, absl::string_view> kWords[] = {
      {"float16", "F16"}, {"half", "F16"},   {"bfloat16", "BF16"}, {"float32", "F32"}, {"float", "F32"},
      {"float64", "F64"}, {"double", "F64"}, {"int8", "I8"},       {"uint8", "U8"},    {"int16", "I16"},
      {"int32", "I32"},   {"int", "I32"},    {"int64", "I64"},     {"long", "I64"},    {"bool", "BOOL"},
  };
  const std::string last = absl::AsciiStrToLower(dtype.substr(dtype.rfind('.') + 1));
  for (const auto& [word, name] : kWords) {
    if (last == word) return std::string(name);
  }
  return std::string(dtype);
}

std::optional<double> NumberOf(const DocumentNode& leaf, absl::string_view key) {
  const DocumentNode* value = leaf.Find(key);
  if (value == nullptr || !value->is_scalar()) return std::nullopt;
  return ParseDouble(value->text);
}

bool IsTensor(const DocumentNode& leaf) {
  const DocumentNode* type = leaf.Find("type");
  return leaf.is_map() && type != nullptr && absl::StrContains(type->text, "Tensor") && leaf.Find("shape") != nullptr;
}

absl::Status ReadTensor(const DocumentNode& leaf, const std::string& place, v1::DumpedTensor& tensor) {
  tensor.set_place(place);
  if (const DocumentNode* dtype = leaf.Find("dtype")) tensor.set_dtype(DTypeOf(dtype->text));
  for (const DocumentNode& size : leaf.Find("shape")->items) {
    const auto number = ParseInt(size.text);
    if (!number.has_value() || *number < 0) return ErrorAt(size, "a size of a shape is no whole number from 0");
    tensor.add_shape(*number);
  }
  if (const auto value = NumberOf(leaf, "Min")) tensor.set_min(*value);
  if (const auto value = NumberOf(leaf, "Max")) tensor.set_max(*value);
  if (const auto value = NumberOf(leaf, "Mean")) tensor.set_mean(*value);
  if (const auto value = NumberOf(leaf, "Norm")) tensor.set_l2(*value);
  const DocumentNode* digest = leaf.Find("md5");
  if (digest != nullptr && digest->is_scalar() && !digest->text.empty()) {
    // Eight digits under that name are a CRC-32.
    tensor.set_digest(absl::StrCat(digest->text.size() == 8 ? "crc32:" : "md5:", absl::AsciiStrToLower(digest->text)));
  }
  return absl::OkStatus();
}

// Tensors go to `sink`, other values to the call's scalars.
class Leaves {
 public:
  Leaves(v1::DumpedCall& call, google::protobuf::RepeatedPtrField<v1::DumpedTensor>& tensors)
      : call_(call), tensors_(tensors) {}

  absl::Status Add(const DocumentNode& node, const std::string& place, int depth = 0) {
    if (depth > kNestingMax) return ErrorAt(node, "arguments are nested too deep");
    if (IsTensor(node)) return ReadTensor(node, place, *tensors_.Add());
    if (node.is_list()) {
      for (std::size_t i = 0; i < node.items.size(); ++i) {
        PARITECT_RETURN_IF_ERROR(Add(node.items[i], absl::StrCat(place, ".", i), depth + 1));
      }
    } else if (const DocumentNode* value = node.is_map() ? node.Find("value") : nullptr) {
      if (value->is_scalar()) (*call_.mutable_scalars())[place] = value->text;
    } else if (node.is_map() && node.Find("type") == nullptr) {
      for (const auto& [key, one] : node.fields) {
        PARITECT_RETURN_IF_ERROR(Add(one, absl::StrCat(place, ".", key.text), depth + 1));
      }
    }
    return absl::OkStatus();
  }

 private:
  v1::DumpedCall& call_;
  google::protobuf::RepeatedPtrField<v1::DumpedTensor>& tensors_;
};

absl::Status ReadCall(const DocumentNode& name, const DocumentNode& entry, v1::DumpedCall& call) {
  DumpedName parts = SplitDumpedName(name.text);
  call.set_name(parts.call);
  call.set_operator_(parts.operator_);
  call.set_direction(parts.direction);
  call.set_is_module(parts.is_module);
  Leaves inputs(call, *call.mutable_inputs());
  Leaves outputs(call, *call.mutable_outputs());
  if (parts.direction == Direction::DIRECTION_PARAMETERS_GRADIENT) return outputs.Add(entry, "gradient");
  for (const auto& [key, value] : entry.fields) {
    if (key.text == "output" || key.text == "output_args") {
      PARITECT_RETURN_IF_ERROR(outputs.Add(value, "output"));
    } else if (key.text == "input" || key.text == "input_args") {
      PARITECT_RETURN_IF_ERROR(inputs.Add(value, "input"));
    } else if (key.text == "input_kwargs" || key.text == "parameters") {
      PARITECT_RETURN_IF_ERROR(inputs.Add(value, key.text == "parameters" ? "parameters" : "input"));
    }
  }
  return absl::OkStatus();
}

// Which module stands around each call; a call that is not named there stays without.
absl::Status ReadConstruct(absl::string_view text, const std::vector<std::string>& names, v1::TensorDump& dump) {
  if (text.empty()) return absl::OkStatus();
  PARITECT_ASSIGN_OR_RETURN(const DocumentNode root, ParseJson(text, kLimits));
  std::map<absl::string_view, absl::string_view> parents;
  for (const auto& [name, parent] : root.fields) parents[name.text] = parent.text;
  for (int i = 0; i < dump.calls_size(); ++i) {
    const auto parent = parents.find(names[static_cast<std::size_t>(i)]);
    if (parent != parents.end()) dump.mutable_calls(i)->set_module(std::string(parent->second));
  }
  return absl::OkStatus();
}

}  // namespace

bool LooksLikeMsprobeDump(absl::string_view head) {
  head = absl::StripLeadingAsciiWhitespace(head);
  return absl::StartsWith(head, "{") && absl::StrContains(head, "\"task\"") && absl::StrContains(head, "\"data\"") &&
         absl::StrContains(head, "\"dump_data_dir\"");
}

DumpedName SplitDumpedName(absl::string_view name) {
  DumpedName result;
  std::vector<std::string> parts = absl::StrSplit(name, '.');
  const auto direction_of = [](absl::string_view word) {
    if (word == "forward") return Direction::DIRECTION_FORWARD;
    if (word == "backward") return Direction::DIRECTION_BACKWARD;
    if (word == "parameters_grad") return Direction::DIRECTION_PARAMETERS_GRADIENT;
    return Direction::DIRECTION_UNSPECIFIED;
  };
  for (std::size_t i = parts.size(); i-- > 0 && parts.size() - i <= 2;) {
    result.direction = direction_of(parts[i]);
    if (result.direction == Direction::DIRECTION_UNSPECIFIED) continue;
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i));
    break;
  }
  result.call = absl::StrJoin(parts, ".");
  result.is_module = !parts.empty() && (parts[0] == "Module" || parts[0] == "Cell");
  if (parts.size() > 1 && ParseInt(parts.back()).has_value()) parts.pop_back();
  result.operator_ = parts.empty() ? "" : parts.back();
  return result;
}

absl::StatusOr<v1::TensorDump> ReadMsprobeDump(absl::string_view text, absl::string_view construct) {
  PARITECT_ASSIGN_OR_RETURN(const DocumentNode root, ParseJson(text, kLimits));
  const DocumentNode* data = root.is_map() ? root.Find("data") : nullptr;
  if (data == nullptr || !data->is_map()) return absl::InvalidArgumentError("no object `data` with the dumped calls");
  if (data->fields.size() > kCallsMax) return absl::ResourceExhaustedError("more dumped calls than are read");
  v1::TensorDump dump;
  dump.set_format("msprobe-dump");
  const auto text_of = [&](absl::string_view key) {
    const DocumentNode* value = root.Find(key);
    return value != nullptr && value->is_scalar() ? value->text : std::string();
  };
  dump.set_task(text_of("task"));
  dump.set_level(text_of("level"));
  dump.set_framework(text_of("framework"));
  std::vector<std::string> names;
  for (const auto& [name, entry] : data->fields) {
    v1::DumpedCall& call = *dump.add_calls();
    PARITECT_RETURN_IF_ERROR(ReadCall(name, entry, call));
    call.set_order(static_cast<std::int64_t>(names.size()));
    names.push_back(name.text);
  }
  PARITECT_RETURN_IF_ERROR(ReadConstruct(construct, names, dump));
  return dump;
}

}  // namespace paritect
