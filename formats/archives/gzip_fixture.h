// For tests: a gzip member, made in memory.
#ifndef PARITECT_FORMATS_ARCHIVES_GZIP_FIXTURE_H_
#define PARITECT_FORMATS_ARCHIVES_GZIP_FIXTURE_H_

#include <zlib.h>

#include <string>

namespace paritect {

inline std::string MakeGzip(std::string text) {
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace paritect

#endif  // PARITECT_FORMATS_ARCHIVES_GZIP_FIXTURE_H_
