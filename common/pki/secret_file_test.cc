#include "common/pki/secret_file.h"

#include <sys/stat.h>

#include "common/pki/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using pki_testing::Folder;

unsigned ModeOf(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

TEST(SecretFile, IsForItsOwnerAlone) {
  const Folder folder;
  const mode_t old = umask(0);
  EXPECT_TRUE(WriteFileDurably(folder / "key", "one", kSecretMode).ok());
  EXPECT_TRUE(WriteFileDurably(folder / "key", "two", kSecretMode).ok());
  umask(old);
  EXPECT_EQ(ModeOf(folder / "key"), 0600u);
  const auto read = ReadSecretFile(folder / "key");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->bytes, "two");
  EXPECT_EQ(read->warning, "");
}

TEST(SecretFile, WarnsWhereOthersMayRead) {
  const Folder folder;
  ASSERT_TRUE(WriteFileDurably(folder / "key", "x", 0640).ok());
  EXPECT_THAT(ReadSecretFile(folder / "key")->warning, testing::HasSubstr("chmod 600"));
}

TEST(SecretFile, LeavesNothingBehindWhenItFails) {
  const Folder folder;
  ASSERT_EQ(mkdir((folder / "taken").c_str(), 0700), 0);
  ASSERT_EQ(mkdir((folder / "taken/x").c_str(), 0700), 0);
  EXPECT_EQ(WriteFileDurably(folder / "taken", "x", kSecretMode).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(std::system(absl::StrCat("test \"$(ls '", folder.path(), "')\" = taken").c_str()), 0);
  EXPECT_EQ(WriteFileDurably(folder / "none/x", "x", kSecretMode).code(), absl::StatusCode::kNotFound);
}

TEST(SecretFile, ReadsRegularBoundedFilesOnly) {
  const Folder folder;
  EXPECT_EQ(ReadSecretFile(folder / "none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadSecretFile(folder.path()).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReadSecretFile("/dev/zero").status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(WriteFileDurably(folder / "big", std::string(11, 'x'), kSecretMode).ok());
  EXPECT_EQ(ReadSecretFile(folder / "big", 10).status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace paritect
