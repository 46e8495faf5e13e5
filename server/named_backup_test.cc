#include "server/named_backup.h"

#include <gtest/gtest.h>

#include "common/file_system.h"
#include "common/pki/testing.h"
#include "storage/fleet_test_util.h"

namespace paritect {
namespace {

TEST(NamedBackup, IsANewFileInOneFolder) {
  const pki_testing::Folder work;
  const std::string folder = work / "backups";
  const auto store = *OpenFleetStore("sqlite:" + (work / "paritect.db"));
  ASSERT_TRUE(CommitOne(*store, Documents({{"a", "b", "c"}})).ok());
  const auto made = MakeNamedBackup(*store, folder, "monday");
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->path(), folder + "/monday");
  EXPECT_GT(made->bytes(), 0);
  EXPECT_EQ(*(*OpenFleetStore("sqlite:" + made->path()))->Get("a", "b"), "c");
  EXPECT_EQ(MakeNamedBackup(*store, folder, "monday").status().code(), absl::StatusCode::kAlreadyExists);
  for (const char* name : {"", ".", "..", "../ca.key", "/etc/passwd", "a/b", "-x", "a b"}) {
    EXPECT_EQ(MakeNamedBackup(*store, folder, name).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

}  // namespace
}  // namespace paritect
