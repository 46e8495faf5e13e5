#include "formats/datasets/record_count.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/crc.h"
#include "common/little_endian.h"
#include "formats/archives/gzip_fixture.h"
#include "formats/archives/tar_fixture.h"
#include "formats/archives/zip_fixture.h"

namespace paritect {
namespace {

using testing::HasSubstr;

v1::FileEntry Look(absl::string_view path, const std::string& bytes, std::uint64_t bytes_max = 1 << 30,
                   const SizeOfFile& size_of = nullptr) {
  v1::FileEntry entry;
  entry.set_path(std::string(path));
  entry.set_size_bytes(bytes.size());
  const auto read = [&bytes](std::uint64_t offset, absl::Span<char> buffer) -> absl::StatusOr<std::size_t> {
    if (offset >= bytes.size()) return std::size_t{0};
    return bytes.copy(buffer.data(), buffer.size(), offset);
  };
  const std::uint64_t read_bytes = CountRecords(read, size_of, {bytes_max}, entry);
  EXPECT_LE(read_bytes, std::max<std::uint64_t>(bytes_max, kRecordHeadBytes));
  return entry;
}

// "FORMAT RECORDS", "FORMAT damage KIND at AT", "FORMAT ?" (not looked to the end), "unknown".
std::string Seen(const v1::FileEntry& entry) {
  const v1::RecordLook& look = entry.record_look();
  if (look.format().empty()) return "unknown";
  if (look.has_damage()) {
    const std::string kind = look.damage().id().substr(std::string("record_damaged/").size());
    return absl::StrCat(look.format(), " ", kind, " at ", look.damage().args().at("at"));
  }
  if (look.has_not_looked()) return absl::StrCat(look.format(), " ? ", look.not_looked().id());
  return absl::StrCat(look.format(), " ", entry.has_records() ? absl::StrCat(entry.records()) : "-",
                      look.whole() ? "" : " partly");
}
std::string SeenOf(absl::string_view path, const std::string& bytes) {
  return Seen(Look(path, bytes));
}

std::string TfRecord(const std::string& data) {
  const std::string length = LittleEndianBytes(data.size(), 8);
  return absl::StrCat(length, LittleEndianBytes(MaskedCrc32c(length), 4), data,
                      LittleEndianBytes(MaskedCrc32c(data), 4));
}

TEST(CountRecords, TfRecord) {
  const std::string one = TfRecord("first");
  const std::string large = TfRecord(std::string(700'000, 'x'));
  const std::string whole = one + large + TfRecord("");
  EXPECT_EQ(SeenOf("a.tfrecord-00000-of-00002", whole), "tfrecord 3");
  EXPECT_EQ(SeenOf("a", whole.substr(0, whole.size() - 1)),
            absl::StrCat("tfrecord cut at ", one.size() + large.size()));
  EXPECT_EQ(SeenOf("a", one + large.substr(0, 1000)), "tfrecord cut at 21");
  EXPECT_EQ(SeenOf("a", one + "\x01"), "tfrecord cut at 21");
  std::string flipped = whole;
  flipped[13] ^= 1;
  EXPECT_EQ(SeenOf("a", flipped), "tfrecord checksum at 12");
  EXPECT_EQ(SeenOf("a", one + std::string(64, '\0')), "tfrecord checksum at 21");  // a tail of zeros
  EXPECT_EQ(Seen(Look("a", whole, 100'000)), "tfrecord ? records_too_large");
}

std::string RecordIo(const std::string& data, std::uint64_t piece = 0) {
  std::string out = LittleEndianBytes(0xCED7230A, 4) + LittleEndianBytes(piece << 29 | data.size(), 4) + data;
  out.resize((out.size() + 3) / 4 * 4);
  return out;
}

TEST(CountRecords, RecordIo) {
  const std::string split = RecordIo("abc", 1) + RecordIo("defgh", 2) + RecordIo("i", 3);
  EXPECT_EQ(SeenOf("a.rec", RecordIo("12345") + split + RecordIo("x")), "recordio 3");
  EXPECT_EQ(SeenOf("a.rec", RecordIo("12345") + RecordIo("abc", 1)), "recordio cut at 28");
  EXPECT_EQ(SeenOf("a.rec", RecordIo("12345") + "garbage!"), "recordio garbled at 16");
  EXPECT_EQ(SeenOf("a.rec", RecordIo("12345").substr(0, 12)), "recordio cut at 0");
}

TEST(CountRecords, JsonLines) {
  EXPECT_EQ(SeenOf("a.jsonl", "{\"a\": \"}\\\"{\"}\n\n{\"b\": [1, {}]}\r\n{}"), "jsonl 3");
  EXPECT_EQ(SeenOf("a.json", "{\"a\": 1}\n{\"a\": 2}\n"), "jsonl 2");
  EXPECT_EQ(SeenOf("a.jsonl", "\xEF\xBB\xBF{\"a\": 1}\n{\"a\": 2}\n"), "jsonl 2");
  EXPECT_EQ(SeenOf("a.jsonl", "{\"a\": 1}\n{\"a\": [1, 2"), "jsonl cut at 9");
  EXPECT_EQ(SeenOf("a.jsonl", "{\"a\": 1}\n{\"a\": \n{\"a\": 3}\n"), "jsonl garbled at 9");
  EXPECT_EQ(SeenOf("a.jsonl", std::string("{\"a\": 1}\n\0\0\0\n", 13)), "jsonl garbled at 9");
  // One document over many lines.
  EXPECT_EQ(SeenOf("a.json", "{\n  \"a\": 1,\n  \"b\": 2\n}\n"), "json 1");
}

TEST(CountRecords, NamedFormsOfOtherKinds) {
  EXPECT_EQ(SeenOf("nums.jsonl", "1\n-2.5\n3\n"), "jsonl 3");
  EXPECT_EQ(SeenOf("str.jsonl", "\"abc\"\n\"d\"\n"), "jsonl 2");
  EXPECT_EQ(SeenOf("x.txt", "1\n2\n"), "text 2");
  EXPECT_EQ(SeenOf("cr.csv", "a,b\r1,2\r3,4\r"), "csv 3");
}

TEST(CountRecords, JsonDocuments) {
  EXPECT_EQ(SeenOf("a.json", "[\n {\"a\": [1, 2]},\n {\"b\": \"],{\"}\n]\n"), "json 2");
  EXPECT_EQ(SeenOf("a.json", "{\"images\": [1, 2], \"x\": {}}"), "json 1");
  EXPECT_EQ(SeenOf("a.json", "[]"), "json 0");
  const std::string cut = "{\"images\": [\n1, 2";
  EXPECT_EQ(SeenOf("a.json", cut), absl::StrCat("json cut at ", cut.size()));
  EXPECT_EQ(SeenOf("a.json", "[1]]\n"), "json garbled at 0");
  EXPECT_EQ(SeenOf("a.json", "{\"a\":1}\n{\"a\":2}\n"), "jsonl 2");
}

TEST(CountRecords, Csv) {
  EXPECT_EQ(SeenOf("a.csv", "id,text\r\n1,\"a\nb \"\"c\"\"\"\r\n2,d\r\n"), "csv 3");
  EXPECT_EQ(SeenOf("a.csv", "id;text\n1;it's 5\" wide\n2;x"), "csv 3");
  EXPECT_EQ(SeenOf("a.csv", "id,text\n1,\"a\nb\n"), "csv cut at 8");
  EXPECT_EQ(SeenOf("a.csv", "id,text,z\n1,a,b\n2,c"), "csv cut at 16");
  EXPECT_EQ(SeenOf("a.tsv", "id\ttext\n1\t\"a\n2\tb\n"), "csv 3");
}

TEST(CountRecords, Tar) {
  const std::string members = TarFile("a.jpg", std::string(1000, 'x')) + TarFile("a.cls", "1") + TarFile("d/", "", '5');
  const std::string whole = members + std::string(1024, '\0');
  EXPECT_EQ(SeenOf("shard-000.tar", whole), "tar 2");
  EXPECT_EQ(SeenOf("x", members), absl::StrCat("tar no_end at ", members.size()));
  EXPECT_EQ(SeenOf("x", members.substr(0, 900)), "tar cut at 0");
  std::string garbled = whole;
  garbled[1536] ^= 1;
  EXPECT_EQ(SeenOf("x", garbled), "tar garbled at 1536");
  const std::string pax = TarFile("pax", "18 size=0000000600\n", 'x');
  EXPECT_EQ(
      SeenOf("x", pax + TarHeader("big", 0) + std::string(1024, 'y') + TarFile("b", "1") + std::string(1024, '\0')),
      "tar 2");
}

TEST(CountRecords, ZipMembersToTheirChecksums) {
  const std::vector<ZipFile> files = {{"a/", ""}, {"a/1", "first"}, {"a/2", std::string(700'000, 'x'), true}};
  const std::string whole = MakeZip(files);
  EXPECT_EQ(SeenOf("a.zip", whole), "zip 2");
  EXPECT_EQ(SeenOf("a.zip", whole.substr(0, whole.size() - 1)), absl::StrCat("zip cut at ", whole.size() - 1));
  EXPECT_EQ(SeenOf("a.zip", whole + "tail"), "zip 2");  // said by no checksum, and every member is whole
  ZipFile wrong = files[1];
  wrong.crc_xor = 1;
  EXPECT_EQ(SeenOf("a.zip", MakeZip({wrong, files[2]})), "zip checksum at 33");
  ZipFile longer = files[2];
  longer.size_xor = 1;
  EXPECT_EQ(SeenOf("a.zip", MakeZip({longer})), "zip garbled at 33");
  ZipFile encrypted = files[1];
  encrypted.flags = 1;
  EXPECT_EQ(SeenOf("a.zip", MakeZip({encrypted})), "zip 1 partly");
  std::string missing = whole;
  missing[missing.size() - 12] = 9;  // as many entries are stated
  EXPECT_THAT(SeenOf("a.zip", missing), HasSubstr("zip garbled at"));
  EXPECT_EQ(Seen(Look("a.zip", MakeZip({{"a", std::string(700'000, 'x')}}), 300'000)), "zip ? records_too_large");
}

TEST(CountRecords, GzipAndWhatIsInside) {
  const std::string lines = "{\"a\": 1}\n{\"a\": 2}\n";
  EXPECT_EQ(SeenOf("a.jsonl.gz", MakeGzip(lines)), "gzip 2");
  EXPECT_EQ(SeenOf("a.jsonl.gz", MakeGzip(lines) + MakeGzip(lines)), "gzip 4");
  EXPECT_EQ(
      SeenOf("a.tgz", MakeGzip(TarFile("a", std::string(9000, 'q')) + TarFile("b", "1") + std::string(1024, '\0'))),
      "gzip 2");
  EXPECT_EQ(SeenOf("a.gz", MakeGzip(TfRecord("a") + TfRecord("b"))), "gzip 2");
  EXPECT_EQ(SeenOf("a.gz", MakeGzip(std::string("\x01\x02\x03\0\0", 5))), "gzip -");
  const std::string whole = MakeGzip(std::string(100'000, 'a') + lines);
  EXPECT_EQ(SeenOf("a.gz", whole.substr(0, whole.size() - 6)), absl::StrCat("gzip cut at ", whole.size() - 6));
  std::string wrong = whole;
  wrong[wrong.size() - 8] ^= 1;
  EXPECT_THAT(SeenOf("a.gz", wrong), HasSubstr("gzip checksum at"));
  EXPECT_EQ(SeenOf("a.jsonl.gz", MakeGzip("{\"a\": 1}\n{\"a\": ")), "gzip cut at 9");
}

TEST(CountRecords, Npy) {
  const auto Npy = [](const std::string& header, std::size_t data) {
    return absl::StrCat("\x93NUMPY\x01", std::string(1, '\0'), LittleEndianBytes(header.size(), 2), header,
                        std::string(data, 'x'));
  };
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (10, 3), }\n";
  EXPECT_EQ(SeenOf("a.npy", Npy(header, 120)), "npy 10");
  EXPECT_EQ(SeenOf("a.npy", Npy(header, 119)), absl::StrCat("npy cut at ", 10 + header.size() + 119));
  EXPECT_THAT(SeenOf("a.npy", Npy(header, 121)), HasSubstr("npy size at"));
  EXPECT_EQ(SeenOf("a.npy", Npy("{'descr': '|O', 'fortran_order': False, 'shape': (7,), }", 33)), "npy 7 partly");
  EXPECT_THAT(SeenOf("a.npy", Npy("nonsense", 33)), HasSubstr("npy garbled"));
}

TEST(CountRecords, MegatronIndexAndItsData) {
  const std::string index = std::string("MMIDIDX\0\0", 9) + LittleEndianBytes(1, 8) + LittleEndianBytes(8, 1) +
                            LittleEndianBytes(2, 8) + LittleEndianBytes(3, 8) + LittleEndianBytes(5, 4) +
                            LittleEndianBytes(7, 4) + LittleEndianBytes(0, 8) + LittleEndianBytes(10, 8) +
                            LittleEndianBytes(0, 8) + LittleEndianBytes(1, 8) + LittleEndianBytes(2, 8);
  std::uint64_t size = 24;
  const SizeOfFile size_of = [&](absl::string_view path) -> std::optional<std::uint64_t> {
    return path == "d/text.bin" ? std::optional<std::uint64_t>(size) : std::nullopt;
  };
  EXPECT_EQ(Seen(Look("d/text.idx", index, 1 << 20, size_of)), "megatron-idx 2");
  size = 20;
  EXPECT_EQ(Seen(Look("d/text.idx", index, 1 << 20, size_of)), "megatron-idx size at 20");
  EXPECT_EQ(Seen(Look("d/other.idx", index, 1 << 20, size_of)), "megatron-idx 2 partly");
  EXPECT_EQ(SeenOf("a.idx", index.substr(0, index.size() - 8)), absl::StrCat("megatron-idx cut at ", index.size() - 8));
  std::string wrong = index;
  wrong[34 + 8 + 8] ^= 4;
  EXPECT_EQ(SeenOf("a.idx", wrong), "megatron-idx garbled at 50");
}

TEST(CountRecords, MindRecord) {
  const std::string header =
      "{\"header_size\":4096,\"index_fields\":[],\"page\":[{\"page_id\":0,\"shard_id\":0,\"page_type\":\"RAW_DATA\","
      "\"page_type_id\":0,\"start_row_id\":0,\"end_row_id\":12,\"row_group_ids\":[{\"id\":0,\"offset\":0}],"
      "\"page_size\":500},{\"page_id\":1,\"shard_id\":0,\"page_type\":\"BLOB_DATA\",\"page_type_id\":0,"
      "\"start_row_id\":0,\"end_row_id\":12,\"row_group_ids\":[],\"page_size\":900}],\"page_size\":1024,"
      "\"schema\":[],\"shard_addresses\":[\"a\"],\"shard_id\":0,\"statistics\":[],\"version\":\"3.0\"}";
  std::string file = LittleEndianBytes(header.size(), 8) + header;
  file.resize(4096 + 2048, ' ');
  EXPECT_EQ(SeenOf("a.mindrecord", file), "mindrecord 12");
  EXPECT_EQ(SeenOf("a.mindrecord", file.substr(0, 5500)), "mindrecord cut at 5500");
  file[40] = '\x01';
  EXPECT_THAT(SeenOf("a.mindrecord", file), HasSubstr("mindrecord garbled at 8"));
}

TEST(CountRecords, OneSampleAFileAndUnknown) {
  EXPECT_EQ(SeenOf("a.png", absl::StrCat("\x89PNG\r\n\x1a\n", "data", "IEND\xAE\x42\x60\x82")), "single -");
  EXPECT_EQ(SeenOf("a.png", "\x89PNG\r\n\x1a\ndata"), "single cut at 12");
  EXPECT_EQ(SeenOf("a.bin", std::string("\x01\x02\x00\xFF", 4)), "unknown");
  EXPECT_EQ(SeenOf("a.txt", "one\ntwo\nthree"), "text 3");
}

// Every prefix and every flipped byte of a file of each form: an answer, no crash.
TEST(CountRecords, HostileBytes) {
  const std::string files[] = {TfRecord("abc") + TfRecord("d"),
                               RecordIo("abc") + RecordIo("d"),
                               TarFile("a", "1") + std::string(1024, '\0'),
                               MakeGzip("{\"a\": 1}\n{\"a\": 2}\n"),
                               std::string("PAR1....PAR1"),
                               std::string("ARROW1\0\0xxxxxxxxxxARROW1", 24)};
  for (const std::string& file : files) {
    for (std::size_t i = 0; i < file.size(); i += 1 + file.size() / 300) {
      (void)SeenOf("x.tar.gz", file.substr(0, i));
      std::string flipped = file;
      flipped[i] = static_cast<char>(flipped[i] ^ 0xFF);
      (void)SeenOf("x.csv", flipped);
    }
  }
}

}  // namespace
}  // namespace paritect
