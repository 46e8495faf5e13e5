#include "common/net/settle_errno.h"

#include <cerrno>

#include "absl/base/internal/sysinfo.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

TEST(SettleErrno, WhatAbseilDoesOnceIsDone) {
  SettleErrno();
  errno = EINPROGRESS;
  absl::base_internal::NumCPUs();
  absl::base_internal::NominalCPUFrequency();
  EXPECT_EQ(errno, EINPROGRESS);
}

}  // namespace
}  // namespace paritect
