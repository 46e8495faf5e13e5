#include "client/run/first_step.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/memory_file_system.h"

namespace paritect {
namespace {

constexpr char kBegin[] = "{\"k\":\"begin\",\"t\":1}\n";
constexpr char kStep[] = "{\"k\":\"step\",\"t\":2,\"n\":1}\n";

TEST(FirstStep, IsThereWithTheRecordOfAStep) {
  MemoryFileSystem fs;
  fs.AddFile("/observe/host-1-2.jsonl", kBegin);
  EXPECT_FALSE(HoldsFirstStep(fs, "/observe"));
  fs.AddFile("/observe/host-3-4.jsonl", absl::StrCat(kBegin, kStep));
  EXPECT_TRUE(HoldsFirstStep(fs, "/observe"));
}

TEST(FirstStep, IsSoughtBehindLongRecords) {
  MemoryFileSystem fs;
  fs.AddFile("/observe/host-1-2.jsonl", absl::StrCat(kBegin, std::string(1 << 20, 'x'), "\n", kStep));
  EXPECT_TRUE(HoldsFirstStep(fs, "/observe"));
}

TEST(FirstStep, IsNotThereInOtherFilesAndFolders) {
  MemoryFileSystem fs;
  EXPECT_FALSE(HoldsFirstStep(fs, "/observe"));
  fs.AddFile("/observe/other.txt", absl::StrCat(kBegin, kStep));
  EXPECT_FALSE(HoldsFirstStep(fs, "/observe"));
}

}  // namespace
}  // namespace paritect
