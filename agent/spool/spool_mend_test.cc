#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "agent/spool/spool.h"

namespace paritect {
namespace {

// On the machine's own disk: what is taken away is a real folder.
class SpoolMendTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/spool-mend-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern + "/spool";
    spool_ = *Spool::Open(folder_, {}, [] { return 1'700'000'000'000; });
    ASSERT_TRUE(Append(*spool_, "a").ok());
    ASSERT_TRUE(Append(*spool_, "b").ok());
    ASSERT_TRUE(spool_->Acknowledge(1).ok());
  }

  static absl::StatusOr<std::uint64_t> Append(Spool& spool, const std::string& text) {
    const NewRecord record = {text, 1};
    return spool.Append(RecordClass::kCritical, absl::MakeConstSpan(&record, 1));
  }
  static std::string All(Spool& spool) {
    std::string out;
    const auto entries = spool.Read(1, 1 << 20, 100);
    if (!entries.ok()) return std::string(entries.status().message());
    for (const SpoolEntry& entry : *entries) {
      absl::StrAppend(&out, entry.is_gap() ? absl::StrCat("[", entry.sequence, "-", entry.last_sequence, "]")
                                           : absl::StrCat(entry.sequence, entry.payload));
    }
    return out;
  }
  void Shell(const std::string& command) { ASSERT_EQ(system(command.c_str()), 0); }

  // What was lost is a gap, numbers go on, and a start afterwards finds the same.
  void ExpectMended() {
    const auto lost = spool_->Mend();
    ASSERT_TRUE(lost.ok()) << lost.status();
    EXPECT_EQ(*lost, 1u);
    EXPECT_EQ(*spool_->Mend(), 0u);
    EXPECT_EQ(All(*spool_), "[2-2]");
    const std::uint64_t epoch = spool_->epoch();
    EXPECT_EQ(*Append(*spool_, "c"), 3u);
    EXPECT_EQ(All(*spool_), "[2-2]3c");
    spool_.reset();
    spool_ = *Spool::Open(folder_, {}, [] { return 1'700'000'000'000; });
    EXPECT_EQ(spool_->epoch(), epoch);
    EXPECT_EQ(All(*spool_), "[2-2]3c");
  }

  std::string folder_;
  std::unique_ptr<Spool> spool_;
};

TEST_F(SpoolMendTest, NothingIsAmiss) {
  EXPECT_EQ(*spool_->Mend(), 0u);
  EXPECT_EQ(All(*spool_), "2b");
}

TEST_F(SpoolMendTest, TheFolderIsDeleted) {
  Shell("rm -rf " + folder_);
  ExpectMended();
}

TEST_F(SpoolMendTest, TheFolderIsEmptied) {
  Shell("rm -rf " + folder_ + "/*");
  ExpectMended();
}

TEST_F(SpoolMendTest, TheFolderIsReplacedByAnEmptyOne) {
  Shell("mv " + folder_ + " " + folder_ + ".old && mkdir " + folder_);
  ExpectMended();
}

TEST_F(SpoolMendTest, ASegmentIsDeleted) {
  Shell("rm " + folder_ + "/*c*-* 2>/dev/null || rm $(ls -d " + folder_ + "/* | grep -v -e state -e mark -e lock)");
  ExpectMended();
}

// What stands in other segments is not lost with one.
TEST_F(SpoolMendTest, OneSegmentOfTwoIsDeleted) {
  const NewRecord bulk = {"x", 1};
  ASSERT_EQ(*spool_->Append(RecordClass::kBulk, absl::MakeConstSpan(&bulk, 1)), 3u);
  ASSERT_EQ(All(*spool_), "2b3x");
  // The critical class's segment, by its record.
  Shell("rm $(grep -l b " + folder_ + "/* | grep -v -e state -e mark -e lock | head -1)");
  EXPECT_EQ(*spool_->Mend(), 1u);
  const std::string left = All(*spool_);
  EXPECT_TRUE(left == "[2-2]3x" || left == "2b[3-3]") << left;
  EXPECT_EQ(*spool_->Mend(), 0u);
}

}  // namespace
}  // namespace paritect
