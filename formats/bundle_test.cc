#include "formats/bundle.h"
#include "common/status_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/str_join.h"
#include "common/file_system.h"
#include "google/protobuf/unknown_field_set.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;

v1::Bundle Sample() {
  v1::Bundle bundle;
  bundle.mutable_plan()->set_run("gpu");
  bundle.mutable_plan()->set_node("gpu-01");
  bundle.set_collected_by("test 1");
  for (int rank = 0; rank < 3; ++rank) {
    v1::Evidence& evidence = *bundle.add_evidence();
    evidence.set_kind(v1::EVIDENCE_KIND_SHARDS);
    evidence.set_outcome(v1::OUTCOME_COLLECTED);
    evidence.set_rank(rank);
    evidence.mutable_shards()->add_items("a\xff\n/b");
  }
  return bundle;
}

std::string Written(const v1::Bundle& bundle) {
  auto bytes = SerializeBundle(bundle);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return *bytes;
}

TEST(Bundle, ComesBackAsItWas) {
  auto back = ParseBundle(Written(Sample()));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->SerializeAsString(), Sample().SerializeAsString());
}

TEST(Bundle, AListThatIsNoMessageGivesTheSameBytes) {
  v1::Bundle bundle;
  v1::Evidence& evidence = *bundle.add_evidence();
  evidence.set_source("data");
  evidence.mutable_files()->set_root("/data");
  for (int i = 0; i < 2000; ++i) evidence.mutable_files()->add_files()->set_path(absl::StrCat("images/", i, "\xff.jpg"));
  v1::Evidence frame = evidence;
  frame.mutable_files()->clear_files();
  BundleWriter writer(bundle);
  ASSERT_TRUE(writer.Add(frame, [&](absl::FunctionRef<void(v1::FileEntry&)> visit) {
                      for (v1::FileEntry file : evidence.files().files()) visit(file);
                    }).ok());
  EXPECT_EQ(absl::StrJoin(*writer.Finish(), ""), Written(bundle));
}

TEST(Bundle, EmptyBundleIsABundle) {
  auto back = ParseBundle(Written(v1::Bundle()));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->evidence_size(), 0);
}

TEST(Bundle, SameBundleSameBytes) {
  v1::Bundle a = Sample(), b = Sample();
  for (const char* key : {"x", "y", "z"}) (*a.mutable_plan()->mutable_fact_origins())[key] = key;
  for (const char* key : {"z", "y", "x"}) (*b.mutable_plan()->mutable_fact_origins())[key] = key;
  EXPECT_EQ(Written(a), Written(b));
}

TEST(Bundle, EveryCutIsSeen) {
  const std::string bytes = Written(Sample());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    auto back = ParseBundle(absl::string_view(bytes).substr(0, size));
    ASSERT_EQ(CodeOf(back), absl::StatusCode::kDataLoss) << size;
    EXPECT_EQ(back.status().code(), absl::StatusCode::kDataLoss) << size;
    EXPECT_THAT(std::string(back.status().message()), HasSubstr("byte ")) << size;
  }
}

TEST(Bundle, EveryFlippedBitIsSeen) {
  const std::string bytes = Written(Sample());
  for (std::size_t i = 0; i < bytes.size() * 8; ++i) {
    std::string damaged = bytes;
    damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ (1 << (i % 8)));
    EXPECT_NE(CodeOf(ParseBundle(damaged)), absl::StatusCode::kOk) << "bit " << i;
  }
}

TEST(Bundle, RemovedRecordIsSeen) {
  // Each record keeps its own CRC; only the closing digest tells that one is gone.
  std::string bytes = Written(Sample());
  const std::string less = [] {
    v1::Bundle bundle = Sample();
    bundle.mutable_evidence()->RemoveLast();
    return Written(bundle);
  }();
  const std::size_t end_bytes = 5 + 40 + 4;
  const std::string mixed = less.substr(0, less.size() - end_bytes) + bytes.substr(bytes.size() - end_bytes);
  auto back = ParseBundle(mixed);
  ASSERT_EQ(CodeOf(back), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(back.status().message()), HasSubstr("the end record counts 4 records; there are 3"));
}

