#include "common/message_bytes.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/wrappers.pb.h>

#include "absl/strings/str_cat.h"
#include "common/status_testing.h"
#include "gmock/gmock.h"
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

// Two bytes an entry: 2 MB on the wire, half a gigabyte of objects.
TEST(MessageBytesTest, ABudgetIsAskedBeforeAnythingIsBuilt) {
  google::protobuf::ListValue list;
  std::string bytes;
  for (int i = 0; i < 1'000'000; ++i) bytes.append("\x0a\0", 2);  // an empty value
  MessageBudget entries = {.entries = 999'999};
  EXPECT_EQ(TakeFromBudget(bytes, list, entries).code(), absl::StatusCode::kResourceExhausted);
  MessageBudget memory = {.memory_bytes = 8 << 20};
  EXPECT_EQ(TakeFromBudget(bytes, list, memory).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(TakeFromBudget(bytes, list, memory).message()), ::testing::HasSubstr("2000000 bytes"));
  MessageBudget enough;
  EXPECT_TRUE(TakeFromBudget(bytes, list, enough).ok());
  // What is taken is gone: many messages share it.
  MessageBudget shared = {.entries = 1'500'000};
  EXPECT_TRUE(TakeFromBudget(bytes, list, shared).ok());
  EXPECT_EQ(CodeOf(TakeFromBudget(bytes, list, shared)), absl::StatusCode::kResourceExhausted);
}

TEST(MessageBytesTest, ABudgetCountsMessagesWithinMessagesAndSurvivesDamage) {
  google::protobuf::Struct message;
  for (int i = 0; i < 10; ++i) (*message.mutable_fields())[absl::StrCat(i)].mutable_list_value()->add_values();
  const std::string bytes = message.SerializeAsString();
  MessageBudget exact = {.entries =
                             41};  // the whole; of ten fields the entry, its value, the list and the list's value
  EXPECT_TRUE(TakeFromBudget(bytes, message, exact).ok());
  EXPECT_EQ(exact.entries, 0u);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    MessageBudget budget;
    EXPECT_TRUE(TakeFromBudget(bytes.substr(0, cut), message, budget).ok()) << cut;
  }
}

}  // namespace
}  // namespace paritect
