// Deflated data piece by piece, by zlib; the one place that holds a z_stream. Memory is that of its window (32 KB).
// Sources: RFC 1950, 1951, 1952.
#ifndef PARITECT_FORMATS_ARCHIVES_INFLATE_H_
#define PARITECT_FORMATS_ARCHIVES_INFLATE_H_

#include <cstddef>
#include <memory>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace paritect {

// Not thread-safe.
class Inflater {
 public:
  enum class Form { kRaw, kGzip, kZlib };
  enum class State {
    kMore,      // gives on with more input or more room
    kEnd,       // the stream's own end; of gzip, its CRC-32 and length fit
    kChecksum,  // the end is there, and its checksum or length does not fit
    kDamaged    // no such stream, or no memory
  };
  struct Step {
    std::size_t taken = 0;  // bytes of `in`
    std::size_t given = 0;  // bytes of `out`
    State state = State::kMore;
  };

  explicit Inflater(Form form);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Neither taken nor given with kMore: `in` or `out` was empty.
  Step Next(absl::string_view in, absl::Span<char> out);
  // Begins a new stream (gzip allows several members, one behind the other).
  void Reset();

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace paritect

#endif  // PARITECT_FORMATS_ARCHIVES_INFLATE_H_
