#include "formats/archives/gzip.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "formats/archives/inflate.h"

namespace paritect {
namespace {

constexpr std::size_t kBlockBytes = 256 << 10;

}  // namespace

bool LooksLikeGzip(absl::string_view head) {
  return absl::StartsWith(head, "\x1F\x8B");
}

Gunzipped Gunzip(absl::string_view packed, std::uint64_t bytes_max) {
  Gunzipped out;
  Inflater inflater(Inflater::Form::kGzip);
  std::string block(kBlockBytes, '\0');
  for (;;) {
    const Inflater::Step step = inflater.Next(packed, absl::MakeSpan(block));
    packed.remove_prefix(step.taken);
    out.bytes.append(block, 0, step.given);
    out.too_large = out.bytes.size() > bytes_max;
    if (out.too_large) return out;
    if (step.state == Inflater::State::kEnd) {
      out.whole = true;
      if (!LooksLikeGzip(packed)) {
        out.trailing = std::any_of(packed.begin(), packed.end(), [](char c) { return c != '\0'; });
        return out;
      }
      out.whole = false;
      inflater.Reset();
    } else if (step.state != Inflater::State::kMore || (packed.empty() && step.given < block.size())) {
      return out;
    }
  }
}

absl::StatusOr<std::string> GunzipWhole(absl::string_view packed, std::uint64_t bytes_max) {
  Gunzipped out = Gunzip(packed, bytes_max);
  if (out.too_large) return absl::ResourceExhaustedError("gzip: too large when decompressed");
  if (!out.whole || out.trailing) return absl::DataLossError("gzip: cut or damaged");
  return std::move(out.bytes);
}

}  // namespace paritect
