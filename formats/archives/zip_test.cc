#include "formats/archives/zip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/little_endian.h"
#include "formats/archives/zip_fixture.h"
#include "formats/settings/settings_format.h"
#include "rules/settings_rules.h"

namespace paritect {
namespace {

using ::testing::HasSubstr;

std::string Why(const std::string& bytes, const ZipRules& rules = {}) {
  const RandomAccess archive = AccessTo(bytes);
  const auto entries = ReadZipDirectory(archive, rules);
  if (!entries.ok()) return std::string(entries.status().message());
  std::string out;
  for (const ZipEntry& entry : *entries) {
    const auto content = ReadZipEntry(archive, entry, 16 << 20);
    absl::StrAppend(&out, entry.name, "=", content.ok() ? *content : std::string(content.status().message()), ";");
  }
  return out;
}

TEST(ZipArchive, EntriesInOrderStoredAndDeflated) {
  EXPECT_EQ(Why(MakeZip({{"a", "1"}, {"b/c", std::string(100, 'x'), true}, {"e", ""}, {"d/", ""}})),
            absl::StrCat("a=1;b/c=", std::string(100, 'x'), ";e=;"));
  EXPECT_EQ(Why(MakeZip({})), "");
}

TEST(ZipArchive, ANameThatStandsTwiceIsRefusedButWhereItIsExpected) {
  const std::string archive = MakeZip({{"a", "1"}, {"b", "2"}, {"a", "3"}});
  EXPECT_THAT(Why(archive), HasSubstr("stands twice"));
  ZipRules rules;
  rules.names_again = true;
  EXPECT_EQ(Why(archive, rules), "a=1;b=2;a=3;");
}

// An archive whose end record says "see the ZIP64 record", as a file of more than 65 535 entries has it. `wide`: the
// sizes of the first entry stand in its ZIP64 field.
std::string MakeZip64(const std::vector<ZipFile>& files, bool wide, std::size_t moved = 0) {
  std::string archive = MakeZip(files);
  std::string end = archive.substr(archive.size() - 22);
  const auto number = [](const std::string& bytes, std::size_t at) { return LittleEndian(bytes, at, 4); };
  const std::size_t begin = number(end, 16);
  std::string directory = archive.substr(begin, number(end, 12));
  archive.resize(begin);
  if (wide) {
    const std::string field = LittleEndianBytes(1, 2) + LittleEndianBytes(16, 2) +
                              LittleEndianBytes(number(directory, 24), 8) + LittleEndianBytes(number(directory, 20), 8);
    directory.replace(20, 8, std::string(8, '\xFF'));
    directory.replace(30, 2, LittleEndianBytes(field.size(), 2));
    directory.insert(46 + files[0].name.size(), field);
  }
  const std::size_t at = begin + directory.size();
  archive += directory + "PK\x06\x06" + LittleEndianBytes(44, 8) + LittleEndianBytes(45, 2) + LittleEndianBytes(45, 2) +
             LittleEndianBytes(0, 8) + LittleEndianBytes(files.size(), 8) + LittleEndianBytes(files.size(), 8) +
             LittleEndianBytes(directory.size(), 8) + LittleEndianBytes(begin, 8) + "PK\x06\x07" +
             LittleEndianBytes(0, 4) + LittleEndianBytes(at + moved, 8) + LittleEndianBytes(1, 4);
  end.replace(8, 12, std::string(12, '\xFF'));
  return archive + end;
}

TEST(ZipArchive, OfSixtyFourBits) {
  const std::vector<ZipFile> files = {{"a", "1"}, {"b", std::string(100, 'x'), true}};
  const std::string right = absl::StrCat("a=1;b=", std::string(100, 'x'), ";");
  EXPECT_EQ(Why(MakeZip64(files, false)), right);
  EXPECT_EQ(Why(MakeZip64(files, true)), right);
  EXPECT_THAT(Why(MakeZip64(files, true, 1)), HasSubstr("ZIP64 end record"));
  EXPECT_THAT(Why(MakeZip64(files, true, 1ull << 62)), HasSubstr("ZIP64 end record"));
  std::string cut = MakeZip64(files, true);
  cut.replace(cut.find("PK\x01\x02") + 30, 2, LittleEndianBytes(3, 2));
  EXPECT_THAT(Why(cut), HasSubstr("ZIP64 sizes are not there"));
  std::string other = MakeZip64(files, true);
  other.replace(other.size() - 22 + 10, 2, LittleEndianBytes(7, 2));  // the old end says seven entries, the new one two
  EXPECT_THAT(Why(other), HasSubstr("two ends"));
}

TEST(ZipArchive, BytesBeforeAndBehindAreRefused) {
  const std::string archive = MakeZip({{"a", "1"}});
  EXPECT_THAT(Why("stub" + archive), HasSubstr("not where its end says"));
  EXPECT_THAT(Why(archive + "more"), HasSubstr("cut off"));
  // One archive behind another: each reader would have to choose.
  EXPECT_THAT(Why(archive + archive), HasSubstr("not where its end says"));
}

TEST(ZipArchive, IsUnpackedInBlocks) {
  const std::string small = MakeZip({{"a", "first"}, {"b", std::string(3 << 20, 'y'), true}});
  const RandomAccess whole = AccessTo(small);
  std::size_t largest = 0;
  const RandomAccess watched = {small.size(), [&](std::uint64_t offset, absl::Span<char> buffer) {
                                  largest = std::max(largest, buffer.size());
                                  return whole.read_at(offset, buffer);
                                }};
  const auto entries = ReadZipDirectory(watched);
  ASSERT_TRUE(entries.ok()) << entries.status();
  std::uint64_t given = 0;
  const auto content = UnpackZipEntry(watched, (*entries)[1], [&](absl::string_view block) {
    EXPECT_LE(block.size(), std::size_t{256} << 10);
    given += block.size();
    return absl::OkStatus();
  });
  ASSERT_TRUE(content.ok()) << content.status();
  EXPECT_EQ(*content, ZipContent::kWhole);
  EXPECT_EQ(given, (*entries)[1].size);
  EXPECT_LE(largest, std::size_t{256} << 10);
  const auto stopped =
      UnpackZipEntry(watched, (*entries)[1], [](absl::string_view) { return absl::CancelledError("enough"); });
  EXPECT_EQ(stopped.status().code(), absl::StatusCode::kCancelled);
}

TEST(ZipArchive, NamesThatLeaveTheFolderAreRefused) {
  for (const char* name : {"../a", "a/../../b", "/etc/passwd", "C:\\x", "..\\x", "\\x"}) {
    EXPECT_THAT(Why(MakeZip({{name, "1"}})), HasSubstr("name")) << name;
  }
}

TEST(ZipArchive, WhatIsHostileIsRefused) {
  ZipFile encrypted = {"a", "1"};
  encrypted.flags = 1;
  EXPECT_EQ(ReadZipDirectory(AccessTo(MakeZip({encrypted}))).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Why(MakeZip({encrypted})), HasSubstr("encrypted"));
  ZipFile other = {"a", "1"};
  other.local_name = "b";
  EXPECT_THAT(Why(MakeZip({other})), HasSubstr("names another file"));
  ZipFile wrong = {"a", "1"};
  wrong.crc_xor = 1;
  EXPECT_THAT(Why(MakeZip({wrong})), HasSubstr("check sum"));
  EXPECT_THAT(Why(MakeZip({{"a", std::string(8 << 20, '0'), true}})), HasSubstr("bomb"));
  EXPECT_THAT(Why(MakeZip({{"a", std::string(17 << 20, '0'), true}})), HasSubstr("larger than"));
  ZipFile first = {"a", std::string(100, 'x')};
  ZipFile again = {"a", std::string(100, 'x')};
  again.reuses = 0;  // a second entry over the same data
  EXPECT_THAT(Why(MakeZip({first, again})), HasSubstr("overlaps"));
  ZipFile longer = {"a", std::string(50, 'x'), true};
  longer.size_xor = 1;
  EXPECT_THAT(Why(MakeZip({longer})), HasSubstr("another length"));
}

TEST(ZipArchive, CutAndFlippedBytesNeverCrash) {
  const std::string archive = MakeZip({{"env", R"({"A": "1"})", true}, {"pip", "torch=2.1.0\n"}});
  for (std::size_t i = 0; i < archive.size(); ++i) {
    (void)Why(archive.substr(0, i));
    std::string flipped = archive;
    flipped[i] = static_cast<char>(flipped[i] ^ 0xFF);
    (void)Why(flipped);
  }
  EXPECT_THAT(Why(archive.substr(0, archive.size() - 1)), HasSubstr("cut off"));
}

// --- the archive of msprobe's config_check ---

std::string Read(const std::string& archive) {
  const auto documents = ReadSettings(archive, "p.zip", "");
  if (!documents.ok()) return documents.status().ToString();
  std::string out = absl::StrCat((*documents)[0].format(), ":");
  for (const v1::Setting& one : (*documents)[0].settings()) {
    absl::StrAppend(&out, " ", one.raw_key(), "=", ValueToText(one.value()), "@", one.origin());
  }
  for (const v1::Note& note : (*documents)[0].notes()) absl::StrAppend(&out, " !", note.kind());
  return out;
}

TEST(MsprobePack, EnvironmentPackagesAndHyperparameters) {
  EXPECT_EQ(Read(MakeZip({{"env", "{\"HCCL_DETERMINISTIC\":\n\"TRUE\"}", true},
                          {"pip", "numpy=1.26.4\nTorch_NPU=2.1.0.post3\n", true},
                          {"hyperparameters/hyperparameters_static.json", R"({"lr": "1e-4", "bf16": true})", true},
                          {"weights/step0/rank0/weight.json", R"({"w": {"max": NaN}})", true}})),
            "msprobe-config-check: env.HCCL_DETERMINISTIC=TRUE@p.zip!env:1 lr=1e-4@"
            "p.zip!hyperparameters/hyperparameters_static.json:1 bf16=true@"
            "p.zip!hyperparameters/hyperparameters_static.json:1 package.numpy=1.26.4@p.zip!pip:1 "
            "package.torch-npu=2.1.0.post3@p.zip!pip:2 !statistics_not_compared");
}

// The tool appends under the same name each time it collects.
TEST(MsprobePack, TheLastOfSeveralEntriesCounts) {
  EXPECT_THAT(Read(MakeZip({{"pip", "a=1.0\n"}, {"pip", "a=2.0\n"}})), HasSubstr(": package.a=2.0@"));
  EXPECT_THAT(Read(MakeZip({{"env", "{\"A\": NaN, \"B\": Infinity}"}})), HasSubstr("env.A=nan@p.zip!env:1 env.B=inf@"));
}

TEST(MsprobePack, HostileArchivesAreRefusedAndBadEntriesNoted) {
  EXPECT_THAT(Read(MakeZip({{"env", "{}"}, {"../../x", "1"}})), HasSubstr("DATA_LOSS"));
  EXPECT_THAT(Read(MakeZip({{"../env", "{}"}})), HasSubstr("DATA_LOSS"));
  EXPECT_THAT(Read(MakeZip({{"env", std::string(32 << 20, ' '), true}})), HasSubstr("DATA_LOSS"));
  EXPECT_THAT(Read(MakeZip({{"env", "{\"A\": "}, {"pip", "a=1.0\n"}})),
              HasSubstr("package.a=1.0@p.zip!pip:1 !unreadable_entry"));
  const std::string cut = MakeZip({{"env", "{}"}});
  EXPECT_THAT(Read(cut.substr(0, cut.size() - 4)), HasSubstr("DATA_LOSS"));
}

}  // namespace
}  // namespace paritect
