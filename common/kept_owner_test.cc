#include "common/kept_owner.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "gtest/gtest.h"

namespace paritect {
namespace {

constexpr uid_t kService = 4711;

uid_t OwnerOf(const std::string& path) {
  struct stat info = {};
  EXPECT_EQ(lstat(path.c_str(), &info), 0) << path;
  return info.st_uid;
}

class KeptOwnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "gives files away: for root alone";
    char path[] = "/tmp/kept-owner-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    above_ = path;
    folder_ = above_ + "/main";
    ASSERT_EQ(mkdir(folder_.c_str(), 0700), 0);
    Write("paritect.db");
  }
  void TearDown() override {
    if (above_.empty()) return;
    for (const char* name : {"paritect.db", "outside", "link", "second", "of-another"}) {
      unlink((folder_ + "/" + name).c_str());
    }
    unlink((above_ + "/outside").c_str());
    rmdir(folder_.c_str());
    rmdir(above_.c_str());
  }
  void Write(const std::string& name) const { std::ofstream(folder_ + "/" + name) << "x"; }

  std::string above_;
  std::string folder_;
};

TEST_F(KeptOwnerTest, WhatRootMadeIsTheFoldersOwners) {
  ASSERT_EQ(chown(folder_.c_str(), kService, kService), 0);
  Write("of-another");
  ASSERT_EQ(chown((folder_ + "/of-another").c_str(), 4712, 4712), 0);
  std::ofstream(above_ + "/outside") << "x";
  ASSERT_EQ(symlink("../outside", (folder_ + "/link").c_str()), 0);
  ASSERT_EQ(link((above_ + "/outside").c_str(), (folder_ + "/second").c_str()), 0);
  { const KeptOwner kept(folder_); }
  EXPECT_EQ(OwnerOf(folder_ + "/paritect.db"), kService);
  EXPECT_EQ(OwnerOf(folder_ + "/of-another"), 4712u);
  EXPECT_EQ(OwnerOf(folder_ + "/link"), 0u) << "links are left alone";
  EXPECT_EQ(OwnerOf(above_ + "/outside"), 0u) << "by whatever name it stands in the folder";
}

TEST_F(KeptOwnerTest, RootsOwnStaysRoots) {
  ASSERT_EQ(chown(above_.c_str(), kService, kService), 0);
  { const KeptOwner kept(folder_); }
  EXPECT_EQ(OwnerOf(folder_), 0u);
  EXPECT_EQ(OwnerOf(folder_ + "/paritect.db"), 0u);
}

}  // namespace
}  // namespace paritect
