#include "common/pki/report_key.h"

#include <sys/stat.h>

#include "absl/strings/escaping.h"
#include "common/file_system.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

class ReportKeyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "report-key-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  std::string folder_;
};

TEST_F(ReportKeyTest, IsMadeOnceAndSigns) {
  const auto made = ReportKey::LoadOrMake(folder_);
  ASSERT_TRUE(made.ok()) << made.status();
  const auto again = ReportKey::LoadOrMake(folder_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(made->public_key(), again->public_key());
  const std::string signature = *made->Sign("a report");
  EXPECT_TRUE(IsReportSignature(again->public_key(), "a report", signature));
  EXPECT_FALSE(IsReportSignature(again->public_key(), "another", signature));
  std::string changed = signature;
  changed[10] ^= 1;
  EXPECT_FALSE(IsReportSignature(again->public_key(), "a report", changed));
  struct stat info = {};
  ASSERT_EQ(stat((folder_ + "/report.key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

// RFC 8032, 7.1, test 2: what others sign we verify.
TEST_F(ReportKeyTest, AgreesWithTheStandard) {
  std::string key, signature;
  key = absl::HexStringToBytes("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  signature = absl::HexStringToBytes(
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
      "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
  EXPECT_TRUE(IsReportSignature(key, "\x72", signature));
  EXPECT_FALSE(IsReportSignature(key, "\x73", signature));
  EXPECT_FALSE(IsReportSignature("", "\x72", signature));
  EXPECT_FALSE(IsReportSignature(key, "\x72", ""));
}

TEST_F(ReportKeyTest, PublicKeysAreReadInBothForms) {
  const auto key = ReportKey::LoadOrMake(folder_);
  const std::string pem = *ReadWholeFile(PosixFileSystem(), folder_ + "/report.pub", 10000);
  EXPECT_EQ(*ParseReportPublicKey(pem), key->public_key());
  EXPECT_EQ(*ParseReportPublicKey(absl::Base64Escape(key->public_key()) + "\n"), key->public_key());
  for (const char* text : {"", "x", "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseReportPublicKey(text).status())) << text;
  }
}

TEST_F(ReportKeyTest, AnotherFileInItsPlaceIsSaid) {
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/report.key", "not a key").ok());
  const auto key = ReportKey::LoadOrMake(folder_);
  EXPECT_TRUE(absl::IsInvalidArgument(key.status()));
  EXPECT_THAT(std::string(key.status().message()), ::testing::HasSubstr("report.key"));
}

}  // namespace
}  // namespace paritect
