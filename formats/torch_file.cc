// Where a file of torch.save keeps its pickle (formats/pickle.h).
#include <algorithm>

#include "absl/strings/match.h"
#include "formats/pickle.h"

namespace paritect {
namespace {

constexpr absl::string_view kLocalHeader("PK\x03\x04", 4);
constexpr absl::string_view kCentralHeader("PK\x01\x02", 4);
constexpr absl::string_view kEndHeader("PK\x05\x06", 4);
constexpr std::size_t kLocalHeaderBytes = 30;
constexpr std::size_t kCentralHeaderBytes = 46;
constexpr std::size_t kEndHeaderBytes = 22;
// The legacy layout starts with the pickle of this number (torch/serialization.py, MAGIC_NUMBER: ten bytes).
constexpr absl::string_view kLegacyMagic("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 12);

std::size_t Unsigned(absl::string_view bytes, std::size_t at, std::size_t size) {
  std::size_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

absl::StatusOr<absl::string_view> Member(absl::string_view file, absl::string_view central) {
  if (Unsigned(central, 10, 2) != 0) return absl::InvalidArgumentError("data.pkl is compressed");
  const std::size_t size = Unsigned(central, 20, 4);
  const std::size_t local = Unsigned(central, 42, 4);
  if (local > file.size() || file.size() - local < kLocalHeaderBytes ||
      !absl::StartsWith(file.substr(local), kLocalHeader)) {
    return absl::DataLossError("a ZIP entry that is not there");
  }
  const std::size_t data = local + kLocalHeaderBytes + Unsigned(file, local + 26, 2) + Unsigned(file, local + 28, 2);
  if (data > file.size() || size > file.size() - data) return absl::DataLossError("cut off");
  return file.substr(data, size);
}

absl::StatusOr<absl::string_view> FromZip(absl::string_view file) {
  const std::size_t end = file.rfind(kEndHeader);
  if (end == absl::string_view::npos || file.size() - end < kEndHeaderBytes) {
    return absl::DataLossError("the ZIP directory is cut off");
  }
  std::size_t at = Unsigned(file, end + 16, 4);
  while (at <= end && end - at >= kCentralHeaderBytes && absl::StartsWith(file.substr(at), kCentralHeader)) {
    const std::size_t name_size = Unsigned(file, at + 28, 2);
    const std::size_t next =
        at + kCentralHeaderBytes + name_size + Unsigned(file, at + 30, 2) + Unsigned(file, at + 32, 2);
    if (next > end) return absl::DataLossError("the ZIP directory is damaged");
    const absl::string_view name = file.substr(at + kCentralHeaderBytes, name_size);
    if (absl::EndsWith(name, "/data.pkl")) return Member(file, file.substr(at, kCentralHeaderBytes));
    at = next;
  }
  return absl::InvalidArgumentError("a ZIP file without data.pkl");
}

}  // namespace

absl::StatusOr<absl::string_view> TorchPickleBytes(absl::string_view file) {
  if (absl::StartsWith(file, kLocalHeader)) return FromZip(file);
  if (file.empty() || file[0] != '\x80') return absl::InvalidArgumentError("neither a ZIP file nor a pickle");
  if (!absl::StartsWith(file.substr(std::min<std::size_t>(2, file.size())), kLegacyMagic)) return file;
  for (int i = 0; i < 3; ++i) {  // magic number, protocol version, facts of the system
    const auto pickle = ReadPickle(file);
    if (!pickle.ok()) return pickle.status();
    file.remove_prefix(pickle->bytes);
  }
  return file;
}

}  // namespace paritect
