// What begins with gzip's magic number, inflated as it is read (GunzipBytes of formats/logs/read_log.h).
#include <algorithm>
#include <cstring>

#include "common/status_macros.h"
#include "formats/archives/gzip.h"
#include "formats/archives/inflate.h"
#include "formats/logs/read_log.h"

namespace paritect {
namespace {

constexpr std::size_t kInputBytes = 64 << 10;

}  // namespace

struct GunzipBytes::State {
  std::unique_ptr<LogBytes> source;
  std::vector<char> input = std::vector<char>(kInputBytes);
  std::size_t begin = 0;
  std::size_t end = 0;
  bool source_ended = false;
  bool started = false;
  bool gzip = false;
  bool in_member = false;
  bool truncated = false;
  Inflater inflater = Inflater(Inflater::Form::kGzip);

  // Up to `least` bytes of input are there, or the source ended.
  absl::Status Fill(std::size_t least) {
    if (begin > 0 && begin == end) begin = end = 0;
    while (!source_ended && end - begin < least) {
      if (end == input.size()) {
        std::memmove(input.data(), input.data() + begin, end - begin);
        end -= begin;
        begin = 0;
      }
      PARITECT_ASSIGN_OR_RETURN(std::size_t n, source->Read(absl::MakeSpan(input.data() + end, input.size() - end)));
      source_ended = n == 0;
      end += n;
    }
    return absl::OkStatus();
  }

  bool AtMagic() const {
    return LooksLikeGzip(absl::string_view(input.data() + begin, end - begin));
  }
};

GunzipBytes::GunzipBytes(std::unique_ptr<LogBytes> source) : state_(std::make_unique<State>()) {
  state_->source = std::move(source);
}

GunzipBytes::~GunzipBytes() = default;

bool GunzipBytes::truncated() const {
  return state_->truncated;
}

absl::StatusOr<std::uint64_t> GunzipBytes::SkipHole() {
  State& s = *state_;
  if (s.gzip || s.begin != s.end || s.source_ended) return std::uint64_t{0};
  PARITECT_ASSIGN_OR_RETURN(const std::uint64_t hole, s.source->SkipHole());
  s.started = s.started || hole > 0;  // what begins with zeros is not compressed
  return hole;
}

absl::StatusOr<std::size_t> GunzipBytes::Read(absl::Span<char> buffer) {
  State& s = *state_;
  if (!s.started) {
    PARITECT_RETURN_IF_ERROR(s.Fill(2));
    s.started = true;
    s.gzip = s.AtMagic();
  }
  if (!s.gzip) {
    if (s.begin == s.end) return s.source_ended ? absl::StatusOr<std::size_t>(0) : s.source->Read(buffer);
    const std::size_t n = std::min(buffer.size(), s.end - s.begin);
    std::memcpy(buffer.data(), s.input.data() + s.begin, n);
    s.begin += n;
    return n;
  }
  for (;;) {
    if (!s.in_member) {
      PARITECT_RETURN_IF_ERROR(s.Fill(2));
      if (!s.AtMagic()) return 0;  // the end, or padding behind the last member
      s.inflater.Reset();
      s.in_member = true;
    }
    PARITECT_RETURN_IF_ERROR(s.Fill(1));
    if (s.begin == s.end) {
      s.truncated = true;
      return 0;
    }
    const Inflater::Step step =
        s.inflater.Next(absl::string_view(s.input.data() + s.begin, s.end - s.begin), buffer);
    s.begin += step.taken;
    if (step.state == Inflater::State::kEnd) {
      s.in_member = false;
    } else if (step.state != Inflater::State::kMore) {
      return absl::DataLossError("the gzip stream is damaged");
    }
    if (step.given > 0) return step.given;
  }
}

}  // namespace paritect
