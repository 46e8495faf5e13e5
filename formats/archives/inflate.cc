#include "formats/archives/inflate.h"

#include <zlib.h>

#include <algorithm>

#include "absl/strings/match.h"

namespace paritect {
namespace {

constexpr std::size_t kPieceBytes = 1 << 30;  // zlib takes lengths as unsigned int

int WindowBits(Inflater::Form form) {
  switch (form) {
    case Inflater::Form::kRaw: return -MAX_WBITS;
    case Inflater::Form::kGzip: return 16 + MAX_WBITS;
    case Inflater::Form::kZlib: break;
  }
  return MAX_WBITS;
}

Inflater::State StateOf(int code, const char* why) {
  if (code == Z_STREAM_END) return Inflater::State::kEnd;
  if (code == Z_OK || code == Z_BUF_ERROR) return Inflater::State::kMore;
  // zlib tells the two only by its words, which stand so since 1.0 ("incorrect data check", "incorrect length check").
  const bool sum = why != nullptr && (absl::StrContains(why, "data check") || absl::StrContains(why, "length check"));
  return sum ? Inflater::State::kChecksum : Inflater::State::kDamaged;
}

}  // namespace

struct Inflater::Stream {
  z_stream z = {};
  bool good = false;
};

Inflater::Inflater(Form form) : stream_(std::make_unique<Stream>()) {
  stream_->good = inflateInit2(&stream_->z, WindowBits(form)) == Z_OK;
}

Inflater::~Inflater() {
  if (stream_->good) inflateEnd(&stream_->z);
}

void Inflater::Reset() {
  if (stream_->good) inflateReset(&stream_->z);
}

Inflater::Step Inflater::Next(absl::string_view in, absl::Span<char> out) {
  if (!stream_->good) return {0, 0, State::kDamaged};
  z_stream& z = stream_->z;
  const std::size_t in_size = std::min(in.size(), kPieceBytes);
  const std::size_t out_size = std::min(out.size(), kPieceBytes);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));  // only read
  z.avail_in = static_cast<uInt>(in_size);
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out_size);
  const int code = inflate(&z, Z_NO_FLUSH);
  return {in_size - z.avail_in, out_size - z.avail_out, StateOf(code, z.msg)};
}

}  // namespace paritect