TEST(Bundle, FollowingBytesAreSeen) {
  auto back = ParseBundle(Written(Sample()) + "x");
  ASSERT_EQ(CodeOf(back), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(back.status().message()), HasSubstr("bytes follow"));
}

TEST(Bundle, HugeLengthNeitherAllocatesNorCrashes) {
  std::string bytes = Written(Sample()).substr(0, 12);
  bytes += std::string("\x02\xff\xff\xff\x3f", 5);
  EXPECT_EQ(ParseBundle(bytes).status().code(), absl::StatusCode::kDataLoss);
  bytes.back() = '\x7f';
  EXPECT_EQ(ParseBundle(bytes).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(Bundle, WhatWouldFillTheMemoryIsRefusedBeforeItIsBuilt) {
  v1::Bundle bundle;
  for (int i = 0; i < 1000; ++i) bundle.add_evidence()->mutable_files()->add_files();
  const std::string bytes = Written(bundle);
  EXPECT_TRUE(ParseBundle(bytes).ok());
  const auto refused = ParseBundle(bytes, {.entries = 2000});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("byte "));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("entries"));
}

TEST(Bundle, LaterVersionIsNamed) {
  std::string bytes = Written(Sample());
  bytes[8] = 2;
  auto back = ParseBundle(bytes);
  EXPECT_EQ(back.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(back.status().message()), HasSubstr("bundle format 2"));
}

TEST(Bundle, TransferAsTextIsStillABundle) {
  EXPECT_TRUE(LooksLikeBundle(kBundleMagic));
  EXPECT_TRUE(LooksLikeBundle("\x89PBL\n\x1a\n"));
  EXPECT_FALSE(LooksLikeBundle("run: gpu\n"));
  EXPECT_FALSE(LooksLikeBundle(""));
}

TEST(Bundle, TextsThatAreNotUtf8SurviveInDisplayForm) {
  v1::Bundle bundle = Sample();
  v1::Evidence& evidence = *bundle.add_evidence();
  (*evidence.mutable_problem()->mutable_args())["source"] = "caf\xe9";
  auto back = ParseBundle(Written(bundle));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->evidence(3).problem().args().at("source"), "caf\\xE9");
}

// A field that was taken away or numbered anew comes back from an earlier version's file as one that nobody knows.
void ExpectAllKnown(const google::protobuf::Message& message, const std::string& where) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  EXPECT_TRUE(reflection.GetUnknownFields(message).empty()) << where << ": " << message.GetDescriptor()->full_name();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      ExpectAllKnown(reflection.GetMessage(message, field), where);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      ExpectAllKnown(reflection.GetRepeatedMessage(message, field, i), where);
    }
  }
}

TEST(Bundle, StoredSamplesHoldNoFieldThatIsNotKnown) {
  const std::string stored = PARITECT_SOURCE_DIR "/tests/system/stored";
  int bundles = 0;
  const absl::Status listed = PosixFileSystem().List(stored, [&](const DirectoryEntry& entry) {
    for (const char* name : {"gpu", "npu"}) {
      const std::string path = absl::StrCat(stored, "/", entry.name, "/", name, ".pbundle");
      const auto bytes = ReadWholeFile(PosixFileSystem(), path, 1 << 20);
      if (!bytes.ok()) continue;  // the note and the script beside the folders
      const auto bundle = ParseBundle(*bytes);
      ASSERT_TRUE(bundle.ok()) << path << ": " << bundle.status();
      EXPECT_GT(bundle->evidence_size(), 0) << path;
      ExpectAllKnown(*bundle, path);
      ++bundles;
    }
  });
  ASSERT_TRUE(listed.ok()) << listed;
  EXPECT_GE(bundles, 2);
}

}  // namespace
}  // namespace paritect
