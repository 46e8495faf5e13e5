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
    for (const EvidenceParts::Content& one : parts.contents) parts_[one.sha256] = one.bytes;
    for (const auto& [digest, node] : parts.tree.nodes) parts_[digest] = node;
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
    for (const auto& one : apart.contents) EXPECT_LE(one.bytes.size(), kContentPartBytesMax);
    EXPECT_EQ(apart.contents.size(), static_cast<std::size_t>(apart.piece.part_sha256_size()));
    EXPECT_EQ(apart.piece.rank(), 3);
    apart.piece.set_task_id("t");
    EXPECT_TRUE(CheckPiece(apart.piece).ok());
    const Shelf shelf(apart);
    const auto again = PutTogether(apart.piece, shelf);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->SerializeAsString(), before);
  }
}

// A small part that is named often becomes much: two bytes an entry, a thousand entries a part, 268 times.
TEST(EvidenceParts, APartThatIsNamedOftenIsBoundedByTheBudget) {
  std::string part;
  for (int i = 0; i < 1000; ++i) part.append("\x22\0", 2);  // FileList.files, empty
  std::string list;
  for (int i = 0; i < 268; ++i) list += part;
  std::string head = "\x82\x01";  // Evidence.files
  for (std::size_t size = list.size(); size > 0; size >>= 7) {
    head.push_back(static_cast<char>((size & 0x7F) | (size > 0x7F ? 0x80 : 0)));
  }
  v1::Piece piece;
  *piece.add_part_sha256() = Sha256(head);
  for (int i = 0; i < 268; ++i) *piece.add_part_sha256() = Sha256(part);
  piece.set_total_bytes(static_cast<std::int64_t>(head.size() + list.size()));
  piece.set_sha256(Sha256(head + list));
  const auto shelf = [&](absl::string_view sha256) -> absl::StatusOr<std::string> {
    return sha256 == Sha256(head) ? head : part;
  };
  EXPECT_TRUE(PutTogether(piece, shelf).ok());
  MessageBudget small = {.entries = 100'000};
  const auto refused = PutTogether(piece, shelf, small);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("100000 entries"));
}

TEST(EvidenceParts, EqualFindingsOfDifferentPlacesShareAllButTheHead) {
  v1::Evidence one = FileListOf("/data/imagenet", 0, 50'000), other = FileListOf("/mnt/elsewhere/imagenet", 7, 50'000);
  const EvidenceParts a = *TakeApart(one), b = *TakeApart(other);
  ASSERT_GT(a.contents.size(), 3u);
  ASSERT_EQ(a.contents.size(), b.contents.size());
  EXPECT_NE(a.contents[0].bytes, b.contents[0].bytes);
  for (std::size_t i = 1; i < a.contents.size(); ++i) EXPECT_EQ(a.contents[i].bytes, b.contents[i].bytes);
}

v1::Evidence DatasetOf(const std::string& root, int files) {
  v1::Evidence evidence;
  evidence.set_kind(v1::EVIDENCE_KIND_DATASET_FILES);
  evidence.set_outcome(v1::OUTCOME_COLLECTED);
  evidence.set_source(root);
  v1::FileList& list = *evidence.mutable_files();
  list.set_dataset("train");
  list.set_root(root);
  list.mutable_digests()->set_files_now(static_cast<std::uint64_t>(root.size()));
  for (int i = 0; i < files; ++i) {
    v1::FileEntry& file = *list.add_files();
    file.set_path(absl::StrCat("images/", i, ".jpg"));
    file.set_size_bytes(static_cast<std::uint64_t>(i));
    file.set_md5(std::string(16, static_cast<char>(i)));
  }
  v1::FileStates& states = *list.add_states();
  states.set_path("images/0.jpg");
  states.set_states(std::string(4096, 's'));
  return evidence;
}

