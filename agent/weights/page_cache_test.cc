#include "agent/weights/page_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>

namespace paritect {
namespace {

class PageCacheTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kBytes = 1 << 20;

  PageCacheTest() {
    std::ofstream(path_) << std::string(kBytes, 'x');
    fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    fsync(fd_);
  }
  ~PageCacheTest() override {
    close(fd_);
    unlink(path_.c_str());
  }

  bool Resident() const {
    void* const map = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd_, 0);
    std::vector<unsigned char> pages(kBytes / static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
    EXPECT_EQ(mincore(map, kBytes, pages.data()), 0);
    munmap(map, kBytes);
    std::size_t in_memory = 0;
    for (const unsigned char page : pages) in_memory += page & 1;
    return 2 * in_memory > pages.size();
  }
  bool Evict() const {
    posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
    return !Resident();
  }
  void ReadAll() const {
    std::string bytes(kBytes, '\0');
    ASSERT_EQ(pread(fd_, bytes.data(), kBytes, 0), static_cast<ssize_t>(kBytes));
  }

  const std::string path_ = ::testing::TempDir() + "/page_cache_" + std::to_string(getpid());
  int fd_ = -1;
};

TEST_F(PageCacheTest, WhatWasInMemoryStaysAndTheRestGoes) {
  FileSystem& fs = PosixFileSystem();
  if (!Evict()) GTEST_SKIP() << "this file system keeps its pages";
  {
    PageCacheGuard guard(fs, {path_});
    ReadAll();
    EXPECT_TRUE(Resident());
  }
  EXPECT_FALSE(Resident());
  ReadAll();
  {
    PageCacheGuard guard(fs, {path_, path_ + ".missing"});
    ReadAll();
  }
  EXPECT_TRUE(Resident());
}

}  // namespace
}  // namespace paritect
