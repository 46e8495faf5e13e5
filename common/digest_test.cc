#include "common/digest.h"

#include <gtest/gtest.h>

namespace paritect {
namespace {

// RFC 1321 A.5 and FIPS 180-4 examples.
TEST(Digest, KnownAnswers) {
  EXPECT_EQ(ToHex(Md5("")), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(ToHex(Md5("message digest")), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(ToHex(Sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

// RFC 4231, test cases 2 and 6 (a key longer than a block).
TEST(Digest, Hmac) {
  EXPECT_EQ(ToHex(HmacSha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(ToHex(HmacSha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Digest, PiecesGiveTheSame) {
  Digest digest(DigestKind::kMd5);
  ASSERT_TRUE(digest.available());
  digest.Update("message ");
  digest.Update("digest");
  EXPECT_EQ(digest.Finish(), Md5("message digest"));
}

TEST(Digest, Hex) {
  EXPECT_EQ(*FromHex("00fF"), std::string("\x00\xFF", 2));
  EXPECT_FALSE(FromHex("0").has_value());
  EXPECT_FALSE(FromHex("0g").has_value());
}

}  // namespace
}  // namespace paritect