TEST(EvidenceParts, ALongFileListIsNamedByItsRoot) {
  v1::Evidence one = DatasetOf("/data", 30'000);
  v1::Evidence other = DatasetOf("/mnt/elsewhere", 30'000);
  EvidenceParts a = *TakeApart(one);
  const EvidenceParts b = *TakeApart(other);
  EXPECT_GT(a.tree.depth, 1);
  EXPECT_EQ(a.piece.tree_sha256(), b.piece.tree_sha256()) << "where it stands is told elsewhere";
  EXPECT_EQ(a.piece.tail_sha256(1), b.piece.tail_sha256(1)) << "the states";
  EXPECT_LT(b.piece.ByteSizeLong(), 512u);
  a.piece.set_task_id("t");
  EXPECT_TRUE(CheckPiece(a.piece).ok());
  EXPECT_EQ(PutTogether(a.piece, Shelf(a))->SerializeAsString(), one.SerializeAsString());
  EXPECT_EQ(PutTogether(b.piece, Shelf(b))->SerializeAsString(), other.SerializeAsString());
  Shelf without(a);
  without.parts_.erase(a.piece.tree_sha256());
  EXPECT_THAT(PutTogether(a.piece, without).status().message(), HasSubstr("node of its tree is missing"));
  WithoutTree(a);
  EXPECT_EQ(a.piece.part_sha256_size(), static_cast<int>(a.contents.size()));
  EXPECT_TRUE(CheckPiece(a.piece).ok());
  EXPECT_EQ(PutTogether(a.piece, Shelf(a))->SerializeAsString(), one.SerializeAsString());
}

TEST(EvidenceParts, AKnownListIsPutTogetherAroundItsFiles) {
  v1::Evidence one = DatasetOf("/data", 30'000);
  v1::Evidence other = DatasetOf("/mnt/elsewhere", 30'000);
  const EvidenceParts a = *TakeApart(one);
  const EvidenceParts b = *TakeApart(other);
  Shelf shelf(a);
  KnownLists known;
  MessageBudget budget;
  auto first = *PutTogetherList(a.piece, shelf, budget, known);
  EXPECT_EQ(first.evidence.SerializeAsString(), one.SerializeAsString());
  EXPECT_FALSE(first.without_files);
  ASSERT_FALSE(first.tree.empty());
  known.Keep(first.tree, first.files);

  for (const auto& content : b.contents) {
    // Of the second what stands around the files must be there, and nothing else.
    if (!shelf.parts_.contains(content.sha256)) shelf.parts_[content.sha256] = content.bytes;
  }
  std::size_t fetched = 0;
  const auto count = [&](absl::string_view sha256) {
    ++fetched;
    return shelf(sha256);
  };
  MessageBudget small = {.entries = 100};
  const auto second = PutTogetherList(b.piece, count, small, known);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(second->without_files);
  EXPECT_EQ(second->tree, first.tree);
  EXPECT_LT(fetched, 8u);
  v1::Evidence whole = second->evidence;
  *whole.mutable_files()->mutable_files() = first.evidence.files().files();
  EXPECT_EQ(whole.SerializeAsString(), other.SerializeAsString());
}

// Digests are checked all the same, and what is wrong is said as ever.
TEST(EvidenceParts, AKnownListDoesNotHideDamage) {
  v1::Evidence one = DatasetOf("/data", 30'000);
  const EvidenceParts a = *TakeApart(one);
  const Shelf shelf(a);
  KnownLists known;
  MessageBudget budget;
  auto first = *PutTogetherList(a.piece, shelf, budget, known);
  known.Keep(first.tree, first.files);
  v1::Piece lie = a.piece;
  lie.set_sha256(std::string(32, 'x'));
  EXPECT_THAT(PutTogetherList(lie, shelf, budget, known).status().message(), HasSubstr("its SHA-256 differs"));
  lie = a.piece;
  lie.set_total_bytes(lie.total_bytes() + 1);
  EXPECT_EQ(PutTogetherList(lie, shelf, budget, known).status().code(), absl::StatusCode::kDataLoss);
  Shelf without(a);
  without.parts_.erase(a.piece.part_sha256(0));
  EXPECT_EQ(PutTogetherList(a.piece, without, budget, known).status().code(), absl::StatusCode::kDataLoss);
}

std::string Varint(std::size_t value) {
  std::string out;
  for (; value > 0x7F; value >>= 7) out.push_back(static_cast<char>((value & 0x7F) | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}

// Whoever names the tree of a list, but puts its files where they mean something else, names nothing: neither may
// another node stand for what he has, nor he for what another has.
TEST(EvidenceParts, ATreeInAnotherPlaceIsNoKnownList) {
  v1::Evidence one = DatasetOf("/data", 3'000);
  const EvidenceParts a = *TakeApart(one);
  const Shelf shelf(a);
  MessageBudget budget;
  const auto first = *PutTogetherList(a.piece, shelf, budget, {});
  ASSERT_FALSE(first.files.empty());
  const std::string& files = first.files;
  const std::string list_tag = "\x82\x01";
  const struct {
    const char* what;
    std::string head, tail;
  } kCases[] = {
      {"one file stands before", list_tag + Varint(4 + files.size()) + std::string("\x22\x02\x0A\x00", 4), ""},
      {"one file stands behind", list_tag + Varint(4 + files.size()), std::string("\x22\x02\x0A\x00", 4)},
      {"the list ends before", list_tag + Varint(0), ""},
      {"within a text of the list",
       list_tag + Varint(1 + Varint(files.size()).size() + files.size()) + "\x0A" + Varint(files.size()), ""},
      {"two lists", list_tag + Varint(0) + list_tag + Varint(files.size()), ""},
  };
  for (const auto& [what, head, tail] : kCases) {
    v1::Piece piece = a.piece;
    piece.clear_part_sha256();
    piece.clear_tail_sha256();
    Shelf other(a);
    *piece.add_part_sha256() = Sha256(head);
    other.parts_[Sha256(head)] = head;
    if (!tail.empty()) *piece.add_tail_sha256() = Sha256(tail);
    other.parts_[Sha256(tail)] = tail;
    piece.set_total_bytes(static_cast<std::int64_t>(head.size() + files.size() + tail.size()));
    piece.set_sha256(Sha256(head + files + tail));
    const auto plain = PutTogether(piece, other);
    for (const bool is_known : {false, true}) {
      KnownLists known;
      if (is_known) known.Keep(first.tree, files);
      const auto read = PutTogetherList(piece, other, budget, known);
      ASSERT_EQ(read.status(), plain.status()) << what;
      if (!read.ok()) continue;
      EXPECT_TRUE(read->tree.empty()) << what;
      EXPECT_FALSE(read->without_files) << what;
      EXPECT_EQ(read->evidence.SerializeAsString(), plain->SerializeAsString()) << what;
    }
  }
}

TEST(EvidenceParts, FileListsOfEverySizeComeBack) {
  for (int files : {0, 1, 100, 500, 2000}) {
    v1::Evidence evidence = DatasetOf("/data", files);
    const EvidenceParts apart = *TakeApart(evidence);
    EXPECT_EQ(PutTogether(apart.piece, Shelf(apart))->SerializeAsString(), evidence.SerializeAsString()) << files;
  }
}

TEST(EvidenceParts, AListThatIsNoMessageGivesTheSameParts) {
  for (const int count : {0, 1, 3, 40, 3000}) {
    v1::Evidence whole = DatasetOf("/data", count);
    whole.mutable_files()->set_part(true);
    whole.mutable_files()->add_notes()->set_kind("not_hashed");
    const EvidenceParts expected = *TakeApart(whole);
    v1::Evidence frame = whole;
    frame.mutable_files()->clear_files();
    int asked = 0;
    const auto files = [&](absl::FunctionRef<void(v1::FileEntry&)> visit) {
      ++asked;
      for (v1::FileEntry file : whole.files().files()) visit(file);
    };
    for (const std::size_t held : {std::size_t{2000}, kHeldFilesBytesMax}) {
      EvidenceParts got = *TakeApart(frame, files, held);
      EXPECT_EQ(got.without_files, held == 2000 && count > 40);
      EXPECT_EQ(got.piece.SerializeAsString(), expected.piece.SerializeAsString()) << count;
      EXPECT_EQ(got.tree.root, expected.tree.root);
      asked = 0;
      ForEachFilePart(files, [&](std::size_t n, absl::string_view bytes) {
        if (got.without_files) got.contents[got.files_begin + n].bytes = std::string(bytes);
      });
      EXPECT_EQ(asked, 1);
      ASSERT_EQ(got.contents.size(), expected.contents.size());
      for (std::size_t i = 0; i < got.contents.size(); ++i) {
        EXPECT_EQ(got.contents[i].sha256, expected.contents[i].sha256);
        EXPECT_EQ(got.contents[i].bytes, expected.contents[i].bytes);
        EXPECT_EQ(Sha256(got.contents[i].bytes), got.contents[i].sha256);
      }
      const auto again = PutTogether(got.piece, Shelf(got));
      ASSERT_TRUE(again.ok()) << again.status();
      EXPECT_EQ(again->SerializeAsString(), whole.SerializeAsString());
    }
    EXPECT_EQ(frame.files().files_size(), 0);
    EXPECT_EQ(frame.files().states_size(), 1) << "left as it was";
  }
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
  EXPECT_EQ(PutTogether(apart.piece,
                        [](absl::string_view) -> absl::StatusOr<std::string> { return absl::UnavailableError("busy"); })
                .status()
                .code(),
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
  EXPECT_TRUE(refused([](v1::Piece& piece) { piece.set_tree_sha256("short"); }));
  EXPECT_TRUE(refused([](v1::Piece& piece) { piece.set_tree_sha256(Sha256("root")); }));
  EXPECT_TRUE(refused([](v1::Piece& piece) { piece.set_tree_depth(2); }));
  EXPECT_TRUE(refused([](v1::Piece& piece) { piece.add_tail_sha256(Sha256("x")); }));
}

}  // namespace
}  // namespace paritect
