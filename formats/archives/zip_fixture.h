// For tests: ZIP archives, right and wrong ones, made in memory.
#ifndef PARITECT_FORMATS_ARCHIVES_ZIP_FIXTURE_H_
#define PARITECT_FORMATS_ARCHIVES_ZIP_FIXTURE_H_

#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace paritect {

struct ZipFile {
  std::string name;
  std::string bytes;
  bool deflated = false;
  int flags = 0;
  std::string local_name = {};  // of the local header, where it differs
  std::uint32_t crc_xor = 0;
  std::uint32_t size_xor = 0;
  int reuses = -1;  // place of the file whose local header and data this one points at
};

inline std::string ZipLittle(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
  return out;
}

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
    const auto crc = static_cast<std::uint32_t>(
        crc32(0, reinterpret_cast<const Bytef*>(file.bytes.data()), static_cast<uInt>(file.bytes.size())));
    const std::string facts = absl::StrCat(ZipLittle(20, 2), ZipLittle(static_cast<std::uint64_t>(file.flags), 2),
                                           ZipLittle(file.deflated ? 8 : 0, 2), ZipLittle(0, 4),
                                           ZipLittle(crc ^ file.crc_xor, 4), ZipLittle(packed.size(), 4),
                                           ZipLittle(static_cast<std::uint32_t>(file.bytes.size()) ^ file.size_xor, 4));
    places.push_back(file.reuses >= 0 ? places[static_cast<std::size_t>(file.reuses)] : out.size());
    const std::string& local = file.local_name.empty() ? file.name : file.local_name;
    if (file.reuses < 0) {
      absl::StrAppend(&out, "PK\x03\x04", facts, ZipLittle(local.size(), 2), ZipLittle(0, 2), local, packed);
    }
    absl::StrAppend(&directory, "PK\x01\x02", ZipLittle(20, 2), facts, ZipLittle(file.name.size(), 2), ZipLittle(0, 12),
                    ZipLittle(places.back(), 4), file.name);
  }
  const std::string end =
      absl::StrCat("PK\x05\x06", ZipLittle(0, 4), ZipLittle(files.size(), 2), ZipLittle(files.size(), 2),
                   ZipLittle(directory.size(), 4), ZipLittle(out.size(), 4), ZipLittle(0, 2));
  return absl::StrCat(out, directory, end);
}

}  // namespace paritect

#endif  // PARITECT_FORMATS_ARCHIVES_ZIP_FIXTURE_H_
