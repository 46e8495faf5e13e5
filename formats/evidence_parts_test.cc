#include "formats/evidence_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "common/digest.h"
#include "common/message_bytes.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;

v1::Evidence FileListOf(const std::string& source, int rank, int files) {
  v1::Evidence evidence;
  evidence.set_kind(v1::EVIDENCE_KIND_SHARDS);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.set_source(source);
  evidence.set_rank(rank);
  evidence.mutable_shards();
  for (int i = 0; i < files; ++i) evidence.mutable_shards()->add_items(absl::StrCat("train/image", i, ".jpg"));
  return evidence;
}

class Shelf {
 public:
  explicit Shelf(const EvidenceParts& parts) { Put(parts); }
  void Put(const EvidenceParts& parts) {
    for (const std::string& part : parts.parts) parts_[Sha256(part)] = part;
  }
  absl::StatusOr<std::string> operator()(absl::string_view sha256) const {
    const auto found = parts_.find(std::string(sha256));
    if (found == parts_.end()) return absl::NotFoundError("no such content");
    return found->second;
  }
  std::map<std::string, std::string> parts_;
};

TEST(EvidenceParts, WhatIsTakenApartIsPutTogetherAgain) {
  for (int files : {0, 3, 5'000, 100'000}) {
    v1::Evidence evidence = FileListOf(std::string("/data/\xff", 7), 3, files);
    const std::string before = evidence.SerializeAsString();
    EvidenceParts apart = *TakeApart(evidence);
    EXPECT_EQ(evidence.SerializeAsString(), before) << "left as it was";
    for (const std::string& part : apart.parts) EXPECT_LE(part.size(), kContentPartBytesMax);
    EXPECT_EQ(apart.parts.size(), static_cast<std::size_t>(apart.piece.part_sha256_size()));
    EXPECT_EQ(apart.piece.rank(), 3);
    apart.piece.set_task_id("t");
    EXPECT_TRUE(CheckPiece(apart.piece).ok());
    const Shelf shelf(apart);
    const auto again = PutTogether(apart.piece, shelf);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->SerializeAsString(), before);
  }
}

TEST(EvidenceParts, EqualFindingsOfDifferentPlacesShareAllButTheHead) {
  v1::Evidence one = FileListOf("/data/imagenet", 0, 50'000), other = FileListOf("/mnt/elsewhere/imagenet", 7, 50'000);
  const EvidenceParts a = *TakeApart(one), b = *TakeApart(other);
  ASSERT_GT(a.parts.size(), 3u);
  ASSERT_EQ(a.parts.size(), b.parts.size());
  EXPECT_NE(a.parts[0], b.parts[0]);
  for (std::size_t i = 1; i < a.parts.size(); ++i) EXPECT_EQ(a.parts[i], b.parts[i]);
}

TEST(EvidenceParts, TextsThatAreNotUtf8BecomeReadable) {
  v1::Evidence evidence = FileListOf("x", 0, 0);
  evidence.set_subject("a\xff");
  EvidenceParts apart = *TakeApart(evidence);
  EXPECT_EQ(apart.piece.subject(), evidence.subject());
  EXPECT_NE(evidence.subject(), "a\xff");
  EXPECT_TRUE(PutTogether(apart.piece, Shelf(apart)).ok());
}

TEST(EvidenceParts, WhatIsMissingOrAnotherIsDataLossInWords) {
  v1::Evidence evidence = FileListOf("/data", 0, 50'000);
  const EvidenceParts apart = *TakeApart(evidence);
  const auto problem = [&](const v1::Piece& piece, const Shelf& shelf) {
    const absl::Status status = PutTogether(piece, shelf).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    return std::string(status.message());
  };
  Shelf without(apart);
  without.parts_.erase(apart.piece.part_sha256(2));
  EXPECT_THAT(problem(apart.piece, without), HasSubstr("part 3 of"));
  Shelf changed(apart);
  changed.parts_[apart.piece.part_sha256(1)][7] ^= 1;
  EXPECT_THAT(problem(apart.piece, changed), HasSubstr("SHA-256 differs"));
  Shelf longer(apart);
  longer.parts_[apart.piece.part_sha256(1)] += "x";
  EXPECT_THAT(problem(apart.piece, longer), HasSubstr("longer than the whole"));
  v1::Piece cut = apart.piece;
  cut.mutable_part_sha256()->RemoveLast();
  EXPECT_THAT(problem(cut, Shelf(apart)), HasSubstr("bytes"));
  v1::Piece negative = apart.piece;
  negative.set_total_bytes(-1);
  EXPECT_THAT(problem(negative, Shelf(apart)), HasSubstr("not possible"));
  v1::Piece text;
  text.set_total_bytes(4);
  text.set_sha256(Sha256("\xff\xff\xff\xff"));
  text.add_part_sha256(Sha256("\xff\xff\xff\xff"));
  Shelf odd(apart);
  odd.parts_[text.sha256()] = "\xff\xff\xff\xff";
  EXPECT_THAT(problem(text, odd), HasSubstr("no evidence message"));
  EXPECT_EQ(PutTogether(apart.piece, [](absl::string_view) -> absl::StatusOr<std::string> {
              return absl::UnavailableError("busy");
            }).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST(EvidenceParts, AMalformedPieceIsRefused) {
  v1::Evidence evidence = FileListOf("/data", 0, 3);
  v1::Piece good = TakeApart(evidence)->piece;
  good.set_task_id("t");
  EXPECT_TRUE(CheckPiece(good).ok());
  const auto refused = [&](auto change) {
    v1::Piece bad = good;
    change(bad);
    return CheckPiece(bad).code() == absl::StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused([](v1::Piece& piece) { piece.clear_task_id(); }));
  EXPECT_TRUE(refused([](v1::Piece& piece) { piece.set_index(-1); }));
  EXPECT_TRUE(refused([](v1::Piece& piece) { piece.set_sha256("short"); }));
  EXPECT_TRUE(refused([](v1::Piece& piece) { piece.add_part_sha256("short"); }));
  EXPECT_TRUE(refused([](v1::Piece& piece) { piece.set_total_bytes(kEvidenceBytesMax + 1); }));
}

}  // namespace
}  // namespace paritect
