#include "common/errno_status.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace paritect {
namespace {

TEST(ErrnoStatus, CodesAndText) {
  EXPECT_EQ(ErrnoStatus(ENOENT, "open", "/a").ToString(), "NOT_FOUND: open /a: No such file or directory");
  const auto code = [](int error) { return ErrnoStatus(error, "write", "/a").code(); };
  EXPECT_EQ(code(ENOTDIR), absl::StatusCode::kNotFound);
  EXPECT_EQ(code(EEXIST), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(code(EROFS), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code(EDQUOT), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code(EISDIR), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(EIO), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace paritect
