// Parquet: rows from the footer; its row groups must add up and their columns must stand inside the file.
// Source: apache/parquet-format, README.md and parquet.thrift.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "formats/datasets/records/record_form.h"
#include "formats/datasets/records/thrift_compact.h"

namespace paritect {
namespace {

constexpr std::size_t kTailBytes = 8;

struct Footer {
  std::int64_t rows = -1;
  std::int64_t group_rows = 0;
  std::uint64_t data_end = 0;  // the furthest byte that a column names
  bool outside = false;
};

bool Fits(const RecordHead& head) {
  return head.size && absl::StartsWith(head.bytes, "PAR1");
}

// ColumnMetaData: 7 total_compressed_size, 9 data_page_offset, 11 dictionary_page_offset.
void ReadColumn(ThriftReader& thrift, Footer& footer) {
  std::int64_t size = 0;
  std::int64_t data = -1;
  std::int64_t dictionary = -1;
  (void)thrift.Struct([&](int id, ThriftReader::Type type) {
    if (type != ThriftReader::kI64) return thrift.Skip(type);
    const std::int64_t value = thrift.Integer();
    if (id == 7) size = value;
    if (id == 9) data = value;
    if (id == 11) dictionary = value;
  });
  const std::int64_t begin = dictionary > 0 && dictionary < data ? dictionary : data;
  if (begin < 0 || size < 0 || size > INT64_MAX - begin) {
    footer.outside = true;
    return;
  }
  footer.data_end = std::max(footer.data_end, static_cast<std::uint64_t>(begin + size));
}

// RowGroup: 1 columns {3 meta_data}, 3 num_rows.
void ReadRowGroup(ThriftReader& thrift, Footer& footer) {
  (void)thrift.Struct([&](int id, ThriftReader::Type type) {
    if (id == 3 && type == ThriftReader::kI64) {
      const std::int64_t rows = thrift.Integer();
      footer.outside = footer.outside || rows < 0 || rows > INT64_MAX / 4;
      if (!footer.outside && footer.group_rows < INT64_MAX / 4) footer.group_rows += rows;
    } else if (id == 1 && type == ThriftReader::kList) {
      (void)thrift.List([&](ThriftReader::Type element) {
        if (element != ThriftReader::kStruct) return thrift.Skip(element);
        (void)thrift.Struct([&](int column_id, ThriftReader::Type column_type) {
          if (column_id == 3 && column_type == ThriftReader::kStruct) return ReadColumn(thrift, footer);
          thrift.Skip(column_type);
        });
      });
    } else {
      thrift.Skip(type);
    }
  });
}

// FileMetaData: 3 num_rows, 4 row_groups.
void ReadFooter(ThriftReader& thrift, Footer& footer) {
  (void)thrift.Struct([&](int id, ThriftReader::Type type) {
    if (id == 3 && type == ThriftReader::kI64) {
      footer.rows = thrift.Integer();
    } else if (id == 4 && type == ThriftReader::kList) {
      (void)thrift.List([&](ThriftReader::Type element) {
        element == ThriftReader::kStruct ? ReadRowGroup(thrift, footer) : thrift.Skip(element);
      });
    } else {
      thrift.Skip(type);
    }
  });
}

absl::Status Scan(RecordReader& reader, RecordScan& scan) {
  const std::uint64_t size = *reader.size();
  if (size < 4 + kTailBytes) {
    scan.Cut(size, "footer");
    return absl::OkStatus();
  }
  PARITECT_ASSIGN_OR_RETURN(const absl::string_view tail, reader.Peek(size - kTailBytes, kTailBytes));
  if (tail.substr(4) == "PARE") return absl::UnimplementedError("encrypted Parquet");
  if (tail.substr(4) != "PAR1") {
    scan.Cut(size, "footer");
    return absl::OkStatus();
  }
  const std::uint64_t length = LittleEndian(tail, 0, 4);
  if (length > size - kTailBytes - 4) {
    scan.Garbled(size - kTailBytes, "length of the footer");
    return absl::OkStatus();
  }
  const std::uint64_t begin = size - kTailBytes - length;
  PARITECT_ASSIGN_OR_RETURN(const absl::string_view bytes, reader.Peek(begin, length));
  ThriftReader thrift(bytes);
  Footer footer;
  ReadFooter(thrift, footer);
  if (!thrift.good() || footer.rows < 0) {
    scan.Garbled(begin + thrift.at(), "footer");
  } else if (footer.rows != footer.group_rows) {
    scan.Sizes("rows of the footer and of its row groups", static_cast<std::uint64_t>(footer.rows),
               static_cast<std::uint64_t>(footer.group_rows));
  } else if (footer.outside || footer.data_end > begin) {
    scan.Garbled(begin, "footer: a column outside the file");
  }
  if (thrift.good() && footer.rows >= 0) scan.records = static_cast<std::uint64_t>(footer.rows);
  scan.not_all_checked = true;  // the pages of the columns are not walked
  return absl::OkStatus();
}

}  // namespace

extern const RecordForm kParquetRecords;
const RecordForm kParquetRecords = {"parquet", false, &Fits, &Scan};

}  // namespace paritect
