#include "common/message_bytes.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/wrappers.pb.h>

#include "gtest/gtest.h"

namespace paritect {
namespace {

TEST(MessageBytesTest, TextsAtEveryDepthBecomeUtf8) {
  google::protobuf::Struct message;
  auto& list = *(*message.mutable_fields())["list"].mutable_list_value();
  list.add_values()->set_string_value("caf\xe9");
  list.add_values()->set_string_value("配置");
  MakeTextsUtf8(message);
  const auto& values = message.fields().at("list").list_value().values();
  EXPECT_EQ(values[0].string_value(), "caf\\xE9");
  EXPECT_EQ(values[1].string_value(), "配置");
}

TEST(MessageBytesTest, BytesKeepWhatTheyHold) {
  google::protobuf::BytesValue path;
  path.set_value("na\xefve");
  MakeTextsUtf8(path);
  EXPECT_EQ(path.value(), "na\xefve");
}

TEST(MessageBytesTest, WhatIsWrittenIsReadBackEqual) {
  google::protobuf::Struct message;
  (*message.mutable_fields())["a"].set_string_value("w\xff");
  (*message.mutable_fields())["b\xff"].set_number_value(3);
  const std::string bytes = SerializeStable(message);
  google::protobuf::Struct back;
  ASSERT_TRUE(ParseStable(bytes, back));
  EXPECT_EQ(SerializeStable(back), bytes);
  EXPECT_EQ(back.fields_size(), 2);
  EXPECT_EQ(back.fields().at("a").string_value(), "w\\xFF");
}

TEST(MessageBytesTest, RefusesWhatIsNoMessage) {
  google::protobuf::Struct message;
  EXPECT_FALSE(ParseStable("\xff\xff\xff", message));
}

}  // namespace
}  // namespace paritect
