#include "formats/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/little_endian.h"
#include "common/status_testing.h"
#include "formats/archives/zip_fixture.h"
#include "formats/settings/settings_format.h"
#include "rules/settings_rules.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;
using Kind = PickleValue::Kind;

// The bytes of a literal that holds zeros.
template <std::size_t kSize>
std::string Bytes(const char (&literal)[kSize]) {
  return std::string(literal, kSize - 1);
}

std::string Word(absl::string_view text) {
  return absl::StrCat("X", LittleEndianBytes(text.size(), 4), text);
}

// A TrainingArguments as protocol 2 writes it, with this state.
std::string ObjectWith(absl::string_view state) {
  return absl::StrCat(Bytes("\x80\x02"), "ctransformers.training_args\nTrainingArguments\n)", "\x81", "}(", state,
                      "ub.");
}

const std::string& Sample() {
  static const auto* const sample = new std::string(ObjectWith(
      absl::StrCat(Word("per_device_train_batch_size"), Bytes("K\x08"), Word("fp16"), "\x89", Word("bf16"), "\x88",
                   Word("learning_rate"), Bytes("G\x3f\x0a\x36\xe2\xeb\x1c\x43\x2d"), Word("max_steps"),
                   Bytes("J\xff\xff\xff\xff"), Word("optim"), "ctransformers.training_args\nOptimizerNames\n",
                   Word("adamw_torch"), "\x85", "R", Word("label_names"), "N", Word("fsdp"), "](", Word("a"),
                   Bytes("K\x01"), "e", Word("lr_scheduler_kwargs"), "}", Word("min_lr"), Bytes("K\x00"), "s")));
  return *sample;
}

// A ZIP with one member, as torch.save streams it: sizes in the directory only, padding in the local header only.
std::string Zip(const std::string& name, absl::string_view content, bool deflated = false) {
  ZipFile member = {name, std::string(content), deflated};
  member.streamed = true;
  member.local_extra = "FB!";
  return MakeZip({member});
}

std::string Read(absl::string_view bytes) {
  auto documents = ReadSettings(bytes, "f", "");
  if (!documents.ok()) return documents.status().ToString();
  std::string out = (*documents)[0].format() + ":";
  for (const v1::Setting& one : (*documents)[0].settings()) {
    absl::StrAppend(&out, " ", one.raw_key(), "=", ValueToText(one.value()), ";");
  }
  return out;
}

constexpr char kRead[] =
    "hf-training-args: per_device_train_batch_size=8; fp16=false; bf16=true; learning_rate=5e-05; max_steps=-1; "
    "optim=adamw_torch; label_names=none; fsdp=[a, 1]; lr_scheduler_kwargs.min_lr=0;";

TEST(TrainingArgs, ZipLegacyAndPlain) {
  EXPECT_EQ(Read(Sample()), kRead);
  EXPECT_EQ(Read(Zip("training_args/data.pkl", Sample())), kRead);
  const std::string legacy =
      absl::StrCat(Bytes("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}q\x00."), Sample());
  EXPECT_EQ(Read(legacy), kRead);
}

TEST(TrainingArgs, DamagedFilesSayWhy) {
  EXPECT_THAT(Read(Zip("training_args/data.pkl", Sample()).substr(0, 420)), HasSubstr("ZIP directory"));
  EXPECT_THAT(Read(Zip("training_args/other.pkl", Sample())), HasSubstr("without data.pkl"));
  const absl::Status compressed = TorchPickleBytes(Zip("training_args/data.pkl", Sample(), true)).status();
  EXPECT_EQ(compressed.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(compressed.message(), HasSubstr("compressed"));
  EXPECT_THAT(Read(Sample().substr(0, Sample().size() - 2)), HasSubstr("cut off"));
  EXPECT_THAT(Read(Bytes("\x80\x02X\x11\x00\x00\x00TrainingArguments.")), HasSubstr("no object"));
}

TEST(TrainingArgs, AValueThatHoldsItselfEnds) {
  // d = {}; d["a"] = d
  const std::string state =
      absl::StrCat(Word("fp16"), "\x89", Word("x"), Bytes("}q\x07"), Word("a"), Bytes("h\x07"), "s");
  EXPECT_EQ(Read(ObjectWith(state)), "hf-training-args: fp16=false;");
  // l = []; l.append(l)
  EXPECT_EQ(Read(ObjectWith(absl::StrCat(Word("x"), Bytes("]q\x01h\x01\x61"), Word("bf16"), "\x88"))),
            "hf-training-args: bf16=true;");
}

TEST(Pickle, NothingRuns) {
  const auto pickle = ReadPickle("cos\nsystem\n(S'false'\ntR.");
  ASSERT_TRUE(pickle.ok()) << pickle.status();
  const PickleValue& root = pickle->at(pickle->root);
  EXPECT_EQ(root.kind, Kind::kObject);
  EXPECT_EQ(pickle->at(root.items[0]).text, "os system");
}

TEST(Pickle, OlderAndNewerOpcodes) {
  const auto root = [](absl::string_view bytes) -> PickleValue {
    auto pickle = ReadPickle(bytes);
    EXPECT_TRUE(pickle.ok()) << pickle.status();
    return pickle.ok() ? pickle->at(pickle->root) : PickleValue();
  };
  EXPECT_EQ(root("I42\n.").integer, 42);
  EXPECT_TRUE(root("I01\n.").boolean);
  EXPECT_EQ(root("L-7L\n.").integer, -7);
  EXPECT_EQ(root("F0.5\n.").number, 0.5);
  EXPECT_EQ(root(Bytes("\x80\x02\x8a\x01\xff.")).integer, -1);
  EXPECT_EQ(root(Bytes("\x80\x04\x95\x04\x00\x00\x00\x00\x00\x00\x00\x8c\x01x\x94.")).text, "x");
  EXPECT_EQ(root("(lp0\nI1\naI2\na.").items.size(), 2U);
  EXPECT_EQ(root("(dS'a'\nI1\ns.").items.size(), 2U);
  EXPECT_EQ(root(Bytes("\x80\x04\x8c\x01m\x8c\x01n\x93.")).text, "m n");
  EXPECT_EQ(root("(im\nC\n.").kind, Kind::kObject);
}

TEST(Pickle, WhatIsNoPickle) {
  for (const std::string& bytes :
       {std::string(), Bytes("."), Bytes("\x80"), Bytes("R."), Bytes("(."), Bytes("h\x01."), Bytes("\xff."),
        Bytes("t."), Bytes("X\xff\xff\xff\xff."), Bytes("\x8d\xff\xff\xff\xff\xff\xff\xff\xff."),
        Bytes("(K\x01"
              "d."),
        Bytes("K\x01K\x02\x61.")}) {
    EXPECT_EQ(CodeOf(ReadPickle(bytes)), absl::StatusCode::kDataLoss) << testing::PrintToString(bytes);
  }
}

TEST(Pickle, LimitsHold) {
  PickleLimits limits;
  limits.values_max = 100;
  EXPECT_EQ(ReadPickle(absl::StrCat(std::string(1000, 'N'), "."), limits).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReadPickle(absl::StrCat(std::string(1000, '('), "."), limits).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReadPickle(absl::StrCat("N", std::string(1000, '2'), "."), limits).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace paritect
