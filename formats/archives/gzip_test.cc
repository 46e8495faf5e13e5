#include "formats/archives/gzip.h"

#include <gtest/gtest.h>
#include "formats/archives/gzip_fixture.h"

namespace paritect {
namespace {

TEST(Gzip, MembersAndPadding) {
  const std::string large(700'000, 'x');
  const Gunzipped out = Gunzip(MakeGzip("one ") + MakeGzip(large) + std::string(512, '\0'), 1 << 20);
  EXPECT_TRUE(out.whole);
  EXPECT_FALSE(out.trailing);
  EXPECT_EQ(out.bytes, "one " + large);
}

TEST(Gzip, AnEmptyMemberIsWhole) {
  EXPECT_TRUE(Gunzip(MakeGzip(""), 10).whole);
  EXPECT_EQ(*GunzipWhole(MakeGzip(""), 10), "");
}

TEST(Gzip, WhatIsCutDamagedOrTooLargeSaysSo) {
  const std::string packed = MakeGzip("some text that is long enough to be cut");
  for (std::size_t n = 0; n < packed.size(); ++n) {
    EXPECT_EQ(GunzipWhole(packed.substr(0, n), 1000).status().code(), absl::StatusCode::kDataLoss) << n;
  }
  std::string flipped = packed;
  flipped[packed.size() - 6] ^= 1;  // of the checksum
  EXPECT_EQ(GunzipWhole(flipped, 1000).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Gunzip(flipped, 1000).bytes, "some text that is long enough to be cut");
  EXPECT_TRUE(Gunzip(packed + "tail", 1000).whole);
  EXPECT_EQ(GunzipWhole(packed + "tail", 1000).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(GunzipWhole(MakeGzip(std::string(2000, 'x')), 1000).status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace paritect
