// For tests: ZIP archives, right and wrong ones, made in memory.
#ifndef PARITECT_FORMATS_ARCHIVES_ZIP_FIXTURE_H_
#define PARITECT_FORMATS_ARCHIVES_ZIP_FIXTURE_H_

#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/crc.h"
#include "common/little_endian.h"

namespace paritect {

struct ZipFile {
  std::string name;
  std::string bytes;
  bool deflated = false;
  int flags = 0;
  std::string local_name = {};  // of the local header, where it differs
  std::uint32_t crc_xor = 0;
  std::uint32_t size_xor = 0;
  std::string local_extra = {};
  bool streamed = false;  // the local header has neither checksum nor sizes
  int reuses = -1;        // place of the file whose local header and data this one points at
};

inline std::string ZipDeflate(const std::string& bytes) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  std::string in = bytes;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  const std::size_t written = stream.total_out;
  deflateEnd(&stream);
  return out.substr(0, written);
}

inline std::string MakeZip(const std::vector<ZipFile>& files) {
  std::string out, directory;
  std::vector<std::size_t> places;
  for (const ZipFile& file : files) {
    const std::string packed = file.deflated ? ZipDeflate(file.bytes) : file.bytes;
    const std::string head =
        absl::StrCat(LittleEndianBytes(20, 2), LittleEndianBytes(static_cast<std::uint64_t>(file.flags), 2),
                     LittleEndianBytes(file.deflated ? 8 : 0, 2), LittleEndianBytes(0, 4));
    const std::string facts =
        absl::StrCat(LittleEndianBytes(Crc32(0, file.bytes) ^ file.crc_xor, 4), LittleEndianBytes(packed.size(), 4),
                     LittleEndianBytes(static_cast<std::uint32_t>(file.bytes.size()) ^ file.size_xor, 4));
    places.push_back(file.reuses >= 0 ? places[static_cast<std::size_t>(file.reuses)] : out.size());
    const std::string& local = file.local_name.empty() ? file.name : file.local_name;
    if (file.reuses < 0) {
      absl::StrAppend(&out, "PK\x03\x04", head, file.streamed ? std::string(12, '\0') : facts,
                      LittleEndianBytes(local.size(), 2), LittleEndianBytes(file.local_extra.size(), 2), local,
                      file.local_extra, packed);
    }
    absl::StrAppend(&directory, "PK\x01\x02", LittleEndianBytes(20, 2), head, facts,
                    LittleEndianBytes(file.name.size(), 2), std::string(12, '\0'), LittleEndianBytes(places.back(), 4),
                    file.name);
  }
  const std::string end = absl::StrCat("PK\x05\x06", LittleEndianBytes(0, 4), LittleEndianBytes(files.size(), 2),
                                       LittleEndianBytes(files.size(), 2), LittleEndianBytes(directory.size(), 4),
                                       LittleEndianBytes(out.size(), 4), LittleEndianBytes(0, 2));
  return absl::StrCat(out, directory, end);
}

}  // namespace paritect

#endif  // PARITECT_FORMATS_ARCHIVES_ZIP_FIXTURE_H_
