#include "common/message_bytes.h"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "common/utf8.h"

namespace paritect {
namespace {

constexpr int kDepthMax = 64;

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

void MakeTextUtf8(const Reflection& reflection, const FieldDescriptor* field, int index, Message& message) {
  std::string text =
      field->is_repeated() ? reflection.GetRepeatedString(message, field, index) : reflection.GetString(message, field);
  if (IsValidUtf8(text)) return;
  if (field->is_repeated()) {
    reflection.SetRepeatedString(&message, field, index, DisplayBytes(text));
  } else {
    reflection.SetString(&message, field, DisplayBytes(text));
  }
}

}  // namespace

// Visits the message tree with a stack of its own: depth comes from input.
void MakeTextsUtf8(Message& root) {
  std::vector<Message*> stack = {&root};
  std::vector<const FieldDescriptor*> fields;
  while (!stack.empty()) {
    Message& message = *stack.back();
    stack.pop_back();
    const Reflection& reflection = *message.GetReflection();
    fields.clear();
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
      if (!is_message && field->type() != FieldDescriptor::TYPE_STRING) continue;
      const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
      for (int i = 0; i < count; ++i) {
        if (!is_message) {
          MakeTextUtf8(reflection, field, i, message);
        } else {
          stack.push_back(field->is_repeated() ? reflection.MutableRepeatedMessage(&message, field, i)
                                               : reflection.MutableMessage(&message, field));
        }
      }
    }
  }
}

std::string SerializeStable(Message& message) {
  MakeTextsUtf8(message);
  std::string out;
  out.reserve(message.ByteSizeLong());  // else it grows by doubling, and a long list stands there twice
  {
    google::protobuf::io::StringOutputStream stream(&out);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return out;
}

namespace {

using google::protobuf::Descriptor;
using google::protobuf::internal::WireFormatLite;

constexpr std::size_t kMapEntryBytes = 96;
constexpr std::size_t kStringBytes = 2 * sizeof(std::string);  // with its pointer and the allocation's head

// Walks the wire form with the descriptor at hand, which tells texts from messages.
class CostReader {
 public:
  CostReader(const Message& prototype, MessageBudget& budget)
      : factory_(*prototype.GetReflection()->GetMessageFactory()), budget_(budget) {}

  // False: the budget is used up.
  bool Read(absl::string_view bytes, const Descriptor& type, int depth) {
    if (!Spend(1, SizeOf(type))) return false;
    google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                              static_cast<int>(bytes.size()));
    for (std::uint32_t tag = in.ReadTag(); tag != 0; tag = in.ReadTag()) {
      const auto wire = WireFormatLite::GetTagWireType(tag);
      if (wire != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
        if (!Spend(0, sizeof(std::uint64_t))) return false;
        if (!WireFormatLite::SkipField(&in, tag)) return true;
        continue;
      }
      std::uint32_t length = 0;
      if (!in.ReadVarint32(&length)) return true;
      const auto at = static_cast<std::size_t>(in.CurrentPosition());
      if (length > bytes.size() - at) return true;
      const absl::string_view value = bytes.substr(at, length);
      if (!in.Skip(static_cast<int>(length))) return true;
      const FieldDescriptor* field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      if (field != nullptr && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        if (depth < kDepthMax && !Read(value, *field->message_type(), depth + 1)) return false;
      } else if (!Spend(0, TextCost(field, length))) {
        return false;
      }
    }
    return true;
  }

 private:
  // A packed list of numbers has one of eight bytes for each of its own at most.
  static std::uint64_t TextCost(const FieldDescriptor* field, std::uint64_t length) {
    const bool numbers = field != nullptr && field->is_packable();
    return numbers ? length * sizeof(std::uint64_t) : kStringBytes + length;
  }

  std::uint64_t SizeOf(const Descriptor& type) {
    auto [it, added] = sizes_.try_emplace(&type, 0);
    if (!added) return it->second;
    // Entries of maps have no objects of their own that could be asked.
    const Message* prototype = type.options().map_entry() ? nullptr : factory_.GetPrototype(&type);
    it->second = (prototype == nullptr ? kMapEntryBytes : prototype->SpaceUsedLong()) + sizeof(void*);
    return it->second;
  }

  bool Spend(std::uint64_t entries, std::uint64_t memory) {
    if (entries > budget_.entries || memory > budget_.memory_bytes) return false;
    budget_.entries -= entries;
    budget_.memory_bytes -= memory;
    return true;
  }

  google::protobuf::MessageFactory& factory_;
  MessageBudget& budget_;
  std::map<const Descriptor*, std::uint64_t> sizes_;
};

}  // namespace

absl::Status TakeFromBudget(absl::string_view bytes, const Message& message, MessageBudget& budget) {
  const MessageBudget allowed = budget;
  if (CostReader(message, budget).Read(bytes, *message.GetDescriptor(), 0)) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("a message of ", bytes.size(), " bytes holds more than what is left to read with: ", allowed.entries,
                   " entries and ", allowed.memory_bytes >> 20,
                   " MiB of memory; it was not made by this program, or is to be split"));
}

bool ParseStable(absl::string_view bytes, Message& message) {
  google::protobuf::io::CodedInputStream coded(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                               static_cast<int>(bytes.size()));
  coded.SetRecursionLimit(kDepthMax);
  return message.ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage();
}

}  // namespace paritect
