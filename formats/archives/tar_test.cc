#include "formats/archives/tar.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "formats/archives/tar_fixture.h"

namespace paritect {
namespace {

// "name:size@data_at;..." and how it ended.
std::string Listed(const std::string& bytes) {
  TarReader tar([&bytes](std::uint64_t offset, std::size_t n) -> absl::StatusOr<absl::string_view> {
    return offset >= bytes.size() ? "" : absl::string_view(bytes).substr(static_cast<std::size_t>(offset), n);
  });
  std::string out;
  TarMember member;
  for (;;) {
    const auto found = tar.Next(member);
    if (!found.ok()) return absl::StrCat(out, absl::StatusCodeToString(found.status().code()));
    switch (*found) {
      case TarReader::Found::kMember:
        absl::StrAppend(&out, member.name, ":", member.data_bytes, "@", member.data_at, ";");
        continue;
      case TarReader::Found::kEnd: return out + "end";
      case TarReader::Found::kNoEndMark: return out + "no end mark";
      case TarReader::Found::kCutHeader: return out + "cut header";
      case TarReader::Found::kCutData: return absl::StrCat(out, "cut ", member.name);
      case TarReader::Found::kGarbled: return absl::StrCat(out, "garbled at ", tar.at());
    }
  }
}

const std::string& End() {
  static const auto* const end = new std::string(1024, '\0');
  return *end;
}

TEST(Tar, LongNamesOfGnuAndPax) {
  const std::string gnu = TarFile("././@LongLink", std::string("a/very/long/name\0", 17), 'L');
  const std::string pax = TarFile("PaxHeaders/x", "18 path=other/name\n", 'x');
  EXPECT_EQ(Listed(gnu + TarFile("a", "1") + pax + TarFile("b", "22") + TarFile("c", "") + End()),
            "a/very/long/name:1@1536;other/name:2@3584;c:0@4608;end");
}

TEST(Tar, SizesOfPaxAndOfMembersWithoutData) {
  const std::string pax = TarFile("pax", "18 size=0000000600\n", 'x');
  EXPECT_EQ(Listed(pax + TarHeader("big", 0) + std::string(1024, 'y') + TarFile("b", "1") + End()),
            "big:600@1536;b:1@3072;end");
  // A hard link that states the size of its target is followed by the next header.
  EXPECT_EQ(Listed(TarHeader("link", 4096, '1') + TarFile("b", "1") + End()), "link:0@512;b:1@1024;end");
}

TEST(Tar, WhereItIsCutOrGarbled) {
  const std::string one = TarFile("a", std::string(600, 'x'));
  EXPECT_EQ(Listed(one), "a:600@512;no end mark");
  EXPECT_EQ(Listed(one.substr(0, 900)), "cut a");
  EXPECT_EQ(Listed(one + std::string(100, 'y')), "a:600@512;cut header");
  EXPECT_EQ(Listed(one + std::string(512, 'y')), "a:600@512;garbled at 1536");
  EXPECT_EQ(Listed(TarHeader("x", 2 << 20, 'L') + std::string(2 << 20, 'n') + End()), "RESOURCE_EXHAUSTED");
  std::string huge = TarHeader("a", 0);
  huge.replace(124, 12, std::string(12, '\xFF'));  // base 256, beyond every file
  EXPECT_FALSE(LooksLikeTar(huge));
}

}  // namespace
}  // namespace paritect
