#include "common/message_bytes.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

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
  {
    google::protobuf::io::StringOutputStream stream(&out);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return out;
}

bool ParseStable(absl::string_view bytes, Message& message) {
  google::protobuf::io::CodedInputStream coded(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                               static_cast<int>(bytes.size()));
  coded.SetRecursionLimit(kDepthMax);
  return message.ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage();
}

}  // namespace paritect
