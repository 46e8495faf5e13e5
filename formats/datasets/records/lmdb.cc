// LMDB (data.mdb): entries of the main database from the newer of the two meta pages; all its pages must be there.
// Source: LMDB 0.9, mdb.c: MDB_meta, MDB_db, MDB_page.
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "formats/datasets/records/record_form.h"

namespace paritect {
namespace {

constexpr std::uint64_t kMagic = 0xBEEFC0DE;
constexpr std::size_t kPageHeader = 16;
constexpr std::size_t kMetaBytes = 136;  // on machines of 64 bits
constexpr std::uint64_t kNoRoot = UINT64_MAX;

struct Meta {
  std::uint64_t page_size = 0;
  std::uint64_t entries = 0;
  std::uint64_t root = 0;
  std::uint64_t last_page = 0;
  std::uint64_t transaction = 0;
};

bool Fits(const RecordHead& head) {
  return head.size && head.bytes.size() >= kPageHeader + kMetaBytes &&
         LittleEndian(head.bytes, kPageHeader, 4) == kMagic;
}

std::optional<Meta> ReadMeta(absl::string_view page) {
  if (page.size() < kPageHeader + kMetaBytes || LittleEndian(page, kPageHeader, 4) != kMagic) return std::nullopt;
  const absl::string_view meta = page.substr(kPageHeader);
  constexpr std::size_t kFree = 24;  // behind magic, version, address, map size
  constexpr std::size_t kMain = kFree + 48;
  Meta out;
  out.page_size = LittleEndian(meta, kFree, 4);
  out.entries = LittleEndian(meta, kMain + 32, 8);
  out.root = LittleEndian(meta, kMain + 40, 8);
  out.last_page = LittleEndian(meta, kMain + 48, 8);
  out.transaction = LittleEndian(meta, kMain + 56, 8);
  const bool power = out.page_size >= 512 && out.page_size <= 65536 && (out.page_size & (out.page_size - 1)) == 0;
  return power ? std::optional<Meta>(out) : std::nullopt;
}

absl::Status Scan(RecordReader& reader, RecordScan& scan) {
  PARITECT_ASSIGN_OR_RETURN(const absl::string_view first_page, reader.Peek(0, kPageHeader + kMetaBytes));
  const auto first = ReadMeta(first_page);
  if (!first) {
    scan.Garbled(0, "meta page 0");
    return absl::OkStatus();
  }
  PARITECT_ASSIGN_OR_RETURN(const absl::string_view second_page,
                            reader.Peek(first->page_size, kPageHeader + kMetaBytes));
  const auto second = ReadMeta(second_page);
  if (!second || second->page_size != first->page_size) {
    scan.Garbled(first->page_size, "meta page 1");
    return absl::OkStatus();
  }
  const Meta& meta = second->transaction > first->transaction ? *second : *first;
  const std::uint64_t pages = *reader.size() / meta.page_size;
  if (meta.last_page >= pages) {
    scan.Cut(*reader.size(), absl::StrCat("page ", meta.last_page));
    return absl::OkStatus();
  }
  if (meta.root != kNoRoot) {
    if (meta.root > meta.last_page) {
      scan.Garbled(kPageHeader, "root page");
      return absl::OkStatus();
    }
    PARITECT_ASSIGN_OR_RETURN(const absl::string_view root, reader.Peek(meta.root * meta.page_size, kPageHeader));
    if (LittleEndian(root, 0, 8) != meta.root) {
      scan.Garbled(meta.root * meta.page_size, "root page");
      return absl::OkStatus();
    }
  }
  scan.records = meta.entries;
  scan.not_all_checked = true;  // the pages in between are not walked
  return absl::OkStatus();
}

}  // namespace

extern const RecordForm kLmdbRecords;
const RecordForm kLmdbRecords = {"lmdb", false, &Fits, &Scan};

}  // namespace paritect
